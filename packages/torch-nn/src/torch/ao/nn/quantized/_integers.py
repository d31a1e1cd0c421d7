"""Sums and products of bytes, without floats between: what quantized layers call where their operands allow it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, _seams

DENSE = _seams.operator("_int8_dense")
CONVOLUTION = _seams.operator("_int8_convolution")
ADD = _seams.operator("_int8_add")
MOST_PRODUCTS = (1 << 16) - 1  #: whose sum 32 bits hold
BYTES = (torch.quint8, torch.qint8)


def is_bytes(x: Any) -> bool:
    """Whether a tensor is of bytes with one scale."""
    return getattr(x, "is_quantized", False) and x.dtype in BYTES and x.qscheme() is torch.per_tensor_affine


def plain(x: Tensor) -> Tensor:
    """The integers of a quantized tensor, which they share."""
    return x.as_subclass(Tensor)


def factors(layer: Any, scale: float, out_scale: float) -> tuple[Tensor, Tensor | None] | None:
    """For each row of a weight what a sum is multiplied by to be an integer of the result, and the bias as a sum.

    None where the weight's zero is not the integer 0, or a sum is longer than 32 bits. Kept while nothing changes.
    """
    weight, steps, bias = layer._buffers["weight_int"], layer._buffers["weight_scale"], layer._buffers["_bias"]
    zero = layer._buffers["weight_zero_point"]
    key = (scale, out_scale, *((id(t), t._version) for t in (weight, steps, zero, bias) if t is not None))
    kept = layer.__dict__.get("_factors")
    if kept is not None and kept[0] == key:
        return kept[1]
    found = None
    if weight.dtype is torch.int8 and weight[:1].numel() <= MOST_PRODUCTS and not zero.any():
        each = (steps.to(torch.float64) * scale).expand(weight.shape[0])
        found = (
            (each / out_scale).to(torch.float32),
            None if bias is None else (bias.to(torch.float64) / each).to(torch.float32),
        )
    layer.__dict__["_factors"] = key, found
    return found


def dense(layer: Any, x: Tensor, scale: float, zero: int, relu: bool) -> Tensor | None:
    """``x @ weight^T + bias`` in integers, or None where that cannot be."""
    if not is_bytes(x):
        return None
    found = factors(layer, x.q_scale(), scale)
    if found is None:
        return None
    y = DENSE(plain(x), layer.weight_int, *found, x.q_zero_point(), zero, relu)
    return _seams.rebuilt_quantized(y, scale, zero, None, x.dtype)


def convolution(layer: Any, x: Tensor, scale: float, zero: int, relu: bool) -> Tensor | None:
    """The convolution of a layer in integers, or None where that cannot be."""
    if not is_bytes(x) or x.dim() != layer.weight_int.dim():
        return None
    found = factors(layer, x.q_scale(), scale)
    if found is None:
        return None
    integers, padding = plain(x), layer.padding
    if layer.padding_mode != "zeros" or isinstance(padding, str):
        sides = layer._reversed_padding_repeated_twice
        if layer.padding_mode == "zeros":
            integers = torch.nn.functional.pad(integers, sides, value=x.q_zero_point())
        else:
            integers = torch.nn.functional.pad(integers, sides, mode=layer.padding_mode)
        padding = [0] * (x.dim() - 2)
    y = CONVOLUTION(
        integers, layer.weight_int, *found, layer.stride, padding, layer.dilation, layer.groups, x.q_zero_point(), zero, relu
    )  # fmt: skip
    return _seams.rebuilt_quantized(y, scale, zero, None, x.dtype)


def add(x: Tensor, y: Tensor, scale: float, zero: int, relu: bool) -> Tensor | None:
    """``x + y`` of tensors of one shape in integers, or None where that cannot be."""
    if not (is_bytes(x) and is_bytes(y)) or x.dtype is not y.dtype or x.shape != y.shape:
        return None
    out = ADD(plain(x), plain(y), x.q_scale(), x.q_zero_point(), y.q_scale(), y.q_zero_point(), scale, zero, relu)
    return _seams.rebuilt_quantized(out, scale, zero, None, x.dtype)
