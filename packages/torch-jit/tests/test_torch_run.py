"""The tool torch-run: programs on the command line."""

import subprocess
import zipfile

import numpy as np
import pytest
import torch
from torch import nn
from torch.jit import _tool


def torch_run(*words, status=0):
    done = subprocess.run(
        [_tool.path(), *map(str, words)], env=_tool.environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture
def net(tmp_path):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 3)).eval()
    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.freeze(torch.jit.trace(module, torch.ones(2, 1, 8, 8))), path)
    return module, path


class Several(nn.Module):
    def forward(self, x, n: int = 2):
        return x * n, (x, {"sum": x.sum()})

    @torch.jit.export
    def shout(self, text: str, times: int) -> str:
        if times < 1:
            raise ValueError("times: at least once")
        return text.upper() * times


@pytest.fixture
def several(tmp_path):
    path = tmp_path / "several.pt"
    torch.jit.save(torch.jit.script(Several()), path)
    return path


def test_an_array_goes_in_and_comes_out(net, tmp_path):
    module, path = net
    x = torch.randn(2, 1, 8, 8)
    np.save(tmp_path / "x.npy", x.numpy())
    torch_run(path, tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    with torch.no_grad():
        assert torch.equal(torch.from_numpy(np.load(tmp_path / "y.npy")), module(x))


def test_an_input_may_be_made_on_the_spot(net):
    module, path = net
    with torch.no_grad():
        first = f"{module(torch.ones(2, 1, 8, 8))[0, 0].item():.4f}"
    assert first in torch_run(path, "ones(2, 1, 8, 8)")


def test_a_trace_knows_the_shapes_of_its_inputs(net):
    out = torch_run(net[1], "-q", "--time", 3, "--threads", 1)
    assert "median of 3" in out and "threads 1" in out


def test_methods_are_listed_with_their_arguments(several):
    assert torch_run("--list", several).splitlines() == [
        "forward(Tensor x, int n=2) -> (Tensor, (Tensor, Dict(str, Tensor)))",
        "shout(str text, int times) -> str",
    ]


def test_texts_and_numbers_go_by_position_or_name(several):
    assert torch_run(several, "-m", "shout", "ab", 2).strip() == "'ABAB'"
    assert torch_run(several, "--method=shout", "times=3", "text=a").strip() == "'AAA'"


class Contexts(nn.Module):
    def forward(self, x):
        with torch.autograd.profiler.record_function("all"), torch.autocast("cpu", torch.bfloat16):
            return x @ x


def test_ranges_and_autocast_run_without_python(tmp_path):
    torch.jit.save(torch.jit.script(Contexts()), tmp_path / "contexts.pt")
    assert "BFloat16" in torch_run(tmp_path / "contexts.pt", "ones(2, 2)")


def test_tensors_of_a_tuple_are_stored_each(several, tmp_path):
    torch_run(several, "ones(2, float64)", "n=3", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.0.npy").tolist() == [3, 3]
    assert np.load(tmp_path / "y.1.0.npy").dtype == np.float64
    assert np.load(tmp_path / "y.1.1.sum.npy").item() == 2


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_dtype_and_order(dtype, order, tmp_path):
    class Same(nn.Module):
        def forward(self, x):
            return x.clone()

    torch.jit.save(torch.jit.script(Same()), tmp_path / "same.pt")
    x = np.asarray(np.random.default_rng(0).integers(0, 5, (2, 3, 4)).astype(dtype), order=order)
    np.save(tmp_path / "x.npy", x)
    torch_run(tmp_path / "same.pt", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == x.dtype and np.array_equal(x, y)


def test_what_a_program_raises_is_told(several):
    assert "ValueError: times: at least once" in torch_run(several, "-m", "shout", "a", 0, status=1)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "usage: torch-run ARCHIVE"),
        (["{several}", "--nonsense"], 2, "there is no option --nonsense"),
        (["{several}", "--threads", "0"], 2, "takes a number from 1 on, not '0'"),
        (["{several}", "--method"], 2, "--method takes a value"),
        (["{several}", "ones(2)", "1", "2"], 2, "the method takes 2 inputs: forward(Tensor x, int n=2)"),
        (["nowhere.pt"], 1, "nowhere.pt: cannot be opened: No such file"),
        (["{several}", "-m", "back"], 1, "has no method 'back'; it has: forward, shout"),
        (["{several}"], 1, "argument 'x' of type Tensor is missing"),
        (["{several}", "x.npy"], 1, "x.npy: cannot be read: No such file"),
        (["{several}", "ones(2, x)"], 1, "expected a number"),
        (["{several}", "ones(-1)"], 1, "-1"),
        (["{several}", "ones(2)", "'a'"], 1, "argument 'n' but instead found type 'str' (position 3, 'a')"),
        (["{several}", "ones(2)", "-o", "y.txt"], 1, "expected a name that ends with .npy"),
    ],
)
def test_a_wrong_command_is_told(words, status, message, several):
    assert message in torch_run(*[w.format(several=several) for w in words], status=status)


@pytest.mark.parametrize("cut", [0, 5, 11, 60, 130])
def test_an_array_that_is_cut_off_is_refused(cut, several, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(8.0))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:cut])
    assert "x.npy" in torch_run(several, tmp_path / "x.npy", status=1)


class Summed(nn.Module):
    def forward(self, x, more: list[torch.Tensor], named: dict[str, torch.Tensor], n: int, name: str = ""):
        return x + more[0] * more[1] + named["a"] * n, name

    @torch.jit.export
    def total(self, x, more: list[torch.Tensor], named: dict[str, torch.Tensor], n: int):
        return self(x, more, named, n)[0]

    @torch.jit.export
    def same(self, x):
        return x.clone()


@pytest.fixture
def summed(tmp_path):
    torch.jit.save(torch.jit.script(Summed()), tmp_path / "summed.pt")
    return tmp_path / "summed.pt"


def test_what_torch_save_wrote_goes_in(summed, tmp_path):
    whole = torch.randn(5, 4)
    view, transposed = whole[1:4:2, 1:], torch.randn(3, 2).t()
    torch.save(nn.Parameter(view), tmp_path / "x.pt")
    torch.save([transposed, transposed], tmp_path / "more.pt")
    torch.save({"a": whole[0, :3], "b": whole}, tmp_path / "named.pth")
    torch.save(-70000, tmp_path / "n.pt")
    inputs = [tmp_path / f for f in ("x.pt", "more.pt", "named.pth", "n.pt")]
    assert "'a.pt'" in torch_run(summed, *inputs, "name=a.pt")
    torch_run(summed, "-m", "total", *inputs, "-o", tmp_path / "y.npy")
    expected = view + transposed * transposed + whole[0, :3] * -70000
    assert np.array_equal(np.load(tmp_path / "y.npy"), expected.numpy())


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int64, torch.uint16, torch.uint64,
                                   torch.float16, torch.bfloat16, torch.float64, torch.complex64])  # fmt: skip
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_tensors_of_torch_save_keep_dtype_and_shape(dtype, shape, summed, tmp_path):
    x = (torch.arange(6)[: int(np.prod(shape))].reshape(shape) % 2).to(dtype)
    torch.save(x, tmp_path / "x.pt")
    if dtype == torch.bfloat16:
        assert "BFloat16Type" in torch_run(summed, "-m", "same", tmp_path / "x.pt")
        return
    torch_run(summed, "-m", "same", tmp_path / "x.pt", "-o", tmp_path / "y.npy")
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == x.numpy().dtype and np.array_equal(x.numpy(), y)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (nn.Linear(1, 1), "torch.nn.modules.linear.Linear is not read here"),
        (1 << 70, "an int of more than 64 bits is not read here"),
        (torch.float32, "torch.float32 is no value of a program"),
        (torch.ones(2).to_sparse(), "is not read here"),
    ],
)
def test_other_things_that_torch_save_writes_are_refused_by_name(value, message, summed, tmp_path):
    torch.save(value, tmp_path / "x.pt")
    assert message in torch_run(summed, "-m", "same", tmp_path / "x.pt", status=1)


def test_lists_within_lists_end_with_an_error(summed, tmp_path):
    count = 2_000_000
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_STORED) as made:
        made.writestr("x/data.pkl", b"\x80\x02" + b"]" * count + b"a" * (count - 1) + b".")
    assert "more than 1000 deep" in torch_run(summed, "-m", "same", tmp_path / "x.pt", status=1)


def test_tensors_that_are_conjugated_when_they_are_read_are_refused(summed, tmp_path):
    torch.save(torch.tensor([1 + 2j]), tmp_path / "x.pt")
    with (
        zipfile.ZipFile(tmp_path / "x.pt") as given,
        zipfile.ZipFile(tmp_path / "y.pt", "w", zipfile.ZIP_STORED) as made,
    ):
        for name in given.namelist():
            data = given.read(name)
            if name.endswith("data.pkl"):  # as PyTorch writes tensor.conj(): a seventh argument
                data = data.replace(b")RtR", b")R}X\x04\x00\x00\x00conj\x88stR")
                assert data != given.read(name)
            made.writestr(name, data)
    assert "resolve_conj()" in torch_run(summed, "-m", "same", tmp_path / "y.pt", status=1)


def test_a_size_that_was_changed_is_found_by_the_sum_of_the_file(summed, tmp_path):
    torch.save(torch.ones(2), tmp_path / "x.pt")
    whole = bytearray((tmp_path / "x.pt").read_bytes())
    place = whole.index(b"K\x02\x85")  # the size, a tuple of one int
    whole[place + 1] = 1
    (tmp_path / "x.pt").write_bytes(whole)
    assert "data.pkl" in torch_run(summed, "-m", "same", tmp_path / "x.pt", status=1)


def test_a_program_is_no_input(summed):
    assert "a program of torch.jit.save, which is no input" in torch_run(summed, "-m", "same", summed, status=1)


def test_files_of_before_pytorch_1_6_are_refused(summed, tmp_path):
    torch.save(torch.ones(2), tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    assert "not a file of torch.save since PyTorch 1.6" in torch_run(summed, "-m", "same", tmp_path / "x.pt", status=1)


def test_a_damaged_file_of_torch_save_is_refused(summed, tmp_path):
    torch.save({"a": torch.randn(3), "b": [1, 2.5, "c", None, True, (torch.ones(2, 2),)]}, tmp_path / "x.pt")
    whole = (tmp_path / "x.pt").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(40):
        changed = bytearray(whole)
        for place in rng.integers(0, whole.index(b"byteorder"), 3):
            changed[place] = rng.integers(0, 256)
        (tmp_path / "y.pt").write_bytes(changed)
        done = subprocess.run([_tool.path(), summed, "-m", "same", tmp_path / "y.pt"], env=_tool.environment(),
                              capture_output=True, timeout=60)  # fmt: skip
        assert done.returncode == 1


def test_help_and_version():
    assert "ARCHIVE  a file of torch.jit.save" in torch_run("--help")
    assert "form 1" in torch_run("--version")
