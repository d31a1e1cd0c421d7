"""``torch.ao``: quantization, of which there is only what a program in float numbers needs."""

from importlib import import_module


def __getattr__(name):
    if name == "quantization":
        return import_module("torch.ao.quantization")
    raise AttributeError(f"module 'torch.ao' has no attribute {name!r}")
