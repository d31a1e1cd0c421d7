"""The names of 2018's first interface, which moved here when today's came: the same functions as in torch.distributed."""

import warnings

from .. import _collectives as _now
from .._multigpu import all_gather_multigpu, all_reduce_multigpu, broadcast_multigpu, reduce_multigpu
from .._reduce import reduce_op
from .._world import (
    destroy_process_group,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
)
from ..distributed_c10d import is_available

__all__ = [
    "all_gather", "all_gather_multigpu", "all_reduce", "all_reduce_multigpu", "barrier", "broadcast", "broadcast_multigpu",
    "clear_group_cache", "destroy_process_group", "gather", "get_rank", "get_world_size", "group", "init_process_group",
    "irecv", "is_available", "is_initialized", "isend", "new_group", "recv", "reduce", "reduce_multigpu", "reduce_op",
    "scatter", "send",
]  # fmt: skip
all_gather, all_reduce, barrier, broadcast = _now.all_gather, _now.all_reduce, _now.barrier, _now.broadcast
irecv, isend, recv, reduce, send = _now.irecv, _now.isend, _now.recv, _now.reduce, _now.send


def gather(tensor, gather_list=None, dst=0, group=None):
    """Fill ``gather_list`` of rank ``dst`` with the tensors of all ranks."""
    _now.gather(tensor, gather_list, dst, group)


def scatter(tensor, scatter_list=None, src=0, group=None):
    """Fill every rank's tensor with the one at its place in ``scatter_list`` of rank ``src``."""
    _now.scatter(tensor, scatter_list, src, group)


def clear_group_cache(group=None) -> None:
    """Does nothing: there is no cache of groups."""
    warnings.warn("torch.distributed.deprecated.clear_group_cache has nothing to clear", FutureWarning, stacklevel=2)
