"""Images whose channels lie last in memory stay so through the operators on planes, with the values of rows."""

import functools

import pytest
import torch

WEIGHT = torch.linspace(-1, 1, 4 * 4 * 3 * 3).reshape(4, 4, 3, 3)
CHANNELS = torch.linspace(0.5, 2, 4)


def on(x, *operands):
    return [t.to(x.device) for t in operands]


ON_PLANES = {
    "convolution": lambda x: torch.conv2d(x, *on(x, WEIGHT, CHANNELS)),
    "strided convolution in groups": lambda x: torch.conv2d(x, *on(x, WEIGHT[:, :1]), None, 2, 1, 1, 4),
    "transposed convolution": lambda x: torch.conv_transpose2d(x, *on(x, WEIGHT)),
    "batch norm": lambda x: torch.batch_norm(x, *on(x, CHANNELS, CHANNELS), None, None, True, 0.1, 1e-5, False),
    "batch norm by kept statistics": lambda x: torch.batch_norm(x, *on(x, *[CHANNELS] * 4), False, 0.1, 1e-5, False),
    "group norm": lambda x: torch.group_norm(x, 2, *on(x, CHANNELS, CHANNELS)),
    "maxima": lambda x: torch.max_pool2d(x, 2),
    "means": lambda x: torch.avg_pool2d(x, 2),
    "means of a given size": lambda x: torch.adaptive_avg_pool2d(x, [2, 3]),
    "maxima of a given size": lambda x: torch.adaptive_max_pool2d(x, [2, 3])[0],
    "places of maxima": lambda x: torch.max_pool2d_with_indices(x, 2)[1],
    "places of maxima of a given size": lambda x: torch.adaptive_max_pool2d(x, [2, 3])[1],
    "maxima at their places": lambda x: torch.max_unpool2d(*torch.max_pool2d_with_indices(x, 2), [7, 6]),
    "zeros around": lambda x: torch.constant_pad_nd(x, [1, 2, 0, 1]),
    "joined channels": lambda x: torch.cat([x, x + 1], 1),
    "joined images": lambda x: torch.cat([x, x + 1]),
}


def images(dtype=torch.float32):
    return torch.linspace(-2, 3, 2 * 4 * 7 * 6).sin().reshape(2, 4, 7, 6).to(dtype)


@pytest.mark.parametrize("name", ON_PLANES)
def test_results_on_planes_keep_their_channels_last(name):
    rows = images()
    last = rows.contiguous(memory_format=torch.channels_last)
    got, expected = ON_PLANES[name](last), ON_PLANES[name](rows)
    assert expected.is_contiguous()
    assert got.is_contiguous(memory_format=torch.channels_last)
    assert not got.is_contiguous()
    torch.testing.assert_close(got, expected)
    assert ON_PLANES[name](last.to("meta")).stride() == got.stride()


def test_pieces_of_such_images_give_whole_ones():
    last = images().contiguous(memory_format=torch.channels_last)
    piece = last[:, :, 1:6, ::2]
    got = torch.max_pool2d(piece, 2)
    assert got.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(got, torch.max_pool2d(piece.contiguous(), 2))


@pytest.mark.parametrize("f", [torch.mul, torch.add, torch.maximum, lambda a, b: torch.where(a > 0, a, b)])
@pytest.mark.parametrize("scale", [torch.ones(()), torch.ones(4, 1, 1)])
def test_what_is_expanded_has_no_order_of_its_own(f, scale):
    last = images().contiguous(memory_format=torch.channels_last)
    wide = scale.expand(last.shape)  # as the gradient of a sum is
    for got in (f(wide, last), f(last, wide)):
        assert got.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(f(wide, last), f(wide.contiguous(), images()))
    assert f(wide, images()).is_contiguous() and f(wide, wide).is_contiguous()


def test_weights_with_their_channels_last_are_enough_for_a_convolution():
    got = torch.conv2d(images(), WEIGHT.contiguous(memory_format=torch.channels_last))
    assert got.is_contiguous(memory_format=torch.channels_last)


def test_a_list_of_both_orders_is_joined_in_rows():
    rows = images()
    assert torch.cat([rows.contiguous(memory_format=torch.channels_last), rows], 1).is_contiguous()


@pytest.mark.parametrize("shape", [(2, 1, 3, 3), (2, 4, 1, 1), (1, 4, 3, 3)])
def test_ordinary_images_with_sizes_of_one_stay_ordinary(shape):
    x = torch.arange(float(functools.reduce(lambda a, b: a * b, shape))).reshape(shape)
    assert torch.max_pool2d(x, 1).stride() == x.stride()


@pytest.mark.parametrize("shape, strides", [((2, 1, 3, 3), (9, 1, 3, 1)), ((2, 3, 1, 1), (3, 1, 3, 3))])
def test_images_that_lie_both_ways_have_the_strides_that_were_asked_for(shape, strides):
    x = torch.ones(shape).to(memory_format=torch.channels_last)
    assert x.stride() == strides
    assert x.to(memory_format=torch.channels_last) is x
    weight = torch.ones(5, shape[1], 1, 1)
    assert torch.conv2d(x, weight).is_contiguous(memory_format=torch.channels_last)


def test_volumes_keep_their_channels_last():
    rows = torch.linspace(-2, 3, 2 * 4 * 4 * 4 * 4).sin().reshape(2, 4, 4, 4, 4)
    last = rows.contiguous(memory_format=torch.channels_last_3d)
    for f in (
        lambda x: torch.conv3d(x, WEIGHT.unsqueeze(2)),
        lambda x: torch.max_pool3d(x, 2),
        lambda x: torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
    ):
        assert f(last).is_contiguous(memory_format=torch.channels_last_3d)
        torch.testing.assert_close(f(last), f(rows))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_batch_norm_of_other_dtypes_keeps_its_channels_last(dtype):
    rows = images(dtype)
    last = rows.contiguous(memory_format=torch.channels_last)
    got = torch.batch_norm(last, None, None, None, None, True, 0.1, 1e-5, False)
    assert got.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(got, torch.batch_norm(rows, None, None, None, None, True, 0.1, 1e-5, False))


def test_what_is_given_as_out_keeps_its_own_order():
    last = images().contiguous(memory_format=torch.channels_last)
    out = torch.empty(2, 8, 7, 6)
    torch.cat([last, last], 1, out=out)
    assert out.is_contiguous()
    torch.testing.assert_close(out, torch.cat([images(), images()], 1))


def test_batch_norm_of_very_many_samples_does_not_lose_its_mean():
    x = torch.full((1 << 18, 2), 100.0)
    x[::2] += 0.5
    mean, var = torch.zeros(2), torch.ones(2)
    torch.batch_norm(x, None, None, mean, var, True, 1.0, 1e-5, False)
    torch.testing.assert_close(mean.double(), torch.full((2,), 100.25, dtype=torch.float64), rtol=1e-7, atol=0)
    torch.testing.assert_close(var.double(), torch.full((2,), 0.0625, dtype=torch.float64), rtol=1e-4, atol=0)


def test_resize_takes_a_memory_format():
    images = torch.empty(0).resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    assert images.stride() == torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last).stride()
    volumes = torch.empty(0).resize_(2, 3, 4, 5, 6, memory_format=torch.channels_last_3d)
    assert volumes.is_contiguous(memory_format=torch.channels_last_3d)
    rows = torch.empty(2, 3, 4, 5)
    assert rows.resize_(2, 3, 4, 5).stride() == (60, 20, 5, 1)
    assert rows.resize_(2, 3, 4, 5, memory_format=torch.channels_last).stride() == images.stride()
    assert torch.empty(0).resize_as_(images).stride() == (60, 20, 5, 1)
    assert torch.empty(0).resize_as_(images, memory_format=torch.preserve_format).stride() == images.stride()
    with pytest.raises(RuntimeError, match="resize_: required rank 4 tensor to use channels_last format"):
        rows.resize_(2, 3, memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="torch.preserve_format names no order for another size"):
        rows.resize_(2, 3, memory_format=torch.preserve_format)
