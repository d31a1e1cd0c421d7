# ruff: noqa: F403
"""Running a module on several devices of one machine."""

from .data_parallel import *
from .parallel_apply import *
from .replicate import *
from .scatter_gather import *


def __getattr__(name):
    if name not in ("DistributedDataParallel", "DistributedDataParallelCPU"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import distributed

    return getattr(distributed, name)
