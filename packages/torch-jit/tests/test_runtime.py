"""Programs in the form that runs without Python: what torch.jit.save puts into program.txt, read by the C++ loader."""

import io
import zipfile
from pathlib import Path

import pytest
import torch
from script_layers import LAYERS
from script_modules import MODULES
from script_programs import PROGRAMS
from torch import nn
from torch.jit import _ir
from torch.nn import functional as F

load_program = _ir._native.load_program


def saved(module):
    out = io.BytesIO()
    torch.jit.save(module, out)
    return out.getvalue()


def program_text(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/program.txt")]
        return archive.read(name).decode()


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a.nan_to_num(), b.nan_to_num()) and a.dtype == b.dtype
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b or (a != a and b != b)


def outcome(f, args):
    torch.manual_seed(0)
    try:
        return f(*[a.clone() if isinstance(a, torch.Tensor) else a for a in args])
    except Exception as error:
        return type(error)


def check(compiled, args, method="forward"):
    module = load_program(saved(compiled))
    wanted = outcome(compiled, args)
    assert same(wanted, outcome(lambda *a: module.run(method, *a), args))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_gives_what_it_gave(name):
    function, args = PROGRAMS[name]
    check(torch.jit.script(function), args)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_layer_gives_what_it_gave(name):
    torch.manual_seed(0)
    make, args = LAYERS[name]
    compiled = torch.jit.script(make().eval())
    try:
        data = saved(compiled)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"cannot be saved: {error}")
    module = load_program(data)
    with torch.no_grad():
        assert same(outcome(compiled, args), outcome(lambda *a: module.run("forward", *a), args))


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_gives_what_it_gave(name):
    torch.manual_seed(0)
    make, args = MODULES[name][:2]
    check(torch.jit.script(make()), args)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_is_python_in_a_script_is_not_in_the_runtime(dtype):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.RMSNorm((2, 4), dtype=dtype)
            self.plain = nn.RMSNorm(4, eps=0.5, elementwise_affine=False)

        def forward(self, x, r: int):
            y = self.plain(self.norm(x))
            return y, F.pixel_shuffle(y, r), F.pixel_unshuffle(y, r)

    torch.manual_seed(0)
    compiled = torch.jit.script(Both())
    module = load_program(saved(compiled))
    x = torch.randn(3, 4, 2, 4).to(dtype)
    with torch.no_grad():
        assert same(compiled(x, 2), module.run("forward", x, 2))
    for f in (compiled, lambda x, r: module.run("forward", x, r)):
        with pytest.raises(RuntimeError, match="pixel_shuffle: 4 channels are not divisible"):
            f(x, 3)
        with pytest.raises(RuntimeError, match="pixel_shuffle: upscale_factor must be positive, got 0"):
            f(x, 0)
        with pytest.raises(RuntimeError, match="the last dims of input .* must equal normalized_shape"):
            f(x[..., :3], 2)


def test_a_layer_that_calls_python_says_so_when_it_is_loaded():
    class Sum(nn.Module):
        def forward(self, x):
            return torch.autograd.grad([x.sum()], [x])[0]

    data = saved(torch.jit.script(Sum()))
    assert "refused" in program_text(data)
    with pytest.raises(NotImplementedError, match="without a form for this runtime: a call of Python.*autograd.grad"):
        load_program(data)


def test_an_archive_of_form_1_gives_what_pytorch_gives():
    """Written by torch-jit 0.1.0; the numbers are those that PyTorch 2.13 computes from the same file."""
    path = Path(__file__).parents[3] / "program" / "tests" / "data" / "layers.pt"
    x = torch.linspace(-1, 1, 48).reshape(3, 1, 4, 4)
    wanted = torch.tensor([-4.708425, -4.660828, -3.522326, 0.0])
    assert torch.allclose(load_program(str(path)).run("forward", x), wanted, atol=1e-5)
    assert torch.allclose(torch.jit.load(path)(x), wanted, atol=1e-5)
