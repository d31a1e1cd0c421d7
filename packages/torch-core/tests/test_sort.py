"""Orders along a dim: NumPy's stable sort is the reference."""

import itertools
import math

import numpy as np
import pytest
import torch

noise = np.random.default_rng(0)
DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def sample(shape, dtype, spread=30):
    x = noise.standard_normal(shape) * spread
    return x > 0 if dtype == "bool" else np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1,), (17,), (100,), (399,), (400,), (3000,), (70000,), (3, 50), (50, 3), (4, 5, 6)], ids=str
)
def test_sort_is_stable_in_both_directions(shape, dtype):
    a = sample(shape, dtype)
    t = torch.from_numpy(a)
    for d in range(a.ndim):
        values, indices = t.sort(d)
        assert np.array_equal(indices.numpy(), a.argsort(d, kind="stable")) and np.array_equal(
            values.numpy(), np.sort(a, d)
        )
        wide = a.astype(np.float64)
        values, indices = torch.sort(t, dim=d, descending=True, stable=True)
        assert np.array_equal(indices.numpy(), (-wide).argsort(d, kind="stable"))
        assert torch.equal(values, t.gather(d, indices)) and torch.equal(t.argsort(d, True), indices)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: noise.integers(-(2**63), 2**63 - 1, n),
        lambda n: noise.integers(0, 3, n),
        lambda n: np.full(n, 7),
        lambda n: np.where(np.arange(n) == n // 2, -1, 2**62),
        lambda n: np.arange(n)[::-1].copy(),
        lambda n: noise.standard_normal(n),
        lambda n: noise.standard_normal(n).astype(np.float32) ** 9,
        lambda n: np.exp2(noise.integers(-40, 40, n)).astype(np.float32),
    ],
    ids=["all bits", "few", "equal", "one other", "falling", "double", "skewed", "powers"],
)
def test_a_line_beyond_the_cache_is_sorted_in_parts(make):
    a = make(200003)
    values, indices = torch.from_numpy(a).sort(stable=True)
    assert np.array_equal(indices.numpy(), a.argsort(kind="stable")) and np.array_equal(values.numpy(), np.sort(a))
    values, indices = torch.from_numpy(a).sort(stable=True, descending=True)
    assert np.array_equal(indices.numpy(), len(a) - 1 - a[::-1].argsort(kind="stable")[::-1])


def test_nan_is_above_infinity_and_both_zeros_are_equal():
    x = torch.tensor([math.nan, 1.0, -math.inf, 0.0, -0.0, -math.nan, math.inf])
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        assert x.to(dtype).argsort().tolist() == [2, 3, 4, 1, 6, 0, 5]
        assert x.to(dtype).argsort(descending=True).tolist() == [0, 5, 6, 1, 3, 4, 2]


def test_wide_integers_keep_their_order():
    x = torch.tensor([2**63 - 1, -(2**63), 0, -1, 2**62 + 1, 2**62])
    assert x.argsort().tolist() == [1, 3, 2, 5, 4, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "n, k", [(1, 1), (10, 3), (255, 255), (1000, 1), (1000, 999), (50000, 10), (50000, 5000), (20, 0)]
)
def test_topk_is_the_front_of_a_sort(n, k, dtype):
    a = sample((n,), dtype)
    t = torch.from_numpy(a)
    for largest in (True, False):
        values, indices = t.topk(k, largest=largest)
        assert torch.equal(values, t.sort(descending=largest).values[:k])
        assert torch.equal(indices, t.argsort(descending=largest, stable=True)[:k])
    loose = t.topk(k, sorted=False)
    assert torch.equal(loose.values.sort().values, t.topk(k).values.sort().values) and torch.equal(
        t[loose.indices], loose.values
    )


def test_topk_along_any_dim_and_out_of_range():
    t = torch.from_numpy(sample((6, 5, 4), "float32"))
    for d in range(3):
        values, indices = t.topk(2, d)
        assert torch.equal(values, t.sort(d, descending=True).values.narrow(d, 0, 2)) and torch.equal(
            t.gather(d, indices), values
        )
    with pytest.raises(RuntimeError, match="selected index k out of range.*k=7 from a dimension of size 6"):
        t.topk(7, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 9, 300, 20001])
def test_elements_by_rank(n, dtype):
    a = sample((3, n), dtype)
    t = torch.from_numpy(a)
    ordered = np.sort(a, 1)
    assert (
        np.array_equal(t.median(1).values.numpy(), ordered[:, (n - 1) // 2])
        and t.median().item() == np.sort(a.ravel())[(a.size - 1) // 2]
    )
    for k in {1, n // 2 + 1, n}:
        values, indices = t.kthvalue(k, 1)
        assert np.array_equal(values.numpy(), ordered[:, k - 1]) and torch.equal(
            t.gather(1, indices[:, None])[:, 0], values
        )


def test_median_and_nan():
    t = torch.tensor([[3.0, math.nan, 1.0, 2.0], [4.0, 5.0, 6.0, 7.0]])
    values, indices = t.median(1)
    assert math.isnan(values[0]) and indices.tolist() == [1, 1] and values[1] == 5
    assert t.nanmedian(1).values.tolist() == [2, 5] and math.isnan(t.median().item()) and t.nanmedian().item() == 4
    assert math.isnan(torch.tensor([math.nan]).nanmedian().item())
    with pytest.raises(IndexError, match="median"):
        torch.empty(2, 0).median(1)


def test_mode_is_the_smallest_of_the_most_frequent():
    t = torch.tensor([[3, 1, 3, 1, 2], [5, 5, 4, 4, 4]])
    values, indices = t.mode(1)
    assert values.tolist() == [1, 4] and torch.equal(t.gather(1, indices[:, None])[:, 0], values)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_nan_equals_no_other_element_of_a_mode(dtype):
    nan = math.nan
    t = torch.tensor([[nan, nan, 2, 1, nan], [3, nan, 3, nan, nan], [nan] * 5], dtype=dtype)
    values, indices = t.mode(1)
    assert values[:2].tolist() == [1, 3] and indices[:2].tolist() == [3, 2] and values[2].isnan()
    columns = torch.full((300, 2), nan, dtype=dtype)
    columns[17, 0], columns[::100, 1] = 5, 7
    assert columns.mode(0).values.tolist() == [5, 7]


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_those_of_numpy(interpolation):
    a = noise.standard_normal((6, 11, 4))
    t, q = torch.from_numpy(a), torch.tensor([0.0, 0.13, 0.5, 0.77, 1.0], dtype=torch.float64)
    for d in (0, 1, 2):
        want = np.quantile(a, q.numpy(), d, method=interpolation)
        assert np.allclose(t.quantile(q, d, interpolation=interpolation).numpy(), want)
        assert t.quantile(0.3, d, keepdim=True).shape == tuple(1 if i == d else s for i, s in enumerate(a.shape))
    assert t.quantile(0.25).item() == pytest.approx(np.quantile(a, 0.25))
    a[0, 0, 0] = math.nan
    t = torch.from_numpy(a)
    assert math.isnan(t.quantile(0.5).item()) and t.nanquantile(0.5).item() == pytest.approx(np.nanquantile(a, 0.5))
    with pytest.raises(RuntimeError, match=r"q must be in the range \[0, 1\]"):
        t.quantile(1.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_elements(dtype):
    a = sample((20, 30), dtype, spread=5)
    t = torch.from_numpy(a)
    want, inverse, counts = np.unique(a, return_inverse=True, return_counts=True)
    got = torch.unique(t, return_inverse=True, return_counts=True)
    assert (
        np.array_equal(got[0].numpy(), want)
        and np.array_equal(got[1].numpy(), inverse.reshape(a.shape))
        and np.array_equal(got[2].numpy(), counts)
    )
    assert torch.equal(t.unique(), got[0])


def test_distinct_slices_and_runs():
    t = torch.tensor([[1, 2, 1], [0, 5, 0], [1, 2, 1]])
    rows, inverse, counts = torch.unique(t, dim=0, return_inverse=True, return_counts=True)
    assert rows.tolist() == [[0, 5, 0], [1, 2, 1]] and inverse.tolist() == [1, 0, 1] and counts.tolist() == [1, 2]
    assert torch.unique(t, dim=1).tolist() == [[1, 2], [0, 5], [1, 2]]
    runs = torch.unique_consecutive(torch.tensor([4, 4, 1, 1, 1, 4]), return_inverse=True, return_counts=True)
    assert [r.tolist() for r in runs] == [[4, 1, 4], [0, 0, 1, 1, 1, 2], [2, 3, 1]]
    assert len(torch.unique(torch.tensor([math.nan, math.nan]))) == 2


def test_histogram_and_membership():
    a = noise.standard_normal(1000)
    assert torch.histc(torch.from_numpy(a), 12, -2, 2).tolist() == np.histogram(a, 12, (-2, 2))[0].tolist()
    assert torch.histc(torch.from_numpy(a), 7).tolist() == np.histogram(a, 7)[0].tolist()
    assert torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1])).tolist() == [True, False, True]


def test_bits_do_not_depend_on_the_number_of_threads():
    before = torch.get_num_threads()
    t = torch.from_numpy(noise.integers(0, 50, (200, 900)))
    results = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        results.append([*t.sort(1), *t.topk(17, 0), *t.reshape(-1).sort()])
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("k", [1, 31, 32, 33, 100, 250])
@pytest.mark.parametrize(
    ("order", "dtype"),
    [
        *itertools.product(
            ["rising", "falling", "equal", "few", "noise"],
            [torch.float32, torch.float64, torch.int64, torch.int8, torch.bfloat16],
        ),
        *itertools.product(["nan"], [torch.float32, torch.float64, torch.bfloat16]),
    ],
)
def test_topk_of_a_long_line_keeps_the_first_of_equals(k, order, dtype):
    n = 1000
    values = {
        "rising": torch.arange(n) % 128 if dtype == torch.int8 else torch.arange(n),
        "falling": torch.arange(n).flip(0) % 127,
        "equal": torch.full((n,), 7),
        "few": torch.arange(n) * 7919 % 5,
        "noise": (torch.arange(n) * 7919 + 13) % 1009 % 128,
        "nan": torch.where(torch.arange(n) % 3 == 0, torch.full((n,), math.nan), torch.arange(n) * 7919 % 1009.0),
    }[order]
    t = values.to(dtype)
    for largest in (True, False):
        found = t.topk(k, largest=largest)
        want = t.sort(descending=largest, stable=True)
        assert torch.equal(found.indices, want.indices[:k])
        assert torch.equal(found.values.isnan(), want.values[:k].isnan())
        loose = t.topk(k, largest=largest, sorted=False).indices.sort().values
        assert torch.equal(loose, want.indices[:k].sort().values)
