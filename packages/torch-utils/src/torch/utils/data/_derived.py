"""The class from which libraries derive iterators over loaders of their own."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

import torch

from .iterator import LoaderIterator


class _BaseDataLoaderIter(metaclass=ABCMeta):  # noqa: B024
    """An iterator that knows its loader's settings; derived classes have ``_next_data``. Those of this package are also
    instances of it."""

    def __init__(self, loader: Any) -> None:
        self._dataset, self._dataset_kind, self._auto_collation = (
            loader.dataset,
            loader._dataset_kind,
            loader._auto_collation,
        )
        self._drop_last, self._index_sampler, self._num_workers = (
            loader.drop_last,
            loader._index_sampler,
            loader.num_workers,
        )
        self._pin_memory = loader.pin_memory and torch.cuda.is_available()
        self._pin_memory_device, self._timeout, self._collate_fn = None, loader.timeout, loader.collate_fn
        self._IterableDataset_len_called = getattr(loader, "_IterableDataset_len_called", None)
        self._shared_seed = self._pg = None
        self._world_size, self._rank = 1, 0
        self._persistent_workers = loader.persistent_workers
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def __iter__(self) -> Any:
        return self

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begins a new pass."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = getattr(loader, "_IterableDataset_len_called", None)

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError(f"{type(self).__name__} needs a method _next_data()")

    def __next__(self) -> Any:
        if self._sampler_iter is None:
            self._reset(None)
        data = self._next_data()
        self._num_yielded += 1
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)


_BaseDataLoaderIter.register(LoaderIterator)
