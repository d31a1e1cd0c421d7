"""Reductions: the CPU's results over any dims, strides and dtypes; the same bits every time."""

import math

import pytest
import torch
from test_elementwise import DTYPES, numbers

REAL = [d for d in DTYPES if not d.is_complex]


def close(there, here):
    assert there.is_cuda and there.dtype == here.dtype and there.shape == here.shape
    back = there.cpu()
    if here.dtype.is_floating_point or here.dtype.is_complex:
        tolerance = 1e-2 if here.dtype.itemsize == 2 else 2e-5
        assert torch.allclose(back, here, rtol=tolerance, atol=tolerance, equal_nan=True), (back, here)
    else:
        assert torch.equal(back, here)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2), (1, 2), -1])
def test_sums_over_dims(dim, dtype):
    x = numbers((5, 70, 33), dtype)
    close(x.cuda().sum(dim), x.sum(dim))
    close(x.cuda().permute(2, 0, 1).sum(dim, keepdim=True), x.permute(2, 0, 1).sum(dim, keepdim=True))
    if dtype.is_floating_point or dtype.is_complex:
        close(x.cuda()[:, ::2].mean(dim), x[:, ::2].mean(dim))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_extremes_and_their_first_places(dim, dtype):
    x = numbers((4, 50, 37), dtype)  # small integers: many ties
    for op in (torch.max, torch.min):
        there, here = op(x.cuda(), dim), op(x, dim)
        close(there.values, here.values)
        close(there.indices, here.indices)
    close(x.cuda().amax((0, dim) if dim else 0), x.amax((0, dim) if dim else 0))
    close(x.cuda().argmin(), x.argmin())
    close(x.cuda().transpose(0, 2).argmax(dim), x.transpose(0, 2).argmax(dim))


def test_nan_is_above_and_below_all():
    x = torch.tensor([1.0, math.nan, 5.0, math.nan, -math.inf])
    assert x.cuda().argmax().item() == x.cuda().argmin().item() == 1
    assert math.isnan(x.cuda().max().item()) and math.isnan(x.cuda().amin(0).item())


@pytest.mark.parametrize("dtype", REAL)
def test_products_counts_and_questions(dtype):
    x = numbers((6, 9), dtype)
    close(x.cuda().prod(1), x.prod(1))
    close(x.cuda().count_nonzero(0), x.count_nonzero(0))
    close(x.cuda().any(1), x.any(1))
    close(x.cuda().all(), x.all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.complex64])
def test_moments_and_norms(dtype):
    x = numbers((7, 300), dtype)
    for dim in (None, 0, 1):
        close(x.cuda().var(dim), x.var(dim))
        close(x.cuda().std(dim, correction=0), x.std(dim, correction=0))
    close(torch.var_mean(x.cuda(), 1)[1], torch.var_mean(x, 1)[1])
    for p in (0, 1, 2, math.inf, -math.inf):
        if not dtype.is_complex:
            close(torch.linalg.vector_norm(x.cuda(), p, 1), torch.linalg.vector_norm(x, p, 1))


@pytest.mark.parametrize("shape", [(1_000_003,), (3, 300_001), (300_001, 3), (100, 10_007), (10_007, 100)])
def test_much_is_cut_into_pieces_by_shape_alone(shape):
    x = torch.arange(math.prod(shape), dtype=torch.float64).remainder(1013).reshape(shape).to(torch.float32)
    for dim in range(len(shape)):
        there = x.cuda().sum(dim)
        assert torch.equal(there.cpu(), x.double().sum(dim).float())
        assert torch.equal(there, x.cuda().sum(dim))
    assert x.cuda().argmax().item() == 1012


def test_empty_ones_and_numbers():
    x = torch.empty(0, 3, device="cuda")
    assert x.sum().item() == 0 and x.sum(0).tolist() == [0, 0, 0] and x.prod(0).tolist() == [1, 1, 1]
    assert math.isnan(x.mean().item()) and x.all().item() and not x.any().item()
    assert torch.tensor(5.0, device="cuda").sum().item() == 5
    with pytest.raises(IndexError, match="non-zero size"):
        x.max(0)
    assert x.sum(1).shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "cumsum", "logsumexp", "var"])
def test_no_lines_of_some_elements(name, dtype):
    if dtype != torch.float32 and name in ("mean", "logsumexp", "var"):
        pytest.skip("of floats")
    x = torch.ones(5, 0, dtype=dtype)
    here, there = (getattr(torch, name)(t, 0) for t in (x, x.cuda()))
    assert (here.shape, here.dtype) == (there.shape, there.dtype) and there.tolist() == here.tolist()


def test_many_dims():
    x = torch.arange(2.0**12).reshape([2] * 12)
    dims = tuple(range(0, 12, 2))
    close(x.cuda().sum(dims), x.sum(dims))


def test_joined_tensors():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(3.0, 9.0).reshape(3, 2).t()
    for dim in (0, 1):
        close(torch.cat([a.cuda(), b.cuda()], dim), torch.cat([a, b], dim))
        close(torch.stack([a.cuda(), b.cuda()], dim), torch.stack([a, b], dim))
    close(torch.cat([a.cuda().int(), b.cuda()]), torch.cat([a.int(), b]))
    with pytest.raises(RuntimeError, match="same device"):
        torch.cat([a.cuda(), b])
