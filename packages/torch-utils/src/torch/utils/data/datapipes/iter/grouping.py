"""Batches and groups."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Lists of ``batch_size`` samples."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size < 1:
            raise AssertionError(f"batch: batch_size must be at least 1, got {batch_size}")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = (
            datapipe,
            batch_size,
            drop_last,
            wrapper_class,
        )

    def __iter__(self) -> Any:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches, or of batches of batches; ``unbatch_level=-1`` opens all."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def _open(self, sample, level):
        if level == -1:
            if isinstance(sample, (list, DataChunk)):
                for inner in sample:
                    yield from self._open(inner, -1)
            else:
                yield sample
        elif level == 0:
            yield sample
        elif isinstance(sample, (list, DataChunk)):
            for inner in sample:
                yield from self._open(inner, level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")

    def __iter__(self) -> Any:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for sample in self.datapipe:
            yield from self._open(sample, self.unbatch_level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of samples with the same key, of ``group_size`` or as many as there are."""

    def __init__(
        self, datapipe: Any, group_key_fn: Any, *, keep_key: bool = False, buffer_size: int = 10000, group_size: int | None = None,
        guaranteed_group_size: int | None = None, drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        self.datapipe, self.group_key_fn, self.keep_key, self.buffer_size = (
            datapipe,
            group_key_fn,
            keep_key,
            buffer_size,
        )
        self.group_size, self.drop_remaining = group_size, drop_remaining
        self.guaranteed = guaranteed_group_size if guaranteed_group_size is not None else group_size

    def _given(self, key, group):
        return (key, DataChunk(group)) if self.keep_key else DataChunk(group)

    def __iter__(self) -> Any:
        groups: dict[Any, list[Any]] = defaultdict(list)
        count = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups[key].append(sample)
            count += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                count -= self.group_size
                yield self._given(key, groups.pop(key))
            elif count == self.buffer_size:
                key = max(groups, key=lambda k: len(groups[k]))
                if self.guaranteed is not None and len(groups[key]) < self.guaranteed and not self.drop_remaining:
                    raise RuntimeError(
                        f"Failed to group items: the largest group has {len(groups[key])}, of {self.guaranteed}"
                    )
                count -= len(groups[key])
                group = groups.pop(key)
                if self.guaranteed is None or len(group) >= self.guaranteed:
                    yield self._given(key, group)
        for key, group in groups.items():
            if not (self.drop_remaining and self.guaranteed is not None and len(group) < self.guaranteed):
                yield self._given(key, group)
