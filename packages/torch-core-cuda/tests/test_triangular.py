"""Systems with triangular matrices are solved where they are: 32 rows after the others, with products between."""

import pytest
import torch
from torch._cuda import _native

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def numbers(*shape, dtype=torch.float64, seed=0):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def system(batch, n, columns, dtype):
    """Matrices of any numbers off the diagonal, small enough that solutions stay small, and right sides."""
    a = numbers(*batch, n, n, dtype=dtype) / max(n, 1)
    a.diagonal(dim1=-2, dim2=-1).copy_(numbers(*batch, n, dtype=dtype, seed=1).abs() + 1)
    return a, numbers(*batch, n, columns, dtype=dtype, seed=2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch, n, columns", [((), 1, 1), ((2,), 5, 3), ((2, 3), 32, 2), ((), 33, 140), ((2,), 97, 1)])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_left_and_right_solutions_are_the_cpus(upper, unit, batch, n, columns, dtype):
    a, b = system(batch, n, columns, dtype)
    for left, right_side in ((True, b), (False, b.mT), (True, b.mT.contiguous().mT)):
        options = {"upper": upper, "left": left, "unitriangular": unit}
        here = torch.linalg.solve_triangular(a, right_side, **options)
        there = torch.linalg.solve_triangular(a.cuda(), right_side.cuda(), **options)
        assert there.is_cuda and there.stride() == here.stride()
        assert torch.allclose(there.cpu(), here, rtol=1e-3 if dtype.itemsize // (1 + dtype.is_complex) == 4 else 1e-10)


def test_batches_are_broadcast_and_transposes_read_in_place():
    a, _ = system((3, 1), 40, 1, torch.float64)
    b = numbers(1, 4, 40, 2)
    x = torch.linalg.solve_triangular(a.cuda().mT, b.cuda(), upper=False)
    assert torch.allclose(x.cpu(), torch.linalg.solve_triangular(a.mT, b, upper=False))


def test_the_other_triangle_and_a_diagonal_of_ones_are_not_read():
    a, b = (t.cuda() for t in system((), 40, 2, torch.float64))
    expected = torch.linalg.solve_triangular(a, b, upper=True, unitriangular=True)
    a[torch.ones_like(a).tril().bool()] = float("nan")
    assert torch.equal(torch.linalg.solve_triangular(a, b, upper=True, unitriangular=True), expected)


def test_a_zero_on_the_diagonal_gives_infinity_as_on_the_cpu():
    a = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    b = torch.tensor([[1.0], [1.0]])
    assert torch.linalg.solve_triangular(a.cuda(), b.cuda(), upper=True).tolist() == [[-float("inf")], [float("inf")]]


def test_nothing_waits_either_in_what_is_made_of_it():
    _native.configure(lazy=True)
    a, b = (t.cuda() for t in system((2,), 70, 3, torch.float32))
    before = _native.counts()["waits"]
    x = torch.linalg.solve_triangular(a, b, upper=True)
    y = torch.cholesky_solve(b, a, upper=True)
    assert _native.counts()["waits"] == before
    a, b = a.cpu(), b.cpu()
    assert torch.allclose(x.cpu(), torch.linalg.solve_triangular(a, b, upper=True), rtol=1e-3)
    assert torch.allclose(y.cpu(), torch.cholesky_solve(b, a, upper=True), rtol=1e-3)


def test_half_types_and_matrices_of_two_devices_are_refused():
    eye = torch.eye(2, device="cuda")
    with pytest.raises(RuntimeError, match="cuda:0.*cpu|cpu.*cuda:0"):
        torch.linalg.solve_triangular(eye, eye.cpu(), upper=True)
    with pytest.raises(RuntimeError, match="Low precision|not implemented|float16"):
        torch.linalg.solve_triangular(eye.half(), eye.half(), upper=True)
