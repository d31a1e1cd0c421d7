"""A checkpoint of many files as one of ``torch.save``, and the other way round."""

import math

import torch

from ._flatten import put
from ._together import Together
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader, _StorageInfo
from .loading import _load
from .metadata import TensorStorageMetadata
from .saving import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty state with all that the checkpoint has, or with what ``keys`` begin the names of."""

    def __init__(self, keys=None, *args, **kwargs):
        self.keys = keys
        super().__init__(*args, **kwargs)

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        paths, held = metadata.planner_data or {}, _bytes_of(metadata)
        wanted = {}
        for name, entry in metadata.state_dict_metadata.items():
            path = tuple(paths.get(name, (name,)))
            if self.keys is not None and not any(name == k or name.startswith(f"{k}.") for k in self.keys):
                continue
            tensor = isinstance(entry, TensorStorageMetadata)
            if tensor:
                _check_room(name, entry, held.get(name))
            value = torch.empty(tuple(entry.size), dtype=entry.properties.dtype) if tensor else None
            put(state_dict, path, value)
            wanted[name] = value, path
        super().set_up_planner(state_dict, metadata, is_coordinator)
        self.state_dict = {name: value for name, (value, _) in wanted.items()}
        self.mappings = {name: path for name, (_, path) in wanted.items()}


def _bytes_of(metadata) -> dict:
    """How many bytes of the files each value has, by name; those that were transformed are not counted."""
    places: dict = {}
    for index, info in (metadata.storage_data or {}).items():
        if isinstance(info, _StorageInfo) and not info.transform_descriptors:
            places.setdefault(index.fqn, {})[info.relative_path, info.offset] = info.length
    return {name: sum(lengths.values()) for name, lengths in places.items()}


def _check_room(name, entry, held) -> None:
    """ValueError for a tensor that has no room in the files, before there is memory for it."""
    needed = math.prod(entry.size) * entry.properties.dtype.itemsize
    if held is not None and needed > held:
        raise ValueError(
            f"checkpoint.load: {name} of shape {tuple(entry.size)} and {entry.properties.dtype} takes {needed} bytes, and its "
            f"pieces in the files have {held}"
        )


def _load_state_dict(
    state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None
) -> None:
    """Read into a state by a reader and a planner of one's own; with ``no_dist`` only on this rank."""
    if coordinator_rank:
        raise NotImplementedError("_load_state_dict: the first rank coordinates")
    _load(state_dict, storage_reader, planner, Together(None if no_dist else process_group))


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path) -> None:
    """Read a whole checkpoint and write it with ``torch.save``.

    >>> import pathlib, tempfile, torch, torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"a": {"w": torch.ones(2)}}, checkpoint_id=folder)
    ...     dcp_to_torch_save(folder, pathlib.Path(folder, "whole.pt"))
    ...     torch.load(pathlib.Path(folder, "whole.pt"))
    {'a': {'w': tensor([1., 1.])}}
    """
    state: dict = {}
    _load(state, FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner(), Together(None))
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir) -> None:
    """Read a file of ``torch.save`` and write its state as a checkpoint."""
    save(torch.load(torch_save_path), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
