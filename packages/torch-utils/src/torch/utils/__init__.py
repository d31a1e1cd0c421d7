"""Around training: data sets and loaders, a small training loop, checkpointing, DLPack, hooks."""

from importlib import import_module as _import_module

_MODULES = (
    "checkpoint",
    "cpp_extension",
    "data",
    "dlpack",
    "ffi",
    "hooks",
    "hub",
    "model_zoo",
    "tensorboard",
    "trainer",
)


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"torch.utils.{name}")
    raise AttributeError(f"module 'torch.utils' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES})
