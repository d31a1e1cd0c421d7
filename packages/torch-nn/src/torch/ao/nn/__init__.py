"""Layers of quantized models."""

from importlib import import_module

__all__ = ["intrinsic", "qat", "quantized"]


def __getattr__(name):
    if name in __all__:
        return import_module(f"torch.ao.nn.{name}")
    raise AttributeError(f"module 'torch.ao.nn' has no attribute {name!r}")
