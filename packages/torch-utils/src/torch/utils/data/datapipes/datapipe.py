"""The two kinds of data pipes: streams, and samples by index. Their methods are what `functional_datapipe` has given names."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from ..dataset import Dataset, IterableDataset

T_co = TypeVar("T_co", covariant=True)


class DataChunk(list):
    """The samples of one batch."""

    def __init__(self, items: Any) -> None:
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples as text."""
        return indent + "[" + ", ".join(str(i) for i in self) + "]"

    def raw_iterator(self) -> Any:
        """The samples."""
        yield from self.items


class _Named:
    """Methods by the names that classes were given."""

    functions: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in type(self).functions:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return functools.partial(type(self).functions[name], self)

    @classmethod
    def register_function(cls, function_name: str, function: Any) -> None:
        """Makes a function a method of all pipes of the kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Makes a class of pipe a method of all others."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__


class IterDataPipe(_Named, IterableDataset[T_co]):
    """A stream of samples. A new iterator ends the one before: two readers of one stream take `fork`.

    Example:
        >>> from torch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).filter(lambda i: i % 2 == 0).batch(2))
        [[0, 2], [4]]
    """

    functions: dict[str, Any] = {}
    _reader = 0  # the number of the iterator that is valid

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            cls.__iter__ = _single(vars(cls)["__iter__"])

    def __iter__(self) -> Any:
        return self

    def reset(self) -> None:
        """Called before a new iterator begins."""


def _single(function):
    """``__iter__`` of which only the newest iterator goes on."""

    @functools.wraps(function)
    def __iter__(self):
        if self.__dict__.get("_starting"):  # that of a base class, called by the derived one
            return function(self)
        self._reader += 1
        return _read(self, function, self._reader)

    return __iter__


def _read(pipe, function, number):
    pipe.reset()
    pipe.__dict__["_starting"] = True
    try:
        inner = iter(function(pipe))
    finally:
        del pipe.__dict__["_starting"]
    while True:
        if pipe._reader != number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                f"{pipe!r}; use fork() for several readers"
            )
        try:
            sample = next(inner)
        except StopIteration:
            return
        yield sample


class DFIterDataPipe(IterDataPipe[T_co]):
    """A stream of rows of tables."""


class MapDataPipe(_Named, Dataset[T_co]):
    """Samples by index.

    Example:
        >>> from torch.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper([1, 2, 3]).map(lambda i: i * i)[2]
        9
    """

    functions: dict[str, Any] = {}

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} needs a method __len__()")

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))


class _IterDataPipeSerializationWrapper(IterDataPipe):
    """A pipe that travels to another process."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __iter__(self) -> Any:
        yield from self._datapipe

    def __len__(self) -> int:
        return len(self._datapipe)


class _MapDataPipeSerializationWrapper(MapDataPipe):
    """A pipe that travels to another process."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]

    def __len__(self) -> int:
        return len(self._datapipe)
