"""What a checkpoint's ``.metadata`` says: which tensors and values it has, and where their pieces lie.

The file is a pickle of these classes, the same that PyTorch writes; :func:`loads` takes no others.
"""

import enum
import functools
import os
import pathlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.serialize.structures import read

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
    "TensorStorageMetadata",
]  # fmt: skip


@dataclass
class ChunkStorageMetadata:
    """A piece of a tensor: the index of its first element, and its shape."""

    offsets: torch.Size
    sizes: torch.Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = (torch.contiguous_format, torch.channels_last, torch.preserve_format)


@dataclass
class TensorProperties:
    """What a tensor is beside its shape."""

    dtype: torch.dtype = torch.float32
    layout: torch.layout = torch.strided
    requires_grad: bool = False
    memory_format: torch.memory_format = torch.contiguous_format
    pin_memory: bool = False

    def __getstate__(self):
        encoded = _MEM_FORMAT_ENCODING(_FORMATS.index(self.memory_format))
        return self.dtype, self.layout, self.requires_grad, encoded, self.pin_memory

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, encoded, self.pin_memory = state
        self.memory_format = _FORMATS[encoded.value]

    @staticmethod
    def create_from_tensor(tensor) -> "TensorProperties":
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor, and the pieces in which it was saved."""

    properties: TensorProperties
    size: torch.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class StorageMeta:
    """Where a checkpoint was saved."""

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All of a checkpoint but its values.

    Args:
        state_dict_metadata: by name, what there is
        planner_data: by name, the path to it through dictionaries and lists
        storage_data: by :class:`MetadataIndex`, where each piece lies
    """

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """A piece: the name, for a tensor the place in it, and as a hint its number."""

    fqn: str
    offset: torch.Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None):
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "offset", None if offset is None else torch.Size(offset))


# --- reading ---


def _is_size(value) -> bool:
    return type(value) is torch.Size and min(value, default=0) >= 0


def _is_count(value) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_text(value) -> bool:
    return type(value) is str


def _all_of(kind):
    return lambda value: type(value) is list and all(type(item) is kind for item in value)


def _anything(value) -> bool:
    return True


def _or_none(fits):
    return lambda value: value is None or fits(value)


@functools.cache
def _fields():
    """By class, which fields an object in a file has, and what each may be."""
    return {
        ChunkStorageMetadata: {"offsets": _is_size, "sizes": _is_size},
        TensorStorageMetadata: {
            "properties": lambda value: type(value) is TensorProperties,
            "size": _is_size,
            "chunks": _all_of(ChunkStorageMetadata),
        },
        BytesStorageMetadata: {},
        StorageMeta: {},
        Metadata: {"state_dict_metadata": lambda value: type(value) is dict, "planner_data": _anything,
                   "storage_data": _or_none(lambda value: type(value) is dict),
                   "storage_meta": _or_none(lambda value: type(value) is StorageMeta)},
        MetadataIndex: {"fqn": _is_text, "offset": _or_none(_is_size), "index": _or_none(_is_count)},
        _storage_info(): {"relative_path": _is_text, "offset": _is_count, "length": _is_count},
    }  # fmt: skip


def _take(target, state) -> None:
    """The state of an object in a file. Fields that it lacks have their defaults; those of a later version are kept."""
    if type(state) is not dict or not all(map(_is_text, state)):
        raise ValueError(f"the state of a {type(target).__name__} is no dict of fields")
    if any(hasattr(type(target), name) and name not in type(target).__dataclass_fields__ for name in state):
        raise ValueError(f"the state of a {type(target).__name__} hides what the class has")
    if type(target) is MetadataIndex:  # it may become a key, and a key's hash must be cheap
        _complete(target, state)
    vars(target).update(state)


def _take_properties(target, state) -> None:
    layout, of_memory = (state[1], state[3]) if type(state) is tuple and len(state) == 5 else (None, None)
    if (
        type(of_memory) is not _MEM_FORMAT_ENCODING
        or type(state[0]) is not torch.dtype
        or type(layout) is not torch.layout
        or type(state[2]) is not bool
        or type(state[4]) is not bool
    ):
        raise ValueError("the state of TensorProperties is not dtype, layout, requires_grad, memory format, pin_memory")
    target.__setstate__(state)


_ABSENT = object()


def _complete(thing, held=None) -> None:
    """ValueError unless all fields of an object in a file are there, and are what they may be."""
    held = vars(thing) if held is None else held
    for name, fits in _fields()[type(thing)].items():
        value = held.get(name, getattr(type(thing), name, _ABSENT))
        if value is _ABSENT or not fits(value):
            said = "is not there" if value is _ABSENT else f"is a {type(value).__name__} that it cannot be"
            raise ValueError(f"{name} of a {type(thing).__name__} {said}")


def _check(found: Metadata) -> None:
    """ValueError for metadata that do not describe a checkpoint."""
    _complete(found)
    for name, entry in found.state_dict_metadata.items():
        if type(name) is not str or type(entry) not in (TensorStorageMetadata, BytesStorageMetadata):
            raise ValueError(f"the entry {name!r:.100} is a {type(entry).__name__}")
        _complete(entry)
        for chunk in getattr(entry, "chunks", ()):
            _complete(chunk)
            ends = [begin + length for begin, length in zip(chunk.offsets, chunk.sizes, strict=False)]
            fits = len(chunk.offsets) == len(chunk.sizes) == len(entry.size)
            if not fits or any(end > size for end, size in zip(ends, entry.size, strict=True)):
                raise ValueError(
                    f"a piece of {name!r:.100} of shape {tuple(chunk.sizes)} at {tuple(chunk.offsets)} lies outside of "
                    f"its shape {tuple(entry.size)}"
                )
    _check_paths(found.planner_data or {})
    for index, info in (found.storage_data or {}).items():
        if type(index) is not MetadataIndex or type(info) is not _storage_info():
            raise ValueError(f"the place of a {type(index).__name__} is a {type(info).__name__}")
        _complete(index)
        _complete(info)


_SPARE = 1 << 20  # elements of lists that no path leads to: None, as PyTorch leaves them


def _check_paths(paths) -> None:
    """ValueError for paths to values that are none, or that go through lists longer than so many values fill."""
    lengths: dict = {}
    for name, path in paths.items():
        if type(path) not in (tuple, list) or not path or any(type(key) not in (str, int) for key in path):
            raise ValueError(f"the path to {name!r:.100} is {path!r:.100}")
        for i, key in enumerate(path[1:], 1):
            if type(key) is int:
                place = tuple(path[:i])
                lengths[place] = max(lengths.get(place, 0), key + 1)
                if key < 0:
                    raise ValueError(f"the path to {name!r:.100} is {path!r:.100}")
    if sum(lengths.values()) > len(paths) + _SPARE:
        longest = max(lengths, key=lengths.__getitem__)
        raise ValueError(
            f"{len(paths)} values in lists of {lengths[longest]} elements, such as {'.'.join(map(str, longest))!r:.100}"
        )


def _storage_info() -> type:
    from .filesystem import _StorageInfo

    return _StorageInfo


_HERE = "torch.distributed.checkpoint"
_PATHS = ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")


def load(path: pathlib.Path) -> Metadata:
    """The metadata in a file; ``pickle.UnpicklingError`` when it names anything but what belongs in one."""
    what = f"the checkpoint's metadata {path}"
    classes = {
        f"{_HERE}.{'filesystem' if kind is _storage_info() else 'metadata'}.{kind.__name__}": (kind, _take)
        for kind in _fields()
    }
    classes[f"{_HERE}.metadata.TensorProperties"] = (TensorProperties, _take_properties)
    calls = {f"{_HERE}.metadata._MEM_FORMAT_ENCODING": ("int", _MEM_FORMAT_ENCODING)}
    for module in ("pathlib", "pathlib._local"):
        calls |= {f"{module}.{name}": ("[text] " * 32, pathlib.PurePosixPath) for name in _PATHS}
    found = read(path.read_bytes(), classes, what, calls)
    if type(found) is not Metadata:
        raise pickle.UnpicklingError(f"{what} holds {type(found).__name__}")
    try:
        _check(found)
    except ValueError as error:
        raise pickle.UnpicklingError(f"{what} makes no sense: {error}") from None
    return found
