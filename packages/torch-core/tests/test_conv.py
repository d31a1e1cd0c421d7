"""Convolutions against sums over windows in NumPy float64."""

import itertools

import numpy as np
import pytest
import torch

RNG = np.random.default_rng(0)
convolution_backward = torch._C._operator("convolution_backward")


def noise(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def per_dim(value, dims):
    return (value,) * dims if isinstance(value, int) else tuple(value)


def reference(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation by its definition: one shifted, strided slice of the padded input per tap."""
    dims = w.ndim - 2
    stride, dilation = per_dim(stride, dims), per_dim(dilation, dims)
    pad = padding if isinstance(padding, list) else [(p, p) for p in per_dim(padding, dims)]
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0), *pad])
    out = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(dims)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    c, o = w.shape[1], w.shape[0] // groups
    for tap in itertools.product(*map(range, w.shape[2:])):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, out, stride))
        for g in range(groups):
            piece = x[(slice(None), slice(g * c, (g + 1) * c), *at)]
            weights = w[(slice(g * o, (g + 1) * o), slice(None), *tap)].astype("float64")
            y[:, g * o : (g + 1) * o] += np.einsum("oc,nc...->no...", weights, piece)
    return y if b is None else y + b.astype("float64").reshape(-1, *[1] * dims)


def transposed_reference(x, w, stride, padding, output_padding, dilation, groups):
    """Every input pixel adds its multiple of the kernel to the output."""
    dims = w.ndim - 2
    stride, padding, dilation = per_dim(stride, dims), per_dim(padding, dims), per_dim(dilation, dims)
    extra = per_dim(output_padding, dims)
    taps = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    full = [(n - 1) * s + t + e for n, s, t, e in zip(x.shape[2:], stride, taps, extra)]
    y = np.zeros((x.shape[0], w.shape[1] * groups, *full))
    c, o = w.shape[0] // groups, w.shape[1]
    for tap in itertools.product(*map(range, w.shape[2:])):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, x.shape[2:], stride))
        for g in range(groups):
            weights = w[(slice(g * c, (g + 1) * c), slice(None), *tap)].astype("float64")
            piece = np.einsum("co,nc...->no...", weights, x[:, g * c : (g + 1) * c])
            y[(slice(None), slice(g * o, (g + 1) * o), *at)] += piece
    return y[(slice(None), slice(None), *[slice(p, n - p) for p, n in zip(padding, full)])]


def close(got, want, tolerance=2e-5):
    np.testing.assert_allclose(
        got.numpy(), want, rtol=tolerance, atol=tolerance * max(1.0, np.abs(want).max(initial=0))
    )


FUNCTIONS = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
TRANSPOSED = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}

CASES = [  # input, weight, arguments
    ((2, 3, 20), (4, 3, 5), {"padding": 2}),
    ((2, 4, 21), (6, 2, 3), {"stride": 2, "dilation": 2, "groups": 2}),
    ((2, 3, 8, 9), (4, 3, 3, 3), {}),
    ((2, 3, 8, 9), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 3, 9, 8), (2, 3, 2, 4), {"stride": (2, 1), "padding": (0, 3), "dilation": (1, 2)}),
    ((2, 6, 7, 7), (6, 1, 3, 3), {"padding": 1, "groups": 6}),
    ((1, 20, 12, 12), (18, 20, 3, 3), {"padding": 1}),
    ((2, 3, 4, 5, 6), (4, 3, 3, 2, 1), {"padding": (1, 0, 2), "stride": (1, 2, 1)}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("x, w, arguments", CASES)
def test_convolution_sums_over_windows(x, w, arguments, dtype):
    x, w, b = noise(*x, dtype=dtype), noise(*w, dtype=dtype), noise(w[0], dtype=dtype)
    y = FUNCTIONS[w.ndim - 2](torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b), **arguments)
    close(y, reference(x, w, b, **arguments), 2e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("x, w, arguments", CASES)
def test_gradients_are_adjoint_to_the_convolution(x, w, arguments):
    x, w = noise(*x, dtype="float64"), noise(*w, dtype="float64")
    dims = w.ndim - 2
    y = reference(x, w, **arguments)
    g, dx, dw = noise(*y.shape, dtype="float64"), noise(*x.shape, dtype="float64"), noise(*w.shape, dtype="float64")
    lists = [per_dim(arguments.get(k, d), dims) for k, d in (("stride", 1), ("padding", 0), ("dilation", 1))]
    tensors = [torch.from_numpy(t) for t in (g, x, w)]
    for_input, for_weight, for_bias = convolution_backward(
        *tensors, *lists, False, (0,), arguments.get("groups", 1), True, True, True
    )
    assert np.isclose((for_input.numpy() * dx).sum(), (reference(dx, w, **arguments) * g).sum())
    assert np.isclose((for_weight.numpy() * dw).sum(), (reference(x, dw, **arguments) * g).sum())
    np.testing.assert_allclose(for_bias.numpy(), g.sum(axis=(0, *range(2, g.ndim))))


def test_only_the_gradients_asked_for_are_computed():
    x, w, g = (torch.from_numpy(noise(*s)) for s in ((1, 2, 5, 5), (3, 2, 3, 3), (1, 3, 3, 3)))
    results = convolution_backward(g, x, w, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, False, True, False)
    assert [r is not None for r in results] == [False, True, False]


@pytest.mark.parametrize(
    "x, w, stride, padding, output_padding, dilation, groups",
    [
        ((2, 3, 9), (3, 4, 3), 2, 1, 1, 1, 1),
        ((2, 4, 5, 6), (4, 3, 3, 3), 2, 1, 1, 1, 1),
        ((1, 4, 5, 6), (4, 2, 2, 3), (3, 2), (0, 1), (2, 0), 1, 2),
        ((1, 3, 5, 5), (3, 2, 3, 3), 1, 0, 0, 2, 1),
        ((16, 10, 1, 1), (10, 6, 4, 4), 1, 0, 0, 1, 1),
        ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), 2, 0, 1, 1, 1),
    ],
)
def test_transposed_convolution_spreads_pixels(x, w, stride, padding, output_padding, dilation, groups):
    x, w, b = noise(*x), noise(*w), noise(w[1] * groups)
    y = TRANSPOSED[w.ndim - 2](
        torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b), stride, padding, output_padding, groups, dilation
    )
    want = transposed_reference(x, w, stride, padding, output_padding, dilation, groups)
    close(y, want + b.reshape(-1, *[1] * (w.ndim - 2)))


def test_gradients_of_a_transposed_convolution_are_adjoint():
    x, w, v = (noise(*s, dtype="float64") for s in ((2, 3, 5, 5), (3, 4, 3, 3), (3, 4, 3, 3)))
    y = transposed_reference(x, w, 2, 1, 1, 1, 1)
    g, u = noise(*y.shape, dtype="float64"), noise(*x.shape, dtype="float64")
    tensors = [torch.from_numpy(t) for t in (g, x, w)]
    dx, dw, db = convolution_backward(*tensors, (2, 2), (1, 1), (1, 1), True, (1, 1), 1, True, True, True)
    assert np.isclose((dx.numpy() * u).sum(), (transposed_reference(u, w, 2, 1, 1, 1, 1) * g).sum())
    assert np.isclose((dw.numpy() * v).sum(), (transposed_reference(x, v, 2, 1, 1, 1, 1) * g).sum())
    np.testing.assert_allclose(db.numpy(), g.sum(axis=(0, 2, 3)))


def test_an_input_without_batch_gives_an_output_without_batch():
    x, w = noise(3, 8, 8), noise(4, 3, 3, 3)
    y = torch.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding=1)
    assert y.shape == (4, 8, 8)
    close(y, reference(x[None], w, padding=1)[0])


@pytest.mark.parametrize("kernel, dilation", [((3, 3), 1), ((2, 4), 1), ((4, 3), 3)])
def test_same_padding_keeps_the_size_with_the_odd_pixel_at_the_end(kernel, dilation):
    x, w = noise(2, 3, 9, 11), noise(4, 3, *kernel)
    y = torch.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding="same", dilation=dilation)
    totals = [dilation * (k - 1) for k in kernel]
    assert y.shape == (2, 4, 9, 11)
    close(y, reference(x, w, padding=[(t // 2, t - t // 2) for t in totals], dilation=dilation))


def test_valid_padding_is_none():
    x, w = torch.from_numpy(noise(1, 2, 5, 5)), torch.from_numpy(noise(2, 2, 3, 3))
    assert torch.conv2d(x, w, padding="valid").shape == (1, 2, 3, 3)


def test_strided_channels_last_and_turned_operands_are_read_as_they_are():
    x, w = torch.from_numpy(noise(2, 9, 8, 3)), noise(4, 3, 3, 3)
    channels_last = x.permute(0, 3, 1, 2)
    close(torch.conv2d(channels_last, torch.from_numpy(w)), reference(channels_last.numpy(), w))
    strided = torch.from_numpy(noise(2, 3, 9, 18)).unfold(3, 1, 2).squeeze(4)
    close(torch.conv2d(strided, torch.from_numpy(w)), reference(strided.numpy(), w))
    turned = torch.from_numpy(w).transpose(0, 1).narrow(1, 1, 3)
    close(torch.conv2d(channels_last, turned), reference(channels_last.numpy(), turned.numpy()))


def last(x):
    """A tensor of these numbers whose channels lie last."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return torch.from_numpy(x).contiguous(memory_format=formats[x.ndim])


@pytest.mark.parametrize("images", [torch.from_numpy, last])
@pytest.mark.parametrize(
    ("o", "c", "size", "kernel", "options"),
    [
        (20, 18, 9, (3, 3), {}),  # Winograd's products
        (5, 4, 9, (3, 3), {}),
        (6, 4, 9, (3, 2), {"stride": 2, "padding": 1, "groups": 2}),
        (70, 65, 9, (2, 2), {"stride": 2}),
        (40, 33, 9, (5, 3), {"dilation": 2, "padding": 3}),
        (4, 4, 9, (3, 3), {"groups": 4}),
        (18, 17, 9, (2, 3, 3), {"stride": 2, "padding": 1}),
        (9, 7, 9, (1, 1), {}),
        (350, 360, 3, (1, 1), {"padding": 1}),  # several pieces of a sum
        (16, 16, 40, (1, 1), {}),  # many positions
        (17, 19, 43, (3, 3), {"stride": 2, "padding": 2, "dilation": 3}),
        (16, 16, 9, (1, 1), {"stride": 3}),  # inputs that no output sees
    ],
)
def test_channels_may_lie_last(o, c, size, kernel, options, images):
    dims = len(kernel)
    shape = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1} | options
    x, w, b = noise(2, c, size, *(size - 1,) * (dims - 1)), noise(o, c // shape["groups"], *kernel), noise(o)
    got = [torch.conv2d, torch.conv3d][dims - 2](images(x), last(w), torch.from_numpy(b), **options)
    close(got, reference(x, w, b, **options))

    y, b = noise(*got.shape), noise(c)
    turned = [torch.conv_transpose2d, torch.conv_transpose3d][dims - 2]
    want = transposed_reference(y, w, shape["stride"], shape["padding"], 0, shape["dilation"], shape["groups"])
    close(turned(images(y), last(w), torch.from_numpy(b), **options), want + b.reshape(-1, *[1] * dims))

    lists = [per_dim(shape[k], dims) for k in ("stride", "padding", "dilation")]
    rest = (False, (0,) * dims, shape["groups"], True, True, True)
    numbers = [n.astype("float64") for n in (y, x, w)]
    expected = convolution_backward(*map(torch.from_numpy, numbers), *lists, *rest)
    for got, want in zip(convolution_backward(images(y), images(x), last(w), *lists, *rest), expected):
        close(got, want.numpy(), 1e-4)


def test_conv_tbc_takes_time_batch_channels():
    x, w, b = noise(9, 2, 3), noise(3, 3, 4), noise(4)
    y = torch.conv_tbc(torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b), 1)
    close(y, reference(x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, padding=1).transpose(2, 0, 1))


def test_integers_convolve_exactly():
    x, w = RNG.integers(-9, 9, (2, 3, 7, 7)), RNG.integers(-9, 9, (4, 3, 3, 3))
    y = torch.conv2d(torch.from_numpy(x), torch.from_numpy(w))
    assert y.dtype == torch.int64
    np.testing.assert_array_equal(y.numpy(), reference(x, w))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_integers_that_no_double_holds_convolve_exactly_and_wrap(dims, dtype):
    conv, transposed = (getattr(torch, f"{name}{dims}d") for name in ("conv", "conv_transpose"))
    high = {torch.int64: 2**45, torch.int32: 2**25, torch.int16: 2**6}[dtype]  # products with it wrap
    for sizes, options in (
        ((2, 4, 7, 6, 5), {}),
        ((4, 7, 5, 6), {"stride": 2, "padding": 1, "groups": 2}),
        ((1, 4, 8, 9, 7), {"stride": 3, "padding": 2, "dilation": 2, "groups": 4}),
        ((0, 4, 5, 5, 5), {"padding": 1}),
    ):
        sizes = sizes[: dims + 2] if sizes[1] == 4 else sizes[: dims + 1]
        x = torch.from_numpy(RNG.integers(-999, 999, sizes)).to(dtype).movedim(-1, 0).contiguous().movedim(0, -1)
        groups = options.get("groups", 1)
        w = torch.from_numpy(RNG.integers(-999, 999, (8, 4 // groups, *(3, 2, 1)[:dims]))).to(dtype)
        v = torch.from_numpy(RNG.integers(-999, 999, (4, 2, *(3, 2, 1)[:dims]))).to(dtype)
        b = torch.from_numpy(RNG.integers(-9, 9, 8)).to(dtype)
        for call in (
            lambda x, b, w=w, options=options: conv(x, w, b, **options),
            lambda x, b, v=v, options=options, n=2 * groups: transposed(x, v, b if b is None else b[:n], **options),
        ):
            for bias in (None, b):
                small = call(x, None if bias is None else bias * 0)
                large = call(x * high + 1, bias)
                ones = call(torch.ones_like(x), bias)
                assert large.dtype == dtype and large.is_contiguous()
                assert torch.equal(large, small * high + ones)
    assert torch.conv1d(torch.tensor([[[2**53 + 1]]]), torch.tensor([[[1]]])).item() == 2**53 + 1


def test_half_types_are_computed_in_float():
    x, w = noise(2, 3, 7, 7, dtype="float16"), noise(4, 3, 3, 3, dtype="float16")
    y = torch.conv2d(torch.from_numpy(x), torch.from_numpy(w))
    assert y.dtype == torch.float16
    close(y, reference(x, w), 1e-3)


def test_an_empty_batch_gives_an_empty_output():
    assert torch.conv2d(torch.from_numpy(noise(0, 3, 8, 8)), torch.from_numpy(noise(4, 3, 3, 3))).shape == (0, 4, 6, 6)


def test_one_and_two_threads_give_the_same_bits():
    threads = torch.get_num_threads()
    x, w, g = (torch.from_numpy(noise(*s)) for s in ((4, 16, 24, 24), (32, 16, 3, 3), (4, 32, 24, 24)))
    try:
        results = []
        for n in (1, 2):
            torch.set_num_threads(n)
            back = convolution_backward(g, x, w, (1, 1), (1, 1), (1, 1), False, (0, 0), 1, True, True, True)
            results.append([t.numpy().tobytes() for t in (torch.conv2d(x, w, padding=1), *back)])
        assert results[0] == results[1]
    finally:
        torch.set_num_threads(threads)


X, W = noise(1, 4, 8, 8), noise(8, 4, 3, 3)


@pytest.mark.parametrize(
    "function, x, w, arguments, text",
    [
        (
            "conv2d",
            X,
            W[:, :3],
            {},
            r"conv2d: weight \(8, 3, 3, 3\) expects 3 input channels, input \(1, 4, 8, 8\) has 4",
        ),
        ("conv2d", noise(1, 8, 8, 4), W, {}, r"has 8; channels are dim 1: input.movedim\(-1, 1\) puts them there"),
        ("conv2d", X, W, {"bias": X[0, 0, 0, :3]}, r"needs a bias of shape \(8,\), got \(3,\)"),
        ("conv2d", X.astype("float64"), W, {}, r"conv2d: input is float64 but weight is float32"),
        ("conv2d", X[0, 0], W, {}, r"expected input of 4 dims, or 3 without batch, got \(8, 8\)"),
        ("conv2d", X, W[0], {}, r"conv2d: expected weight of 4 dims, got \(4, 3, 3\)"),
        ("conv1d", X, W, {}, r"conv1d: expected weight of 3 dims"),
        ("conv2d", X[:, :, :2], W, {}, r"kernel \(3, 3\) with dilation \(1, 1\) is larger than input \(1, 4, 2, 8\)"),
        ("conv2d", X, W, {"stride": 0}, r"conv2d: stride must be positive, got \(0, 0\)"),
        ("conv2d", X, W, {"padding": -1}, r"padding must be non-negative, got \(-1, -1\)"),
        ("conv2d", X, W, {"dilation": 0}, r"dilation must be positive, got \(0, 0\)"),
        ("conv2d", X, W, {"stride": (1, 2, 3)}, r"stride must be one int or 2, got \(1, 2, 3\)"),
        ("conv2d", X, W, {"groups": 3}, r"groups=3 does not divide the first dim of weight \(8, 4, 3, 3\)"),
        ("conv2d", X, W, {"groups": 2}, r"expects 8 input channels with groups=2, input \(1, 4, 8, 8\) has 4"),
        ("conv2d", X, W, {"groups": 0}, r"groups must be positive, got 0"),
        ("conv2d", X, W, {"padding": "full"}, r"padding must be 'same', 'valid' or ints, got 'full'"),
        ("conv2d", X, W, {"padding": "same", "stride": 2}, r"padding='same' is not supported for strided convolutions"),
        ("conv2d", X, W, {"padding": 2**62}, r"conv2d: padding .* is too large"),
        ("conv2d", X, W, {"padding": 2**30}, r"conv2d: .* is too large"),
        ("conv2d", X, W, {"dilation": 2**30}, r"conv2d: .* is too large"),
        ("conv_transpose2d", X, W, {}, r"conv_transpose2d: weight \(8, 4, 3, 3\) expects 8 input channels"),
        ("conv_transpose2d", X, W[:4], {"output_padding": 1}, r"output_padding \(1, 1\) must be smaller than stride"),
        ("conv_transpose2d", X, W[:4], {"padding": 20}, r"gives an output of size -30"),
    ],
)
def test_what_does_not_fit_is_named(function, x, w, arguments, text):
    arguments = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    with pytest.raises(RuntimeError, match=text):
        getattr(torch, function)(
            torch.from_numpy(np.ascontiguousarray(x)), torch.from_numpy(np.ascontiguousarray(w)), **arguments
        )


@pytest.mark.parametrize("kwargs", [{"stride": 2, "groups": 2}, {"padding": "same"}, {"dilation": 2, "padding": 1}])
def test_complex_convolutions_are_their_definition(kwargs):
    x, w, b = (noise(*s, dtype="float64") + 1j * noise(*s, dtype="float64") for s in ((2, 4, 9), (6, 4, 3), (6,)))
    if kwargs.get("groups") == 2:
        w = w[:, :2]
    got = torch.conv1d(torch.from_numpy(x), torch.from_numpy(w.copy()), torch.from_numpy(b), **kwargs)
    numbers = {**kwargs, "padding": 1} if kwargs.get("padding") == "same" else kwargs
    parts = [reference(p, q, **numbers) for p in (x.real, x.imag) for q in (w.real, w.imag)]
    want = parts[0] - parts[3] + 1j * (parts[1] + parts[2]) + b.reshape(-1, 1)
    assert np.allclose(got.numpy(), want)
    # the transposed one is the adjoint: <conv(x, w), y> = <x, conv_transpose(y, conj(w))>
    if "padding" not in kwargs:
        y = torch.from_numpy(noise(*got.shape) + 1j * noise(*got.shape)).to(torch.complex128)
        back = torch.conv_transpose1d(y, torch.from_numpy(w.conj().copy()), None, 2, 0, 0, 2)
        plain = torch.from_numpy(want) - torch.from_numpy(b.reshape(-1, 1))
        assert np.allclose(torch.sum(plain.conj() * y).item(), torch.sum(torch.from_numpy(x).conj() * back).item())


def test_complex_convolutions_want_a_complex_bias():
    z = torch.ones(1, 1, 3, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="bias must be one number for each output channel, of torch.complex64"):
        torch.conv1d(z, z, torch.ones(1))


@pytest.mark.parametrize(
    ("x", "w", "stride", "padding"),
    [
        ((2, 1, 28, 28), (32, 1, 3, 3), 1, 0),  # few channels: tiles of a row, the last of which overlaps
        ((1, 3, 40, 53), (20, 3, 7, 7), 2, 3),  # rows that no whole tiles fill
        ((1, 16, 8, 32, 32), (9, 16, 3, 3, 3), 1, 1),  # planes a power of two apart
        ((2, 40, 28, 28), (37, 40, 3, 3), 2, 1),  # every other pixel, panels that cross rows
        ((1, 40, 21, 19), (37, 40, 6, 6), 2, 2),  # more taps than are listed at a time
        ((3, 33, 9, 5), (40, 33, 2, 2), 2, 1),  # rows shorter than a register: more than two of them in a vector
        ((2, 48, 30, 30), (50, 48, 1, 1), 2, 0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_patches_of_every_shape_are_read_as_they_lie(x, w, stride, padding, dtype):
    image, weights = noise(*x, dtype=dtype), noise(*w, dtype=dtype)
    got = torch.convolution(
        torch.from_numpy(image), torch.from_numpy(weights), None, *[[v] * (len(x) - 2) for v in (stride, padding, 1)],
        False, [0] * (len(x) - 2), 1,
    )  # fmt: skip
    close(got, reference(image, weights, None, stride, padding), 1e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [3, 5, 7])
def test_channels_with_a_kernel_each_go_along_wide_rows(kernel, stride, dtype):
    w, b = noise(17, 1, kernel, kernel, dtype=dtype), noise(17, dtype=dtype)
    for height, width in [(kernel, 27), (7, 12), (8, 29), (9, 33), (10, 56), (11, 64), (12, 95), (13, 47)]:
        x = noise(2, 17, height, width, dtype=dtype)
        for padding in (0, 1, 2, kernel):
            for bias in (None, torch.from_numpy(b)):
                got = torch.conv2d(torch.from_numpy(x), torch.from_numpy(w), bias, stride, padding, 1, 17)
                want = reference(x, w, None if bias is None else b, stride, padding, groups=17)
                close(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("batch, channels", [(2, 2), (5, 16), (3, 1)])
@pytest.mark.parametrize("plane", [(4, 5), (1, 9), (7, 8), (3, 3), (16, 16)])
def test_pointwise_convolutions_to_one_channel_keep_images_apart(dtype, batch, channels, plane):
    """Outputs of one channel go on from image to image in memory, and their inputs do not."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(batch, channels, *plane)), rng.normal(size=(1, channels, 1, 1))
    tensors = [torch.from_numpy(a).to(dtype) for a in (x, w)]
    tolerance = 1e-4 if dtype is torch.float32 else 1e-12
    want = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0])
    np.testing.assert_allclose(torch.conv2d(*tensors).numpy(), want, atol=tolerance)
    transposed = torch.conv_transpose2d(tensors[0], tensors[1].transpose(0, 1).contiguous())
    np.testing.assert_allclose(transposed.numpy(), want, atol=tolerance)
