"""Weights as small integers within a layer: buffers of integers, scales and zero points, which save and load as tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, _seams

_BY_CHANNEL = (torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams)
_VERSIONS = {"_packed_params": 3, "_packed_weight": 1}
KINDS = {torch.int8: torch.qint8, torch.uint8: torch.quint8, torch.int32: torch.qint32}


def adopt(made: Any, layer: Any) -> None:
    """Give a layer the attributes, parameters and buffers of another, and none of its children and hooks."""
    for name, value in layer.__dict__.items():
        made.__dict__[name] = copy.copy(value) if isinstance(value, dict) else value
        if isinstance(value, dict) and ("hooks" in name or name == "_modules"):
            made.__dict__[name].clear()
    made.__dict__.pop("qconfig", None)


def quantize_weight(weight: Tensor, observer: Any, trained: bool = False) -> Tensor:
    """A weight quantized with the scale that an observer finds for it, or found while it was trained."""
    weight = weight.detach().to(torch.float32)
    if not trained or not observer.min_val.numel() or torch.isinf(observer.min_val).any():
        observer(weight)
    scale, zero = observer.calculate_qparams()
    dtype = observer.dtype
    if getattr(observer, "qscheme", None) in _BY_CHANNEL:
        return torch.quantize_per_channel(weight, scale, zero, observer.ch_axis, dtype)
    return torch.quantize_per_tensor(weight, scale.item(), int(zero.item()), dtype)


def hold(layer: Any, name: str, weight: Tensor) -> None:
    """Keep a quantized weight in buffers of a layer."""
    integers = weight.as_subclass(Tensor).clone()
    layer.register_buffer(f"{name}_int", integers)
    if weight.dtype is not KINDS[integers.dtype]:  # of less than a byte
        setattr(layer, f"{name}_dtype", weight.dtype)
    elif hasattr(layer, f"{name}_dtype"):
        delattr(layer, f"{name}_dtype")
    if weight.qscheme() is torch.per_tensor_affine:
        scale, zero = torch.tensor(weight.q_scale(), dtype=torch.float64), torch.tensor(weight.q_zero_point())
    else:
        if weight.q_per_channel_axis() != 0:
            raise NotImplementedError(f"{type(layer).__name__}: scales of a weight belong to its first dim")
        scale, zero = weight.q_per_channel_scales(), weight.q_per_channel_zero_points()
    layer.register_buffer(f"{name}_scale", scale)
    layer.register_buffer(f"{name}_zero_point", zero)


def held(layer: Any, name: str) -> Tensor:
    """The weight that ``hold`` kept."""
    integers, scale, zero = (layer._buffers[f"{name}{part}"] for part in ("_int", "_scale", "_zero_point"))
    dtype = getattr(layer, f"{name}_dtype", KINDS[integers.dtype])
    if scale.dim():
        return _seams.rebuilt_quantized(integers, scale, zero, 0, dtype)
    return _seams.rebuilt_quantized(integers, scale.item(), zero.item(), None, dtype)


def write(layer: Any, destination: dict[str, Any], prefix: str, packed: str = "") -> None:
    """The weight and the bias of a layer in a state, as PyTorch has them: one by one, or packed under a name."""
    parts = ("weight_int", "weight_scale", "weight_zero_point", "weight_half", "_bias", "scale", "zero_point")
    for part in parts:
        destination.pop(prefix + part, None)
    weight, bias = layer.weight(), layer._buffers.get("_bias")
    if not packed:
        destination[f"{prefix}weight"], destination[f"{prefix}bias"] = weight, bias
    if hasattr(layer, "scale"):
        destination[f"{prefix}scale"] = torch.tensor(layer.scale, dtype=torch.float64)
        destination[f"{prefix}zero_point"] = torch.tensor(layer.zero_point)
    if not packed:
        return
    if hasattr(destination, "_metadata"):  # PyTorch asks the version of what is packed
        destination._metadata[f"{prefix}_packed_params"] = {"version": _VERSIONS[packed]}
    destination[f"{prefix}_packed_params.dtype"] = weight.dtype
    weight = weight.to(torch.float32) if weight.dtype is torch.float16 else weight
    destination[f"{prefix}_packed_params.{packed}"] = (weight, bias) if packed == "_packed_params" else weight


def fit(layer: Any, state: dict[str, Any], prefix: str) -> None:
    """Before a state is loaded: what it packs is unpacked, and the layer has buffers of its shapes, for a scale of each channel may
    take the place of one for all.
    """
    _unpack(layer, state, prefix)
    for name in ("scale", "zero_point"):
        loaded = state.get(prefix + name)
        if loaded is None:
            continue
        buffer = layer._buffers.get(name)
        if buffer is None:  # a number of the layer
            setattr(layer, name, state.pop(prefix + name).item())
        else:
            state[prefix + name] = loaded.detach().to(buffer.dtype).reshape(buffer.shape)
    for name in list(layer._buffers):
        loaded = state.get(prefix + name)
        if loaded is not None and name.endswith(("_scale", "_zero_point")):
            layer._buffers[name] = torch.empty_like(loaded)


def _unpack(layer: Any, state: dict[str, Any], prefix: str) -> None:
    present = layer._buffers.get("weight_half", layer._buffers.get("weight_int"))
    if present is None:
        return
    packed = f"{prefix}_packed_params."
    if f"{packed}_packed_params" in state:
        weight, bias = state.pop(f"{packed}_packed_params")
    elif f"{packed}_packed_weight" in state:
        weight, bias = state.pop(f"{packed}_packed_weight"), None
    elif f"{prefix}weight" in state:
        weight, bias = state.pop(f"{prefix}weight"), state.pop(f"{prefix}bias", None)
    else:
        return
    state.pop(f"{packed}dtype", None)
    _as_buffers(layer, state, prefix, "weight", weight)
    if (bias is None) != (layer._buffers.get("_bias") is None):
        layer._buffers["_bias"] = None if bias is None else torch.empty_like(bias.detach())
    if bias is not None:
        state[f"{prefix}_bias"] = bias.detach()


def _as_buffers(layer: Any, state: dict[str, Any], prefix: str, name: str, weight: Tensor) -> None:
    """A weight in a state as the parts that the layer's buffers hold. RuntimeError for one of another kind or shape."""
    present = layer._buffers.get(f"{name}_half", layer._buffers.get(f"{name}_int"))
    half = present.dtype is torch.float16
    if not half and not getattr(weight, "is_quantized", False):
        raise RuntimeError(
            f"{type(layer).__name__}: the state of {prefix}{name} is of {weight.dtype}, expected integers; a layer whose weight is in half "
            "precision takes floats"
        )
    if weight.shape != present.shape:
        raise RuntimeError(
            f"{type(layer).__name__}: size mismatch for {prefix}{name}: the state has {tuple(weight.shape)}, the layer {tuple(present.shape)}"
        )
    taken = _Kept()
    if half:
        taken[f"{name}_half"] = weight.to(torch.float16)
    else:
        hold(taken, name, weight)
        if (given := getattr(taken, f"{name}_dtype", None)) is not None:
            setattr(layer, f"{name}_dtype", given)
        elif hasattr(layer, f"{name}_dtype"):
            delattr(layer, f"{name}_dtype")
        if taken[f"{name}_int"].dtype is not present.dtype:
            layer._buffers[f"{name}_int"] = torch.empty_like(taken[f"{name}_int"])
    for part, value in taken.items():
        state[prefix + part] = value


def fit_recurrent(layer: Any, state: dict[str, Any], prefix: str) -> None:
    """``fit`` for recurrent layers, of which PyTorch packs the two matrices of each direction with their biases."""
    for end, (weight, bias) in _packed_matrices(layer, state, prefix):
        if f"weight_{end}_half" in layer._buffers or f"weight_{end}_int" in layer._buffers:
            _as_buffers(layer, state, prefix, f"weight_{end}", weight)
        if (held := layer._buffers.get(f"bias_{end}")) is not None:
            state[f"{prefix}bias_{end}"] = torch.zeros_like(held) if bias is None else bias.detach()
    fit(layer, state, prefix)


def _packed_matrices(layer: Any, state: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """The ends of the matrices' names, and what PyTorch packs under each."""
    if isinstance(layer, torch.nn.RNNCellBase):
        for end in ("ih", "hh"):
            packed = state.pop(f"{prefix}_packed_weight_{end}", None)
            if packed is not None:
                yield end, _state_of(packed, "LinearPackedParamsBase", f"{prefix}_packed_weight_{end}")
        return
    for number, (suffix, _) in enumerate(layer._places()):
        key = f"{prefix}_all_weight_values.{number}.param"
        cell = state.pop(key, None)
        if cell is not None:
            *_, matrices = _state_of(cell, "CellParamsBase", key)
            for name, packed in zip(("ih", "hh"), matrices, strict=True):
                yield name + suffix, _state_of(packed, "LinearPackedParamsBase", key)


def _state_of(packed: Any, kind: str, key: str) -> Any:
    """The state of an object of PyTorch's C++, as ``torch.load`` gives it."""
    if not getattr(packed, "type_name", "").endswith(f".{kind}"):
        raise RuntimeError(f"{key}: expected packed parameters ({kind}), got {type(packed).__name__}")
    return packed.state


class _Kept(dict):
    """Buffers without a layer."""

    register_buffer = dict.__setitem__
