"""Operators on small integers: they compute with exact integers, or with the numbers that integers stand for."""

from __future__ import annotations

import torch

from .._types import NARROW, dtype_of
from . import reader
from .elements import in_dtype
from .layers import conv

_RANGES = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.int16: (-(2**15), 2**15 - 1),
    torch.uint16: (0, 2**16 - 1),
}


def _range(dtype):
    if dtype not in _RANGES:
        raise NotImplementedError(f"onnx.load: integers of {dtype} as quantized numbers")
    return _RANGES[dtype]


def _along(values, x, axis, block=0):
    """A number for all, for each place of a dim, or for each block of places."""
    if values is None or values.numel() == 1:
        return values if values is None else values.reshape(())
    if block:
        return values.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    return values.reshape([-1 if d == axis % x.dim() else 1 for d in range(x.dim())])


@reader("QuantizeLinear")
def quantize(x, scale, zero=None, axis=1, block_size=0, output_dtype=0, precision=0, saturate=1):
    if output_dtype in NARROW:
        dtype, low, high = NARROW[output_dtype]
    else:
        dtype = zero.dtype if zero is not None else dtype_of(output_dtype) if output_dtype else torch.uint8
        if dtype.is_floating_point:
            return in_dtype(x / _along(scale, x, axis, block_size).to(x.dtype), dtype, saturate)
        low, high = _range(dtype)
    y = torch.round(x / _along(scale, x, axis, block_size).to(x.dtype))
    if zero is not None:
        y = y + _along(zero, x, axis, block_size).to(y.dtype)
    return y.clamp(low, high).to(dtype)


@reader("DequantizeLinear")
def dequantize(x, scale, zero=None, axis=1, block_size=0, output_dtype=0):
    y = x.to(scale.dtype)
    if zero is not None:
        y = y - _along(zero, x, axis, block_size).to(scale.dtype)
    return y * _along(scale, x, axis, block_size)


@reader("DynamicQuantizeLinear")
def dynamic_quantize(x):
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    zero = torch.round((-low / scale).clamp(0, 255)).to(torch.uint8)
    return (torch.round(x / scale) + zero).clamp(0, 255).to(torch.uint8), scale, zero


def _less(x, zero, axis):
    """The integers without their zero point, as floats that hold their products exactly."""
    x = x.to(torch.float64)
    if zero is None:
        return x
    zero = zero.to(torch.float64)
    return x - (zero if zero.numel() == 1 else zero.reshape([-1 if d == axis % x.dim() else 1 for d in range(x.dim())]))


def _rounded(y, scale, zero):
    low, high = _range(zero.dtype)
    return (torch.round(y * scale) + zero.to(y.dtype)).clamp(low, high).to(zero.dtype)


@reader("MatMulInteger")
def matmul_integer(a, b, a_zero=None, b_zero=None):
    return (_less(a, a_zero, -2) @ _less(b, b_zero, -1)).to(torch.int32)


@reader("QLinearMatMul")
def matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    scales = a_scale.to(torch.float64), b_scale.to(torch.float64)
    rows, columns = (
        s if s.numel() == 1 else s.reshape(shape) for s, shape in zip(scales, ([-1, 1], [1, -1]), strict=True)
    )
    return _rounded(_less(a, a_zero, -2) @ _less(b, b_zero, -1), rows * columns / y_scale.to(torch.float64), y_zero)


@reader("ConvInteger")
def conv_integer(x, w, x_zero=None, w_zero=None, **options):
    return conv(_less(x, x_zero, 1), _less(w, w_zero, 0), None, **options).to(torch.int32)


@reader("QLinearConv")
def conv_linear(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None, **options):
    sums = conv(_less(x, x_zero, 1), _less(w, w_zero, 0), None if bias is None else bias.to(torch.float64), **options)
    scale = x_scale.to(torch.float64) * w_scale.to(torch.float64) / y_scale.to(torch.float64)
    scale = scale if scale.numel() == 1 else scale.reshape([-1 if d == 1 else 1 for d in range(sums.dim())])
    return _rounded(sums, scale, y_zero)
