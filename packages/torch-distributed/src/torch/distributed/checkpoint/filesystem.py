"""Checkpoints as folders: a file for each rank, and ``.metadata``, which is written last and in one step.

A job that is killed while it saves leaves the earlier checkpoint of the folder as it was.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.futures import Future
from torch.serialize.regions import load_region

from . import metadata as _metadata
from .metadata import Metadata, StorageMeta
from .planner import LoadItemType, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter"]

NAME = ".metadata"
ALIGNED = 64  # pieces begin at multiples of it, so that their elements can be mapped


@dataclass
class _StorageInfo:
    """The bytes of a file in which an item lies."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None


def _done(value=None):
    future = Future()
    future.set_result(value)
    return future


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint into the folder ``path``.

    With ``sync_files`` data are on the disk before the checkpoint counts.  With ``overwrite=False`` a folder that holds
    a checkpoint is refused.
    """

    def __init__(
        self,
        path: Any,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: Any = None,
    ) -> None:
        if _extensions:
            raise NotImplementedError("FileSystemWriter: transforming streams is not there")
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite
        self.token = ""
        self._written = None

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: Any, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: Any) -> Any:
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / NAME).exists():
            raise RuntimeError(f"Checkpoint already exists and overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans: Any) -> Any:
        from dataclasses import replace

        token = secrets.token_hex(4)  # names that no earlier checkpoint of the folder has
        return [replace(plan, storage_data=f"__{rank}_{token}.distcp") for rank, plan in enumerate(plans)]

    def write_data(self, plan: Any, planner: Any) -> Any:
        if not plan.items:
            return _done([])
        name, results = plan.storage_data, []
        self._written = self.path / name
        with open(self._written, "wb") as file:
            for item in sorted(plan.items, key=lambda item: item.type is not WriteItemType.BYTE_IO):
                start = -(-file.tell() // ALIGNED) * ALIGNED
                file.seek(start)
                data = planner.resolve_data(item)
                if isinstance(data, torch.Tensor):
                    buffer = io.BytesIO()
                    torch.save(_apart(data), buffer)
                    data = buffer
                file.write(data.getbuffer())
                info = _StorageInfo(name, start, file.tell() - start)
                results.append(WriteResult(item.index, info.length, info))
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        return _done(results)

    def finish(self, metadata: Metadata, results: Any) -> None:
        before = _files(self.path)
        metadata.storage_data = {one.index: one.storage_data for part in results for one in part}
        metadata.storage_meta = self.storage_meta()
        temporary = self.path / f"{NAME}.{os.getpid()}.tmp"
        with open(temporary, "wb") as file:
            pickle.dump(metadata, file, 4)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / NAME)  # from here on the new checkpoint is the folder's
        for name in before - {info.relative_path for info in metadata.storage_data.values()}:
            (self.path / name).unlink(missing_ok=True)

    def give_up(self) -> None:
        """Remove what this rank wrote for a checkpoint that will not be."""
        if self._written is not None:
            with contextlib.suppress(OSError):
                self._written.unlink()

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return "://" not in str(checkpoint_id)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(str(self.path))


class FileSystemReader(StorageReader):
    """Reads the checkpoint in the folder ``path``, of ours or of PyTorch's."""

    def __init__(self, path: Any, _extension_registry: Any = None) -> None:
        self.path = Path(path)
        self.storage_data: dict = {}
        self.chunks: dict = {}  # by name, the shapes of the pieces by where they begin

    @property
    def checkpoint_id(self) -> Any:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: Any = None) -> None:
        self.storage_data = {}
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        try:
            return _metadata.load(self.path / NAME)
        except FileNotFoundError:
            raise FileNotFoundError(f"checkpoint.load: {self.path} holds no checkpoint (no {NAME})") from None

    def set_up_storage_reader(self, metadata: Any, is_coordinator: Any, *args: Any, **kwargs: Any) -> None:
        self.storage_data = metadata.storage_data
        self.chunks = {
            name: {tuple(chunk.offsets): tuple(chunk.sizes) for chunk in getattr(entry, "chunks", ())}
            for name, entry in metadata.state_dict_metadata.items()
        }

    def prepare_local_plan(self, plan: Any) -> Any:
        return plan

    def prepare_global_plan(self, plans: Any) -> Any:
        return plans

    def read_data(self, plan: Any, planner: Any) -> Any:
        by_file: dict = {}
        for item in plan.items:
            by_file.setdefault(self._info(item.storage_index).relative_path, []).append(item)
        for name, items in by_file.items():
            place = self.path / name
            if "\0" in name or place.resolve().parent != self.path.resolve():
                raise ValueError(f"checkpoint.load: {NAME} of {self.path} names {name!r}, which lies elsewhere")
            whole = {item.storage_index for item in items if self._is_whole(item)}
            with open(place, "rb") as file:
                held = None, None
                for item in sorted(items, key=lambda item: self.storage_data[item.storage_index].offset):
                    if held[0] != item.storage_index:
                        held = item.storage_index, self._piece(file, item, item.storage_index in whole)
                    self._hand_over(item, held[1], planner)
        return _done()

    def _is_whole(self, item):
        """Whether all of a saved piece is wanted."""
        index = item.storage_index
        return self.chunks.get(index.fqn, {}).get(tuple(index.offset or ())) == tuple(item.lengths)

    def _piece(self, file, item, whole):
        """The bytes of a saved value, or a tensor: read, or mapped where only a part of it is wanted."""
        info = self._info(item.storage_index)
        name = item.storage_index.fqn
        if info.transform_descriptors:
            raise NotImplementedError(f"checkpoint.load: {name} was transformed by {info.transform_descriptors}")
        left = max(os.fstat(file.fileno()).st_size - info.offset, 0)
        if left < info.length:
            raise ValueError(
                f"checkpoint.load: {file.name} ends within {name}: {left} of {info.length} bytes are there"
            )
        if item.type is LoadItemType.BYTE_IO:
            file.seek(info.offset)
            return _Piece(file.read(info.length), f"{file.name}: {name}")
        return load_region(file, info.offset, info.length, mmap=not whole)

    def _info(self, index):
        if self.storage_data is None or index not in self.storage_data:
            raise ValueError(f"checkpoint.load: {NAME} of {self.path} does not say where {index} lies")
        return self.storage_data[index]

    def _hand_over(self, item, data, planner):
        if item.type is LoadItemType.BYTE_IO:
            data.seek(0)
            planner.load_bytes(item, data)
            return
        tensor = data
        ends = [start + length for start, length in zip(item.storage_offsets, item.lengths, strict=True)]
        shape = tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else None
        if shape is None or len(shape) != len(ends) or any(end > size for end, size in zip(ends, shape, strict=True)):
            held = type(tensor).__name__ if shape is None else f"a tensor of shape {shape}"
            raise ValueError(
                f"checkpoint.load: the piece of {item.storage_index.fqn} at {tuple(item.storage_index.offset)} is {held}, "
                f"and elements up to {tuple(ends)} are wanted of it"
            )
        for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
            tensor = tensor.narrow(dim, start, length)
        target = planner.resolve_tensor(item)
        with torch.no_grad():
            target.copy_(tensor)
        planner.commit_tensor(item, target)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return "://" not in str(checkpoint_id)


class _Piece(io.BytesIO):
    """A part of a file, with a name for messages."""

    def __init__(self, data, name):
        super().__init__(data)
        self.name = name


def _files(folder) -> set:
    """The files of the folder's checkpoint, if there is one that can be read: those that a writer makes, and no others."""
    try:
        found = _metadata.load(folder / NAME)
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError):
        return set()
    names = {os.path.basename(info.relative_path) for info in (found.storage_data or {}).values()}
    return {name for name in names if name.endswith(".distcp") and "\0" not in name}


def _apart(value):
    """A view would be saved with the whole memory that it looks into."""
    value = value.detach()
    return value.clone() if value.untyped_storage().nbytes() > value.numel() * value.element_size() else value
