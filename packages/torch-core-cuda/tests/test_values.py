"""Scans, orders, masks and results whose size is in the values: as on the CPU."""

import itertools

import pytest
import torch
from test_elementwise import DTYPES, numbers, same

REAL = [t for t in DTYPES if not t.is_complex]
#: lines of a thread and of a block
SHAPES = [((), 0), ((7,), 0), ((3, 40), 1), ((40, 3), 0), ((3, 0), 1), ((2, 70, 3), 1)]


def both(f, *tensors):
    """f on the CPU and on CUDA, which shall give the same."""
    here, there = f(*tensors), f(*(t.cuda() for t in tensors))
    here, there = [(r,) if isinstance(r, torch.Tensor) else r for r in (here, there)]
    for a, b in zip(there, here, strict=True):
        if b.is_floating_point() or b.is_complex():
            assert a.is_cuda and a.dtype == b.dtype and a.shape == b.shape
            assert torch.allclose(a.cpu(), b, rtol=1e-5, atol=1e-6, equal_nan=True), (a, b)
        else:
            same(a, b)


def mixed(shape, dtype):
    """Numbers with equals among them, and NaN where there are any."""
    x = numbers(shape, dtype)
    if dtype.is_floating_point and x.numel() > 5:
        x = (x * 2).round() / 2
        x.view(-1)[3] = float("nan")
        x.view(-1)[5] = -0.0
    return x


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_running_sums_and_extremes(shape, dim, dtype):
    x = numbers(shape, dtype)
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        both(
            lambda t, name=name: getattr(t, name)(dim),
            x if name != "cumprod" else x.clamp(-1, 1) if dtype != torch.bool else x,
        )
    both(lambda t: t.cummax(dim), mixed(shape, dtype))
    if dtype.is_floating_point:
        both(lambda t: t.logcumsumexp(dim), x)


def test_running_sums_that_go_over_many_blocks_are_exact_for_integers():
    x = numbers((300_000,), torch.int32)
    both(lambda t: t.cumsum(0), x)
    both(lambda t: (t > 0).nonzero(), x)
    both(lambda t: t.t().cumsum(0), x.reshape(2, -1))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_running_sums_of_complex_numbers(dtype):
    x = numbers((3, 50), dtype)
    both(lambda t: t.cumsum(1), x)
    both(lambda t: t.cumprod(0), x)
    here = x.logcumsumexp(1)
    assert torch.allclose(x.cuda().logcumsumexp(1).cpu(), here, rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrences(reverse):
    operator = torch._C._operator("_linear_recurrence")
    for shape, dim in (((5,), 0), ((3, 2000), 1), ((60, 3), 0)):
        x, f = numbers(shape, torch.float32), numbers(shape, torch.float32, 1).tanh()
        both(lambda a, b, dim=dim: operator(a, b, dim, reverse), x, f)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_orders(shape, dim, dtype):
    x = mixed(shape, dtype)
    for descending in (False, True):
        both(lambda t, d=descending: t.sort(dim, d, stable=True), x)
        both(lambda t, d=descending: t.argsort(dim, d, stable=True), x)
    n = x.size(dim) if x.dim() else 1
    for k in {0, min(n, 1), n // 2, n}:
        both(lambda t, k=k: t.topk(k, dim), x)
        both(lambda t, k=k: t.topk(k, dim, largest=False), x)
    if x.numel():
        both(lambda t: t.kthvalue((n + 1) // 2, dim), x)
        both(lambda t: t.median(dim), x)
        both(lambda t: t.nanmedian(dim, keepdim=True), x)
        both(lambda t: t.mode(dim), x)
        both(lambda t: t.median(), x)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.float32, torch.int64])
def test_lines_of_many_tiles(dtype):
    x = numbers((3, 1500), dtype)
    both(lambda t: t.sort(1, descending=True, stable=True), x)
    both(lambda t: t.cummax(1), x)
    both(lambda t: t.cumsum(1), x)
    both(lambda t: t.flatten().sort(stable=True), x)


@pytest.mark.parametrize("dtype", REAL)
def test_distinct_elements(dtype):
    x = mixed((6, 40), dtype)
    both(lambda t: torch.unique(t, return_inverse=True, return_counts=True), x)
    both(lambda t: torch.unique_consecutive(t, return_inverse=True, return_counts=True), x)
    rows = mixed((4, 3), dtype)[torch.tensor([2, 0, 2, 1, 0])]
    both(lambda t: torch.unique(t, dim=0, return_inverse=True, return_counts=True), rows)
    both(lambda t: torch.unique_consecutive(t.t(), dim=1, return_counts=True), rows)
    both(lambda t: torch.unique(t), x[:0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_choose(dtype):
    x = numbers((5, 300), dtype)
    mask = torch.arange(1500).reshape(5, 300) % 3 == 0
    both(lambda t, m: t.masked_select(m), x, mask)
    both(lambda t, m: t[m], x, mask)
    both(lambda t, m: t[m[:, 0]], x, mask)
    both(lambda t, m: t.masked_scatter(m, t.flip(0)), x, mask)
    both(lambda t, m: t.masked_scatter(m[0], t.t().contiguous()), x, mask)
    both(lambda t, m: t.masked_fill(m, 1), x, mask)

    def assigned(t, m):
        t = t.clone()
        t[m] = t.flip(1)[m]
        t[m[:, 1], 2:4] = 1
        return t

    both(assigned, x, mask)


def test_positions():
    x = torch.tensor([[[0, 1.5], [float("nan"), 0]], [[-0.0, 0], [2, 3]]])
    both(lambda t: t.nonzero(), x)
    both(lambda t: t.nonzero(as_tuple=True), x)
    both(lambda t: torch.where(t > 0), x)
    both(lambda t: t[0, 0, 0].nonzero(), x)
    both(lambda t: torch.zeros_like(t).nonzero(), x)
    both(lambda t: t.argwhere(), x)
    both(lambda t: t.count_nonzero(1), x)


def test_too_few_values_are_refused():
    x = torch.zeros(4, device="cuda")
    with pytest.raises(RuntimeError, match=r"number of elements of source \(2\)"):
        x.masked_scatter_(torch.ones(4, dtype=torch.bool, device="cuda"), x[:2].clone())
    with pytest.raises(RuntimeError, match="masked_select: Expected all tensors to be on the same device"):
        x.masked_select(torch.ones(4, dtype=torch.bool))


def test_counts():
    x = torch.tensor([3, 1, 3, 0, 7])
    both(lambda t: torch.bincount(t), x)
    both(lambda t: torch.bincount(t, minlength=12), x)
    both(lambda t: torch.bincount(t, weights=t * 0.5), x)
    both(lambda t: torch._C._operator("one_hot")(t, -1), x)
    both(lambda t: torch._C._operator("one_hot")(t, 9), x)
    y = numbers((400,), torch.float32)
    for dtype, (low, high) in itertools.product((torch.float32, torch.float64), ((0, 0), (-1, 2))):
        both(lambda t, d=dtype, low=low, high=high: torch.histc(t.to(d), 7, low, high), y)
    both(lambda t: torch.histc(t[:0], 4), y)
    assert torch.histc(x.cuda(), 4).tolist() == [2, 2, 0, 1]  # integers, which the CPU refuses
    assert torch.histc(x.cuda(), 8, 0, 7).tolist() == torch.bincount(x).tolist()
    places = torch.histc(torch.arange(50, dtype=torch.int32, device="cuda"), 49, 0, 49)
    assert places.dtype == torch.int32 and places.tolist() == [1] * 48 + [2]
    with pytest.raises(RuntimeError, match="only supports 1-d non-negative integral inputs, got -1"):
        torch.bincount(x.cuda() - 1)
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes, got 7 with num_classes=4"):
        torch._C._operator("one_hot")(x.cuda(), 4)


def test_searching():
    bounds = torch.tensor([[1.0, 3, 3, 5], [0, 2, 4, float("nan")]])
    values = torch.tensor([[3.0, 0, 9], [float("nan"), 4, -1]])
    for right in (False, True):
        both(lambda b, v, r=right: torch.searchsorted(b, v, right=r), bounds, values)
        both(lambda b, v, r=right: torch.searchsorted(b[0], v, right=r, out_int32=True), bounds, values)
        both(lambda b, v, r=right: torch.bucketize(v, b[0], right=r), bounds, values)
        both(lambda b, v, r=right: torch.bucketize(3, b[0], right=r), bounds, values)
    order = torch.tensor([3, 0, 1, 2])
    both(lambda b, v, o: torch.searchsorted(b[0][o], v, sorter=o.argsort()), bounds, values, order)
    with pytest.raises(RuntimeError, match="sorter index out of range"):
        torch.searchsorted(bounds[0].cuda(), values.cuda(), sorter=order.cuda() + 1)
    both(lambda v: torch.isin(v, v[0]), values)
    both(lambda v: torch.isin(v, v[0], invert=True), values)
    both(lambda v: torch.isin(v, v[:, :0]), values)
    both(lambda v: torch.isin(v, 3.0), values)


def test_quantiles():
    x = mixed((5, 60), torch.float32)
    both(lambda t: t.quantile(0.3, 1), x)
    both(lambda t: t.nanquantile(0.7, 1), x)
    both(lambda t: t.quantile(t.new_tensor([0.1, 0.9])), torch.nan_to_num(x))
