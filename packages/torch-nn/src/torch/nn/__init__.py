# ruff: noqa: F401
"""Neural networks as plain Python: modules, layers, losses, initialisation."""

from . import functional, init, modules
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

# Loaded at first use: submodules, and the names they hold.
_LATE = {"attention": None, "grad": None, "parallel": None, "utils": None, "DataParallel": "parallel"}


def __getattr__(name):
    import importlib

    if name in _LATE:
        module = importlib.import_module(f"{__name__}.{_LATE[name] or name}")
        value = module if _LATE[name] is None else getattr(module, name)
    elif name in modules._LATE:
        value = getattr(modules, name)
    else:
        from .modules.module import _did_you_mean

        raise AttributeError(f"module 'torch.nn' has no attribute {name!r}{_did_you_mean(name, __dir__())}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *modules._LATE, *_LATE})


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


__all__ = [name for name in __dir__() if not name.startswith("_") and name not in ("grad", "attention", "modules")]
