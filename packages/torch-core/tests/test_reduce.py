"""Reductions against NumPy in double precision, over every layout that the engine tells apart."""

import math

import numpy as np
import pytest
import torch
from torch import _C

noise = np.random.default_rng(0)
SHAPES = [
    (5,),
    (1000,),
    (40003,),
    (300000,),
    (7, 33),
    (1000, 3),
    (3, 1000),
    (2, 70000),
    (70000, 2),
    (33, 4096),
    (4, 5, 6, 7),
    (17, 1, 40, 3),
]
DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def layouts(shape, dtype):
    """The same kind of data dense, transposed and with gaps: (tensor, array)."""
    x = noise.standard_normal(shape) * 3
    x = x > 0 if dtype == "bool" else np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)
    yield torch.from_numpy(x), x
    yield torch.from_numpy(x).permute(*range(x.ndim)[::-1]), x.transpose()
    if x.ndim > 1:
        yield torch.from_numpy(x)[::2].transpose(0, 1)[1:], x[::2].swapaxes(0, 1)[1:]


def dims_of(ndim):
    return [None, *[(d,) for d in range(ndim)], *([(0, ndim - 1)] if ndim > 2 else [])]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_agree_with_numpy(shape, dtype):
    floating = dtype.startswith("float")
    eps = {"float32": 2e-6, "float64": 1e-14, "float16": 1e-3}.get(dtype, 0)
    for t, a in layouts(shape, dtype):
        wide = a.astype(np.float64 if floating else np.int64)
        for dims in dims_of(a.ndim):
            if a.size == 0:
                continue
            got = t.sum(dims)
            assert got.dtype == (t.dtype if floating else torch.int64)
            assert np.allclose(got.double().numpy(), wide.sum(dims), rtol=eps, atol=eps * np.abs(wide).sum(dims).max())
            assert np.array_equal(t.amax(dims or ()).numpy(), a.max(dims)) and np.array_equal(
                t.amin(dims or ()).numpy(), a.min(dims)
            )
            assert np.array_equal(t.count_nonzero(dims).numpy(), np.count_nonzero(a, dims))
            assert np.array_equal(t.any(dims).numpy(), a.any(dims)) and np.array_equal(t.all(dims).numpy(), a.all(dims))
            if floating:
                assert np.allclose(
                    t.mean(dims).double().numpy(), wide.mean(dims), rtol=2 * eps, atol=eps * np.abs(wide).max()
                )
                assert np.allclose(
                    t.var(dims, correction=0).double().numpy(), wide.var(dims), rtol=8 * eps, atol=eps**2
                )
                assert np.allclose(t.norm(2, dims).double().numpy(), np.sqrt((wide**2).sum(dims)), rtol=4 * eps)
                assert np.allclose(t.norm(math.inf, dims).double().numpy(), np.abs(wide).max(dims), rtol=eps)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "float16"])
@pytest.mark.parametrize("shape", [(5,), (40003,), (7, 33), (1000, 3), (3, 1000), (70000, 2), (4, 5, 6)], ids=str)
def test_places_are_those_of_the_first_of_equals(shape, dtype):
    for t, a in layouts(shape, dtype):
        if a.size == 0:
            continue
        assert t.argmax().item() == a.argmax() and t.argmin().item() == a.argmin()
        for d in range(a.ndim):
            values, indices = t.max(d)
            assert np.array_equal(indices.numpy(), a.argmax(d)) and np.array_equal(values.numpy(), a.max(d))
            values, indices = t.min(d, keepdim=True)
            assert np.array_equal(indices.numpy(), np.expand_dims(a.argmin(d), d)) and np.array_equal(
                t.argmin(d).numpy(), a.argmin(d)
            )


def test_long_sums_of_floats_stay_exact():
    n = 3_000_001
    assert torch.full((n,), 0.1).sum().item() == pytest.approx(n * float(np.float32(0.1)), rel=1e-6)
    assert torch.full((n, 2), 0.1).sum(0).tolist() == pytest.approx([n * float(np.float32(0.1))] * 2, rel=1e-6)
    x = torch.tensor([1e16, 1.0, -1e16, 1.0] * 1000, dtype=torch.float64)
    assert x.view(1000, 4).sum(0).sum().item() == 2000.0


def test_variance_does_not_cancel():
    x = torch.from_numpy(noise.standard_normal((5000, 3)) + 1e6)
    assert torch.allclose(x.var(0), torch.from_numpy((x.numpy() - 1e6).var(0, ddof=1)), rtol=1e-9)
    single = (x - 1e6).float() + 1000
    assert np.allclose(single.var(0).numpy(), single.double().numpy().var(0, ddof=1), rtol=1e-5)


def test_nan_is_the_largest_and_the_smallest():
    for n in (3, 100, 5000):
        x = torch.zeros(n)
        x[n // 2] = math.nan
        assert (
            math.isnan(x.max().item())
            and math.isnan(x.min().item())
            and x.argmax().item() == x.argmin().item() == n // 2
        )
        assert math.isnan(x.view(n, 1).amax(0).item()) and x.view(n, 1).max(0).indices.item() == n // 2
        assert math.isnan(x.sum().item()) and x.nansum().item() == 0 and x.nanmean().item() == 0


def test_infinities_are_summed_as_ieee_says():
    for dtype in (torch.float32, torch.float64):
        assert torch.tensor([1.0, math.inf, 2.0], dtype=dtype).sum().item() == math.inf
        assert math.isnan(torch.tensor([math.inf, -math.inf], dtype=dtype).sum().item())
    assert torch.tensor([3e38, 3e38, -3e38]).sum().item() == pytest.approx(3e38)
    assert torch.tensor([1e30, 1e30]).norm().item() == pytest.approx(math.sqrt(2) * 1e30)


def test_empty_reductions_give_the_identity_or_the_error_users_know():
    e = torch.empty(0, 3)
    assert (
        e.sum(0).tolist() == [0, 0, 0]
        and e.prod().item() == 1
        and not e.any()
        and e.all()
        and math.isnan(e.mean().item())
    )
    assert e.sum(1).shape == (0,) and e.amax(1).shape == (0,)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified for input.numel"):
        e.max()
    with pytest.raises(IndexError, match=r"max\(\): Expected reduction dim 0 to have non-zero size"):
        e.max(0)
    with pytest.raises(IndexError, match="argmax"):
        e.argmax(0)


def test_zero_dimensional_tensors_are_their_own_reduction():
    t = torch.tensor(3.0)
    assert (
        t.sum(0).item() == t.max(0).values.item() == t.mean(-1).item() == t.prod().item() == 3
        and t.argmax(0).item() == 0
    )


def test_dims_are_checked():
    t = torch.ones(2, 3)
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 2"):
        t.sum(2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times"):
        t.sum((1, -1))
    with pytest.raises(RuntimeError, match=r"mean\(\): could not infer output dtype.*Got: torch.int64"):
        torch.arange(3).mean()
    with pytest.raises(RuntimeError, match="complex numbers have no order"):
        torch.ones(2, dtype=torch.complex64).max()


def test_dtype_argument_converts_before_adding():
    assert torch.tensor([0.6, 0.6]).sum(dtype=torch.int64).item() == 0
    assert torch.full((3,), 2**31 - 1, dtype=torch.int32).sum(dtype=torch.int32).item() == 2**31 - 3
    assert torch.ones(2, dtype=torch.float16).sum(dtype=torch.float64).dtype == torch.float64
    assert torch.full((70000,), 1, dtype=torch.float16).sum(dtype=torch.float32).item() == 70000
    assert torch.full((300,), 255, dtype=torch.uint8).sum().item() == 300 * 255
    assert torch.tensor([1.0, -1.0]).sum(dtype=torch.bool) and torch.tensor([1.0, -1.0]).sum(0, dtype=torch.bool)


def test_dtype_argument_converts_before_multiplying():
    for x in (
        torch.tensor([0.5, 0.2]),
        torch.tensor([-math.inf, 2]),
        torch.tensor([2**32, 2**32]),
        torch.tensor([1j, 2]),
    ):
        assert x.prod(dtype=torch.bool) and x.prod(0, dtype=torch.bool)
    assert not torch.tensor([0.5, 0.0]).prod(dtype=torch.bool)
    z = torch.tensor([1 + 2j, 3 - 1j])
    for dtype in (torch.float64, torch.int64, torch.float16):
        product = z.prod(dtype=dtype)
        assert product.dtype == dtype and product.item() == 3


def test_complex_sums_products_and_spreads():
    z = noise.standard_normal((40, 3)) + 1j * noise.standard_normal((40, 3))
    t = torch.from_numpy(z)
    assert (
        np.allclose(t.sum(0).numpy(), z.sum(0))
        and np.allclose(t.mean().numpy(), z.mean())
        and np.allclose(t.prod(1).numpy(), z.prod(1))
    )
    assert np.allclose(t.var(0).numpy(), z.var(0, ddof=1)) and np.allclose(t.norm().numpy(), np.linalg.norm(z))


def test_unbiased_and_correction_say_the_same():
    t = torch.from_numpy(noise.standard_normal((4, 5)))
    assert torch.equal(t.var(1), t.var(1, unbiased=True)) and torch.equal(t.std(1, False), t.std(1, correction=0))
    assert t.var(False).shape == () and math.isnan(torch.ones(1).var().item())
    v, m = torch.var_mean(t, 0)
    assert torch.equal(v, t.var(0)) and torch.allclose(m, t.mean(0), rtol=1e-15)


def test_running_reductions():
    a = noise.standard_normal((7, 100, 3))
    t = torch.from_numpy(a)
    for d in range(3):
        assert np.allclose(t.cumsum(d).numpy(), a.cumsum(d)) and np.allclose(t.cumprod(d).numpy(), a.cumprod(d))
        values, indices = t.cummax(d)
        assert np.array_equal(values.numpy(), np.maximum.accumulate(a, d)) and torch.equal(t.gather(d, indices), values)
        assert np.allclose(t.logcumsumexp(d).numpy(), np.logaddexp.accumulate(a, d))
        assert np.array_equal(t.diff(dim=d).numpy(), np.diff(a, axis=d))
    assert torch.tensor([1, 1, 0]).cummax(0).indices.tolist() == [0, 1, 1]
    assert torch.ones(3, dtype=torch.uint8).cumsum(0).dtype == torch.int64


def test_complex_logarithms_of_sums():
    a = noise.standard_normal((4, 6)) * 3 + 1j * noise.uniform(-1, 1, (4, 6))
    t = torch.from_numpy(a)
    assert np.allclose(t.logsumexp(1).numpy(), np.log(np.exp(a).sum(1)))
    got = t.logcumsumexp(1)
    assert np.allclose(got.exp().numpy(), np.exp(a).cumsum(1)) and got.to(torch.complex64).dtype == torch.complex64
    assert np.allclose(torch.logaddexp(t, t.flip(0)).exp().numpy(), np.exp(a) + np.exp(a[::-1]))
    high = torch.tensor([800 + 3j, 800 + 3j])  # of no number that exp() can hold; the angle is not wrapped
    assert high.logcumsumexp(0)[1].item() == pytest.approx(800 + math.log(2) + 3j)
    assert high.logsumexp(0).item() == pytest.approx(800 + math.log(2) + 3j)
    empty = torch.full((2,), -math.inf, dtype=torch.complex64)
    assert empty.logcumsumexp(0).real.tolist() == [-math.inf] * 2 and empty.logsumexp(0).real.item() == -math.inf
    assert torch.logaddexp(empty, torch.tensor([1j, -math.inf])).tolist() == [1j, -math.inf]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.complex128])
def test_linear_recurrences_from_both_ends(dtype):
    recurrence = _C._operator("_linear_recurrence")
    x, f = torch.from_numpy(noise.standard_normal((2, 3, 70, 4))).to(dtype)
    for d in range(3):
        for reverse in (False, True):
            a, b = (t.to(torch.complex128).flip(d) if reverse else t.to(torch.complex128) for t in (x, f))
            want = [a.select(d, 0)]
            for i in range(1, a.shape[d]):
                want.append(a.select(d, i) + b.select(d, i) * want[-1])
            want = torch.stack(want, d)
            got = recurrence(x, f, d, reverse)
            assert got.dtype == dtype
            near = {torch.float16: 2e-3, torch.float32: 1e-6}.get(dtype, 1e-13)
            assert torch.allclose(got.to(torch.complex128), want.flip(d) if reverse else want, rtol=near, atol=near)
    assert recurrence(torch.tensor(2.0), torch.tensor(3.0), 0).item() == 2
    assert recurrence(x.to("meta"), f.to("meta"), 0).is_meta
    with pytest.raises(RuntimeError, match="self and factor must be alike"):
        recurrence(x, f[0], 0)
    with pytest.raises(RuntimeError, match="expects a floating point or complex dtype, got torch.int64"):
        recurrence(torch.arange(3), torch.arange(3), 0)


def test_a_complex_number_without_dims_is_its_own_sum():
    z = torch.tensor(1 + 2j)
    for keepdim in (False, True):
        assert z.sum(0, keepdim).item() == 1 + 2j and z.mean(0, keepdim).item() == 1 + 2j
    assert z.var(0, correction=0).item() == 0 and z.norm(dim=0).item() == pytest.approx(5**0.5)


def test_sum_to_size_counts_what_is_true():
    mask = torch.tensor([[True, True], [False, True]])
    assert torch.equal(mask.sum_to_size(1, 2), torch.tensor([[1, 2]]))


def test_logsumexp_of_half_types_is_rounded_once():
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.from_numpy(noise.standard_normal((50, 4))).to(dtype)
        for given in (x, x - 3):
            assert given.logsumexp(1).equal(given.double().logsumexp(1).to(dtype))


def test_logsumexp_and_distances():
    a = noise.standard_normal((5, 60)) * 50
    t = torch.from_numpy(a)
    assert np.allclose(t.logsumexp(1).numpy(), np.logaddexp.reduce(a, 1)) and t.logsumexp((0, 1)).shape == ()
    assert torch.full((2,), -math.inf).logsumexp(0).item() == -math.inf and torch.tensor([1e4, 1e4]).logsumexp(
        0
    ).item() == pytest.approx(1e4 + math.log(2))
    for p in (0, 0.5, 1, 2, 3, math.inf):
        want = (
            np.count_nonzero(a) if p == 0 else np.abs(a).max() if p == math.inf else (np.abs(a) ** p).sum() ** (1 / p)
        )
        assert t.norm(p).item() == pytest.approx(want, rel=1e-12)
    assert torch.dist(t, 2 * t).item() == pytest.approx(np.linalg.norm(a), rel=1e-12)


def test_bits_do_not_depend_on_the_number_of_threads():
    before = torch.get_num_threads()
    t = torch.from_numpy(noise.standard_normal((700, 1500)).astype(np.float32))
    results = []
    for threads in (1, 2, 7):
        torch.set_num_threads(threads)
        results.append([t.sum(), t.sum(0), t.sum(1), t.t().var(0), t.norm(), t.view(-1).mean(), t.logsumexp(0)])
    torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 15, 16, 17, 33, 100, 1003])
@pytest.mark.parametrize("lines", [1, 3, 4, 9, 35])
def test_running_reductions_of_lines_of_any_length_and_number(lines, n):
    random = np.random.default_rng(n)
    a = random.standard_normal((lines, n)).astype(np.float32)
    t = torch.from_numpy(a)
    assert np.allclose(t.cumsum(1).numpy(), np.cumsum(a.astype(np.float64), 1), rtol=1.2e-7, atol=1e-12)
    assert np.array_equal(t.double().cumsum(1).numpy(), np.cumsum(a.astype(np.float64), 1))
    assert np.array_equal(t.cumprod(1).numpy(), np.cumprod(a.astype(np.float64), 1).astype(np.float32))
    whole = random.integers(-(2**62), 2**62, (lines, n))
    assert np.array_equal(torch.from_numpy(whole).cumsum(1).numpy(), np.cumsum(whole, 1))  # wraps
    if n:
        values, indices = t.cummax(1)
        assert np.array_equal(values.numpy(), np.maximum.accumulate(a, 1))
        assert np.array_equal(np.take_along_axis(a, indices.numpy(), 1), values.numpy())


def test_running_sums_keep_infinities_and_nans_to_the_places_after_them():
    x = torch.arange(40.0)
    x[13] = math.inf
    x[30] = -math.inf
    y = x.cumsum(0)
    assert torch.equal(y[:13], torch.arange(40.0).cumsum(0)[:13])
    assert y[13:30].eq(math.inf).all()
    assert y[30:].isnan().all()


def test_no_differences_are_the_tensor_itself_without_what_goes_beside_it():
    x = torch.tensor([3, 1, 2])
    same = torch.diff(x, n=0, prepend=x, append=x)
    assert same.tolist() == [3, 1, 2] and same.data_ptr() != x.data_ptr()
    assert torch.diff(x, prepend=x[:1]).tolist() == [0, -2, 1]


def test_differences_of_bool_and_numbers_are_numbers():
    x = torch.tensor([True, False, True])
    assert torch.diff(x, prepend=torch.tensor([1.5])).tolist() == [-0.5, -1.0, 1.0]
    assert torch.diff(x, append=torch.tensor([3]), n=2).tolist() == [2, 1]
    assert torch.diff(x).tolist() == [True, True]


def test_any_and_all_over_no_dims_are_the_truth_of_each_element():
    x = torch.tensor([[0.0, 2.0], [math.nan, 0.0]])
    for f in (torch.any, torch.all):
        assert f(x, dim=()).tolist() == [[False, True], [True, False]]
        assert f(x.to(torch.uint8)[:1], dim=()).dtype == torch.uint8
    assert torch.any(x).item() is True and torch.all(x).item() is False


def test_norms_of_real_numbers_are_not_computed_in_complex_ones():
    with pytest.raises(RuntimeError, match="should be real for real inputs, but got torch.complex64 for torch.float32"):
        torch.linalg.vector_norm(torch.ones(3), dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="nanmean.*floating point or complex dtype. Got: torch.int32"):
        torch.nanmean(torch.ones(3), dtype=torch.int32)


def test_running_extremes_and_integrals_say_what_they_cannot_take():
    with pytest.raises(NotImplementedError, match="cummax.*complex numbers have no order"):
        torch.cummax(torch.ones(2, dtype=torch.complex64), 0)
    with pytest.raises(IndexError, match="trapezoid: y must have a dim"):
        torch.trapezoid(torch.tensor(1.0))
    for rule in (torch.trapezoid, torch.cumulative_trapezoid):
        assert rule(torch.ones(2, dtype=torch.float64), dx=0.1).sum().item() == 0.1
        with pytest.raises(TypeError, match="steps are those of x or dx, got both, with dx=3"):
            rule(torch.ones(2), torch.ones(2), dx=3)
        with pytest.raises(RuntimeError, match="only dx as a real number is supported, got"):
            rule(torch.ones(2), dx=1j)
    with pytest.raises(IndexError, match="unique: dim is given, but the tensor has none"):
        torch.unique(torch.tensor(1), dim=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_a_mean_beside_a_variance_is_infinite_where_one_of_the_numbers_is(dtype):
    column = torch.full((3, 1), math.inf, dtype=dtype)
    for x, dim in ((column, 1), (column.t(), 0), (column[:1], (0, 1))):
        for both in (torch.var_mean, torch.std_mean):
            spread, mean = both(x, dim)
            assert spread.isnan().all() and (mean == math.inf).all()
    long = torch.ones(600, 2, dtype=dtype)
    long[3], long[599] = torch.tensor([math.inf, math.inf]), torch.tensor([math.inf, -math.inf])
    for x, dim in ((long, 0), (long.t().contiguous(), 1)):
        mean = torch.var_mean(x, dim)[1]
        assert mean[0] == math.inf and mean[1].isnan()


def test_a_variance_down_columns_is_finite_where_their_sum_is_not():
    spread, mean = torch.var_mean(torch.tensor([[3e38], [2e38], [3e38]]).expand(3, 40).contiguous(), 0)
    assert mean.allclose(torch.full((40,), 8e38 / 3)) and (spread == math.inf).all()


@pytest.mark.parametrize("p", [0.5, 2, 3, -1, 1, math.inf])
def test_the_norm_of_one_number_is_its_size_however_small_or_large(p):
    for dtype, sizes in ((torch.float32, [1e-30, 3e38, -2.0, 0.0]), (torch.float64, [1e-300, 1e308, -2.0, 0.0])):
        x = torch.tensor(sizes, dtype=dtype)
        for norm in (x[:, None].norm(p, 1), x[None].norm(p, 0, keepdim=True)[0]):
            assert norm.tolist() == x.abs().tolist()
        assert torch.linalg.vector_norm(x[0], p).item() == x[0].item()


def test_integrals_of_small_integers_add_up_in_int64():
    y = torch.full((3, 5), 100, dtype=torch.int8)
    assert torch.trapezoid(y).tolist() == [400.0] * 3
    assert torch.trapezoid(y, dx=2, dim=0).tolist() == [400.0] * 5
    y = torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64)
    assert torch.trapezoid(y, dx=0.5).item() == 3.25 and torch.trapezoid(y[:1]).item() == 0


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float64])
def test_an_integral_over_nothing_is_zero_in_the_dtype_of_the_samples(dtype):
    y = torch.empty((2, 0), dtype=dtype)
    for area in (torch.trapezoid(y), torch.trapezoid(y, y), torch.trapezoid(y, dx=2)):
        assert area.dtype == dtype and area.tolist() == [0, 0]


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-19, 1e19, 1e25, 1e37])
@pytest.mark.parametrize("n", [2, 40, 5000])
def test_deviations_of_floats_are_exact_where_their_squares_are_no_floats(scale, n):
    x = torch.from_numpy(noise.standard_normal((n, 3)) * scale).float()
    expected = x.double().std(0)
    for rows in (x, x.t().contiguous().t(), x.repeat(1, 20)[:, :3]):
        assert rows.std(0).double().allclose(expected, rtol=1e-5, atol=0)
        assert torch.std_mean(rows, 0)[0].equal(rows.std(0))
        assert torch.std_mean(rows, 0)[1].double().allclose(x.double().mean(0), rtol=1e-4, atol=scale * 1e-7)
    assert torch.full((n,), scale).std().item() <= scale * 1e-6 >= torch.full((n, 2), scale).std(0).max().item()


@pytest.mark.parametrize("numbers", [[0.0, 600.0, 1200.0], [1e-4, 2e-4, 3e-4]])
def test_deviations_beside_means_need_no_variance_of_halves(numbers):
    x = torch.tensor(numbers, dtype=torch.float16)
    deviation, mean = torch.std_mean(x)
    assert deviation.equal(x.double().std().half()) and mean.equal(x.double().mean().half())


def test_a_variance_that_no_double_can_hold_is_infinite():
    x = torch.tensor([1e200, 2e200], dtype=torch.float64)
    assert x.var().item() == math.inf and x[:, None].var(0).tolist() == [math.inf]


def test_infinities_of_one_sign_have_no_variance():
    for dtype in (torch.float32, torch.float64):
        for x in (torch.full((3,), -math.inf, dtype=dtype), torch.full((3, 40), math.inf, dtype=dtype)):
            assert x.var(0).isnan().all() and x.std(0).isnan().all() and x.var(-1).isnan().all()


def test_norms_are_taken_in_the_dtype_that_is_given():
    x = torch.complex(*[torch.full((1, 2), 3e38)] * 2)
    assert torch.linalg.vector_norm(x[:, :1], dim=1, dtype=torch.complex128).item() == pytest.approx(2**0.5 * 3e38)
    assert torch.linalg.vector_norm(x, dim=1, dtype=torch.complex128).item() == pytest.approx(2 * 3e38)
    with pytest.raises(RuntimeError, match=r"float64\) should be convertible without narrowing .*float32"):
        torch.linalg.vector_norm(torch.ones(3, dtype=torch.float64), dtype=torch.float32)
