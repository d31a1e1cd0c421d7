"""What a checkpoint's ``.metadata`` says: which tensors and values it has, and where their pieces lie.

The file is a pickle of these classes, the same that PyTorch writes; :func:`loads` takes no others.
"""

import enum
import io
import os
import pathlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

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


_HERE = ("torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module in _HERE:
            from . import filesystem

            space = globals() if module == _HERE[0] else vars(filesystem)
            if name in (*__all__, "_MEM_FORMAT_ENCODING", "_StorageInfo") and name in space:
                return space[name]
        if module == "torch" and (
            name == "Size" or isinstance(getattr(torch, name, None), (torch.dtype, torch.layout))
        ):
            return getattr(torch, name)
        if (module, name) == ("torch.serialization", "_get_layout"):
            return torch.serialization._get_layout
        if module.startswith("pathlib") and name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"):
            return pathlib.PurePosixPath
        if module == "collections" and name == "OrderedDict":
            return dict
        raise pickle.UnpicklingError(f"a checkpoint's .metadata has no business with {module}.{name}")


def loads(data: bytes) -> Metadata:
    """The metadata of a file; ``pickle.UnpicklingError`` when it names anything but what belongs in one."""
    found = _Unpickler(io.BytesIO(data)).load()
    if not isinstance(found, Metadata):
        raise pickle.UnpicklingError(f"a checkpoint's .metadata holds {type(found).__name__}")
    return found
