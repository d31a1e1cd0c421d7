# ruff: noqa: F401, F403
"""The process groups and their collectives, under the name by which libraries import them."""

import contextlib as _contextlib

from . import _world as _world_module
from ._backends import *
from ._backends import DistributedBackendOptions as _DistributedBackendOptions
from ._collectives import *
from ._collectives import _all_gather_base, _reduce_scatter_base
from ._debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from ._errors import *
from ._objects import *
from ._options import *
from ._process_group import ProcessGroup
from ._reduce import ReduceOp, reduce_op
from ._reduce import premul_sum as _make_nccl_premul_sum
from ._stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from ._work import FutureWork, Work
from ._world import *
from .constants import default_pg_timeout
from .rendezvous import register_rendezvous_handler, rendezvous


def is_available() -> bool:
    """Whether processes can talk to each other through this module.

    >>> import torch
    >>> torch.distributed.is_available()
    True
    """
    return True


def is_torchelastic_launched() -> bool:
    """Whether this process was started by ``torchrun``."""
    import os

    return "TORCHELASTIC_RUN_ID" in os.environ


def _get_global_rank(group, rank) -> int:
    """The former name of :func:`torch.distributed.get_global_rank`."""
    import warnings

    warnings.warn("_get_global_rank is deprecated, use get_global_rank instead", FutureWarning, stacklevel=2)
    return _world_module.get_global_rank(group, rank)


class _CoalescingManager:
    """What a block of :func:`_coalescing_manager` has begun."""

    def __init__(self):
        self.works: list = []

    def append(self, work) -> None:
        """Wait for this, too."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Until all is done."""
        for work in self.works:
            work.wait()


@_contextlib.contextmanager
def _coalescing_manager(group=None, device=None, async_ops: bool = False):
    """A block of collectives that may be sent together; here each is sent by itself, in the order of the block.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.distributed_c10d import _coalescing_manager
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> with _coalescing_manager() as manager:
    ...     dist.all_reduce(x)
    >>> manager.wait()
    >>> dist.destroy_process_group()
    """
    manager = _CoalescingManager()
    yield manager
    if not async_ops:
        manager.wait()


def _get_default_group():
    return _world_module.default_group()


def _rank_not_in_group(group) -> bool:
    return not _world_module.is_member(group)


def _get_default_store():
    return _world_module._world.groups[_world_module.default_group()].store


def _resolve_process_group(group_name):
    """The group of a name. Raises RuntimeError when there is none."""
    groups = list(_world_module._world.groups)
    for group in groups:
        if group.group_name == group_name:
            return group
    known = ", ".join(repr(group.group_name) for group in groups) or "none"
    raise RuntimeError(
        f"Could not resolve the process group registered under the name {group_name!r}: the names are {known}"
    )


def _get_group_size_by_name(group_name) -> int:
    return _resolve_process_group(group_name).size()


def _get_group_size(group) -> int:
    return _world_module.get_world_size(group)


def _get_pg_default_device(group=None):
    import torch

    return torch.device("cpu")


def get_debug_info(group=None) -> str:
    """The backend of a group and what carries its bytes.

    >>> import torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_debug_info()
    'gloo, rank 0 of 1: sockets between the ranks, of torch-distributed itself'
    >>> dist.destroy_process_group()
    """
    found = _world_module.resolve(group)
    return f"{_world_module.get_backend(found)}, rank {found.rank()} of {found.size()}: {found.engine()}"


def __getattr__(name: str):
    if name == "_pg_map":  # groups, with the name of their backend and their store
        return {pg: (entry.backend, entry.store) for pg, entry in _world_module._world.groups.items()}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
