"""Padding, resizing, windows, pooling and its inverses, shuffles: closed forms and NumPy."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(1)


def t(x):
    return torch.tensor(np.asarray(x).tolist(), dtype=torch.float64)


@pytest.mark.parametrize(("mode", "numpy_mode"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding_continues_the_data(mode, numpy_mode, dims):
    x = rng.normal(size=(2, 3) + (4, 5, 4)[:dims])
    amounts = [(1, 2), (3, 0), (2, 2)][:dims]
    flat = [n for pair in reversed(amounts) for n in pair]
    want = np.pad(x, [(0, 0), (0, 0), *amounts], mode=numpy_mode)
    assert torch.equal(F.pad(t(x), flat, mode), t(want))
    layer = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}[mode]
    assert torch.equal(getattr(nn, f"{layer}{dims}d")(tuple(flat))(t(x)), t(want))


def test_constant_padding_may_cut():
    x = t([[1.0, 2.0, 3.0]])
    assert F.pad(x, (1, -1), value=9.0).tolist() == [[9.0, 1.0, 2.0]]
    assert nn.ZeroPad2d(1)(x).shape == (3, 5)
    assert nn.ConstantPad1d((0, 1), 5.0)(x)[0, -1].item() == 5.0


def test_padding_that_makes_no_sense_is_named():
    x = torch.zeros(1, 1, 4)
    with pytest.raises(RuntimeError, match=r"'reflect' needs padding smaller than the dim, got \(4, 0\) for 4"):
        F.pad(x, (4, 0), "reflect")
    with pytest.raises(RuntimeError, match=r"nothing to repeat where \(-4, 1\) cut off all 4"):
        F.pad(x, (-4, 1), "circular")
    with pytest.raises(RuntimeError, match="comes in pairs"):
        F.pad(x, (1, 2, 3))
    with pytest.raises(NotImplementedError, match="unrecognised mode 'mirror'; use one of constant, reflect"):
        F.pad(x, (1, 1), "mirror")
    with pytest.raises(RuntimeError, match="takes no value"):
        F.pad(x, (1, 1), "reflect", 3)
    assert F.pad(torch.tensor([[[1.0, 2.0]]]), (1, 1), "reflect", 0.0).tolist() == [[[2, 1, 2, 1]]]


@pytest.mark.parametrize("widths", [(2**62, 2**62), (2**63 - 1, 0), (2**63 - 4, 1), (-(2**63), 2**63 - 1)])
@pytest.mark.parametrize("mode", ["constant", "replicate"])
def test_a_size_beyond_64_bits_is_no_negative_one(mode, widths):
    x = torch.zeros(1, 3)
    words = "is more than" if mode == "constant" else "makes more than"
    with pytest.raises(RuntimeError, match=rf"{words} 2\^63 - 1"):
        F.pad(x, widths, mode)
    if mode == "replicate":
        with pytest.raises(
            RuntimeError, match=r"replication_pad: the input size 3, plus padding .* is more than 2\^63"
        ):
            torch.ops.aten.pad(x, widths, mode)


def test_unfold_gives_the_windows_that_a_convolution_multiplies():
    x, w = t(rng.normal(size=(2, 3, 7, 6))), t(rng.normal(size=(4, 3, 3, 2)))
    columns = F.unfold(x, (3, 2), dilation=(2, 1), padding=(1, 0), stride=(1, 2))
    product = (w.view(4, -1) @ columns).view(2, 4, 5, 3)
    assert torch.allclose(product, F.conv2d(x, w, stride=(1, 2), padding=(1, 0), dilation=(2, 1)))


def test_fold_is_the_transpose_of_unfold():
    x, options = t(rng.normal(size=(2, 3, 5, 6))), {"kernel_size": (3, 2), "padding": 1, "stride": (2, 1)}
    columns = F.unfold(x, **options)
    y = t(rng.normal(size=tuple(columns.shape)))
    back = F.fold(y, (5, 6), **options)
    assert torch.allclose((columns * y).sum(), (x * back).sum())
    assert nn.Fold((5, 6), **options)(nn.Unfold(**options)(x)).shape == x.shape
    with pytest.raises(RuntimeError, match="input has 7 windows, but output_size .* has 2 x 2 = 4"):
        F.fold(torch.zeros(1, 4, 7), 3, 2)


def test_max_pool_and_unpool():
    x = t([[[1.0, 5.0, 2.0, 4.0, 3.0, 3.5]]])
    y, i = F.max_pool1d(x, 2, return_indices=True)
    assert y.tolist() == [[[5.0, 4.0, 3.5]]]
    assert i.tolist() == [[[1, 3, 5]]]
    assert F.max_unpool1d(y, i, 2).tolist() == [[[0.0, 5.0, 0.0, 4.0, 0.0, 3.5]]]
    image = t(rng.normal(size=(2, 3, 6, 6)))
    y, i = nn.MaxPool2d(2, return_indices=True)(image)
    back = nn.MaxUnpool2d(2)(y, i)
    assert torch.equal(F.max_pool2d(back.abs(), 2), y.abs())
    assert nn.MaxUnpool2d(2)(y, i, output_size=(7, 7)).shape == (2, 3, 7, 7)
    with pytest.raises(ValueError, match="invalid output_size"):
        nn.MaxUnpool2d(2)(y, i, output_size=(9, 9))
    with pytest.raises(RuntimeError, match="indices must be int64"):
        F.max_unpool1d(x, x, 2)


def test_average_and_power_pooling():
    x = t([[[1.0, 2.0, 3.0, 4.0]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[1.5, 3.5]]]
    assert torch.allclose(F.lp_pool1d(x, 2.0, 2), t([[[5.0**0.5, 5.0]]]))
    assert torch.allclose(nn.LPPool2d(1, (1, 4))(x), t([[[10.0]]]))
    assert F.lp_pool1d(-x, float("inf"), 3, 2, ceil_mode=True).tolist() == [[[3.0, 4.0]]]
    image = t(rng.normal(size=(1, 2, 6, 5)))
    assert torch.allclose(F.adaptive_avg_pool2d(image, 1)[..., 0, 0], image.mean((2, 3)))
    assert F.adaptive_avg_pool2d(image, (None, 2)).shape == (1, 2, 6, 2)
    assert torch.equal(F.adaptive_max_pool2d(image, 1)[..., 0, 0], image.amax((2, 3)))
    y, i = nn.AdaptiveMaxPool1d(2, return_indices=True)(x)
    assert (y.tolist(), i.tolist()) == ([[[2.0, 4.0]]], [[[1, 3]]])


def test_fractional_pooling_takes_maxima_of_windows_that_cover_the_ends():
    x = t(rng.normal(size=(2, 3, 9, 10)))
    y, i = F.fractional_max_pool2d(x, 2, output_size=(5, 6), return_indices=True)
    assert y.shape == (2, 3, 5, 6)
    assert torch.equal(x.flatten(2).gather(2, i.flatten(2)).view_as(y), y)
    assert torch.equal(y[..., -1, -1], x[..., -2:, -2:].amax((2, 3)))
    assert nn.FractionalMaxPool3d(2, output_ratio=0.5)(torch.zeros(1, 1, 8, 8, 8)).shape == (1, 1, 4, 4, 4)
    with pytest.raises(ValueError, match="give output_size or output_ratio"):
        F.fractional_max_pool2d(x, 2)


def test_samples_of_fractional_pooling_belong_to_dims_in_pytorchs_order():
    """Places of windows by Graham (2014): the sample shifts the sequence, and the last window ends with the dim."""
    ramp = torch.arange(7.0, dtype=torch.float64)
    zeros = torch.zeros(1, 1, 7, 7, 7, dtype=torch.float64)
    early, late = 0.0, 0.9

    def maxima(n, dim, samples):
        shape = [1] * (n + 2)
        shape[2 + dim] = 7
        x = zeros[(slice(None),) * 2 + (0,) * (3 - n)] + ramp.reshape(shape)
        pool = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}[n]
        y = pool(x, 2, output_size=4, _random_samples=torch.tensor([[samples]], dtype=torch.float64))
        return y.movedim(2 + dim, -1).reshape(-1, 4)[0].tolist()

    shifted, plain = maxima(3, 0, [late, early, early]), maxima(3, 0, [early, early, early])
    assert shifted != plain
    for dim in range(3):  # depth, height and width of a volume: the first sample is that of the depth
        assert maxima(3, dim, [late if k == dim else early for k in range(3)]) == shifted
        assert maxima(3, dim, [early if k == dim else late for k in range(3)]) == plain
    for dim in range(2):  # of a plane: the first sample is that of the width
        assert maxima(2, dim, [late if k == 1 - dim else early for k in range(2)]) == shifted
        assert maxima(2, dim, [early if k == 1 - dim else late for k in range(2)]) == plain


def test_an_unbatched_input_takes_the_samples_of_the_first_example():
    x, samples = torch.rand(2, 7, 7, 7), torch.rand(3, 2, 3)
    torch.testing.assert_close(
        F.fractional_max_pool3d(x, 2, output_size=4, _random_samples=samples),
        F.fractional_max_pool3d(x[None], 2, output_size=4, _random_samples=samples[:1])[0],
    )


def test_fractional_pooling_to_nothing_is_empty_and_wants_channels():
    values, places = F.fractional_max_pool2d(torch.ones(2, 3, 5, 5), 2, output_size=(0, 2), return_indices=True)
    assert values.shape == places.shape == (2, 3, 0, 2)
    with pytest.raises(RuntimeError, match="with channels"):
        F.fractional_max_pool2d(torch.ones(2, 0, 5, 5), 2, output_size=2)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
@pytest.mark.parametrize("n", [2, 3])
def test_empty_batches_and_images_without_channels_are_sampled(n, shape):
    image, grid = torch.ones(*shape, *[4] * n, requires_grad=True), torch.zeros(shape[0], *[3] * n, n)
    sampled = F.grid_sample(image, grid, align_corners=False)
    assert sampled.shape == (*shape, *[3] * n)
    sampled.sum().backward()
    with pytest.raises(RuntimeError, match="empty spatial dim"):
        F.grid_sample(torch.ones(2, 1, 0, *[4] * (n - 1)), grid[:0].new_zeros(2, *[3] * n, n), align_corners=False)


def test_the_cosine_of_bytes_and_numbers_is_one_of_numbers():
    bytes_, numbers = torch.tensor([100, 100], dtype=torch.int8), torch.tensor([2.0, 2.0], dtype=torch.float64)
    torch.testing.assert_close(F.cosine_similarity(bytes_, numbers, dim=0), torch.tensor(1.0, dtype=torch.float64))


def bilinear(x, h, w, align):
    """One output at a time, as the definition has it."""
    rows, columns = x.shape[-2:]

    def place(i, size, out):
        p = i * (size - 1) / (out - 1) if align else max((i + 0.5) * size / out - 0.5, 0)
        low = int(p)
        return low, min(low + 1, size - 1), p - low

    out = np.empty((*x.shape[:-2], h, w))
    for i in range(h):
        a, b, s = place(i, rows, h)
        for j in range(w):
            c, d, u = place(j, columns, w)
            top = (1 - u) * x[..., a, c] + u * x[..., a, d]
            bottom = (1 - u) * x[..., b, c] + u * x[..., b, d]
            out[..., i, j] = (1 - s) * top + s * bottom
    return out


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(7, 9), (3, 2), (4, 5)])
def test_bilinear_interpolation(align, size):
    x = rng.normal(size=(2, 3, 4, 5))
    y = F.interpolate(t(x), size, mode="bilinear", align_corners=align)
    assert torch.allclose(y, t(bilinear(x, *size, align)))


def test_interpolation_by_repeating_and_averaging():
    x = t([[[1.0, 2.0, 3.0]]])
    assert F.interpolate(x, scale_factor=2).tolist() == [[[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]]]
    assert F.interpolate(x, 2, mode="nearest").tolist() == [[[1.0, 2.0]]]
    assert F.interpolate(x, 2, mode="nearest-exact").tolist() == [[[1.0, 3.0]]]
    image = t(rng.normal(size=(1, 1, 4, 4)))
    assert torch.allclose(F.interpolate(image, 2, mode="area"), F.avg_pool2d(image, 2))


def test_bicubic_interpolation_keeps_straight_lines():
    line = torch.arange(16.0, dtype=torch.float64).view(1, 1, 1, 16).expand(1, 1, 16, 16)
    y = F.interpolate(line, scale_factor=2, mode="bicubic", antialias=True)[0, 0, 16, 4:-4]
    assert torch.allclose(y[1:] - y[:-1], torch.full_like(y[1:], 0.5))
    # Keys' kernel keeps lines for a = -1/2 only; without antialias a is -3/4, which keeps them every second pixel
    y = F.interpolate(line, scale_factor=2, mode="bicubic")[0, 0, 16, 4:-4]
    assert torch.allclose(y[2:] - y[:-2], torch.ones_like(y[2:]))


def test_resizing_to_the_same_size_changes_nothing():
    x = t(rng.normal(size=(1, 2, 3, 4, 5)))
    assert torch.allclose(F.interpolate(x, (3, 4, 5), mode="trilinear"), x)
    assert torch.allclose(F.interpolate(x[0], (4, 5), mode="bicubic"), x[0])


def test_bad_requests_for_resizing_are_named():
    x = torch.zeros(1, 1, 4)
    for error, match, options in [
        (ValueError, "either size or scale_factor", {}),
        (ValueError, "align_corners is for", {"size": 2, "align_corners": True}),
        (NotImplementedError, "mode 'bilinear' is for 4 dims", {"size": 2, "mode": "bilinear"}),
        (NotImplementedError, "unknown mode 'lanczos'", {"size": 2, "mode": "lanczos"}),
        (ValueError, "size must have 1 entries", {"size": (2, 2)}),
        (RuntimeError, "must be positive", {"size": 0}),
        (TypeError, "must be whole numbers", {"size": 2.5}),
    ]:
        with pytest.raises(error, match=match):
            F.interpolate(x, **options)
    with pytest.raises(NotImplementedError, match="must have 3, 4 or 5 dims"):
        F.interpolate(x[0], 2)


@pytest.mark.parametrize("move", [F.pixel_shuffle, F.pixel_unshuffle, F.channel_shuffle])
@pytest.mark.parametrize("by", [1, 2])
def test_shuffles_keep_channels_last(move, by):
    rows = torch.arange(2 * 8 * 4 * 6.0).view(2, 8, 4, 6)
    moved = move(rows.contiguous(memory_format=torch.channels_last), by)
    assert moved.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(moved, move(rows, by))


def test_pixel_shuffle_moves_channels_into_space_and_back():
    x = torch.arange(16.0).view(1, 4, 2, 2)
    y = F.pixel_shuffle(x, 2)
    assert y[0, 0].tolist() == [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]
    assert torch.equal(F.pixel_unshuffle(y, 2), x)
    assert torch.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    with pytest.raises(RuntimeError, match=r"4 channels are not divisible by upscale_factor\^2 = 9"):
        F.pixel_shuffle(x, 3)


def test_channel_shuffle_deals_channels_out():
    x = torch.arange(6.0).view(1, 6, 1)
    assert F.channel_shuffle(x, 2).flatten().tolist() == [0, 3, 1, 4, 2, 5]


def test_identity_grids_sample_the_image_itself():
    image = t(rng.normal(size=(2, 3, 4, 5)))
    theta = t([[[1, 0, 0], [0, 1, 0]]] * 2)
    for align in (True, False):
        grid = F.affine_grid(theta, image.shape, align_corners=align)
        for mode in ("bilinear", "nearest", "bicubic"):
            assert torch.allclose(F.grid_sample(image, grid, mode=mode, align_corners=align), image, atol=1e-12)
    volume = t(rng.normal(size=(1, 1, 3, 4, 5)))
    grid = F.affine_grid(t([np.eye(4)[:3]]), volume.shape, align_corners=False)
    assert torch.allclose(F.grid_sample(volume, grid, align_corners=False), volume)


def test_places_outside_are_padded():
    image = t([[[[1.0, 2.0]]]])
    grid = t([[[[-3.0, 0.0], [3.0, 0.0]]]])
    assert F.grid_sample(image, grid, align_corners=False).tolist() == [[[[0.0, 0.0]]]]
    border = F.grid_sample(image, grid, padding_mode="border", align_corners=False)
    assert border.tolist() == [[[[1.0, 2.0]]]]
    reflected = F.grid_sample(image, grid, padding_mode="reflection", align_corners=False)
    assert reflected.tolist() == [[[[2.0, 1.0]]]]


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_places_that_are_no_numbers(mode):
    image = t([[[[1.0, 2.0], [3.0, 4.0]]]])
    nan, inf = float("nan"), float("inf")
    grid = t([[[[nan, 0.5], [0.5, nan], [inf, 0.5], [-inf, 0.5], [1e12, 0.5]]]])
    found = {
        pad: F.grid_sample(image, grid, mode, pad, align_corners=False).flatten().tolist()
        for pad in ("zeros", "border")
    }
    reflected = F.grid_sample(image, grid, mode, "reflection", align_corners=False).flatten().tolist()
    if mode == "bicubic":
        assert np.isnan([found["zeros"][:4], found["border"][:4], reflected[:4]]).all()
    elif mode == "bilinear":
        assert np.isnan(found["zeros"][:4]).all() and found["zeros"][4] == 0
        assert found["border"] == [3, 2, 4, 3, 4] and reflected[:4] == [3, 2, 3, 3]
    else:
        assert found["zeros"] == [0] * 5 and found["border"] == [3, 2, 4, 3, 4] and reflected[:4] == [3, 2, 3, 3]


def test_flatten_and_unflatten():
    x = torch.zeros(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Unflatten(1, (3, 4))(nn.Flatten()(x)).shape == x.shape
    assert nn.Flatten(0, 1)(x).shape == (6, 4)


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_too_few_dims_for_adaptive_pooling_are_a_value_error(kind):
    for n in (2, 3):
        pool = getattr(F, f"adaptive_{kind}_pool{n}d")
        with pytest.raises(ValueError, match=rf"adaptive_{kind}_pool{n}d: input must have {n + 1} or {n + 2} dims"):
            pool(torch.ones((2,) * n), 2)
        with pytest.raises(RuntimeError, match=f"{n + 1} or {n + 2} dims"):
            pool(torch.ones((2,) * (n + 3)), 2)


@pytest.mark.parametrize(
    "n, mode",
    [
        *((2, mode) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")),
        (3, "nearest"),
        (3, "trilinear"),
    ],
)
def test_interpolated_images_and_their_gradients_keep_their_channels_last(n, mode):
    form = torch.channels_last if n == 2 else torch.channels_last_3d
    rows = torch.linspace(-2, 3, 2 * 3 * 4**n).sin().reshape(2, 3, *[4] * n).requires_grad_()
    last = rows.detach().contiguous(memory_format=form).requires_grad_()
    made = [F.interpolate(x, [3, 7, 5][:n], mode=mode) for x in (last, rows)]
    torch.testing.assert_close(*made)
    grads = [torch.autograd.grad(y, x, y.detach())[0] for y, x in zip(made, (last, rows))]
    torch.testing.assert_close(*grads)
    assert made[0].is_contiguous(memory_format=form) and grads[0].is_contiguous(memory_format=form)
    part = [F.interpolate(x.detach()[..., 1:], [3, 7, 5][:n], mode=mode) for x in (last, rows)]
    torch.testing.assert_close(*part)
    assert part[0].is_contiguous(memory_format=form)


@pytest.mark.parametrize(
    "moved",
    [
        lambda x: F.unfold(x, 1),
        lambda x: F.unfold(x[:, :, :1], (1, 2)),
        lambda x: F.pixel_shuffle(x, 1),
        lambda x: F.pixel_shuffle(x[:, :, :1, :1], 2),
        lambda x: F.pixel_unshuffle(x, 1),
        lambda x: F.channel_shuffle(x, 1),
        lambda x: F.channel_shuffle(x, 4),
        lambda x: F.pad(x, (0, 0, 0, 0), mode="reflect"),
        lambda x: F.pad(x, (0, 0, 0, 0), mode="circular"),
    ],
)
def test_moved_elements_may_be_written_to_where_nothing_moves(moved):
    x = torch.arange(48.0).reshape(1, 4, 3, 4)
    result = moved(x)
    expected = result.clone() * 2
    assert torch.equal(result.mul_(2), expected) and torch.equal(x, torch.arange(48.0).reshape(1, 4, 3, 4))


def test_folded_windows_lie_without_gaps_where_the_padding_is_cut_off():
    image = F.fold(torch.ones(1, 4, 9), (2, 2), 2, padding=1)
    assert image.is_contiguous() and image.view(4).tolist() == [4.0] * 4
