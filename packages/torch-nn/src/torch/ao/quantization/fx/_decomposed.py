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


def choose_qparams(input, quant_min, quant_max, eps, dtype):
    """Scale and zero point for the least and greatest number: zero has an integer of its own, and a scale is at least ``eps``."""
    low, high = _bounds("choose_qparams", input, quant_min, quant_max)
    scale = ((high - low) / float(quant_max - quant_min)).clamp(min=eps)
    zero_point = quant_min - (low / scale).round().to(torch.int64)
    return scale.to(torch.float64), zero_point.clamp(quant_min, quant_max)


def choose_qparams_symmetric(input, quant_min, quant_max, eps, dtype):
    """Scale for the greatest absolute number; the zero point is 0, or 128 of unsigned bytes."""
    low, high = _bounds("choose_qparams_symmetric", input, quant_min, quant_max)
    scale = ((-low).maximum(high) / (float(quant_max - quant_min) / 2)).clamp(min=eps)
    zero_point = torch.full_like(scale, 128 if dtype is torch.uint8 else 0, dtype=torch.int64)
    return scale.to(torch.float64), zero_point


def _bounds(name, input, quant_min, quant_max):
    if quant_min >= quant_max:
        raise ValueError(f"{name}: quant_min {quant_min} is not below quant_max {quant_max}")
    if not input.is_floating_point() or not input.numel():
        raise ValueError(f"{name}: expected numbers, got {input.dtype} of shape {tuple(input.shape)}")
    low, high = input.detach().to(torch.float32).aminmax()
    return low.clamp(max=0).reshape(1), high.clamp(min=0).reshape(1)


def choose_qparams_per_token(input, dtype):
    """A scale for each token, a line of the last dim, for integers from -127 to 127; zero points are 0."""
    if dtype is not torch.int8:
        raise NotImplementedError(f"choose_qparams_per_token: unsupported dtype {dtype}, expected torch.int8")
    most = input.abs().amax(-1, keepdim=True)
    scales = (most.float() if most.dtype is torch.float16 else most).clamp(min=1e-5).div(127)
    return scales, torch.zeros_like(scales)


def choose_qparams_per_token_asymmetric(input, dtype):
    """A scale and a zero point for each token, for integers from -128 to 127."""
    low, high = input.amin(-1, keepdim=True).clamp(max=0), input.amax(-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / 255.0).clamp(min=torch.finfo(torch.float32).eps)
    below, above = low / scale, high / scale
    zero_point = torch.where(-128 + below + 127 + above > 0, -128 - below, 127 - above).clamp(-128, 127).round()
    return scale.to(torch.float64), zero_point.to(torch.int64)


def quantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype):
    """``quantize_per_tensor`` with a scale and a zero point for each token."""
    _check("quantize_per_token", input, quant_min, quant_max)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


def dequantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype, output_dtype):
    """``dequantize_per_tensor`` with a scale and a zero point for each token."""
    _check("dequantize_per_token", input, quant_min, quant_max)
    return (input - zero_points).to(output_dtype) * scales.to(output_dtype)


def _groups(name, input, scales, group_size):
    if group_size < 1 or input.dim() != 2 or input.shape[-1] % group_size:
        raise AssertionError(
            f"{name}: expected rows of a multiple of group_size {group_size}, got shape {tuple(input.shape)}"
        )
    if scales.numel() * group_size != input.numel():
        raise AssertionError(
            f"{name}: expected {input.numel() // group_size} scales for groups of {group_size}, got shape {tuple(scales.shape)}"
        )
    return input.reshape(-1, group_size)


def quantize_per_channel_group(input, scales, zero_points, quant_min, quant_max, dtype, group_size):
    """``quantize_per_tensor`` with a scale and a zero point for each ``group_size`` numbers of a row."""
    _check("quantize_per_channel_group", input, quant_min, quant_max)
    groups = _groups("quantize_per_channel_group", input, scales, group_size)
    value = groups.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return value.clamp(quant_min, quant_max).to(dtype).reshape(input.shape)


def dequantize_per_channel_group(
    input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype=torch.float32
):
    """``dequantize_per_tensor`` with a scale and, perhaps, a zero point for each ``group_size`` integers of a row."""
    _check("dequantize_per_channel_group", input, quant_min, quant_max)
    groups = _groups("dequantize_per_channel_group", input, scales, group_size)
    zeros = torch.zeros([], dtype=torch.int32) if zero_points is None else zero_points.reshape(-1, 1)
    return groups.sub(zeros).mul(scales.reshape(-1, 1)).reshape(input.shape).to(output_dtype)


def fake_quant_per_channel(input, scales, zero_points, axis, quant_min, quant_max):
    """The numbers that ``quantize_per_channel`` keeps, with gradients where they lie within its range."""
    return torch.fake_quantize_per_channel_affine(
        input, scales.to(torch.float32), zero_points.to(torch.int32), axis, quant_min, quant_max
    )


def convert_element_type(input, dtype):
    """``input.to(dtype)``."""
    return input.to(dtype)


_TWO, _TOKENS = "(Tensor, Tensor)", "Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype"
for _name, _function, _schema in (
    ("choose_qparams.tensor", choose_qparams, "int quant_min, int quant_max, float eps, ScalarType dtype"),
    ("choose_qparams_symmetric.tensor", choose_qparams_symmetric, "int quant_min, int quant_max, float eps, ScalarType dtype"),
    ("choose_qparams_per_token", choose_qparams_per_token, "ScalarType dtype"),
    ("choose_qparams_per_token_asymmetric", choose_qparams_per_token_asymmetric, "ScalarType dtype"),
):  # fmt: skip
    _library.define(f"{_name}(Tensor input, {_schema}) -> {_TWO}")
    _library.impl(_name, _function, "CompositeExplicitAutograd")
for _name, _function, _schema in (
    ("quantize_per_token", quantize_per_token, _TOKENS),
    ("dequantize_per_token", dequantize_per_token, f"{_TOKENS}, ScalarType output_dtype"),
    ("quantize_per_channel_group", quantize_per_channel_group, f"{_TOKENS}, int group_size"),
    ("dequantize_per_channel_group", dequantize_per_channel_group,
     "Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype"),
    ("fake_quant_per_channel", fake_quant_per_channel, "Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max"),
    ("convert_element_type.no_fuse", convert_element_type, "ScalarType dtype"),
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
