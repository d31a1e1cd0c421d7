"""Samples in another order."""

from __future__ import annotations

from typing import Any

from ..datapipe import IterDataPipe, MapDataPipe
from ..iter.combinatorics import ShufflerIterDataPipe as _Shuffler


class ShufflerIterDataPipe(IterDataPipe):
    """All samples, in an order that is drawn for each pass."""

    def __init__(self, datapipe: MapDataPipe, *, indices: list | None = None) -> None:
        self.datapipe, self.indices = datapipe, list(range(len(datapipe)) if indices is None else indices)
        self._order: Any = _Shuffler(self.indices, buffer_size=max(1, len(self.indices)))

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switches the shuffling on or off."""
        self._order.set_shuffle(shuffle)
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next pass."""
        self._order.set_seed(seed)
        return self

    def __iter__(self) -> Any:
        for index in self._order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.indices)


# A method of pipes with indices, though what it gives is a stream.
MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
