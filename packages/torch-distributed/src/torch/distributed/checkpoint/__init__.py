"""Saving and loading by all ranks together: each writes the pieces that it holds, and any number of ranks can load them.

A checkpoint is a folder in PyTorch's form: files of ``torch.save`` and an index, ``.metadata``, which is written last
and in one step, so that a job that is killed while it saves leaves the earlier checkpoint of the folder as it was.
"""

from ._together import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .loading import load, load_state_dict
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)
from .optimizer import load_sharded_optimizer_state_dict
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .saving import async_save, save, save_state_dict
from .stateful import Stateful
from .storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "LoadPlan", "LoadPlanner", "Metadata", "MetadataIndex", "ReadItem", "SavePlan",
    "SavePlanner", "Stateful", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem", "async_save", "load", "load_sharded_optimizer_state_dict",
    "load_state_dict", "save", "save_state_dict",
]  # fmt: skip
