"""Indices: the CPU's results for reading, writing and adding; what is out of range is told at the next wait."""

import pytest
import torch
from test_elementwise import DTYPES, numbers, same

X = torch.arange(60.0).reshape(3, 4, 5)
PLACES = torch.tensor([[2, 0, 1, 1], [0, 0, 3, 2]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_slices_of_every_dtype(dtype):
    x, at = numbers((5, 6), dtype), torch.tensor([[0, 5, 2], [3, 3, 1]])
    same(torch.gather(x.cuda(), 1, at.cuda()), torch.gather(x, 1, at))
    same(torch.gather(x.cuda().t(), 0, at.cuda().t()), torch.gather(x.t(), 0, at.t()))
    same(x.cuda().index_select(1, at[0].cuda()), x.index_select(1, at[0]))
    same(x.cuda()[:, at.cuda()], x[:, at])
    same(x.cuda().take(at.cuda() - 3), x.take(at - 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_adding_where_indices_meet(dtype):
    """Integers and halves of integers: sums are exact, whatever the order."""
    x = (
        (numbers((4, 7), dtype) if dtype != torch.bool else torch.zeros(4, 7)).round()
        if dtype.is_floating_point
        else numbers((4, 7), dtype)
    )
    source, at = x.flip(0) if not dtype.is_complex else x, torch.tensor([1, 1, 0, 1])
    same(x.cuda().index_add(0, at.cuda(), source.cuda()), x.index_add(0, at, source))
    where = at[:, None].expand(4, 7)
    same(x.cuda().scatter_add(0, where.cuda(), source.cuda()), x.scatter_add(0, where, source))
    same(x.cuda().index_put((at.cuda(),), source.cuda(), accumulate=True), x.index_put((at,), source, accumulate=True))


def test_writing():
    at, source = torch.tensor([2, 0]), -torch.arange(40.0).reshape(2, 4, 5)
    same(X.cuda().index_copy(0, at.cuda(), source.cuda()), X.index_copy(0, at, source))
    same(X.cuda().index_fill(1, at.cuda(), 7), X.index_fill(1, at, 7))
    same(X.cuda().scatter(0, at.reshape(2, 1, 1).cuda(), source.cuda()), X.scatter(0, at.reshape(2, 1, 1), source))
    same(X.cuda().scatter(2, at.reshape(2, 1, 1).cuda(), 9.0), X.scatter(2, at.reshape(2, 1, 1), 9.0))
    y = X.cuda()
    y[at.cuda(), 1] = 5
    z = X.clone()
    z[at, 1] = 5
    same(y, z)
    same(X.cuda().put(at.cuda(), source.cuda()[0, 0, :2]), X.put(at, source[0, 0, :2]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_several_indices_and_negative_ones(dtype):
    a, b = torch.tensor([0, -1, 1], dtype=dtype), torch.tensor([[3], [-4]], dtype=dtype)
    same(X.cuda()[a.cuda(), b.cuda()], X[a, b])
    same(X.cuda()[:, b.cuda(), a.cuda()], X[:, b, a])
    same(X.cuda()[a.cuda(), :, b.cuda()], X[a, :, b])
    same(X.cuda().permute(2, 0, 1)[a.cuda()], X.permute(2, 0, 1)[a])


def test_embeddings():
    table = torch.arange(12.0).reshape(4, 3)

    same(torch.embedding(table.cuda(), PLACES.cuda()), torch.embedding(table, PLACES))
    grad = torch.ones(2, 4, 3)
    backward = torch._C._operator("embedding_dense_backward")
    same(backward(grad.cuda(), PLACES.cuda(), 4, 0, False), backward(grad, PLACES, 4, 0, False))


def test_what_is_out_of_range_is_told_and_the_device_goes_on():
    x, bad = X.cuda(), torch.tensor([1, 10], device="cuda")
    for call, text in (
        (lambda: x.index_select(1, bad), "index 10 is out of bounds for dimension 1 with size 4"),
        (
            lambda: torch.gather(x, 0, bad.reshape(1, 1, 2)),
            "gather: index 10 is out of bounds for dimension 0 with size 3",
        ),
        (lambda: x[bad], "index: index 10 is out of bounds for dimension 0 with size 3"),
        (lambda: x.index_add_(2, bad, X[:, :, :2].cuda()), r"index_add\(\): index 10 is out of bounds for dimension 2"),
        (lambda: x.scatter_(0, bad.reshape(1, 1, 2) - 12, 0.0), "scatter: index -"),
    ):
        result = call()
        with pytest.raises(IndexError, match=text):
            result.cpu()
    assert x.sum().item() > 0


def test_nothing_is_written_beyond_the_end():
    x = torch.zeros(4, device="cuda")
    x.index_fill_(0, torch.tensor([100], device="cuda"), 5)
    with pytest.raises(IndexError, match="index 100"):
        torch.cuda.synchronize()
    assert x.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("with_self", [True, False])
def test_reductions_at_indices(how, dtype, with_self):
    if (dtype.is_complex and how in ("amax", "amin")) or (dtype == torch.bool and how == "mean"):
        return
    at = torch.tensor([[0, 2, 0], [2, 2, 1], [0, 1, 0], [2, 0, 2]])
    x, y = numbers((3, 3), dtype), numbers((4, 3), dtype, 1)
    here = x.scatter_reduce(0, at, y, how, include_self=with_self)
    for exact in (False, True):
        torch.use_deterministic_algorithms(exact)
        try:
            there = x.cuda().scatter_reduce(0, at.cuda(), y.cuda(), how, include_self=with_self)
        finally:
            torch.use_deterministic_algorithms(False)
        assert there.dtype == dtype and torch.allclose(there.cpu(), here, rtol=1e-2 if dtype.itemsize == 2 else 1e-5)


def test_a_nan_is_the_extreme_of_what_meets_it():
    at, y = torch.tensor([0, 0, 1]), torch.tensor([1.0, float("nan"), 2.0])
    for how in ("amax", "amin"):
        there = torch.zeros(2).cuda().scatter_reduce(0, at.cuda(), y.cuda(), how).cpu()
        assert there[0].isnan() and there[1] == (2 if how == "amax" else 0)


def test_a_number_of_the_device_is_an_index_of_the_cpu_too():
    x, at = torch.arange(12.0).reshape(3, 4), torch.tensor(2, device="cuda")
    assert torch.equal(x[at], x[2]) and torch.equal(x[:, at], x[:, 2]) and x[at, at - 1].item() == 9
    x[at] = 0
    assert x.sum().item() == 28 and [7, 8, 9][at] == 9
    for index in (at[None], torch.tensor(True, device="cuda")):
        with pytest.raises(RuntimeError, match="index: Expected all tensors to be on the same device.*cpu.*cuda:0"):
            x[index]
