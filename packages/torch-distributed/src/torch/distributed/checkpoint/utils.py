"""Finding what a plan's item is about, for planners and storage of one's own."""

import torch

from ..tensor._dtensor import DTensor
from ._together import CheckpointException

__all__ = ["CheckpointException", "find_state_dict_object", "find_tensor_shard"]


def find_tensor_shard(tensor, index):
    """The part of a tensor that this rank holds, for a :class:`MetadataIndex`.

    >>> import torch
    >>> from torch.distributed.checkpoint import MetadataIndex
    >>> find_tensor_shard(torch.ones(2), MetadataIndex("w", [0]))
    tensor([1., 1.])
    """
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    if index.offset is not None and any(index.offset):
        raise ValueError(f"FQN: '{index.fqn}' is not a DTensor, and has no piece at {tuple(index.offset)}")
    return tensor


def find_state_dict_object(state_dict, index):
    """The value under an index's name, and of a tensor the part that this rank holds.

    >>> from torch.distributed.checkpoint import MetadataIndex
    >>> find_state_dict_object({"step": 3}, MetadataIndex("step"))
    3
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if isinstance(value, torch.Tensor):
        return find_tensor_shard(value, index)
    if index.offset is not None:
        raise ValueError(f"FQN: '{index.fqn}' is a {type(value).__name__}, which has no piece at {tuple(index.offset)}")
    return value
