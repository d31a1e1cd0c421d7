"""Data sets, samplers and the loader that makes batches of them."""

from importlib import import_module as _import_module

from .collate import default_collate, default_convert, pin_memory_batch
from .dataloader import DataLoader, DataLoaderIter, ManagerWatchdog
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .report import ExceptionWrapper
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .shared import SharedArray, SharedDict, SharedList
from .worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "DataLoaderIter",
    "Dataset",
    "DistributedSampler",
    "ExceptionWrapper",
    "IterableDataset",
    "ManagerWatchdog",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SharedArray",
    "SharedDict",
    "SharedList",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "pin_memory_batch",
    "random_split",
]


def __getattr__(name):
    if name == "datasets":  # loaded at first touch
        return _import_module("torch.utils.data.datasets")
    raise AttributeError(f"module 'torch.utils.data' has no attribute {name!r}")
