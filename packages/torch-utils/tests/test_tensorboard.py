import math
import os
import struct
import subprocess
import sys
import zlib

import pytest
import torch
from torch.utils.tensorboard import SummaryWriter

np = pytest.importorskip("numpy")
reading = "tensorboard.backend.event_processing"
EventAccumulator = pytest.importorskip(f"{reading}.event_accumulator").EventAccumulator
EventFileLoader = pytest.importorskip(f"{reading}.event_file_loader").EventFileLoader
tensor_util = pytest.importorskip("tensorboard.util.tensor_util")


def read(folder):
    """TensorBoard's own view of a run."""
    every = dict.fromkeys(("scalars", "images", "histograms", "compressedHistograms", "tensors", "audio"), 0)
    found = EventAccumulator(str(folder), size_guidance=every)
    found.Reload()
    return found


def events(folder):
    (name,) = (n for n in os.listdir(folder) if n.startswith("events"))
    return list(EventFileLoader(os.path.join(folder, name)).Load())


def scalars(folder, tag):
    return [e.value for e in read(folder).Scalars(tag)]


def histogram(folder):
    """The counts by the right limits of their buckets."""
    (event,) = read(folder).Histograms("h")
    raw = event.histogram_value
    assert len(raw.bucket) == len(raw.bucket_limit)
    return {round(right, 9): count for right, count in zip(raw.bucket_limit, raw.bucket) if count}, raw


def tensor_of(found, tag):
    (one,) = found.Tensors(tag)
    return tensor_util.make_ndarray(one.tensor_proto)


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def test_scalars_are_read_back(writer, tmp_path):
    for step in range(5):
        writer.add_scalar("a/loss", torch.tensor(1.0 / (step + 1)), step, walltime=100.0 + step)
    writer.add_scalar("int", 3)
    writer.close()
    found = read(tmp_path)
    losses = found.Scalars("a/loss")
    assert [e.step for e in losses] == [0, 1, 2, 3, 4]
    assert [e.wall_time for e in losses] == [100, 101, 102, 103, 104]
    assert [e.value for e in losses] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert scalars(tmp_path, "int") == [3]


@pytest.mark.parametrize("options", [{"new_style": True}, {"double_precision": True}])
def test_scalars_of_the_new_style_are_read_back(writer, tmp_path, options):
    writer.add_scalar("x", 1 / 3, 7, **options)
    writer.close()
    x = tensor_of(read(tmp_path), "x")
    assert x.shape == ()
    assert x.dtype == (np.float64 if "double_precision" in options else np.float32)
    assert x.item() == pytest.approx(1 / 3, rel=1e-15 if "double_precision" in options else 1e-7)


def test_scalars_of_one_diagram_are_runs_of_their_own(writer, tmp_path):
    for step in range(3):
        writer.add_scalars("both/of", {"sin": math.sin(step), "cos": math.cos(step)}, step)
    writer.close()
    for name, f in (("sin", math.sin), ("cos", math.cos)):
        assert scalars(tmp_path / f"both_of_{name}", "both/of") == pytest.approx([f(0), f(1), f(2)], rel=1e-6)


@pytest.mark.parametrize("wrong", [[1.5], (2.0,), {}, None])
def test_a_list_is_no_scalar(writer, wrong):
    with pytest.raises(NotImplementedError, match=r"add_scalar\('x'\): got .* but a number, a NumPy array or a tensor"):
        writer.add_scalar("x", wrong)


@pytest.mark.parametrize("wrong", [torch.ones(2), "text"])
def test_what_is_no_number_is_refused(writer, wrong):
    with pytest.raises(TypeError, match=r"add_scalar\('x'\): expected one number, got"):
        writer.add_scalar("x", wrong)


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 10, [-3.0, -1.0, 0.0, 0.5, 2.0, 9.0]])
def test_histograms_count_as_numpy_does(tmp_path, bins):
    x = torch.randn(500, generator=torch.Generator().manual_seed(1))
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", x, 2, bins=bins)
    got, raw = histogram(tmp_path)
    v = x.double().numpy()
    if bins == "tensorflow":
        positive = 1e-12 * 1.1 ** np.arange(800)
        edges = np.concatenate([-positive[::-1], [0], positive])
    else:
        edges = np.histogram_bin_edges(v, bins=bins)
    counts, edges = np.histogram(v, bins=edges)
    some = counts > 0
    assert (raw.num, raw.min, raw.max) == (500, v.min(), v.max())
    assert (raw.sum, raw.sum_squares) == (pytest.approx(v.sum()), pytest.approx((v * v).sum()))
    assert got == {round(float(r), 9): c for r, c in zip(edges[1:][some], counts[some])}


def test_bins_of_a_histogram_are_joined(writer, tmp_path):
    writer.add_histogram("h", torch.arange(100.0), bins=100, max_bins=10)
    writer.close()
    assert list(histogram(tmp_path)[0].values()) == [10.0] * 10


def test_histograms_of_nothing_finite_are_refused(writer):
    with pytest.raises(ValueError, match="there are no values"):
        writer.add_histogram("h", torch.ones(0))
    with pytest.raises(ValueError, match="2 of 3 values are infinite or NaN"):
        writer.add_histogram("h", torch.tensor([1.0, math.nan, math.inf]))
    with pytest.raises(ValueError, match="no value lies between"):
        writer.add_histogram("h", torch.ones(3), bins=[5.0, 6.0])


def test_a_histogram_counted_elsewhere_is_written_as_it_is(writer, tmp_path):
    writer.add_histogram_raw("h", 0, 4, 3, 6, 20, [1.0, 3.0, 5.0], [0, 2, 1])
    writer.close()
    assert histogram(tmp_path)[0] == {3.0: 2, 5.0: 1}
    with pytest.raises(ValueError, match="2 bucket_limits and 1 bucket_counts"):
        writer.add_histogram_raw("h", 0, 1, 1, 1, 1, [1, 2], [1])


def pixels(encoded):
    """Decodes an unfiltered PNG by the letter of its specification."""
    assert encoded[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(encoded):
        size, kind = struct.unpack(">I4s", encoded[at : at + 8])
        content = encoded[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + content) == struct.unpack(">I", encoded[at + 8 + size : at + 12 + size])[0]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", content[:10])
        packed += content if kind == b"IDAT" else b""
        at += 12 + size
    assert depth == 8
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[color]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


def only_image(folder, tag="i"):
    (event,) = read(folder).Images(tag)
    found = pixels(event.encoded_image_string)
    assert found.shape[:2] == (event.height, event.width)
    return found


@pytest.mark.parametrize("formats", ["CHW", "HWC", "WHC"])
def test_pictures_are_read_back_in_any_order_of_dims(writer, tmp_path, formats):
    x = torch.randint(256, (5, 7, 3), dtype=torch.uint8)
    writer.add_image("i", x.permute(*("HWC".index(c) for c in formats)), dataformats=formats)
    writer.close()
    assert (only_image(tmp_path) == x.numpy()).all()


def test_floats_are_pixels_from_0_to_1(writer, tmp_path):
    writer.add_image("i", torch.tensor([[0.0, 0.5, 1.0], [-1.0, 2.0, math.nan]]), dataformats="HW")
    writer.close()
    assert only_image(tmp_path)[:, :, 0].tolist() == [[0, 128, 255], [0, 255, 0]]


def test_several_pictures_stand_in_rows_of_eight(writer, tmp_path):
    x = torch.arange(10, dtype=torch.uint8).view(10, 1, 1, 1).expand(10, 1, 2, 3)
    writer.add_images("i", x)
    writer.close()
    found = only_image(tmp_path)[:, :, 0]
    assert found.shape == (4, 24)
    assert found[::2, ::3].tolist() == [list(range(8)), [8, 9, 0, 0, 0, 0, 0, 0]]


def test_boxes_are_drawn_into_a_picture(writer, tmp_path):
    writer.add_image_with_boxes("i", torch.zeros(1, 6, 8), torch.tensor([[1, 2, 5, 4]]))
    writer.close()
    red = only_image(tmp_path)[:, :, 0] == 255
    assert red.sum() == 2 * 5 + 2 * 3 - 4
    assert red[2, 1] and red[4, 5] and not red[3, 3]


def test_pictures_that_are_none_are_refused(writer):
    with pytest.raises(ValueError, match=r"dataformats 'CHW' does not name the dims of a picture of shape \(3, 3\)"):
        writer.add_image("i", torch.ones(3, 3))
    with pytest.raises(ValueError, match="5 channels"):
        writer.add_image("i", torch.ones(5, 3, 3))
    with pytest.raises(TypeError, match="got torch.int64"):
        writer.add_image("i", torch.ones(3, 3, 3, dtype=torch.int64))


def test_figures_are_drawn_and_closed(writer, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = plt.figure(figsize=(2, 1), dpi=50, facecolor=(1.0, 0.0, 0.0))
    writer.add_figure("i", figure)
    assert not plt.fignum_exists(figure.number)
    writer.close()
    found = only_image(tmp_path)
    assert found.shape == (50, 100, 3)
    assert found[0, 0].tolist() == [255, 0, 0]


def test_text_is_read_back(writer, tmp_path):
    writer.add_text("notes", "**bold** ünïcode", 3)
    writer.close()
    found = read(tmp_path)
    assert tensor_of(found, "notes/text_summary").tolist() == ["**bold** ünïcode".encode()]
    assert found.SummaryMetadata("notes/text_summary").plugin_data.plugin_name == "text"


def test_sound_is_read_back(writer, tmp_path):
    import io
    import wave

    writer.add_audio("s", torch.tensor([0.0, 1.0, -1.0, 0.5]), sample_rate=8000)
    writer.close()
    (event,) = read(tmp_path).Audio("s")
    assert (event.length_frames, event.sample_rate, event.content_type) == (4, 8000, "audio/wav")
    with wave.open(io.BytesIO(event.encoded_audio_string)) as file:
        assert (file.getframerate(), file.getnchannels()) == (8000, 1)
        assert struct.unpack("<4h", file.readframes(4)) == (0, 32767, -32767, 16384)


def test_precision_and_recall_are_those_of_the_definition(writer, tmp_path):
    labels = torch.randint(2, (200,))
    predictions = torch.rand(200)
    writer.add_pr_curve("pr", labels, predictions, num_thresholds=11)
    writer.close()
    found = read(tmp_path)
    tp, fp, tn, fn, precision, recall = tensor_of(found, "pr")
    y, p = labels.numpy().astype(bool), predictions.double().numpy()
    for i in range(11):
        chosen = np.floor(p * 10) >= i
        assert (tp[i], fp[i], tn[i], fn[i]) == (
            (y & chosen).sum(),
            (~y & chosen).sum(),
            (~y & ~chosen).sum(),
            (y & ~chosen).sum(),
        )
        assert recall[i] == pytest.approx(tp[i] / y.sum())
        assert precision[i] == pytest.approx(tp[i] / max(chosen.sum(), 1))
    from tensorboard.plugins.pr_curve.metadata import parse_plugin_metadata

    assert parse_plugin_metadata(found.SummaryMetadata("pr").plugin_data.content).num_thresholds == 11
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        writer.add_pr_curve("pr", labels, predictions * 2)
    with pytest.raises(ValueError, match="200 labels and 3 predictions"):
        writer.add_pr_curve("pr", labels, torch.rand(3))


def test_hyperparameters_are_read_back(writer, tmp_path):
    settings = {"lr": 0.1, "layers": 3, "bias": True, "name": "adam"}
    writer.add_hparams(settings, {"accuracy": 0.9}, {"lr": [0.1, 0.2]}, run_name="first", global_step=4)
    from tensorboard.plugins.hparams import metadata

    found = read(tmp_path / "first")
    content = lambda tag: found.SummaryMetadata(tag).plugin_data.content
    experiment = metadata.parse_experiment_plugin_data(content("_hparams_/experiment"))
    infos = {i.name: i for i in experiment.hparam_infos}
    assert {n: i.type for n, i in infos.items()} == {"lr": 3, "layers": 3, "bias": 2, "name": 1}
    assert [v.number_value for v in infos["lr"].domain_discrete.values] == [0.1, 0.2]
    assert [m.name.tag for m in experiment.metric_infos] == ["accuracy"]
    start = metadata.parse_session_start_info_plugin_data(content("_hparams_/session_start_info"))
    values = {n: getattr(v, v.WhichOneof("kind")) for n, v in start.hparams.items()}
    assert values == settings
    end = metadata.parse_session_end_info_plugin_data(content("_hparams_/session_end_info"))
    assert end.status == 1
    assert scalars(tmp_path / "first", "accuracy") == [pytest.approx(0.9)]
    with pytest.raises(TypeError, match="'lr' must be a number, str or bool, got list"):
        writer.add_hparams({"lr": [1]}, {})
    with pytest.raises(TypeError, match="hparam_dict must be a dict, got list"):
        writer.add_hparams([], {})
    with pytest.raises(ValueError, match=r"names \['other'\], which are not in hparam_dict"):
        writer.add_hparams({"lr": 1}, {}, {"other": [1]})


def test_embeddings_are_files_that_the_projector_reads(writer, tmp_path):
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    mat = torch.randn(5, 3)
    writer.add_embedding(mat, [f"word {i}" for i in range(5)], torch.rand(5, 3, 4, 6), 2, "words")
    writer.add_embedding(mat[:2], [["a", 1], ["b", 2]], tag='pa"irs', metadata_header=["letter", "number"])
    config = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), ProjectorConfig())
    first, second = config.embeddings
    assert (first.tensor_name, second.tensor_name) == ("words:00002", 'pa"irs:00000')
    lines = (tmp_path / first.tensor_path).read_text().splitlines()
    assert np.allclose([[float(v) for v in line.split("\t")] for line in lines], mat.numpy())
    assert (tmp_path / first.metadata_path).read_text().splitlines()[4] == "word 4"
    assert (tmp_path / second.metadata_path).read_text() == "letter\tnumber\na\t1\nb\t2\n"
    assert list(first.sprite.single_image_dim) == [6, 4]
    assert pixels((tmp_path / first.sprite.image_path).read_bytes()).shape == (12, 18, 3)
    with pytest.raises(ValueError, match="5 vectors and 1 entries of metadata"):
        writer.add_embedding(mat, ["one"])
    with pytest.raises(ValueError, match=r"got shape \(3,\)"):
        writer.add_embedding(mat[0])


def graph_of(folder):
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    return {n.name: n for n in GraphDef.FromString(read(folder).Graph().SerializeToString()).node}


def test_a_graph_shows_operations_by_module(writer, tmp_path):
    nn = pytest.importorskip("torch.nn")
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    writer.add_graph(net, torch.ones(1, 3))
    writer.close()
    nodes = graph_of(tmp_path)
    assert nodes["Sequential/1/0/Relu"].input == ["Sequential/0/Linear"]
    assert set(nodes["Sequential/1/1/Linear"].input) == {
        "Sequential/1/0/Relu",
        "Sequential/1/1/weight",
        "Sequential/1/1/bias",
    }
    assert "input/0" in nodes["Sequential/0/Linear"].input
    assert nodes["output/0"].input == ["Sequential/1/1/Linear"]
    assert nodes["input/0"].op == "Input"
    assert [d.size for d in nodes["Sequential/0/weight"].attr["_output_shapes"].list.shape[0].dim] == [4, 3]


def test_a_module_used_twice_and_indices_have_nodes_of_their_own(writer, tmp_path):
    nn = pytest.importorskip("torch.nn")

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.line = nn.Embedding(5, 4), nn.Linear(4, 4)

        def forward(self, at, scale):
            return {"out": self.line(self.line(self.table(at))) * scale}

    writer.add_graph(Twice(), (torch.tensor([1, 2]), 2.0), verbose=False)
    writer.close()
    nodes = graph_of(tmp_path)
    assert sum(name.startswith("Twice/line/Linear") for name in nodes) == 2
    assert sum(name.startswith("Twice/line/weight") for name in nodes) == 1
    assert "input/0" in nodes
    assert nodes["output/0"].input == ["Twice/Mul"]
    with pytest.raises(ValueError, match="input_to_model is missing"):
        writer.add_graph(Twice())


def test_writers_of_other_libraries_get_the_graph_as_messages():
    pytest.importorskip("torch.nn")
    from torch.utils.tensorboard import _pytorch_graph
    from torch.utils.tensorboard.graph import graph

    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    found, times = _pytorch_graph.graph(net, torch.ones(1, 3), use_strict_trace=False)
    assert found.SerializeToString() == graph(net, torch.ones(1, 3)) and times.SerializeToString() == b""


def test_a_tensor_is_written_as_it_is(writer, tmp_path):
    x = torch.randn(2, 3)
    writer.add_tensor("t", x.t())
    writer.close()
    assert (tensor_of(read(tmp_path), "t") == x.t().numpy()).all()


def test_events_reach_the_disk_by_number_by_time_and_by_flush(tmp_path):
    size = lambda: sum(p.stat().st_size for p in tmp_path.iterdir())
    writer = SummaryWriter(tmp_path, max_queue=3, flush_secs=1000)
    assert size() == 0
    writer.add_scalar("x", 1, 1)
    writer.add_scalar("x", 1, 2)
    assert size() == 0
    writer.add_scalar("x", 1, 3)
    three = size()
    assert three > 0
    writer.add_scalar("x", 1, 4)
    assert size() == three
    writer.flush()
    assert size() > three
    soon = SummaryWriter(tmp_path / "soon", max_queue=1000, flush_secs=0)
    soon.add_scalar("x", 1)
    assert any((tmp_path / "soon").iterdir())
    writer.close()
    soon.close()


def test_a_closed_writer_begins_another_file(tmp_path):
    writer = SummaryWriter(tmp_path, filename_suffix=".mine")
    for step in range(2):
        writer.add_scalar("x", step, step)
        writer.close()
    writer.close()
    assert len([n for n in os.listdir(tmp_path) if n.endswith(".mine")]) == 2
    assert scalars(tmp_path, "x") == [0, 1]


def test_what_a_crashed_run_wrote_later_is_purged(tmp_path):
    with SummaryWriter(tmp_path) as first:
        for step in range(6):
            first.add_scalar("x", 0.0, step, walltime=1.0 + step)
    with SummaryWriter(tmp_path, purge_step=3) as second:
        second.add_scalar("x", 1.0, 3)
    found = read(tmp_path).Scalars("x")
    assert [e.step for e in found] == [0, 1, 2, 3]


def test_events_are_flushed_when_the_program_ends_without_close(tmp_path):
    code = f"from torch.utils.tensorboard import SummaryWriter\nw = SummaryWriter({str(tmp_path)!r})\nw.add_scalar('x', 2, 1)"
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    subprocess.run([sys.executable, "-c", code], check=True, env=settings)
    assert scalars(tmp_path, "x") == [2]


def test_a_forked_child_writes_a_file_of_its_own(tmp_path, run):
    writer = SummaryWriter(tmp_path, max_queue=100)
    writer.add_scalar("parent", 1)

    def child():
        writer.add_scalar("child", 2)
        writer.close()

    process = run(child)
    process.join()
    writer.close()
    assert process.exitcode == 0
    assert (scalars(tmp_path, "parent"), scalars(tmp_path, "child")) == ([1], [2])


def test_a_flipped_bit_is_noticed_by_the_reader(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 1)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-7] ^= 1
    path.write_bytes(content)
    assert len(events(tmp_path)) == 1  # only the record of the version


def test_writing_needs_no_package_beside_the_core(tmp_path):
    code = (
        "import sys\nfrom torch.utils.tensorboard import SummaryWriter\nimport torch\n"
        f"with SummaryWriter({str(tmp_path)!r}) as w:\n"
        "    w.add_scalar('a', 1); w.add_histogram('b', torch.ones(3)); w.add_image('c', torch.ones(3, 4, 4))\n"
        "print([m for m in ('numpy', 'tensorboard', 'google.protobuf', 'PIL', 'torch.nn') if m in sys.modules])"
    )
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_loggers_of_libraries_give_the_event_file_summaries_of_their_own(tmp_path):
    from torch.utils.tensorboard.summary import hparams

    writer = SummaryWriter(tmp_path)
    file = writer._get_file_writer()
    assert file is writer.file_writer
    for content in hparams({"lr": 0.1, "net": "small"}, {"loss": 0.5}):
        file.add_summary(content, 3)
    writer.close()
    written = [e for e in events(tmp_path) if e.HasField("summary")]
    tags = [value.tag for e in written for value in e.summary.value]
    assert tags == [f"_hparams_/{name}" for name in ("experiment", "session_start_info", "session_end_info")]
    assert {e.step for e in written} == {3}
