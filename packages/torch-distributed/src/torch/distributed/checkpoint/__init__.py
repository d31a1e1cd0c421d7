"""Saving and loading by all ranks together: each writes a part of what all have, and any number of ranks can load it.

A checkpoint is a folder of files of ``torch.save`` and an index, which is written last and in one step: a job that is
killed while it saves leaves the earlier checkpoint of the folder as it was.  The files are not those of PyTorch.
"""

from .._absent import fill
from .saving import async_save, load, save
from .stateful import Stateful

__all__ = ["Stateful", "async_save", "load", "load_state_dict", "save", "save_state_dict"]

REASON = "torch.distributed.checkpoint.save and load take a folder, and write and read it themselves"
fill(
    globals(),
    REASON,
    ["FileSystemReader", "FileSystemWriter", "StorageReader", "StorageWriter", "LoadPlanner", "SavePlanner",
     "DefaultLoadPlanner", "DefaultSavePlanner", "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "Metadata"],
    ["save_state_dict", "load_state_dict", "load_sharded_optimizer_state_dict"],
)  # fmt: skip
