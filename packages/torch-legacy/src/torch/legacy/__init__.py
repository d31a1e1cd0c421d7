"""The modules and optimizers of 2016, in the manner of Lua: every layer has its own forward and backward, and no tape is
seen from outside."""

__all__ = ["nn", "optim"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'torch.legacy' has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")


def __dir__():
    return sorted({*globals(), *__all__})
