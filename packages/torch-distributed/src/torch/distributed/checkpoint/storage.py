"""What writes and reads the files of a checkpoint, whatever they lie on."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

from .metadata import Metadata, MetadataIndex, StorageMeta

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """Where an item was written, in the writer's own words."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes what plans say: ``write_data`` on every rank, then ``finish`` on the first, which makes it a checkpoint."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: Any = None) -> None:
        """A new checkpoint begins."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Called on every rank before anything is written."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: Any) -> Any:
        """This rank's plan, to which something may be added."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: Any) -> Any:
        """All plans, on the first rank."""

    @abc.abstractmethod
    def write_data(self, plan: Any, planner: Any) -> Any:
        """Write the items of a plan; a future of a list of :class:`WriteResult`."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, on the first rank."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether it can write there."""

    def storage_meta(self) -> StorageMeta | None:
        """Where it writes."""
        return None


class StorageReader(abc.ABC):
    """Reads what plans say."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: Any = None) -> None:
        """Another checkpoint is to be read."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata of the checkpoint."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Called on every rank before anything is read."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: Any) -> Any:
        """This rank's plan, to which something may be added."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: Any) -> Any:
        """All plans, on the first rank."""

    @abc.abstractmethod
    def read_data(self, plan: Any, planner: Any) -> Any:
        """Read the items of a plan and hand them to the planner; a future."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether it can read there."""
