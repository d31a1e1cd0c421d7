"""Samples in another order."""

from __future__ import annotations

import random
from typing import Any

import torch

from ...sampler import SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


class SamplerIterDataPipe(IterDataPipe):
    """The indices of a sampler over a pipe."""

    def __init__(
        self, datapipe: Any, sampler: Any = SequentialSampler, sampler_args: Any = None, sampler_kwargs: Any = None
    ) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), data_source=datapipe, **(sampler_kwargs or {}))

    def __iter__(self) -> Any:
        yield from self.sampler

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe):
    """Each sample takes the place of a random one among ``buffer_size``; with ``unbatch_level`` batches are opened before."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size < 1:
            raise ValueError(f"shuffle: buffer_size must be at least 1, got {buffer_size}")
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size, self._enabled, self._seed, self._rng = buffer_size, True, None, random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switches the shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next pass; else it is drawn from torch's generator."""
        self._seed = seed
        return self

    def reset(self) -> None:
        if self._seed is None:
            self._seed = int(torch.empty((), dtype=torch.int64).random_().item())
        self._rng.seed(self._seed)
        self._seed = None

    def __iter__(self) -> Any:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            at = self._rng.randrange(len(buffer))
            out, buffer[at] = buffer[at], sample
            yield out
        self._rng.shuffle(buffer)
        yield from buffer

    def __len__(self) -> int:
        return len(self.datapipe)
