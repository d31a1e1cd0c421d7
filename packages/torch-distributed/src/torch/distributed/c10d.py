# ruff: noqa: F403
"""The name of 2018 of what is now :mod:`torch.distributed`."""

from ._backends import create as _create
from ._process_group import ProcessGroup as _ProcessGroup
from ._stores.base import to_seconds as _to_seconds
from .distributed_c10d import *


class ProcessGroupGloo(_ProcessGroup):
    """A group of ranks that meet in a store, as 2018 made it by hand.

    >>> c10d = torch.distributed.c10d
    >>> c10d.ProcessGroupGloo(c10d.HashStore(), 0, 1).size()
    1
    """

    def __new__(cls, store, rank, size, timeout=300.0):
        return _create("gloo", store, rank, size, _to_seconds(timeout))


class ProcessGroupNCCL(_ProcessGroup):
    """A group of ranks with devices that meet in a store; RuntimeError where the backend cannot be had.

    >>> isinstance(3, torch.distributed.c10d.ProcessGroupNCCL)
    False
    """

    def __new__(cls, store, rank, size, timeout=300.0):
        return _create("nccl", store, rank, size, _to_seconds(timeout))
