# ruff: noqa: F403
"""The older name of :mod:`torch.distributed.device_mesh`."""

from ..device_mesh import *
