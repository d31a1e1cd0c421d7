"""Layers of bytes with a scale and a zero point, against the same arithmetic in int64 and float32, at every level of instructions."""

import os
import platform
import subprocess
import sys

import pytest
import torch
from torch import _C

quantize, dequantize = _C._operator("_int8_quantize"), _C._operator("_int8_dequantize")
add, dense, convolution = (_C._operator(f"_int8_{name}") for name in ("add", "dense", "convolution"))
pack, packed_convolution = _C._operator("_int8_pack"), _C._operator("_int8_packed_convolution")


def drawn(shape, seed=0, dtype=torch.uint8):
    low, high = (0, 256) if dtype is torch.uint8 else (-128, 128)
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def bytes_of(sums, scale, bias, zero, relu, dtype, dim):
    """Rounded as the operators say: a float is added, another multiplied, and ties go to even."""
    shape = [1] * sums.dim()
    shape[dim] = -1
    steps = sums.to(torch.float32)
    if bias is not None:
        steps = steps + bias.reshape(shape)
    steps = steps * scale.reshape(shape)
    least, most = (-128, 127) if dtype is torch.int8 else (0, 255)
    return (steps.round() + zero).clamp(max(least, zero) if relu else least, most).to(dtype)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize(
    "m, n, k",
    [(1, 1, 1), (1, 64, 256), (3, 5, 7), (4, 4, 64), (5, 9, 65), (33, 66, 300), (2, 3, 4097), (7, 6, 0), (49, 40, 200)],
)
def test_a_product_of_bytes_is_exact(m, n, k, dtype):
    x, w = drawn((m, k), 1, dtype), drawn((n, k), 2, torch.int8)
    scale, bias = torch.rand(n) * 1e-3 + 1e-5, torch.randn(n) * 1000
    zero, out_zero = (100, 30) if dtype is torch.uint8 else (-20, 10)
    sums = (x.long() - zero) @ w.long().t()
    for relu in (False, True):
        wanted = bytes_of(sums, scale, bias, out_zero, relu, dtype, 1)
        assert torch.equal(dense(x, w, scale, bias, zero, out_zero, relu), wanted)
    assert torch.equal(
        dense(x, w, scale, None, zero, out_zero, False), bytes_of(sums, scale, None, out_zero, False, dtype, 1)
    )


CONVOLUTIONS = [  # input, weight, stride, padding, dilation, groups
    ((2, 3, 9, 9), (5, 3, 3, 3), 1, 1, 1, 1),
    ((1, 3, 23, 17), (13, 3, 7, 7), 2, 3, 1, 1),
    ((2, 8, 10, 7), (12, 8, 1, 1), 1, 0, 1, 1),
    ((2, 8, 9, 9), (4, 8, 1, 1), 2, 0, 1, 1),
    ((2, 64, 10, 11), (40, 64, 1, 1), 1, 0, 1, 1),
    ((1, 32, 14, 14), (33, 32, 3, 3), 1, 1, 1, 1),
    ((1, 6, 12, 12), (6, 1, 3, 3), 1, 1, 1, 6),
    ((1, 6, 12, 12), (9, 2, 3, 2), [2, 1], [0, 1], [1, 2], 3),
    ((1, 4, 8, 8), (3, 4, 3, 3), 3, 2, 2, 1),
    ((3, 5, 30), (7, 5, 4), 2, 2, 1, 1),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), [1, 2, 1], [1, 0, 1], 1, 1),
    ((1, 600, 4, 4), (3, 600, 1, 1), 1, 0, 1, 1),
    ((1, 70, 5, 5), (30, 70, 3, 3), 1, 1, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, groups", CONVOLUTIONS)
def test_a_convolution_of_bytes_is_exact(shape, kernel, stride, padding, dilation, groups, dtype):
    x, w = drawn(shape, 3, dtype), drawn(kernel, 4, torch.int8)
    dims = len(shape) - 2
    lists = [[v] * dims if isinstance(v, int) else v for v in (stride, padding, dilation)]
    scale, bias = torch.rand(kernel[0]) * 1e-3 + 1e-5, torch.randn(kernel[0]) * 1000
    zero, out_zero = (77, 3) if dtype is torch.uint8 else (-50, -100)
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[dims - 1]
    sums = function((x.double() - zero), w.double(), None, *lists, groups)  # whole numbers below 2^53
    for relu in (False, True):
        y = convolution(x, w, scale, bias, *lists, groups, zero, out_zero, relu)
        assert torch.equal(y, bytes_of(sums, scale, bias, out_zero, relu, dtype, 1))
        if groups == 1:
            packed = pack(w)
            if packed.dim() == 1:
                assert torch.equal(packed_convolution(x, w, packed, scale, bias, *lists, zero, out_zero, relu), y)
            if dims == 2:
                assert y.is_contiguous(memory_format=torch.channels_last)
                last = x.contiguous(memory_format=torch.channels_last)
                assert torch.equal(convolution(last, w, scale, bias, *lists, 1, zero, out_zero, relu), y)


@pytest.mark.parametrize("most", [127, 255])
def test_an_image_of_small_bytes_and_one_of_all_bytes_give_exact_sums(most):
    x, w = torch.full((1, 8, 3, 3), most, dtype=torch.uint8), torch.full((4, 8, 3, 3), -128, dtype=torch.int8)
    y = convolution(x, w, torch.full((4,), -1 / 1024.0), None, [1], [1], [1], 1, 0, 0, False)
    taps = torch.tensor([[4.0, 6, 4], [6, 9, 6], [4, 6, 4]])
    assert torch.equal(y[0, 0].float(), (taps * most).clamp(max=255)) and torch.equal(y, y[:, :1].expand_as(y))


def test_elements_of_bytes_stay_where_they_lie():
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    q = quantize(x, 0.1, 100, False)
    rows = quantize(x.contiguous(), 0.1, 100, False)
    assert torch.equal(q, rows) and q.stride() == x.stride() and dequantize(q, 0.1, 100).stride() == x.stride()
    both = add(q, rows, 0.1, 100, 0.1, 100, 0.2, 100, False)
    assert both.stride() == x.stride() and torch.equal(both, add(rows, q, 0.1, 100, 0.1, 100, 0.2, 100, False))


def test_ties_fall_as_in_pytorch():
    # By the inverse of the scale, 0.273939937 is 127.5 steps, which ties make 128; a quotient would be just below.
    assert quantize(torch.tensor([0.273939937]), 0.00214854861, 0, False).item() == 128


def test_numbers_become_bytes_and_numbers_again():
    x = torch.tensor([-1.0, 0.04, 0.05, 0.15, 1e9, -1e9, float("inf"), float("nan")])
    assert quantize(x, 0.1, 10, False).tolist() == [0, 10, 10, 12, 255, 0, 255, 0]
    assert quantize(x, 0.1, 10, True).tolist() == [0, 10, 10, 12, 127, -128, 127, -128]
    q = drawn((3, 1000), 5, torch.int8)
    assert torch.equal(dequantize(q, 0.25, -3), (q.float() + 3) * 0.25)
    assert torch.equal(quantize(dequantize(q, 0.25, -3), 0.25, -3, True), q)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
def test_sums_are_rounded_once(dtype):
    a, b = drawn((5, 77), 6, dtype), drawn((5, 77), 7, dtype)
    exact = ((a.double() - 7) * 0.5 + (b.double() - 9) * 0.125) / 0.75
    for relu in (False, True):
        y = add(a, b, 0.5, 7, 0.125, 9, 0.75, 11, relu).long()
        least, most = (0, 255) if dtype is torch.uint8 else (-128, 127)
        wanted = (exact + 11).clamp(max(least, 11) if relu else least, most)
        assert (y - wanted).abs().max() <= 0.5 + 1e-4


def test_strides_and_nothing():
    x, w, scale = (
        drawn((4, 6, 6, 3), 8).permute(0, 3, 1, 2),
        drawn((3, 3, 5, 2), 9, torch.int8).permute(0, 3, 1, 2)[:, :1],
        torch.ones(3),
    )
    x1 = x[:, :1]
    args = (scale, None, [1], [0], [1], 1, 5, 0, False)
    assert torch.equal(convolution(x1, w, *args), convolution(x1.contiguous(), w.contiguous(), *args))
    assert convolution(x1[:0], w, *args).shape == (0, 3, 4, 2)
    assert dense(drawn((0, 4)), drawn((2, 4), 1, torch.int8), torch.ones(2), None, 0, 0, False).shape == (0, 2)
    assert quantize(torch.zeros(0), 1.0, 0, False).shape == (0,)
    meta = convolution(*(t.to("meta") for t in (x1, w, scale)), None, [1], [0], [1], 1, 5, 0, False)
    assert meta.shape == (4, 3, 2 + 2, 2) and meta.is_meta


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: packed_convolution(drawn((1, 2, 4, 4)), drawn((2, 2, 3, 3), 0, torch.int8), drawn((3,)), torch.ones(2), None, [1], [0], [1], 0, 0, False),
            "packed must be what _int8_pack makes of weight (2, 2, 3, 3) for one group on this device, got torch.uint8 of shape (3,)",
        ),
        (lambda: quantize(torch.ones(2).double(), 1.0, 0, False), "input must be torch.float32, got torch.float64"),
        (lambda: quantize(torch.ones(2), 0.0, 0, False), "scale must be positive and finite, got 0"),
        (lambda: quantize(torch.ones(2), 1.0, 300, False), "zero_point must lie between 0 and 255 for torch.uint8, got 300"),
        (lambda: dequantize(torch.ones(2), 1.0, 0), "input must be torch.uint8 or torch.int8, got torch.float32"),
        (lambda: add(drawn((2, 3)), drawn((3, 2)), 1.0, 0, 1.0, 0, 1.0, 0, False), "other must be torch.uint8 of shape (2, 3)"),
        (lambda: dense(drawn((2, 3)), drawn((4, 5), 0, torch.int8), torch.ones(4), None, 0, 0, False), "last dim of input (2, 3)"),
        (lambda: dense(drawn((2, 3)), drawn((4, 3)), torch.ones(4), None, 0, 0, False), "weight must be torch.int8, got torch.uint8"),
        (lambda: dense(drawn((2, 3)), drawn((4, 3), 0, torch.int8), torch.ones(3), None, 0, 0, False), "one number for each of 4 rows"),
        (lambda: dense(drawn((1, 70000)), drawn((1, 70000), 0, torch.int8), torch.ones(1), None, 0, 0, False), "less than 65536 products"),
        (
            lambda: convolution(drawn((1, 3, 4, 4)), drawn((2, 2, 3, 3), 0, torch.int8), torch.ones(2), None, [1], [0], [1], 1, 0, 0, False),
            "input of 3 channels and weight (2, 2, 3, 3) do not fit 1 groups",
        ),
        (
            lambda: convolution(drawn((1, 2, 2, 2)), drawn((2, 2, 3, 3), 0, torch.int8), torch.ones(2), None, [1], [0], [1], 1, 0, 0, False),
            "a kernel that reaches over 3 does not fit input (1, 2, 2, 2)",
        ),
        (
            lambda: convolution(drawn((1, 2, 4, 4)), drawn((2, 2, 3, 3), 0, torch.int8), torch.ones(2), None, [0], [0], [1], 1, 0, 0, False),
            "stride must lie between 1 and 2^31, got (0,)",
        ),
    ],
)  # fmt: skip
def test_wrong_operands_are_named(call, message):
    with pytest.raises(RuntimeError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.parametrize("level", ["v2", "v3"])
@pytest.mark.skipif("TORCH_CPU_LEVEL" in os.environ, reason="runs these tests")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="one level only")
def test_lower_levels_give_the_same_integers(level):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    found = subprocess.run(command, env={**os.environ, "TORCH_CPU_LEVEL": level}, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-2000:]
