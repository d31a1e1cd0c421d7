# ruff: noqa: F401, F403
"""The older name of :mod:`torch.distributed.tensor`."""

from ..tensor import *
from ..tensor import experimental, placement_types
