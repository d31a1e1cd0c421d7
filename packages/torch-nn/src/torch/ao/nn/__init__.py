"""Layers of quantized models."""

from torch import _seams

__all__ = ["intrinsic", "qat", "quantizable", "quantized"]

__getattr__, __dir__ = _seams.later(globals(), modules=__all__)
