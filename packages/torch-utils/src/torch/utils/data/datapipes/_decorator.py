"""Decorators of data pipes."""

from __future__ import annotations

import contextlib
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe

_determinism = False


class functional_datapipe:
    """Gives a class of pipe a name, under which it is a method of all pipes of its kind.

    Example:
        >>> from torch.utils.data.datapipes.iter import IterableWrapper
        >>> @functional_datapipe("twice")
        ... class Twice(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         for sample in self.source:
        ...             yield from (sample, sample)
        >>> list(IterableWrapper("ab").twice())
        ['a', 'a', 'b', 'b']
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        kind = IterDataPipe if isinstance(cls, type) and issubclass(cls, IterDataPipe) else MapDataPipe
        if not (isinstance(cls, type) and issubclass(cls, kind)):
            raise TypeError("functional_datapipe: decorates a class derived from IterDataPipe or MapDataPipe")
        kind.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:
    """A block in which pipes that are `non_deterministic` are refused."""

    def __init__(self) -> None:
        global _determinism
        self._before, _determinism = _determinism, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        global _determinism
        _determinism = self._before


class non_deterministic:
    """Marks a class of pipe whose order of samples is not the same each time, always or when a function says so."""

    def __init__(self, arg: Any) -> None:
        self._says, self._cls = (arg, None) if not isinstance(arg, type) else ((lambda *a, **k: True), arg)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._cls is None:
            return self._marked(args[0])
        return self._made(self._cls, args, kwargs)

    def _made(self, cls, args, kwargs):
        if _determinism and self._says(*args, **kwargs):
            raise TypeError(f"{cls.__name__} is not deterministic, and determinism was asked for")
        return cls(*args, **kwargs)

    def _marked(self, cls):
        return lambda *args, **kwargs: self._made(cls, args, kwargs)


def argument_validation(f: Any) -> Any:
    """The function itself: types of pipes are not checked here."""
    return f


runtime_validation = argument_validation


@contextlib.contextmanager
def runtime_validation_disabled():
    """A block like any other: types of samples are not checked here."""
    yield
