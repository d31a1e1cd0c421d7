"""Looks into files without making tensors: what they hold, and which names beyond data they ask for."""

from __future__ import annotations

import math
import pickle
from typing import Any, NamedTuple

from ._arrays import Stored, check_bounds
from ._dtypes import ELEMENT_TYPES
from ._globals import known


class Opaque:
    """Stands for an object whose class was not looked up; `name` is the class that the file asks for."""

    def __init__(self, *args, **kwargs):
        self.state: Any = None

    def __setstate__(self, state):
        self.state = state

    def append(self, item):
        pass

    def extend(self, items):
        pass


class TensorInfo(NamedTuple):
    """What a file says of one tensor."""

    name: str
    shape: tuple
    dtype: str
    nbytes: int  # of its elements
    storage: int  # tensors with the same number share memory
    requires_grad: bool


class _Described:
    def __init__(self, stored, row, size, requires_grad):
        self.stored, self.row, self.shape, self.requires_grad = stored, row, tuple(size), requires_grad
        self.dtype = row.name


class _Descriptions:
    """A backend of `_arrays` that makes descriptions and keeps no bytes."""

    name = "describe"

    def allocate(self, nbytes: int):
        return range(nbytes)  # has a length and takes no room

    def from_bytes(self, data):
        return range(len(data))

    def part(self, storage, begin, nbytes):
        return storage[begin : begin + nbytes]

    def stored(self, storage, row, location):
        return Stored(storage, row, location)

    def tensor(self, stored, row, offset, size, stride, requires_grad=False):
        check_bounds(len(stored.data), row, offset, size, stride)
        return _Described(stored, row, size, requires_grad)

    def parameter(self, data, requires_grad):
        if isinstance(data, _Described):
            data.requires_grad = requires_grad
        return data

    def subclass(self, value, cls, state):
        return value

    def tensor_class(self, name):
        return lambda data=None, *rest: data

    def dtype(self, row):
        return row.name

    def row(self, dtype):
        return ELEMENT_TYPES[dtype]

    def is_copied(self, row):
        return False

    def sparse(self, indices, values, size, coalesced):
        return {"indices": indices, "values": values}

    def meta(self, row, size, stride, requires_grad):
        return _Described(Stored(range(0), row), row, size, requires_grad)

    def size(self, dims=()):
        return tuple(dims)

    def device(self, kind, index=None):
        return kind if index is None else f"{kind}:{index}"

    def from_numpy(self, array):
        return array


def _read(f, unknown: list[str]):
    from ._load import read
    from ._session import Session
    from ._source import open_source

    source = open_source(f, "inspect")

    class Looking(Session):
        def __init__(self, source, *settings):
            super().__init__(source, *settings)
            self.use(_Descriptions())

        def unpickler(self, data, persistent_load, find=None):
            def lenient(module, name):
                found = known(self.names, module, name) if find is None else _try(find, module, name)
                if found is None:
                    full = f"{module}.{name}"
                    if full not in unknown:
                        unknown.append(full)
                    found = type(name, (Opaque,), {"name": full})
                return found

            reader = super().unpickler(data, persistent_load, lenient)
            reader._is_open = lambda obj: isinstance(obj, Opaque)
            return reader

        def storage(self, row, location, nbytes, fill, offset=None):
            return self.backend.stored(self.backend.allocate(nbytes), row, location)

        def fill(self, data, row, fill):
            pass

    try:
        with Looking(source, "numpy", None, True, pickle, {}, False) as session:
            return read(session)
    finally:
        source.close()


def _try(find, module, name):
    from ._errors import UnsafeGlobalError

    try:
        return find(module, name)
    except UnsafeGlobalError:
        return None


def inspect(f) -> list[TensorInfo]:
    """The tensors of a file with their names, shapes, types and sharing, without running or loading anything.

    Example:
        >>> import io, numpy
        >>> out = io.BytesIO()
        >>> from torch.serialize import save_safetensors
        >>> save_safetensors({"bias": numpy.zeros(2, numpy.float32)}, out)
        >>> inspect(out.getvalue())
        [TensorInfo(name='bias', shape=(2,), dtype='float32', nbytes=8, storage=0, requires_grad=False)]
    """
    found: list[TensorInfo] = []
    numbers: dict[int, int] = {}
    seen: set[int] = set()
    todo = [("", _read(f, []))]
    while todo:
        name, node = todo.pop()
        if isinstance(node, _Described):
            number = numbers.setdefault(id(node.stored), len(numbers))
            nbytes = math.prod(node.shape) * node.row.itemsize
            found.append(TensorInfo(name, node.shape, node.row.name, nbytes, number, node.requires_grad))
            continue
        if id(node) in seen:
            continue
        if isinstance(node, Opaque):
            node = node.state
        if isinstance(node, dict):
            seen.add(id(node))
            todo += [(f"{name}.{key}" if name else str(key), value) for key, value in reversed(node.items())]
        elif isinstance(node, (list, tuple)):
            seen.add(id(node))
            todo += [(f"{name}.{i}" if name else str(i), node[i]) for i in reversed(range(len(node)))]
    return found


def get_unsafe_globals_in_checkpoint(f) -> list[str]:
    """The classes and functions that a file names and that `load` would refuse, as ``"module.name"``."""
    unknown: list[str] = []
    _read(f, unknown)
    return unknown
