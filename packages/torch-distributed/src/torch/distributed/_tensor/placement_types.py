# ruff: noqa: F403
"""The older name of :mod:`torch.distributed.tensor.placement_types`."""

from ..tensor.placement_types import *
