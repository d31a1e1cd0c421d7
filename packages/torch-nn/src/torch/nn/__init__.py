# ruff: noqa: F401, F403
"""Neural networks as plain Python: modules, layers, losses, initialisation."""

from . import functional, init, modules, parallel, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_LATE = ("attention", "grad")  # submodules that few programs need


def __getattr__(name):
    if name in _LATE:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.nn' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATE})


def factory_kwargs(kwargs):
    """The entries of ``kwargs`` that tensor factories take (device, dtype, memory_format); TypeError for any other."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = set(kwargs) - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {sorted(unexpected)}")
    given = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & set(kwargs):
        if key in given:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        given[key] = kwargs[key]
    return given
