"""Element-wise functions of complex numbers, against NumPy's in double."""

import numpy
import pytest
import torch

AXIS = [-30.0, -2.5, -1.0, -0.6, -1e-3, -0.0, 0.0, 1e-3, 0.6, 1.0, 2.5, 30.0]
GRID = numpy.array([complex(x, y) for x in AXIS for y in AXIS])

#: by name: NumPy's function, where ours is another word for it
UNARY = {
    **{name: name for name in ("exp", "log", "log10", "log2", "log1p", "expm1", "sqrt", "sin", "cos", "tan")},
    **{name: name for name in ("sinh", "cosh", "tanh", "exp2", "reciprocal", "square", "negative")},
    **{"a" + name: "arc" + name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "abs": "abs",
    "angle": "angle",
    "conj_physical": "conj",
    "sgn": lambda z: numpy.where(z == 0, 0, z / numpy.where(z == 0, 1, numpy.abs(z))),
    "sigmoid": lambda z: 1 / (1 + numpy.exp(-z)),
    "rsqrt": lambda z: 1 / numpy.sqrt(z),
}


def close(got, expected, eps):
    got = got.cpu().numpy()
    fine = numpy.isfinite(expected)
    assert (numpy.abs(got - expected)[fine] <= eps * (1 + numpy.abs(expected[fine]))).all()
    assert not numpy.isfinite(got[~fine]).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNARY)
def test_functions_on_both_sides_of_their_cuts(name):
    f = UNARY[name]
    with numpy.errstate(all="ignore"):
        expected = (getattr(numpy, f) if isinstance(f, str) else f)(GRID)
    for dtype, eps in ((torch.complex128, 1e-13), (torch.complex64, 1e-5)):
        close(getattr(torch, name)(torch.from_numpy(GRID).cuda().to(dtype)), expected, eps)


@pytest.mark.parametrize("z", [complex(1e300, 1e300), complex(-1e-320, 1e-320), complex(710, 1), complex(1, 1e-9)])
def test_neither_large_nor_small_numbers_are_lost_on_the_way(z):
    x = torch.tensor([z], dtype=torch.complex128)
    for f in (torch.sqrt, torch.log, torch.abs, torch.exp, torch.sinh, torch.cosh, torch.tanh, torch.atan):
        here, there = f(x), f(x.cuda()).cpu()
        assert torch.allclose(here, there, rtol=1e-12, atol=0, equal_nan=True) or not torch.isfinite(here.abs()).all()


def test_two_operands():
    a, b = torch.from_numpy(GRID), torch.from_numpy(GRID[::-1].copy())
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.eq, torch.ne):
        here, there = f(a, b), f(a.cuda(), b.cuda()).cpu()
        assert torch.equal(here, there) if not f(a, b).is_complex() else torch.allclose(here, there, equal_nan=True)
    small = torch.tensor([0.5 + 1j, -2 + 0.1j, 0j, 3 - 4j])
    power = torch.tensor([2 + 0j, 0.5 - 1j, 2 + 1j, 0j])
    assert torch.allclose(torch.pow(small.cuda(), power.cuda()).cpu(), torch.pow(small, power), rtol=1e-5)


def test_reductions_and_scans():
    x = torch.complex(torch.arange(1.0, 7.0), torch.ones(6)).reshape(2, 3) / 3
    for f in (
        lambda t: t.prod(),
        lambda t: t.prod(1),
        lambda t: t.norm(),
        lambda t: t.logcumsumexp(1),
        lambda t: torch.dist(t, t * 2),
    ):
        assert torch.allclose(f(x.cuda()).cpu(), f(x))
