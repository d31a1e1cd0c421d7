"""The part of a stream that belongs to one worker or rank."""

from __future__ import annotations

from enum import IntEnum
from itertools import islice
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class SHARDING_PRIORITIES(IntEnum):
    """Who shares a stream out: first the ranks, then the workers of each."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """Every n-th sample, where workers share the stream; all of them elsewhere."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT
    ) -> None:
        """Keeps only what belongs to one of so many."""
        if not 0 <= instance_id < num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        if self.sharding_group_filter is None or sharding_group == self.sharding_group_filter:
            self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for _, (count, place) in sorted(self.groups.items(), reverse=True):
            self.instance_id += self.num_of_instances * place
            self.num_of_instances *= count

    def __iter__(self) -> Any:
        yield from islice(self.source_datapipe, self.instance_id, None, self.num_of_instances)

    def __len__(self) -> int:
        count = len(self.source_datapipe)
        return count // self.num_of_instances + (self.instance_id < count % self.num_of_instances)
