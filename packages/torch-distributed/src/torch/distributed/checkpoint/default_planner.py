"""The plans that ``save`` and ``load`` make: every piece is written once, and read by those that hold a part of it."""

from __future__ import annotations

import io
from dataclasses import replace

import torch

from ..tensor._dtensor import DTensor
from ..tensor._layout import local_layout
from ..tensor.placement_types import Partial
from ._flatten import flatten, put
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    BytesIOWriteData,
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


def _own_chunk(tensor) -> ChunkStorageMetadata:
    """The piece of a tensor that this rank holds."""
    if not isinstance(tensor, DTensor):
        return ChunkStorageMetadata(torch.Size([0] * tensor.dim()), tensor.shape)
    if any(isinstance(placement, Partial) for placement in tensor.placements):
        raise ValueError("checkpoint: a DTensor of summands (Partial) is redistributed before it is saved or loaded")
    sizes, offsets = local_layout(tensor.shape, tensor.device_mesh, tensor.placements)
    return ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))


def _local(tensor):
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor.detach()


def _what(kind) -> str:
    return "no tensor" if kind is None else f"{kind.properties.dtype} of shape {tuple(kind.size)}"


class DefaultSavePlanner(SavePlanner):
    """Every rank offers what it holds; of equal offers the rank that has least to write takes one."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: Any = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict, self.to_lowest = flatten_state_dict, dedup_save_to_lowest_rank

    def set_up_planner(self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False) -> None:
        self.is_coordinator = is_coordinator
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten(state_dict)
        else:
            self.state_dict, self.mappings = dict(state_dict), {}

    def create_local_plan(self) -> SavePlan:
        items = []
        for name, value in self.state_dict.items():
            if isinstance(value, torch.Tensor):
                chunk = _own_chunk(value)
                if chunk.sizes.numel() == 0 and value.shape.numel():
                    continue
                spread = chunk.sizes != value.shape
                properties = TensorProperties(value.dtype, value.layout, value.requires_grad)
                items.append(
                    WriteItem(
                        MetadataIndex(name, chunk.offsets),
                        WriteItemType.SHARD if spread else WriteItemType.TENSOR,
                        tensor_data=TensorWriteData(chunk, properties, value.shape),
                    )
                )
            else:
                items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO, BytesIOWriteData(1)))
        self.plan = SavePlan(items, planner_data=self.mappings)
        return self.plan

    def create_global_plan(self, all_plans: Any) -> Any:
        state, first, held, mappings = {}, {}, {}, {}
        for rank, plan in enumerate(all_plans):
            mappings |= plan.planner_data or {}
            for item in plan.items:
                _agree(state, first, rank, item)
                held.setdefault(item.index, []).append((rank, item))
        loads, plans = [0] * len(all_plans), [[] for _ in all_plans]
        for offers in held.values():
            rank, item = offers[0] if self.to_lowest else min(offers, key=lambda one: loads[one[0]])
            loads[rank] += item.tensor_storage_size() or 1
            if item.tensor_data is None:
                state[item.index.fqn] = BytesStorageMetadata()
            else:
                chunks = state[item.index.fqn].chunks
                item = replace(item, index=MetadataIndex(item.index.fqn, item.index.offset, len(chunks)))
                chunks.append(item.tensor_data.chunk)
            plans[rank].append(item)
        for name, entry in state.items():
            if isinstance(entry, TensorStorageMetadata):
                _complete(name, entry)
        self.global_plan = [replace(plan, items=items) for plan, items in zip(all_plans, plans, strict=True)]
        self.metadata = Metadata(state, planner_data=mappings, version="1.0.0")
        return self.global_plan, self.metadata

    def finish_plan(self, new_plan: Any) -> Any:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: Any) -> Any:
        value = self.lookup_object(write_item.index)
        return self.transform_object(write_item, value)

    def lookup_object(self, index: Any) -> Any:
        """The value of an item."""
        value = self.state_dict[index.fqn]
        return _local(value) if isinstance(value, torch.Tensor) else value

    def transform_object(self, write_item: Any, object: Any) -> Any:
        """The value as it is written: bytes of what is no tensor."""
        if write_item.type is WriteItemType.BYTE_IO:
            data = io.BytesIO()
            torch.save(object, data)
            return data
        return object


def _agree(state, seen, rank, item):
    """Ranks that have a name in common must mean the same by it."""
    name, data = item.index.fqn, item.tensor_data
    mine = None if data is None else TensorStorageMetadata(data.properties, data.size, [])
    if name not in seen:
        seen[name] = rank, mine
        state[name] = mine
        return
    first, theirs = seen[name]
    if (mine is None) != (theirs is None) or (
        mine is not None and (mine.size, mine.properties.dtype) != (theirs.size, theirs.properties.dtype)
    ):
        raise ValueError(f"checkpoint.save: {name} is {_what(theirs)} on rank {first} and {_what(mine)} on rank {rank}")


def _complete(name, entry):
    """The pieces must make up the whole; they do not overlap, since each has a place of its own in one mesh."""
    have = sum(chunk.sizes.numel() for chunk in entry.chunks)
    if have != entry.size.numel():
        raise ValueError(
            f"checkpoint.save: the pieces of {name} have {have} elements, the whole {entry.size.numel()}; a DTensor is "
            "saved by all ranks of its mesh"
        )


class DefaultLoadPlanner(LoadPlanner):
    """Tensors are filled in place from whatever pieces there are; other values are replaced.

    With ``allow_partial_load`` what the checkpoint lacks stays as it is.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load

    def set_up_planner(self, state_dict: Any, metadata: Any = None, is_coordinator: bool = False) -> None:
        self.original_state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten(state_dict)
        else:
            self.state_dict, self.mappings = dict(state_dict), {name: (name,) for name in state_dict}

    def create_local_plan(self) -> LoadPlan:
        saved = self.metadata.state_dict_metadata
        missing = [name for name in self.state_dict if name not in saved]
        if missing and not self.allow_partial_load:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise KeyError(f"checkpoint.load: the checkpoint has no {shown}")
        items = []
        for name, value in self.state_dict.items():
            if name in saved:
                items += _read_items(name, value, saved[name])
        return LoadPlan(items)

    def load_bytes(self, read_item: Any, value: Any) -> None:
        name = read_item.dest_index.fqn
        self.state_dict[name] = torch.load(value)
        put(self.original_state_dict, self.mappings[name], self.state_dict[name])

    def resolve_tensor(self, read_item: Any) -> Any:
        tensor = self.lookup_tensor(read_item.dest_index)
        return self.transform_tensor(read_item, tensor)

    def lookup_tensor(self, index: Any) -> Any:
        """Our piece of a tensor."""
        return _local(self.state_dict[index.fqn])

    def transform_tensor(self, read_item: Any, tensor: Tensor) -> Any:
        """The part of our piece that an item fills."""
        for dim, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths, strict=True)):
            tensor = tensor.narrow(dim, start, length)
        return tensor

    def commit_tensor(self, read_item: Any, tensor: Tensor) -> None:
        torch.autograd.graph.increment_version(self.state_dict[read_item.dest_index.fqn])


def _read_items(name, value, entry):
    if not isinstance(value, torch.Tensor):
        if isinstance(entry, TensorStorageMetadata):
            return _into_no_tensor(name, entry)
        index = MetadataIndex(name)
        nothing = torch.Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing)]
    if not isinstance(entry, TensorStorageMetadata) or tuple(entry.size) != tuple(value.shape):
        saved = f"a tensor of shape {tuple(entry.size)}" if isinstance(entry, TensorStorageMetadata) else "no tensor"
        raise ValueError(
            f"checkpoint.load: {name} is a tensor of shape {tuple(value.shape)}, the checkpoint has {saved}"
        )
    own = _own_chunk(value)
    items = []
    for number, chunk in enumerate(entry.chunks):
        starts = [max(a, b) for a, b in zip(own.offsets, chunk.offsets, strict=True)]
        ends = [
            min(a + n, b + m) for a, n, b, m in zip(own.offsets, own.sizes, chunk.offsets, chunk.sizes, strict=True)
        ]
        lengths = [end - start for start, end in zip(starts, ends, strict=True)]
        if min(lengths, default=1) <= 0:
            continue
        items.append(
            ReadItem(
                LoadItemType.TENSOR,
                MetadataIndex(name, own.offsets),
                torch.Size(a - b for a, b in zip(starts, own.offsets, strict=True)),
                MetadataIndex(name, chunk.offsets, number),
                torch.Size(a - b for a, b in zip(starts, chunk.offsets, strict=True)),
                torch.Size(lengths),
            )
        )
    have = sum(item.lengths.numel() for item in items)
    if have < own.sizes.numel():
        raise ValueError(
            f"checkpoint.load: the checkpoint's pieces of {name} have {have} of the {own.sizes.numel()} elements wanted"
        )
    return items


def _into_no_tensor(name, entry):
    raise ValueError(
        f"checkpoint.load: {name} is no tensor, the checkpoint has one of shape {tuple(entry.size)}; put a tensor of that "
        "shape into the state"
    )
