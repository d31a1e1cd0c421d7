"""Classes that libraries written in C++ register, ``torch.classes.namespace.Name``: none can be here.

>>> torch.classes.loaded_libraries
set()
"""

from __future__ import annotations

from .ops import load_library, loaded_libraries

__all__ = ["load_library", "loaded_libraries"]
__path__: list[str] = []  # which programs that watch modules read


class _Namespace:
    """The classes that one library would register."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"torch.classes.{self._name}.{name} does not exist: classes of C++ that are registered with PyTorch cannot be loaded"
        )


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute {name!r}")
    namespace = globals()[name] = _Namespace(name)
    return namespace
