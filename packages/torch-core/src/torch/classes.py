"""Classes that libraries written in C++ register, ``torch.classes.namespace.Name`` (torch/custom_class.h).

>>> torch.classes.loaded_libraries
set()
"""

from __future__ import annotations

from .ops import load_library, loaded_libraries

__all__ = ["load_library", "loaded_libraries"]
__path__: list[str] = []  # which programs that watch modules read


class _Namespace:
    """The classes of one library, which become its attributes."""

    def __init__(self, name):
        self._name = self.__qualname__ = name  # pickle finds a class by the names of what it is in

    def __reduce__(self):
        return self._name  # of torch.classes

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"torch.classes.{self._name}.{name} does not exist: no library that was loaded registers such a class by "
            "torch::class_; torch.classes.load_library(path) loads one"
        )


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute {name!r}")
    namespace = globals()[name] = _Namespace(name)
    return namespace
