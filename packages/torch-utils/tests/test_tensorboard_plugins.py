"""What TensorBoard shows in tabs of its own: custom scalars, meshes, moving pictures; and frames with labels."""

import gc
import io
import json
import sys

import pytest
import torch
from torch.utils.tensorboard import SummaryWriter

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.util import tensor_util


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


@pytest.fixture
def read(writer, tmp_path):
    def all_of_it():
        writer.close()
        found = EventAccumulator(str(tmp_path), size_guidance={"tensors": 0, "images": 0, "scalars": 0})
        found.Reload()
        return found

    return all_of_it


def array(found, tag):
    (one,) = found.Tensors(tag)
    return tensor_util.make_ndarray(one.tensor_proto)


def test_a_layout_of_charts_is_read_back(writer, read):
    writer.add_custom_scalars(
        {
            "loss": {"both": ["Multiline", ["loss/train", "loss/test"]]},
            "rates": {"band": ["Margin", ["rate", "rate/low", "rate/high"]], "one": ("Multiline", ["rate"])},
        }
    )
    layout = layout_pb2.Layout.FromString(array(read(), "custom_scalars__config__").item())
    assert [c.title for c in layout.category] == ["loss", "rates"]
    (both,) = layout.category[0].chart
    assert (both.title, list(both.multiline.tag)) == ("both", ["loss/train", "loss/test"])
    band, one = layout.category[1].chart
    (series,) = band.margin.series
    assert (series.value, series.lower, series.upper) == ("rate", "rate/low", "rate/high")
    assert list(one.multiline.tag) == ["rate"]


@pytest.mark.parametrize("kind", ["multiline", "margin"])
def test_one_chart_alone_is_a_layout(writer, read, kind):
    getattr(writer, f"add_custom_scalars_{kind}chart")(["a", "b", "c"], "group", "name")
    layout = layout_pb2.Layout.FromString(array(read(), "custom_scalars__config__").item())
    assert (layout.category[0].title, layout.category[0].chart[0].title) == ("group", "name")
    assert layout.category[0].chart[0].HasField(kind)


def test_charts_that_are_none_are_refused(writer):
    with pytest.raises(ValueError, match=r"a margin has three tags, value, lower and upper; got 2"):
        writer.add_custom_scalars_marginchart(["a", "b"])
    with pytest.raises(ValueError, match=r"chart 'x' is .*got \['Pie', \['a'\]\]"):
        writer.add_custom_scalars({"T": {"x": ["Pie", ["a"]]}})
    with pytest.raises(TypeError, match="tags are a list of str, got 'loss'"):
        writer.add_custom_scalars_multilinechart("loss")
    with pytest.raises(TypeError, match=r"\{category: \{title"):
        writer.add_custom_scalars({"T": ["Multiline", ["a"]]})


def test_a_mesh_is_read_back_with_its_settings(writer, read):
    vertices = torch.rand(2, 4, 3)
    colors = torch.randint(256, (2, 4, 3))
    faces = torch.tensor([[[0, 1, 2], [1, 2, 3]]] * 2)
    writer.add_mesh("shape", vertices, colors, faces, {"material": {"cls": "MeshBasicMaterial"}}, 5)
    found = read()
    assert torch.equal(torch.from_numpy(array(found, "shape_VERTEX").copy()), vertices)
    assert array(found, "shape_FACE").tolist() == faces.tolist()
    assert array(found, "shape_COLOR").tolist() == colors.tolist()
    about = mesh_metadata.parse_plugin_metadata(found.SummaryMetadata("shape_FACE").plugin_data.content)
    assert (about.name, about.content_type, list(about.shape)) == ("shape", 2, [2, 2, 3])
    assert about.components == mesh_metadata.get_components_bitmask([1, 2, 3])
    assert json.loads(about.json_config) == {"material": {"cls": "MeshBasicMaterial"}}


def test_a_cloud_of_points_has_vertices_alone(writer, read):
    writer.add_mesh("points", [[[0.0, 1.0, 2.0]]])
    found = read()
    assert found.Tags()["tensors"] == ["points_VERTEX"]
    about = mesh_metadata.parse_plugin_metadata(found.SummaryMetadata("points_VERTEX").plugin_data.content)
    assert about.components == mesh_metadata.get_components_bitmask([1])


def test_meshes_that_are_none_are_refused(writer):
    with pytest.raises(ValueError, match=r"vertex values are \(batch, n, 3\), got shape \(4, 3\)"):
        writer.add_mesh("m", torch.rand(4, 3))
    with pytest.raises(ValueError, match=r"vertices \(1, 4, 3\) and color values \(1, 2, 3\)"):
        writer.add_mesh("m", torch.rand(1, 4, 3), colors=torch.zeros(1, 2, 3))
    with pytest.raises(ValueError, match=r"vertices \(1, 4, 3\) and face values \(2, 1, 3\)"):
        writer.add_mesh("m", torch.rand(1, 4, 3), faces=torch.zeros(2, 1, 3))
    with pytest.raises(ValueError, match="faces are numbers of vertices from 0 to 3"):
        writer.add_mesh("m", torch.rand(1, 4, 3), faces=torch.full((1, 1, 3), 4))
    with pytest.raises(TypeError, match="got NoneType"):
        writer.add_mesh("m", None)


def test_clips_are_a_gif_side_by_side(writer, read):
    Image = pytest.importorskip("PIL.Image")
    clips = torch.zeros(2, 3, 3, 4, 5)  # two clips of three pictures
    clips[0, 0, 0] = 1  # red at first
    clips[1, 2, 2] = 1  # blue at last
    writer.add_video("v", clips, 1, fps=10)
    (event,) = read().Images("v")
    assert (event.width, event.height) == (10, 4)
    gif = Image.open(io.BytesIO(event.encoded_image_string))
    assert (gif.format, gif.n_frames, gif.size, gif.info["duration"], gif.info["loop"]) == ("GIF", 3, (10, 4), 100, 0)
    seen = []
    for i in range(3):
        gif.seek(i)
        picture = gif.convert("RGB")
        seen.append((picture.getpixel((0, 0)), picture.getpixel((9, 3))))
    black = (0, 0, 0)
    assert seen == [((255, 0, 0), black), (black, black), (black, (0, 0, 255))]


def test_clips_that_are_none_are_refused(writer):
    with pytest.raises(ValueError, match=r"\(N, T, C, H, W\) with 1 or 3 channels, got shape \(3, 3, 4, 4\)"):
        writer.add_video("v", torch.zeros(3, 3, 4, 4))
    with pytest.raises(ValueError, match="fps is 0, not above zero"):
        writer.add_video("v", torch.zeros(1, 1, 1, 4, 4), fps=0)


def test_a_package_that_is_needed_is_named(writer, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ModuleNotFoundError, match=r"add_video\('v'\) needs Pillow: pip install pillow"):
        writer.add_video("v", torch.zeros(1, 1, 1, 4, 4))


def test_labels_stand_in_the_corners_of_their_boxes(writer, read):
    Image = pytest.importorskip("PIL.Image")
    dark = torch.zeros(3, 40, 60)
    boxes = torch.tensor([[2, 3, 50, 35], [30, 20, 58, 38]])
    writer.add_image_with_boxes("plain", dark, boxes)
    writer.add_image_with_boxes("labelled", dark, boxes, labels=["cat", "o"])
    found = read()

    def picture(tag):
        (event,) = found.Images(tag)
        return Image.open(io.BytesIO(event.encoded_image_string))

    plain, labelled = picture("plain"), picture("labelled")
    white = {(x, y) for x in range(60) for y in range(40) if labelled.getpixel((x, y))[1] > 100}
    assert not any(plain.getpixel(at)[1] for at in white)
    assert any(x < 25 and y < 18 for x, y in white)  # cat
    assert any(x >= 30 and y >= 20 for x, y in white)  # o
    assert all((2 <= x < 25 and 3 <= y < 18) or (x >= 30 and y >= 20) for x, y in white)


def test_labels_and_boxes_go_together(writer):
    pytest.importorskip("PIL")
    dark = torch.zeros(3, 8, 8)
    with pytest.raises(ValueError, match="1 boxes and 2 labels"):
        writer.add_image_with_boxes("b", dark, torch.tensor([[1, 1, 4, 4]]), labels=["a", "b"])
    with pytest.raises(ValueError, match=r"box_tensor is \(boxes, 4\), got shape \(3,\)"):
        writer.add_image_with_boxes("b", dark, torch.tensor([1, 1, 4]))


def test_a_writer_that_nobody_closed_loses_nothing(tmp_path):
    SummaryWriter(tmp_path).add_scalar("a", 3.0, 1)
    gc.collect()
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    assert [e.value for e in found.Scalars("a")] == [3.0]


@pytest.mark.parametrize(
    "call,error,words",
    [
        (lambda w: w.add_scalar(None, 1.0), TypeError, "a tag is a str, got NoneType"),
        (lambda w: w.add_scalars("m", [1, 2]), TypeError, "expected a dict of numbers, got list"),
        (lambda w: w.add_text("t", ["a"]), TypeError, r"add_text\('t'\): expected a str, got list"),
        (
            lambda w: w.add_histogram("h", torch.ones(2, dtype=torch.complex64)),
            TypeError,
            "complex numbers have no order",
        ),
        (lambda w: w.add_histogram("h", torch.ones(2), bins=0), ValueError, "bins is a number from 1 on, got 0"),
        (lambda w: w.add_audio("s", torch.zeros(0)), ValueError, "there are no samples"),
        (lambda w: w.add_graph(3, torch.ones(1)), TypeError, "expected a Module, got int"),
        (
            lambda w: w.add_pr_curve("p", [1], [0.5], num_thresholds=1),
            ValueError,
            "num_thresholds is a number from 2 on",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(writer, call, error, words):
    with pytest.raises(error, match=words):
        call(writer)


def test_a_figure_that_is_none_is_refused(writer):
    pytest.importorskip("matplotlib")
    with pytest.raises(TypeError, match="expected a matplotlib figure, got NoneType"):
        writer.add_figure("f", None)
