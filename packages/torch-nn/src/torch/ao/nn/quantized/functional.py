"""Functions of quantized tensors, as ``torch.nn.functional`` has them for floats.

>>> import torch.ao.nn.quantized.functional as qF
>>> q = torch.quantize_per_tensor(torch.tensor([[-1.0, 2.0]]), 0.1, 20, torch.quint8)
>>> qF.hardtanh(q, 0.0, 1.0).dequantize()
tensor([[0., 1.]])
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ._operators import library

__all__ = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d", "celu", "clamp", "conv1d", "conv2d", "conv3d", "elu", "hardsigmoid",
    "hardswish", "hardtanh", "interpolate", "leaky_relu", "linear", "max_pool1d", "max_pool2d", "threshold", "upsample", "upsample_bilinear",
    "upsample_nearest",
]  # fmt: skip


def _quantized(name: str, x: Any, what: str = "input") -> None:
    if not getattr(x, "is_quantized", False):
        raise ValueError(
            f"quantized.functional.{name}: {what} must be quantized, got {getattr(x, 'dtype', type(x).__name__)}"
        )


def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, scale: float | None = None, zero_point: int | None = None
) -> Tensor:
    """``input @ weight^T + bias``, with the scale of the input where none is given."""
    _quantized("linear", input), _quantized("linear", weight, "weight")
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return library.linear(input, library.linear_prepack(weight, bias), scale, zero_point)


def _convolution(dims: int) -> Any:
    name = f"conv{dims}d"

    def conv(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = torch.quint8,
    ) -> Tensor:  # fmt: skip
        _quantized(name, input), _quantized(name, weight, "weight")
        if padding_mode != "zeros":
            raise NotImplementedError(f"quantized.functional.{name}: only padding_mode='zeros', got {padding_mode!r}")
        if dtype is not input.dtype:
            raise NotImplementedError(
                f"quantized.functional.{name}: results have the dtype of the input, {input.dtype}, not {dtype}"
            )
        several = lambda v: [v] * dims if isinstance(v, int) else list(v)
        packed = getattr(library, f"{name}_prepack")(
            weight, bias, several(stride), several(padding), several(dilation), groups
        )
        return getattr(library, name)(input, packed, scale, zero_point)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"A convolution over {dims} dims of quantized tensors, rounded to ``scale`` and ``zero_point``."
    return conv


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def _same(name: str) -> Any:
    function = getattr(F, name)

    def run(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        _quantized(name, input)
        return function(input, *args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``torch.nn.functional.{name}`` of a quantized tensor."
    return run


adaptive_avg_pool2d, adaptive_avg_pool3d, avg_pool2d, avg_pool3d = map(
    _same, ("adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d")
)
hardsigmoid, interpolate = _same("hardsigmoid"), _same("interpolate")
max_pool1d, max_pool2d = _same("max_pool1d"), _same("max_pool2d")


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The numbers within two bounds."""
    _quantized("hardtanh", input)
    return F.hardtanh(input, min_val, max_val, inplace)


def clamp(input: Tensor, min_: float, max_: float) -> Tensor:
    """The numbers within two bounds."""
    _quantized("clamp", input)
    return input.clamp(min_, max_)


def leaky_relu(
    input: Tensor,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Tensor:
    """``leaky_relu``, with the scale of the input where none is given."""
    _quantized("leaky_relu", input)
    own = (input.q_scale(), input.q_zero_point()) if scale is None or zero_point is None else (scale, zero_point)
    return library.leaky_relu(input, negative_slope, inplace, *own)


def hardswish(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """``hardswish`` rounded to a scale."""
    _quantized("hardswish", input)
    return library.hardswish(input, scale, zero_point)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """``value`` in place of what is not above the threshold."""
    _quantized("threshold", input)
    return library.threshold(input, threshold, value)


def elu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Tensor:
    """``elu`` rounded to a scale."""
    _quantized("elu", input)
    return library.elu(input, scale, zero_point, alpha)


def celu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Tensor:
    """``celu`` rounded to a scale."""
    _quantized("celu", input)
    return library.celu(input, scale, zero_point, alpha)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Tensor:
    """``interpolate`` under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``upsample(mode="bilinear", align_corners=True)``."""
    return upsample(input, size, scale_factor, "bilinear", True)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``upsample(mode="nearest")``."""
    return upsample(input, size, scale_factor, "nearest")
