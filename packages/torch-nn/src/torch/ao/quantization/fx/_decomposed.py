"""The operators ``torch.ops.quantized_decomposed``: quantization as arithmetic on plain tensors of integers.

>>> x = torch.tensor([-1.0, 0.26, 3.0])
>>> torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.5, 10, 0, 15, torch.uint8)
tensor([ 8, 11, 15], dtype=torch.uint8)
"""

import torch
from torch.library import Library

_library = Library("quantized_decomposed", "DEF")
quantized_decomposed_lib = _library  # as libraries name it that add operators of theirs


def _check(name, input, quant_min, quant_max, axis=None, scales=None):
    if quant_min > quant_max:
        raise ValueError(f"{name}: quant_min {quant_min} is above quant_max {quant_max}")
    if axis is None:
        return
    if not -input.dim() <= axis < input.dim():
        raise IndexError(f"{name}: axis {axis} is out of range for a tensor of shape {tuple(input.shape)}")
    if scales.shape != (input.shape[axis],):
        raise ValueError(
            f"{name}: expected a scale for each of the {input.shape[axis]} places of axis {axis}, got {tuple(scales.shape)}"
        )


def _per_token_quant_qparam_dim_check(input, scales, zero_points):
    """Whether there is one scale and zero point for each token, a line of the last dim; AssertionError when not."""
    tokens = input.shape[:-1].numel()
    for name, given in (("scales", scales), ("zero_points", zero_points)):
        if tokens != given.numel():
            raise AssertionError(f"num_tokens: {tokens} {name}: {given.size()}")


def _along(values, input, axis):
    """The values of the places of an axis, shaped to be broadcast."""
    return values.reshape([-1 if i == axis % input.dim() else 1 for i in range(input.dim())])


def quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype):
    """``clamp(round(x / scale) + zero_point)``."""
    _check("quantize_per_tensor", input, quant_min, quant_max)
    return _quantized(input, scale, zero_point, quant_min, quant_max, dtype)


def dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype, *, out_dtype=None):
    """``(q - zero_point) * scale``."""
    _check("dequantize_per_tensor", input, quant_min, quant_max)
    return (input.to(out_dtype or torch.float32) - zero_point) * scale


def quantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype):
    """``quantize_per_tensor`` with a scale and a zero point for each place of an axis."""
    _check("quantize_per_channel", input, quant_min, quant_max, axis, scales)
    scales, zero_points = _along(scales, input, axis), _along(zero_points, input, axis)
    return _quantized(input, scales, zero_points, quant_min, quant_max, dtype)


def dequantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype, *, out_dtype=None):
    """``dequantize_per_tensor`` with a scale and, perhaps, a zero point for each place of an axis."""
    _check("dequantize_per_channel", input, quant_min, quant_max, axis, scales)
    value = input.to(out_dtype or torch.float32)
    if zero_points is not None:
        value = value - _along(zero_points, input, axis)
    return (value * _along(scales, input, axis)).to(out_dtype or torch.float32)


def _quantized(input, scale, zero_point, quant_min, quant_max, dtype):
    value = torch.round(input.float() * (1.0 / scale)) + zero_point
    return value.clamp(quant_min, quant_max).to(dtype)


for _name, _function, _schema in (
    ("quantize_per_tensor", quantize_per_tensor, "float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype"),
    ("quantize_per_tensor.tensor", quantize_per_tensor, "Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype"),
    ("dequantize_per_tensor", dequantize_per_tensor,
     "float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None"),
    ("dequantize_per_tensor.tensor", dequantize_per_tensor,
     "Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None"),
    ("quantize_per_channel", quantize_per_channel,
     "Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype"),
    ("dequantize_per_channel", dequantize_per_channel,
     "Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None"),
):  # fmt: skip
    _library.define(f"{_name}(Tensor input, {_schema}) -> Tensor")
    _library.impl(_name, _function, "CompositeExplicitAutograd")
