"""Small questions about configurations and observers."""

from __future__ import annotations

from typing import Any

import torch

from .observer import PlaceholderObserver

__all__ = [
    "activation_dtype", "activation_is_dynamically_quantized", "activation_is_int8_quantized", "activation_is_statically_quantized", "check_min_max_valid",
    "get_combined_dict", "get_qconfig_dtypes", "get_qparam_dict", "is_per_channel", "is_per_tensor", "weight_dtype", "weight_is_quantized",
]  # fmt: skip

CHANNELS = (torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric)


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """The first dict with the second over it."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme: Any) -> bool:
    """Whether there is one scale for all."""
    return qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric)


def is_per_channel(qscheme: Any) -> bool:
    """Whether each channel has its scale.

    >>> is_per_channel(torch.per_channel_symmetric)
    True
    """
    return qscheme in CHANNELS


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """What an observer found: ``qscheme``, ``dtype``, bounds, ``scale`` and ``zero_point``, and the ``axis`` of channels; symmetric schemes are affine
    ones here.

    >>> observer = torch.ao.quantization.MinMaxObserver(dtype=torch.qint8)
    >>> found = get_qparam_dict(observer(torch.ones(1)) and observer)
    >>> found["qscheme"], found["zero_point"].item()
    (torch.per_tensor_affine, -128)
    """
    affine = {
        torch.per_tensor_symmetric: torch.per_tensor_affine,
        torch.per_channel_symmetric: torch.per_channel_affine,
    }
    scheme = getattr(observer_or_fake_quant, "qscheme", None)
    if scheme is None or isinstance(observer_or_fake_quant, PlaceholderObserver):
        return {"qscheme": None, "dtype": observer_or_fake_quant.dtype}
    found = {"qscheme": affine.get(scheme, scheme), "dtype": observer_or_fake_quant.dtype}
    for name in ("quant_min", "quant_max"):
        if hasattr(observer_or_fake_quant, name):
            found[name] = getattr(observer_or_fake_quant, name)
    found["scale"], found["zero_point"] = observer_or_fake_quant.calculate_qparams()
    if is_per_channel(scheme):
        found["axis"] = observer_or_fake_quant.ch_axis
    return found


def activation_dtype(qconfig: Any) -> Any:
    """The dtype that activations are quantized to."""
    return qconfig.activation().dtype


def weight_dtype(qconfig: Any) -> Any:
    """The dtype that weights are quantized to."""
    return qconfig.weight().dtype


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized as they come."""
    return bool(getattr(qconfig.activation(), "is_dynamic", False))


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized with scales that were observed."""
    return activation_is_int8_quantized(qconfig) and not activation_is_dynamically_quantized(qconfig)


def activation_is_int8_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized to bytes."""
    return activation_dtype(qconfig) in (torch.quint8, torch.qint8, torch.uint8, torch.int8)


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether weights become small integers or halves."""
    return weight_dtype(qconfig) in (torch.quint8, torch.qint8, torch.float16, torch.uint8, torch.int8)


def get_qconfig_dtypes(qconfig: Any) -> tuple[Any, Any, bool]:
    """The dtypes of activations and weights, and whether activations are quantized as they come."""
    return activation_dtype(qconfig), weight_dtype(qconfig), activation_is_dynamically_quantized(qconfig)


def check_min_max_valid(min_val: torch.Tensor, max_val: torch.Tensor) -> bool:
    """Whether an observer saw numbers. AssertionError where the least is above the greatest."""
    if not min_val.numel() or not max_val.numel() or torch.isinf(torch.stack([min_val.min(), max_val.max()])).all():
        return False
    if (min_val > max_val).any():
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True
