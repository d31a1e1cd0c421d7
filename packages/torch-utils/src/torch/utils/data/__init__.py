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


# Loaded at first touch: modules, and the names they hold.
_LATE = {
    "_utils": None,
    "datapipes": None,
    "datasets": None,
    "graph": None,
    "graph_settings": None,
    **dict.fromkeys(("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"), "datapipes.datapipe"),
    **dict.fromkeys(
        (
            "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
            "runtime_validation_disabled",
        ),
        "datapipes._decorator",
    ),
    "_DatasetKind": "dataloader",
}  # fmt: skip


def __getattr__(name):
    if name in _LATE:
        module = _import_module(f"torch.utils.data.{_LATE[name] or name}")
        return getattr(module, name) if _LATE[name] else module
    raise AttributeError(f"module 'torch.utils.data' has no attribute {name!r}")
