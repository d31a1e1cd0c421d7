"""Checkpoints as folders of safetensors files, as model hubs keep them: whole tensors, or each rank's pieces.

A file of pieces says in its header where each begins (``DCP_SHARDING_INFO``), in PyTorch's words.
"""

import os
from dataclasses import replace
from pathlib import Path

import torch
from torch.futures import Future
from torch.serialize.safetensors import load_safetensors, save_safetensors

from ._consolidate_hf_safetensors import consolidate_safetensors_files
from ._safetensors_names import INDEX, SHARDED, file_name, offsets_of, sharding_info, write_index
from .filesystem import _apart, _StorageInfo
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


def _done(value=None):
    future = Future()
    future.set_result(value)
    return future


class HuggingFaceStorageWriter(StorageWriter):
    """Writes the tensors of a state into safetensors files of the folder ``path``.

    Args:
        path: the folder
        fqn_to_index_mapping: by name of a tensor, the number of its file, from 1; one file unless given
        thread_count: is taken and has no effect
        save_distributed: every rank writes its pieces; else one rank has all tensors, whole
        enable_consolidation: when all is written, the first rank puts the pieces, which then lie in ``path/sharded``,
            together as whole tensors in ``path``

    >>> import tempfile, torch, torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2)}, storage_writer=dcp.HuggingFaceStorageWriter(folder))
    ...     torch.load(f"{folder}/model-00001-of-00001.safetensors")
    {'w': tensor([1., 1.])}
    """

    def __init__(
        self,
        path,
        fqn_to_index_mapping=None,
        thread_count=1,
        save_distributed=False,
        enable_consolidation=False,
        thread_count_consolidation=1,
    ):
        self.fqn_to_index_mapping, self.save_distributed = fqn_to_index_mapping, save_distributed
        self.enable_consolidation = enable_consolidation
        self.reset(path)

    def reset(self, checkpoint_id=None):
        if checkpoint_id is not None:
            self.whole = Path(checkpoint_id)
            self.path = self.whole / SHARDED if self.enable_consolidation else self.whole

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan):
        for item in plan.items:
            if item.type is WriteItemType.BYTE_IO:
                raise ValueError(
                    f"HuggingFaceStorageWriter: {item.index.fqn} is no tensor, and the files hold nothing else"
                )
            if item.type is WriteItemType.SHARD and not self.save_distributed:
                raise ValueError(
                    f"HuggingFaceStorageWriter: {item.index.fqn} lies in pieces on the ranks; save_distributed=True writes those"
                )
            if self.fqn_to_index_mapping is not None and item.index.fqn not in self.fqn_to_index_mapping:
                raise ValueError(f"HuggingFaceStorageWriter: fqn_to_index_mapping has no number for {item.index.fqn}")
        self.path.mkdir(parents=True, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans):
        busy = [rank for rank, plan in enumerate(plans) if plan.items]
        if len(busy) > 1 and not self.save_distributed:
            raise ValueError(
                f"HuggingFaceStorageWriter: ranks {', '.join(map(str, busy))} have tensors to write, and without "
                "save_distributed=True one rank writes all: give the others an empty state, or "
                "planner=DefaultSavePlanner(dedup_save_to_lowest_rank=True)"
            )
        return [replace(plan, storage_data=rank) for rank, plan in enumerate(plans)]

    def _number(self, name):
        return 1 if self.fqn_to_index_mapping is None else self.fqn_to_index_mapping[name]

    def write_data(self, plan, planner):
        files: dict = {}
        for item in plan.items:
            files.setdefault(self._number(item.index.fqn), []).append(item)
        count = max((self.fqn_to_index_mapping or {"": 1}).values())
        results = []
        for number, items in files.items():
            name = file_name(number, count, plan.storage_data if self.save_distributed else None)
            tensors = {item.index.fqn: _apart(planner.resolve_data(item)).contiguous() for item in items}
            offsets = {item.index.fqn: list(item.tensor_data.chunk.offsets) for item in items}
            save_safetensors(tensors, self.path / name, sharding_info(offsets), progress=False)
            for item in items:
                info = _StorageInfo(name, 0, tensors[item.index.fqn].nbytes)
                results.append(WriteResult(item.index, info.length, info))
        return _done(results)

    def finish(self, metadata, results) -> None:
        metadata.storage_data = {one.index: one.storage_data for part in results for one in part}
        metadata.storage_meta = self.storage_meta()
        written = [one for part in results for one in part]
        if not self.save_distributed:
            sizes = {one.index.fqn: one.size_in_bytes for one in written}
            write_index(
                self.path, {one.index.fqn: one.storage_data.relative_path for one in written}, sum(sizes.values())
            )
        if self.enable_consolidation:
            numbers = {name: self._number(name) for name in metadata.state_dict_metadata}
            consolidate_safetensors_files(self.path, self.whole, numbers)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id) -> bool:
        return "://" not in str(checkpoint_id)

    @property
    def metadata_path(self) -> str:
        """The index of a folder with whole tensors."""
        return INDEX

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(str(self.path))


class HuggingFaceStorageReader(StorageReader):
    """Reads the safetensors files of the folder ``path``: whole tensors, or the pieces of any number of ranks.

    ``thread_count`` is taken and has no effect.  Of each tensor only what is wanted comes from the disk.
    """

    def __init__(self, path, thread_count=1):
        self.path = Path(path)

    @property
    def checkpoint_id(self):
        """The folder."""
        return self.path

    def reset(self, checkpoint_id=None):
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def read_metadata(self, *args, **kwargs) -> Metadata:
        files = sorted(self.path.glob("*.safetensors"))
        if not files:
            raise FileNotFoundError(f"checkpoint.load: {self.path} holds no safetensors files")
        entries: dict = {}
        storage: dict = {}
        for path in files:
            for name, (dtype, shape, offsets) in _contents(path).items():
                entry = entries.setdefault(name, TensorStorageMetadata(TensorProperties(dtype), torch.Size(shape), []))
                if entry.properties.dtype != dtype or len(entry.size) != len(shape):
                    raise ValueError(f"checkpoint.load: {name} is of another dtype or number of dims in {path.name}")
                ends = [max(n, start + length) for n, start, length in zip(entry.size, offsets, shape, strict=True)]
                entry.size = torch.Size(ends)
                storage[MetadataIndex(name, offsets)] = _StorageInfo(path.name, 0, os.path.getsize(path))
                entry.chunks.append(ChunkStorageMetadata(torch.Size(offsets), torch.Size(shape)))
        for name, entry in entries.items():
            if sum(chunk.sizes.numel() for chunk in entry.chunks) != entry.size.numel():
                raise ValueError(
                    f"checkpoint.load: the pieces of {name} in {self.path} do not make up {tuple(entry.size)}"
                )
        return Metadata(entries, storage_data=storage, storage_meta=StorageMeta(str(self.path)))

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, plans):
        return plans

    def read_data(self, plan, planner):
        by_file: dict = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            tensors = load_safetensors(self.path / name, mmap=True)
            for item in items:
                tensor = tensors[item.storage_index.fqn]
                for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
                    tensor = tensor.narrow(dim, start, length)
                target = planner.resolve_tensor(item)
                with torch.no_grad():
                    target.copy_(tensor)
                planner.commit_tensor(item, target)
        return _done()

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id) -> bool:
        return "://" not in str(checkpoint_id)


def _contents(path) -> dict:
    """By name, the dtype, shape and place of what a file holds."""
    tensors = load_safetensors(path, mmap=True)
    offsets = offsets_of(path)
    return {
        name: (one.dtype, tuple(one.shape), tuple(offsets.get(name, (0,) * one.dim()))) for name, one in tensors.items()
    }
