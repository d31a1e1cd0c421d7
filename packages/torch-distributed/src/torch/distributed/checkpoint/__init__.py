"""Saving and loading by all ranks together: each writes the pieces that it holds, and any number of ranks can load them.

A checkpoint is a folder in PyTorch's form: files of ``torch.save`` and an index, ``.metadata``, which is written last
and in one step, so that a job that is killed while it saves leaves the earlier checkpoint of the folder as it was.
"""

from .._absent import fill
from ._together import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .loading import load, load_state_dict
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .saving import async_save, save, save_state_dict
from .stateful import Stateful
from .storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "LoadPlan", "LoadPlanner", "Metadata", "MetadataIndex", "ReadItem", "SavePlan",
    "SavePlanner", "Stateful", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem", "async_save", "load",
    "load_state_dict", "save", "save_state_dict",
]  # fmt: skip

fill(
    globals(),
    "a checkpoint is a folder of torch.save files; save safetensors with the library of that name",
    ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"],
)
