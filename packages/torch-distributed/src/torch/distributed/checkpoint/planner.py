"""What is written and read by whom: plans, and those who make them."""

import abc
import enum
import io
from dataclasses import dataclass, field
from typing import Any

import torch

from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
    "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(enum.Enum):
    """What is written: a whole tensor, a piece of one, or bytes."""

    TENSOR = enum.auto()
    SHARD = enum.auto()
    BYTE_IO = enum.auto()


class LoadItemType(enum.Enum):
    """What is read."""

    TENSOR = enum.auto()
    BYTE_IO = enum.auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which piece of what tensor."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclass(frozen=True)
class WriteItem:
    """One piece to be written."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Its bytes, of a tensor."""
        if self.tensor_data is None:
            return None
        return self.tensor_data.chunk.sizes.numel() * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """A part of a saved piece, and where in our tensor it belongs."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank reads."""

    items: list[ReadItem] = field(default_factory=list)
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what is written.

    On every rank ``set_up_planner`` and ``create_local_plan``, on the first ``create_global_plan`` of all plans, then on
    every rank ``finish_plan`` and, for each item, ``resolve_data``.
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict, storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state, in which objects have been replaced by theirs."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this rank could write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each rank is to write, and the metadata."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this rank writes."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        """The tensor or the bytes of an item."""


class LoadPlanner:
    """Decides what is read, and where it goes.

    On every rank ``set_up_planner`` and ``create_local_plan``, on the first ``create_global_plan`` of all plans, then on
    every rank ``finish_plan`` and for each item ``load_bytes``, or ``resolve_tensor`` and ``commit_tensor``.
    """

    def set_up_planner(self, state_dict: dict, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        """Take the state to be filled, and what there is."""
        raise NotImplementedError(f"{type(self).__name__}.set_up_planner")

    def create_local_plan(self) -> LoadPlan:
        """What this rank needs."""
        raise NotImplementedError(f"{type(self).__name__}.create_local_plan")

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each rank is to read."""
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """What this rank reads."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take the bytes of an item."""
        raise NotImplementedError(f"{type(self).__name__}.load_bytes")

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Bytes to be written into."""
        raise NotImplementedError(f"{type(self).__name__}.resolve_bytes")

    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        """The part of our tensor that an item fills."""
        raise NotImplementedError(f"{type(self).__name__}.resolve_tensor")

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """That part has been filled."""
