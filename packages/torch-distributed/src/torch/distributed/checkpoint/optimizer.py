"""States of optimizers whose tensors lie in pieces."""

import torch

from ..tensor._api import zeros
from ..tensor._dtensor import DTensor
from ._flatten import put
from ._together import Together
from .default_planner import DefaultLoadPlanner
from .loading import _load
from .metadata import TensorStorageMetadata

__all__ = ["load_sharded_optimizer_state_dict"]


class _PlannedLoad(DefaultLoadPlanner):
    """Of a saved state, what lies under one key, its tensors like those of the model."""

    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        paths, wanted = metadata.planner_data or {}, {}
        for name, entry in metadata.state_dict_metadata.items():
            path = tuple(paths.get(name, (name,)))
            if path[0] != self.key:
                continue
            value = self._like(path, entry) if isinstance(entry, TensorStorageMetadata) else None
            put(state_dict, path, value)
            wanted[name] = value, path
        if not wanted:
            raise KeyError(f"load_sharded_optimizer_state_dict: the checkpoint has nothing under {self.key!r}")
        super().set_up_planner(state_dict, metadata, is_coordinator)
        self.state_dict = {name: value for name, (value, _) in wanted.items()}
        self.mappings = {name: path for name, (_, path) in wanted.items()}

    def _like(self, path, entry):
        """An empty tensor that lies on the ranks as the parameter does that the path names."""
        owner = next((self.model[part] for part in path if part in self.model), None)
        dtype = entry.properties.dtype
        if isinstance(owner, DTensor) and owner.shape == entry.size:
            return zeros(tuple(entry.size), dtype=dtype, device_mesh=owner.device_mesh, placements=owner.placements)
        return torch.zeros(tuple(entry.size), dtype=dtype)


def load_sharded_optimizer_state_dict(model_state_dict, optimizer_key, storage_reader, planner=None) -> dict:
    """The state of an optimizer that was saved under ``optimizer_key``, its tensors in pieces like the model's.

    Args:
        model_state_dict: the model's tensors by name, whole or as :class:`DTensor`
        optimizer_key: the key of the saved state that the optimizer's lies under
        storage_reader: reads the checkpoint
        planner: is not taken: which tensors there are is found in the checkpoint

    Raises:
        KeyError: when the checkpoint has nothing under the key
    """
    if planner is not None:
        raise NotImplementedError("load_sharded_optimizer_state_dict: takes no planner")
    state: dict = {}
    _load(state, storage_reader, _PlannedLoad(model_state_dict, optimizer_key), Together.of(None, False))
    return state
