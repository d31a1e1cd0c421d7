"""Data sets, samplers and the loader that makes batches of them."""

from torch import _seams

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
_MODULES = ("_utils", "datapipes", "datasets", "graph", "graph_settings")
_NAMES = {
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

__getattr__, __dir__ = _seams.later(globals(), _MODULES, _NAMES)
