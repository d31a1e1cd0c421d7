"""``torch.ao``: quantization, and the layers that it puts in place of others."""

from importlib import import_module

__all__ = ["nn", "quantization"]


def __getattr__(name):
    if name in __all__:
        return import_module(f"torch.ao.{name}")
    raise AttributeError(f"module 'torch.ao' has no attribute {name!r}")
