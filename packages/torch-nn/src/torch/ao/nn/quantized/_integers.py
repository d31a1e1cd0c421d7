"""Sums and products of bytes, without floats between: what quantized layers call where their operands allow it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, _seams

DENSE = _seams.operator("_int8_dense")
CONVOLUTION = _seams.operator("_int8_convolution")
PACKED_CONVOLUTION = _seams.operator("_int8_packed_convolution")
ADD, PACK = _seams.operator("_int8_add"), _seams.operator("_int8_pack")
MOST_SCALES = 8  #: of inputs that a layer keeps factors for: a recurrent one has its first state, and those after it
MOST_PRODUCTS = (1 << 16) - 1  #: whose sum 32 bits hold
BYTES = (torch.quint8, torch.qint8)


def is_bytes(x: Any) -> bool:
    """Whether a tensor is of bytes with one scale."""
    return getattr(x, "is_quantized", False) and x.dtype in BYTES and x.qscheme() is torch.per_tensor_affine


def plain(x: Tensor) -> Tensor:
    """The integers of a quantized tensor, which they share."""
    return x.as_subclass(Tensor)


def rounded_once(x: Tensor, halved: bool) -> Tensor:
    """Floats as their bytes would stand for them, of a scale that is found for them now; ``halved`` leaves a bit free."""
    return torch.quantize_per_tensor_dynamic(x, torch.quint8, halved).dequantize() if x.numel() else x


def scales_of_sums(steps: Tensor, scale: float, out_scale: float) -> tuple[Tensor, Tensor]:
    """What a step of a sum stands for, and how many steps of the result that is; in float32, as PyTorch has them: ties fall alike."""
    each = steps.to(torch.float32) * torch.tensor(scale, dtype=torch.float32)
    return each, each / torch.tensor(out_scale, dtype=torch.float32)


def bias_of_sums(bias: Tensor, each: Tensor, steps: Tensor) -> Tensor:
    """A bias in steps of sums; FBGEMM multiplies by one inverse where there is one scale, and divides where there are several."""
    return bias / each if steps.dim() else bias * each.reciprocal()


def factors(layer: Any, scale: float, out_scale: float) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None] | None:
    """The weight, for each of its rows what a sum is multiplied by to be an integer of the result, the bias as a sum, and the weight as products take it.

    None where the weight's zero is not the integer 0, or a sum is longer than 32 bits. Kept while nothing changes.
    """
    held = tuple(layer._buffers[name] for name in ("weight_int", "weight_scale", "weight_zero_point", "_bias"))
    if any(t is not None and t.is_inference() for t in held):  # of those nobody counts writes
        with _seams.unrecorded():
            return _factors(layer, *held, scale, out_scale)
    key = (scale, out_scale, *(None if t is None else t._version for t in held))
    kept = layer.__dict__.get("_factors")
    if kept is not None and kept[0] == key and all(a is b for a, b in zip(kept[1], held)):
        return kept[2]
    others = layer.__dict__.setdefault("_other_factors", {})
    kept = others.get(key)
    if kept is None or any(a is not b for a, b in zip(kept[1], held)):
        if len(others) >= MOST_SCALES:
            others.clear()
        with _seams.unrecorded():  # traces and exported programs have them as constants
            kept = others[key] = key, held, _factors(layer, *held, scale, out_scale)
    layer.__dict__["_factors"] = kept
    return kept[2]


def _factors(
    layer: Any, weight: Tensor, steps: Tensor, zero: Tensor, bias: Tensor | None, scale: float, out_scale: float
) -> Any:
    if weight.dtype is not torch.int8 or weight[:1].numel() > MOST_PRODUCTS or zero.any():
        return None
    each, step = scales_of_sums(steps, scale, out_scale)
    each, step = each.expand(weight.shape[0]), step.expand(weight.shape[0]).contiguous()
    step.quantized_from = weight, steps, bias, scale, out_scale  # which archives say
    packed = PACK(weight) if weight.dim() == 2 or layer.groups == 1 else None
    sums = None if bias is None else bias_of_sums(bias, each, steps)
    return weight, step, sums, None if packed is weight else packed


def rows(layer: Any) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """A scale for each row of the weight, and the weight as products take it, for inputs that are rounded as they come.

    None where the weight's zero is not the integer 0, or a sum is longer than 32 bits. Kept with the layer, beside the
    integers that this was made of.
    """
    weight, steps, zero = (layer._buffers[name] for name in ("weight_int", "weight_scale", "weight_zero_point"))
    with _seams.unrecorded():  # traces and exported programs have them as constants
        if zero.any() or weight.shape[1] > MOST_PRODUCTS:
            found = None, None, weight
        else:
            each = steps.to(torch.float32).expand(weight.shape[0]).contiguous()
            each = each.clone() if each is steps else each
            each.quantized_from = weight, steps, None  # which archives say
            found = each, PACK(weight), weight
    layer.__dict__["_scales"] = found
    return found


class Refound:
    """What a layer keeps of itself to compute faster is neither copied nor saved: it is another processor's, perhaps."""

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_factors", "_other_factors", "_scales")}


def dense(layer: Any, x: Tensor, scale: float, zero: int, relu: bool) -> Tensor | None:
    """``x @ weight^T + bias`` in integers, or None where that cannot be."""
    if not is_bytes(x):
        return None
    found = factors(layer, x.q_scale(), scale)
    if found is None:
        return None
    weight, each, bias, packed = found
    y = DENSE(plain(x), weight if packed is None else packed, each, bias, x.q_zero_point(), zero, relu)
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
    weight, each, bias, packed = found
    moves, rest = (layer.stride, padding, layer.dilation), (x.q_zero_point(), zero, relu)
    if packed is None:
        y = CONVOLUTION(integers, weight, each, bias, *moves, layer.groups, *rest)
    else:
        y = PACKED_CONVOLUTION(integers, weight, packed, each, bias, *moves, *rest)
    return _seams.rebuilt_quantized(y, scale, zero, None, x.dtype)


EXACT_PRODUCTS = (1 << 24) // 255**2  #: of bytes without their zero points, whose sum float32 holds


def transposed(layer: Any, x: Tensor, scale: float, zero: int, relu: bool) -> Tensor | None:
    """The transposed convolution of a layer, or None where that cannot be: sums of integers, in floats that hold them."""
    weight, steps, point, bias = (
        layer._buffers[n] for n in ("weight_int", "weight_scale", "weight_zero_point", "_bias")
    )
    if not is_bytes(x) or steps.dim() or weight.dtype is torch.int32:
        return None
    products = weight.shape[0] // layer.groups * weight[0, 0].numel()
    kind = torch.float32 if products <= EXACT_PRODUCTS else torch.float64
    run = getattr(torch.nn.functional, f"conv_transpose{weight.dim() - 2}d")
    moves = layer.stride, layer.padding, layer.output_padding, layer.groups, layer.dilation
    sums = run(plain(x).to(kind) - x.q_zero_point(), weight.to(kind) - point, None, *moves).to(torch.float32)
    each, step = scales_of_sums(steps, x.q_scale(), scale)
    if bias is not None:
        sums += bias_of_sums(bias, each, steps).reshape(-1, *[1] * (weight.dim() - 2))
    y = (sums * step).round() + zero
    least, most = (0, 255) if x.dtype is torch.quint8 else (-128, 127)
    y = y.clamp(zero if relu else least, most).to(plain(x).dtype)
    return _seams.rebuilt_quantized(y, scale, zero, None, x.dtype)


def add(x: Tensor, y: Tensor, scale: float, zero: int, relu: bool) -> Tensor | None:
    """``x + y`` of tensors of one shape in integers, or None where that cannot be."""
    if not (is_bytes(x) and is_bytes(y)) or x.dtype is not y.dtype or x.shape != y.shape:
        return None
    out = ADD(plain(x), plain(y), x.q_scale(), x.q_zero_point(), y.q_scale(), y.q_zero_point(), scale, zero, relu)
    return _seams.rebuilt_quantized(out, scale, zero, None, x.dtype)
