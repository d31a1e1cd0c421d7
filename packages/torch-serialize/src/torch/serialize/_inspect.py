"""Looks into files without making tensors: what they hold, and which names beyond data they ask for."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from ._arrays.dtypes import ELEMENT_TYPES
from ._arrays.numpy_arrays import is_numpy_array
from ._arrays.stored import Stored, check_bounds
from ._arrays.walk import leaves
from ._formats.dispatch import format_of, read
from ._pickles.opaque import children, opaque_session
from ._session import Settings
from ._storage.source import open_source
from .sharded import is_index, read_index


class _Parts(dict):
    """What a sparse tensor consists of, by name."""


class TensorInfo(NamedTuple):
    """What a file says of one tensor."""

    name: str
    shape: tuple
    dtype: str
    nbytes: int  # of its elements
    storage: int  # tensors with the same number share memory
    requires_grad: bool
    kind: str = "tensor"  # or "storage", or "ndarray" for one that was saved as NumPy's object


class _Described:
    def __init__(self, stored, row, size, requires_grad):
        self.stored, self.row, self.shape, self.requires_grad = stored, row, tuple(size), requires_grad
        self.dtype = row.name


class _Descriptions:
    """A backend of `_arrays.backends` that makes descriptions and keeps no bytes."""

    name = "describe"

    def allocate(self, nbytes: int):
        return range(nbytes)  # has a length and takes no room

    def from_bytes(self, data):
        return range(len(data))

    def part(self, storage, begin, nbytes, align=1):
        return storage[begin : begin + nbytes]

    def stored(self, storage, row, location):
        return Stored(storage, row, location)

    def tensor(self, stored, row, offset, size, stride, requires_grad=False):
        check_bounds(len(stored.data), row, offset, size, stride)
        return _Described(stored, row, size, requires_grad)

    def is_tensor(self, obj) -> bool:
        return type(obj) is _Described or type(obj) is _Parts

    def nbytes(self, described) -> int:
        return 0  # no byte of it is copied

    def resolved(self, described, conj, neg):
        return described

    def require_grad(self, described, required) -> None:
        described.requires_grad = required

    def has_own_state(self, described, state) -> bool:
        return False

    def parameter(self, data, requires_grad):
        if isinstance(data, _Described):
            data.requires_grad = requires_grad
        return data

    def subclass(self, value, cls, state):
        return value

    size_class = None

    def tensor_class(self, name):
        return None

    def dtype(self, row):
        return row.name

    def row(self, dtype):
        return ELEMENT_TYPES[dtype]

    def sparse(self, indices, values, size, coalesced, ready):
        return _Parts(indices=indices, values=values)

    def compressed(self, layout, lines, places, values, size, ready):
        by_rows = str(layout) in ("torch.sparse_csr", "torch.sparse_bsr")
        names = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
        return _Parts(zip((*names, "values"), (lines, places, values), strict=True))

    def meta(self, row, size, stride, requires_grad):
        return _Described(Stored(range(0), row), row, size, requires_grad)

    def size(self, dims=()):
        return tuple(dims)

    def device(self, kind, index=None):
        return kind if index is None else f"{kind}:{index}"

    def from_numpy(self, array, row):
        return array


def _read(f, unknown: dict[str, None]):
    """The object of `f` in descriptions, and the file's size."""
    source = open_source(f, "inspect")

    class Looking(opaque_session(unknown)):
        def storage(self, row, location, nbytes, fill, offset=None, verify=None):
            return self.backend.stored(self.backend.allocate(nbytes), row, location)

        def fill(self, data, row, fill):
            pass

        def archived(self, reader, record):
            return self.backend.allocate(record.size), reader.head(record)

        def swap(self, data, row, swapped):
            pass

    try:
        with Looking(source, Settings(_Descriptions()), read) as session:
            return read(session), source.size
    finally:
        source.close()


def inspect(f) -> list[TensorInfo]:
    """The tensors of a file with their names, shapes, types and sharing, without running or loading anything.

    Example:
        >>> import io, numpy
        >>> out = io.BytesIO()
        >>> from torch.serialize import save_safetensors
        >>> save_safetensors({"bias": numpy.zeros(2, numpy.float32)}, out)
        >>> inspect(out.getvalue())
        [TensorInfo(name='bias', shape=(2,), dtype='float32', nbytes=8, storage=0, requires_grad=False, kind='tensor')]
    """
    if not is_index(f):
        return _listed(*_read(f, {}))
    where, found = read_index(os.fsdecode(f)), {}
    for file in dict.fromkeys(where.values()):
        first = len(found)
        for row in inspect(os.path.join(os.path.dirname(os.fsdecode(f)), file)):
            if where.get(row.name) == file:
                found[row.name] = row._replace(storage=first + row.storage)
    return [found[name] for name in where if name in found]


def _listed(obj, size: int) -> list[TensorInfo]:
    numbers: dict[int, int] = {}
    found = []
    for name, node in leaves(obj, _is_listed, size, children):
        stored = getattr(node, "stored", node)
        number = numbers.setdefault(id(stored.data if isinstance(stored, Stored) else node), len(numbers))
        if isinstance(node, _Described):
            nbytes = math.prod(node.shape) * node.row.itemsize
            found.append(TensorInfo(name, node.shape, node.row.name, nbytes, number, node.requires_grad))
        elif isinstance(node, Stored):
            nbytes = len(node.data)
            row = TensorInfo(name, (nbytes // node.row.itemsize,), node.row.name, nbytes, number, False, "storage")
            found.append(row)
        else:
            found.append(TensorInfo(name, node.shape, node.dtype.name, node.nbytes, number, False, "ndarray"))
    return found


def _is_listed(node) -> bool:
    return isinstance(node, (_Described, Stored)) or is_numpy_array(node)


def kind_of(f) -> str:
    """The format of a file and its size, for people."""
    source = open_source(f, "inspect")
    try:
        return f"{'index of several files' if is_index(f) else format_of(source)[0]}, {source.size:,} bytes"
    finally:
        source.close()


def get_unsafe_globals_in_checkpoint(f) -> list[str]:
    """The classes and functions that a file names and that `load` would refuse, as ``"module.name"``."""
    unknown: dict[str, None] = {}
    _read(f, unknown)
    return list(unknown)
