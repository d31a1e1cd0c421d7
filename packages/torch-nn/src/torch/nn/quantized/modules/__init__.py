"""The modules of ``torch.nn.quantized``; layers of quantized tensors come from ``torch.ao.nn.quantized`` when they are asked for."""

from __future__ import annotations

from .functional_modules import FloatFunctional as FloatFunctional
from .functional_modules import FXFloatFunctional as FXFloatFunctional


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.nn.quantized' has no attribute {name!r}")
    from torch.ao.nn import quantized

    try:
        return getattr(quantized, name)
    except AttributeError:
        raise AttributeError(f"module 'torch.nn.quantized' has no attribute {name!r}") from None
