"""Where libraries look for names of :mod:`torch.distributed.checkpoint`."""

from . import DefaultLoadPlanner, DefaultSavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]
