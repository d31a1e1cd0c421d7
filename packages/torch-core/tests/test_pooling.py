"""Pooling against loops over windows in NumPy."""

import itertools

import numpy as np
import pytest
import torch

RNG = np.random.default_rng(1)
op = torch._C._operator


def noise(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def per_dim(value, dims):
    return (value,) * dims if isinstance(value, int) else tuple(value)


def windows(spatial, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The output size, and for each output the taps (number, place) that lie inside, and the window's unclipped bounds."""
    dims = len(spatial)
    kernel, padding, dilation = per_dim(kernel_size, dims), per_dim(padding, dims), per_dim(dilation, dims)
    stride = kernel if stride is None else per_dim(stride, dims)
    out = []
    for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation):
        room = n + 2 * p - d * (k - 1) - 1
        size = (room + (s - 1 if ceil_mode else 0)) // s + 1
        out.append(size - 1 if ceil_mode and (size - 1) * s >= n + p else size)
    places = {}
    for o in itertools.product(*map(range, out)):
        start = [i * s - p for i, s, p in zip(o, stride, padding)]
        taps = []
        for number, tap in enumerate(itertools.product(*map(range, kernel))):
            at = tuple(a + t * d for a, t, d in zip(start, tap, dilation))
            if all(0 <= a < n for a, n in zip(at, spatial)):
                taps.append((number, at))
        clipped = np.prod([min(a + k, n + p) - a for a, k, n, p in zip(start, kernel, spatial, padding)])
        places[o] = taps, int(clipped)
    return out, places


def max_reference(x, dims, **arguments):
    spatial = x.shape[-dims:]
    out, places = windows(spatial, **arguments)
    y, index = np.empty((*x.shape[:-dims], *out), x.dtype), np.empty((*x.shape[:-dims], *out), "int64")
    for o, (taps, _) in places.items():
        flat = np.array([np.ravel_multi_index(at, spatial) for _, at in taps])
        values = x.reshape(*x.shape[:-dims], -1)[..., flat]
        best = np.argmax(values, axis=-1)
        y[(..., *o)] = np.take_along_axis(values, best[..., None], -1)[..., 0]
        index[(..., *o)] = flat[best]
    return y, index


def average_reference(x, dims, count_include_pad=True, divisor_override=None, **arguments):
    out, places = windows(x.shape[-dims:], **arguments)
    y = np.empty((*x.shape[:-dims], *out))
    for o, (taps, clipped) in places.items():
        total = sum(x[(..., *at)].astype("float64") for _, at in taps)
        y[(..., *o)] = total / (divisor_override or (clipped if count_include_pad else len(taps)))
    return y


MAX = {1: torch.max_pool1d, 2: torch.max_pool2d, 3: torch.max_pool3d}
INDICES = {1: torch.max_pool1d_with_indices, 2: torch.max_pool2d_with_indices, 3: torch.max_pool3d_with_indices}
AVERAGE = {1: torch.avg_pool1d, 2: torch.avg_pool2d, 3: torch.avg_pool3d}

CASES = [  # input, spatial dims, arguments
    ((2, 3, 20), 1, {"kernel_size": 3}),
    ((2, 3, 8, 9), 2, {"kernel_size": 2}),
    ((2, 3, 17, 40), 2, {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((2, 3, 9, 11), 2, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    ((2, 2, 8, 40), 2, {"kernel_size": (2, 3), "stride": (1, 1)}),
    ((1, 2, 7, 50), 2, {"kernel_size": (3, 2), "stride": (2, 3), "padding": (1, 0), "ceil_mode": True}),
    ((3, 10, 10), 2, {"kernel_size": 5, "stride": 1, "padding": 2}),
    ((2, 2, 5, 6, 7), 3, {"kernel_size": (2, 3, 2), "stride": (1, 2, 2), "padding": (0, 1, 1)}),
    ((1, 1, 20, 40), 2, {"kernel_size": (9, 36)}),
    ((2, 37, 9, 11), 2, {"kernel_size": 3, "stride": 2, "padding": 1}),
    ((2, 64, 5, 4), 2, {"kernel_size": 2, "stride": 1}),
]


def in_rows(x):
    return torch.from_numpy(x)


def channels_last(x):
    return torch.from_numpy(x).contiguous(memory_format={4: torch.channels_last, 5: torch.channels_last_3d}[x.ndim])


IN_BOTH_ORDERS = [
    (*case, order) for case in CASES for order in (in_rows, channels_last) if len(case[0]) > 3 or order is in_rows
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape, dims, arguments, order", IN_BOTH_ORDERS)
def test_max_pool_takes_the_first_largest_element_of_each_window(shape, dims, arguments, order, dtype):
    x = RNG.integers(-9, 9, shape).astype(dtype)
    y, index = max_reference(x, dims, **arguments)
    np.testing.assert_array_equal(MAX[dims](order(x), **arguments).numpy(), y)
    values, indices = INDICES[dims](order(x), **arguments)
    np.testing.assert_array_equal(values.numpy(), y)
    np.testing.assert_array_equal(indices.numpy(), index)


@pytest.mark.parametrize(
    "shape, dims, arguments, order",
    [
        *IN_BOTH_ORDERS,
        ((1, 2, 9, 20), 2, {"kernel_size": 3, "dilation": 2, "padding": 1}, in_rows),
        ((1, 70, 9, 20), 2, {"kernel_size": 3, "dilation": 2, "padding": 1}, channels_last),
    ],
)
def test_dilated_windows_and_gradients_of_maxima_go_to_the_winners(shape, dims, arguments, order):
    x = noise(*shape)
    y, index = max_reference(x, dims, **arguments)
    kernel = per_dim(arguments["kernel_size"], dims)
    geometry = [kernel, per_dim(arguments.get("stride", kernel), dims)]
    geometry += [per_dim(arguments.get(k, d), dims) for k, d in (("padding", 0), ("dilation", 1))]
    values, winners = op("max_pool")(order(x), *geometry, arguments.get("ceil_mode", False), True)
    np.testing.assert_array_equal(values.numpy(), y)
    g = noise(*y.shape)
    want = np.zeros((*x.shape[:-dims], int(np.prod(x.shape[-dims:]))))
    flat_index, flat_g = index.reshape(*x.shape[:-dims], -1), g.reshape(*x.shape[:-dims], -1)
    for plane in np.ndindex(*x.shape[:-dims]):
        np.add.at(want[plane], flat_index[plane], flat_g[plane])
    got = op("max_pool_backward")(order(g), winners, x.shape[-dims:], *geometry)
    np.testing.assert_allclose(got.numpy(), want.reshape(x.shape), rtol=1e-5, atol=1e-6)
    gathered = op("max_pool_gather")(order(x), winners, *geometry)
    np.testing.assert_array_equal(gathered.numpy(), y)
    doubles = op("max_pool_backward")(torch.from_numpy(g.astype("float64")), winners, x.shape[-dims:], *geometry)
    np.testing.assert_allclose(doubles.numpy(), want.reshape(x.shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("extra", [{}, {"count_include_pad": False}, {"divisor_override": 3}])
@pytest.mark.parametrize("shape, dims, arguments", CASES)
def test_average_pool_and_its_gradient(shape, dims, arguments, extra, dtype):
    if dims == 1 and "divisor_override" in extra:
        pytest.skip("avg_pool1d has no divisor_override")
    x = noise(*shape, dtype=dtype)
    y = average_reference(x, dims, **arguments, **extra)
    got = AVERAGE[dims](torch.from_numpy(x), **arguments, **extra)
    np.testing.assert_allclose(got.numpy(), y, rtol=1e-5, atol=1e-5 if dtype == "float32" else 1e-12)
    # the gradient is the adjoint: <average(v), g> = <v, gradient(g)>
    g, v = noise(*y.shape, dtype=dtype), noise(*shape, dtype=dtype)
    kernel = per_dim(arguments["kernel_size"], dims)
    back = op("avg_pool_backward")(
        torch.from_numpy(g), shape[-dims:], kernel, per_dim(arguments.get("stride", kernel), dims),
        per_dim(arguments.get("padding", 0), dims), arguments.get("ceil_mode", False),
        extra.get("count_include_pad", True), extra.get("divisor_override"),
    )  # fmt: skip
    want = (average_reference(v, dims, **arguments, **extra) * g).sum()
    assert np.isclose((back.numpy().astype("float64") * v).sum(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shape, out",
    [
        ((2, 3, 10), (4,)),
        ((2, 3, 7, 9), (1, 1)),
        ((2, 3, 7, 9), (3, 5)),
        ((2, 5, 6, 4), (3, 2, 4)),
        ((2, 3, 4, 5), (6, 5)),
    ],
)
def test_adaptive_windows_cover_the_input(shape, out):
    dims, x = len(out), noise(*shape)
    bins = [[(i * n // o, -(-(i + 1) * n // o)) for i in range(o)] for n, o in zip(shape[-dims:], out)]
    average, largest = np.empty((*shape[:-dims], *out)), np.empty((*shape[:-dims], *out))
    for o in np.ndindex(*out):
        piece = x[(..., *(slice(*bins[k][i]) for k, i in enumerate(o)))].astype("float64")
        axes = tuple(range(-dims, 0))
        average[(..., *o)], largest[(..., *o)] = piece.mean(axes), piece.max(axes)
    got = getattr(torch, f"adaptive_avg_pool{dims}d")(torch.from_numpy(x), out)
    np.testing.assert_allclose(got.numpy(), average, rtol=1e-5, atol=1e-6)
    values, indices = getattr(torch, f"adaptive_max_pool{dims}d")(torch.from_numpy(x), out)
    np.testing.assert_allclose(values.numpy(), largest, rtol=1e-6)
    flat = x.reshape(*shape[:-dims], -1)
    found = np.take_along_axis(flat, indices.numpy().reshape(*shape[:-dims], -1), -1)
    np.testing.assert_array_equal(found.reshape(values.shape), values.numpy())
    g = noise(*average.shape)
    back = op("adaptive_avg_pool_backward")(torch.from_numpy(g), shape[-dims:])
    v = noise(*shape)
    want = (getattr(torch, f"adaptive_avg_pool{dims}d")(torch.from_numpy(v), out).numpy() * g).sum()
    assert np.isclose((back.numpy() * v).sum(), want, rtol=1e-3, atol=1e-4)


def test_nan_and_infinite_elements():
    x = np.array([[[1.0, np.nan], [2.0, np.nan]]], "float32")
    values, indices = torch.max_pool2d_with_indices(torch.from_numpy(x), 2)
    assert np.isnan(values.numpy()).all() and indices.numpy().item() == 3
    last = channels_last(np.repeat(x[None], 5, 1))
    values, indices = torch.max_pool2d_with_indices(last, 2)
    assert np.isnan(values.numpy()).all() and (indices.numpy() == 3).all()
    x = np.full((1, 2, 2), -np.inf, "float32")
    values, indices = torch.max_pool2d_with_indices(torch.from_numpy(x), 2)
    assert values.numpy().item() == -np.inf and indices.numpy().item() == 0


def test_unpooling_puts_maxima_back():
    x = noise(2, 3, 8, 6)
    values, indices = torch.max_pool2d_with_indices(torch.from_numpy(x), 2)
    back = torch.max_unpool2d(values, indices, (8, 6)).numpy()
    kept = back != 0
    assert kept.sum() == values.numel()
    np.testing.assert_array_equal(back[kept], x[kept])
    again = op("plane_gather")(torch.from_numpy(back), indices, 2)
    np.testing.assert_array_equal(again.numpy(), values.numpy())


def test_half_types_pool():
    x = noise(1, 2, 6, 6, dtype="float16")
    y = torch.max_pool2d(torch.from_numpy(x), 2)
    assert y.dtype == torch.float16
    np.testing.assert_array_equal(y.numpy(), max_reference(x, 2, kernel_size=2)[0])


def test_an_empty_batch_and_inputs_that_are_not_contiguous():
    assert torch.max_pool2d(torch.from_numpy(noise(0, 3, 8, 8)), 2).shape == (0, 3, 4, 4)
    x = torch.from_numpy(noise(2, 8, 8, 3)).permute(0, 3, 1, 2)
    np.testing.assert_array_equal(torch.max_pool2d(x, 2).numpy(), max_reference(x.numpy(), 2, kernel_size=2)[0])


def test_integers_average_towards_zero():
    x = np.array([[[3, 4], [-9, -1]]])
    assert torch.avg_pool2d(torch.from_numpy(x), (1, 2)).numpy().tolist() == [[[3], [-5]]]


def test_one_and_two_threads_give_the_same_bits():
    threads, x = torch.get_num_threads(), torch.from_numpy(noise(8, 16, 28, 28))
    try:
        results = []
        for n in (1, 2):
            torch.set_num_threads(n)
            y = [torch.max_pool2d(x, 3, 2, 1), torch.avg_pool2d(x, 3, 1, 1), torch.adaptive_avg_pool2d(x, 1)]
            results.append([t.numpy().tobytes() for t in y])
        assert results[0] == results[1]
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_resampling_sums_weighted_inputs_along_a_dim(dim, dtype):
    x = noise(7, 7, 7, dtype=dtype)
    indices, weights = RNG.integers(0, 7, (3, 19)), noise(3, 19, dtype="float64")
    weights[1, 5:9] = 0
    y = op("resample")(*map(torch.from_numpy, (x,)), dim, torch.from_numpy(indices), torch.from_numpy(weights))
    moved = np.moveaxis(x.astype("float64"), dim, -1)
    want = np.moveaxis((moved[..., indices] * weights).sum(-2), -1, dim)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-5)
    g, v = noise(*y.shape, dtype="float64"), torch.from_numpy(noise(7, 7, 7, dtype="float64"))
    table = torch.from_numpy(indices), torch.from_numpy(weights)
    back = op("resample_backward")(torch.from_numpy(g), dim, *table, 7)
    assert np.isclose((back.numpy() * v.numpy()).sum(), (op("resample")(v, dim, *table).numpy() * g).sum())


def test_resampling_reads_nothing_where_the_weight_is_zero_and_refuses_bad_indices():
    x = torch.from_numpy(np.array([np.inf, 2.0]))
    indices, weights = (
        torch.from_numpy(np.array([[0, 1], [1, 1]])),
        torch.from_numpy(np.array([[0.0, 1.0], [3.0, 0.0]])),
    )
    assert op("resample")(x, 0, indices, weights).numpy().tolist() == [6.0, 2.0]
    with pytest.raises(IndexError, match="resample: index 1 is out of range for a dim of size 1"):
        op("resample")(torch.from_numpy(np.ones(1)), 0, indices, weights)


X = noise(1, 4, 8, 8)


@pytest.mark.parametrize(
    "function, x, arguments, text",
    [
        ("max_pool2d", X, (2, None, 2), r"max_pool2d: padding \(2, 2\) must be at most half of kernel_size \(2, 2\)"),
        (
            "max_pool2d",
            X,
            (20,),
            r"max_pool2d: kernel_size \(20, 20\) with padding \(0, 0\) is larger than input \(1, 4, 8, 8\)",
        ),
        ("max_pool2d", X, (0,), r"max_pool2d: kernel_size must be positive, got \(0, 0\)"),
        ("max_pool2d", X, (2, 0), r"max_pool2d: stride must be positive, got \(0, 0\)"),
        ("max_pool2d", X, (2, 1, -1), r"padding must be non-negative, got \(-1, -1\)"),
        ("max_pool2d", X, (2, 1, 0, 0), r"dilation must be positive"),
        ("max_pool2d", X, ((1, 2, 3),), r"kernel_size must be one int or 2, got \(1, 2, 3\)"),
        ("max_pool2d", X, (2**40,), r"kernel_size .* is too large"),
        ("max_pool2d", X, (2**30, 1, 0, 2**30), r"is too large"),
        ("max_pool2d", X[0, 0], (2,), r"max_pool2d: expected input of 4 dims, or 3 without batch, got \(8, 8\)"),
        ("max_pool2d", X[:, :, :0], (2,), r"expected input with spatial sizes from 1"),
        ("max_pool1d", X, (2,), r"max_pool1d: expected input of 3 dims, or 2 without batch"),
        ("avg_pool2d", X, (2, None, 0, False, True, 0), r"avg_pool2d: divisor_override must not be zero"),
        ("avg_pool2d", X, (2, None, 2), r"avg_pool2d: padding"),
        ("adaptive_avg_pool2d", X, (-1,), r"adaptive_avg_pool2d: output_size must be non-negative, got \(-1, -1\)"),
        ("adaptive_max_pool2d", X, ((1, 2, 3),), r"kernel_size must be one int or 2, got \(1, 2, 3\)|output_size"),
    ],
)
def test_what_does_not_fit_is_named(function, x, arguments, text):
    with pytest.raises(RuntimeError, match=text):
        getattr(torch, function)(torch.from_numpy(np.ascontiguousarray(x)), *arguments)


def test_bad_indices_are_refused():
    x, bad = torch.from_numpy(noise(1, 1, 1, 1)), torch.from_numpy(np.array([[[[9]]]]))
    with pytest.raises(RuntimeError, match=r"max_unpool: found an invalid max index: 9 \(planes have 4 elements\)"):
        torch.max_unpool2d(x, bad, (2, 2))


def test_bool_is_not_pooled():
    with pytest.raises(NotImplementedError, match="max_pool2d: not implemented for bool"):
        torch.max_pool2d(torch.from_numpy(np.ones((1, 2, 2), bool)), 2)


def test_pooling_without_channels_is_refused():
    for n, pool in enumerate((torch.max_pool1d, torch.max_pool2d, torch.max_pool3d), 1):
        with pytest.raises(RuntimeError, match=rf"max_pool{n}d.*expected input with channels, got \(0, "):
            pool(torch.zeros(0, *(2,) * n), 1)
