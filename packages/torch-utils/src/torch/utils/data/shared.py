"""Lists, dicts and arrays in shared memory, for data sets that are read by many processes.

Every read of a Python object writes to it: its reference count. A forked worker that walks over a list of a million
strings therefore copies, page by page, what `fork` had shared. What is kept here is bytes, and reading makes new objects
from them. Nothing can be changed after it is made.
"""

from __future__ import annotations

import array
import collections.abc
import itertools
import numbers
import pickle
import sys
import zlib

import torch

from .dataset import Dataset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _shared(dtype, count: int):
    return torch.empty(count, dtype=dtype).share_memory_()


def _view(tensor, code: str = "B") -> memoryview:
    return memoryview(tensor.untyped_storage()).cast(code)


def _shared_copy(values, dtype) -> torch.Tensor:
    tensor = _shared(dtype, len(values))
    if len(values):
        _view(tensor)[:] = memoryview(values).cast("B")
    return tensor


class SharedArray(collections.abc.Sequence):
    """Numbers of one type in shared memory: of a sequence of numbers, an array or a tensor, which is copied.

    A single index gives a Python number, or the tensor of a row; a slice gives a tensor, which shares the memory.

    Example:
        >>> labels = SharedArray([3, 1, 2])
        >>> labels[0], labels[-1], len(labels)
        (3, 2, 3)
        >>> labels[1:]
        tensor([1, 2])
    """

    def __init__(self, values: Any) -> None:
        tensor = values.detach() if isinstance(values, torch.Tensor) else torch.as_tensor(values)
        if tensor.dim() == 0:
            raise ValueError("SharedArray: a single number has no length; give a sequence of them")
        self._tensor = _shared(tensor.dtype, tensor.numel()).view(tensor.shape).copy_(tensor)

    @property
    def tensor(self) -> torch.Tensor:
        """All of it as a tensor over the same memory."""
        return self._tensor

    def __getitem__(self, index: Any) -> Any:
        got = self._tensor[index]
        return got.item() if got.dim() == 0 else got

    def __len__(self) -> int:
        return self._tensor.size(0)

    def __array__(self, dtype: torch.dtype | None = None, copy: Any = None) -> Any:
        array = self._tensor.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        return f"SharedArray(shape={tuple(self._tensor.shape)}, dtype={self._tensor.dtype})"


def _pickled(item) -> bytes:
    return pickle.dumps(item, pickle.HIGHEST_PROTOCOL)


# What a list holds decides how its items are kept: (of bytes, to bytes)
_CODECS = {
    bytes: (bytes, bytes),
    str: (lambda data: str(data, "utf-8", "surrogatepass"), lambda item: item.encode("utf-8", "surrogatepass")),
    None: (pickle.loads, _pickled),
}


class SharedList(collections.abc.Sequence):
    """A list of any objects that can be pickled, in shared memory; each read gives a new object.

    Lists of only strings, bytes, ints or floats take less room than others and are faster.

    Example:
        >>> names = SharedList(["ant", "bee", "cat"])
        >>> names[1], names[-1], names[:2], len(names)
        ('bee', 'cat', ['ant', 'bee'], 3)
    """

    def __init__(self, items: Any = ()) -> None:
        items = items if isinstance(items, (list, tuple)) else list(items)
        kinds = {type(item) for item in items}
        self._kind = kinds.pop() if len(kinds) == 1 else None
        self._numbers = self._bytes = self._ends = None
        if self._kind is float or (self._kind is int and all(-(1 << 63) <= item < 1 << 63 for item in items)):
            dtype = torch.float64 if self._kind is float else torch.int64
            self._numbers = _shared_copy(array.array("d" if self._kind is float else "q", items), dtype)
        else:
            if self._kind not in _CODECS:
                self._kind = None
            self._pack(items)
        self._open()

    def _pack(self, items) -> None:
        encode = _CODECS[self._kind][1]
        data, ends = bytearray(), array.array("q", [0])
        for item in items:
            data += encode(item)
            ends.append(len(data))
        self._bytes, self._ends = _shared_copy(data, torch.uint8), _shared_copy(ends, torch.int64)

    def _open(self) -> None:
        if self._numbers is not None:
            self._length = self._numbers.size(0)
            self._read = _view(self._numbers, "d" if self._kind is float else "q").__getitem__ if self._length else None
            return
        self._length = self._ends.size(0) - 1
        decode, ends = _CODECS[self._kind][0], _view(self._ends, "q")
        data = _view(self._bytes) if len(self._bytes) else memoryview(b"")
        self._read = lambda i: decode(data[ends[i] : ends[i + 1]])

    def __getstate__(self) -> dict[str, Any]:
        return self._kind, self._numbers, self._bytes, self._ends

    def __setstate__(self, state: Any) -> None:
        self._kind, self._numbers, self._bytes, self._ends = state
        self._open()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._read(i) for i in range(*index.indices(self._length))]
        i = index.__index__()
        i += self._length * (i < 0)
        if not 0 <= i < self._length:
            raise IndexError(f"SharedList: index {index} is out of range for {self._length} items")
        return self._read(i)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Any:
        return map(self._read, range(self._length))

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, (SharedList, list)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3])) + (", ..." if self._length > 3 else "")
        return f"SharedList([{shown}], length={self._length})"


class SharedDict(collections.abc.Mapping):
    """A dict in shared memory, in the order of its making; each read gives a new object.

    Keys are strings, bytes, numbers, None, and tuples of these; values are any objects that can be pickled.

    Example:
        >>> sizes = SharedDict({"ant": 1, "bee": 2})
        >>> sizes["bee"], "cat" in sizes, list(sizes)
        (2, False, ['ant', 'bee'])
    """

    def __init__(self, items: Any = (), **more: Any) -> None:
        items = dict(items, **more)
        self._keys, self._values = SharedList(list(items)), SharedList(list(items.values()))
        size = 1 << (2 * len(items) + 1).bit_length()  # open addressing, at most half full
        slots, mask = array.array("q", [-1]) * size, size - 1
        for i, key in enumerate(items):
            at = _steady_hash(key) & mask
            while slots[at] >= 0:
                at = (at + 1) & mask
            slots[at] = i
        self._slots = _shared_copy(slots, torch.int64)
        self._open()

    def _open(self) -> None:
        self._table = _view(self._slots, "q")
        self._mask = len(self._table) - 1

    def __getstate__(self) -> dict[str, Any]:
        return self._keys, self._values, self._slots

    def __setstate__(self, state: Any) -> None:
        self._keys, self._values, self._slots = state
        self._open()

    def _find(self, key) -> int:
        at, keys = _steady_hash(key) & self._mask, self._keys
        while (i := self._table[at]) >= 0:
            if keys._read(i) == key:
                return i
            at = (at + 1) & self._mask
        return -1

    def __getitem__(self, key: Any) -> Any:
        i = self._find(key)
        if i < 0:
            raise KeyError(key)
        return self._values._read(i)

    def __contains__(self, key: Any) -> bool:
        try:
            return self._find(key) >= 0
        except TypeError:
            hash(key)  # of a kind that cannot be a key here, or nowhere
            return False

    def __iter__(self) -> Any:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"SharedDict(length={len(self)})"


def _steady_hash(key) -> int:
    """Equal for equal keys in every process: Python's hash of a string changes from one interpreter to the next."""
    if isinstance(key, str):
        return zlib.crc32(key.encode("utf-8", "surrogatepass"))
    if isinstance(key, bytes):
        return zlib.crc32(key, 1)
    if isinstance(key, numbers.Number):
        return hash(key) * 0x9E3779B1 >> 7
    if isinstance(key, tuple):
        return hash(tuple(map(_steady_hash, key)))
    if key is None:
        return 1
    raise TypeError(f"SharedDict: keys are strings, bytes, numbers, None and tuples of these, not {type(key).__name__}")


_HEAVY = 64 << 20  # bytes of Python objects from which a warning is worth its line
_LOOKED_AT = 100


def copied_objects(dataset: Any, name: str = "the data set") -> tuple[str, str, int, int] | None:
    """The largest list, tuple, set or dict of a data set whose objects forked workers would copy by reading them.

    Gives its name, its kind, its length and about how many bytes its objects have; None when all are small.
    """
    found = [
        (name, type(values).__name__, len(values), size)
        for name, values in _collections(dataset, name, set())
        if (size := _size_of_objects(values)) >= _HEAVY
    ]
    return max(found, key=lambda one: one[3], default=None)


def _collections(value, name: str, seen: set[int]):
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        yield name, value
        if isinstance(value, (list, tuple)) and len(value) < _LOOKED_AT:  # such as ConcatDataset.datasets
            for i, item in enumerate(value):
                if isinstance(item, Dataset):
                    yield from _collections(item, f"{name}[{i}]", seen)
    elif isinstance(value, Dataset):
        for key, part in vars(value).items():
            if isinstance(part, (list, tuple, set, frozenset, dict, Dataset)):
                yield from _collections(part, f"{name}.{key}", seen)


def _size_of_objects(values) -> int:
    if len(values) < 10_000:
        return 0
    if isinstance(values, (list, tuple)):
        some = values[:: len(values) // _LOOKED_AT]
    else:
        some = list(itertools.islice(values.items() if isinstance(values, dict) else values, _LOOKED_AT))
    apart = {id(item) for item in some}
    if len(apart) < len(some) // 2:  # a few objects over and over, such as labels
        return 0
    return sum(map(_size, some)) * len(values) // len(some)


def _size(item) -> int:
    inside = item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else ()
    return sys.getsizeof(item) + sum(sys.getsizeof(part) for part in inside)
