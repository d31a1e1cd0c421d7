"""What a loader does for data pipes: switches their shuffling, and shares a stream out to the workers."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph_settings import apply_random_seed, apply_sharding, apply_shuffle_settings
from .worker import get_worker_info


def prepare(
    dataset: Any, shuffle: bool | None, init_fn: Any, num_workers: int, worker_kind: str
) -> tuple[Any, bool | None, Any]:
    """A loader's data set, shuffle and worker_init_fn where the data set may be a pipe."""
    if not isinstance(dataset, (IterDataPipe, MapDataPipe)):
        return dataset, shuffle, init_fn
    if isinstance(dataset, IterDataPipe):
        dataset, shuffle = apply_shuffle_settings(dataset, shuffle), None
        if num_workers and worker_kind == "thread":
            raise NotImplementedError(
                "DataLoader: threads would share one stream: take worker_kind='process' for a data pipe"
            )
        if num_workers:
            init_fn = functools.partial(_sharding_worker_init_fn, init_fn, 1, 0)
    return dataset, shuffle, init_fn


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """In a worker: the same seeds for all workers, each its part of the stream, and then the program's own function."""
    info = get_worker_info()
    generator = torch.Generator()
    generator.manual_seed(info.seed - worker_id)
    apply_random_seed(info.dataset, generator)
    apply_sharding(info.dataset, world_size, rank_id, SHARDING_PRIORITIES.DISTRIBUTED)
    apply_sharding(info.dataset, info.num_workers, worker_id, SHARDING_PRIORITIES.MULTIPROCESSING)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)
