"""Quantized tensors that are made of integers, or empty."""

from __future__ import annotations

from .. import _C
from .._dtypes import qint8, qint32, quint8
from .._fake_quantized import checked_channels
from .tensor import INTEGERS, channel_parameters, checked_scale, is_quantized, rebuilt

EMPTY = _C._operator("empty")
_OF_INTEGERS = {_C.int8: qint8, _C.uint8: quint8, _C.int32: qint32}


def _made(name, size, dtype, options):
    if dtype not in INTEGERS:
        raise RuntimeError(f"{name}: expected a quantized dtype such as torch.quint8, got {dtype}")
    options = {k: v for k, v in options.items() if v is not None}
    return EMPTY(tuple(size), dtype=INTEGERS[dtype][0], **options)


def _empty_affine_quantized(
    size, *, scale=1.0, zero_point=0, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    """A quantized tensor whose integers are not set.

    >>> torch._empty_affine_quantized([2], scale=0.5, zero_point=3, dtype=torch.quint8).fill_(2).int_repr()
    tensor([7, 7], dtype=torch.uint8)
    """
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    integers = _made("_empty_affine_quantized", size, dtype, options)
    return rebuilt(integers, *checked_scale("_empty_affine_quantized", scale, zero_point, dtype), None, dtype)


def _empty_per_channel_affine_quantized(
    size, *, scales, zero_points, axis, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    """A quantized tensor with a scale and zero point for each index of ``axis``, whose integers are not set."""
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    integers = _made("_empty_per_channel_affine_quantized", size, dtype, options)
    axis = checked_channels("_empty_per_channel_affine_quantized", integers, scales, zero_points, axis)
    return rebuilt(integers, *channel_parameters(scales, zero_points), axis, dtype)


def empty_quantized(
    size, qtensor, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False, memory_format=None
):
    """A quantized tensor of another size with the scale and zero point of ``qtensor``, whose integers are not set."""
    if not is_quantized(qtensor):
        raise NotImplementedError(f"empty_quantized: expected a quantized tensor, got {qtensor.dtype}")
    device = qtensor.device if device is None else device
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "memory_format": memory_format}
    integers = _made("empty_quantized", size, qtensor._dtype if dtype is None else dtype, options)
    scales = (qtensor._scale, qtensor._zero, qtensor._axis)
    if qtensor._axis is not None:
        checked_channels("empty_quantized", integers, *scales)
    return rebuilt(integers, *scales, qtensor._dtype if dtype is None else dtype)


def _dtype_of(name, input):
    if input.dtype not in _OF_INTEGERS or is_quantized(input):
        raise RuntimeError(f"{name}: expected integers of int8, uint8 or int32, got {input.dtype}")
    return _OF_INTEGERS[input.dtype]


def _make_per_tensor_quantized_tensor(input, scale, zero_point):
    """A quantized tensor of a copy of these integers.

    >>> torch._make_per_tensor_quantized_tensor(torch.tensor([3, 5], dtype=torch.int8), 0.5, 1).dequantize()
    tensor([1., 2.])
    """
    dtype = _dtype_of("_make_per_tensor_quantized_tensor", input)
    parameters = checked_scale("_make_per_tensor_quantized_tensor", scale, zero_point, dtype)
    return rebuilt(input.detach().clone(), *parameters, None, dtype)


def _make_per_channel_quantized_tensor(input, scale, zero_point, axis):
    """``_make_per_tensor_quantized_tensor`` with a scale and zero point for each index of ``axis``."""
    dtype = _dtype_of("_make_per_channel_quantized_tensor", input)
    axis = checked_channels("_make_per_channel_quantized_tensor", input, scale, zero_point, axis)
    parameters = channel_parameters(scale, zero_point)
    return rebuilt(input.detach().clone(), *parameters, axis, dtype)
