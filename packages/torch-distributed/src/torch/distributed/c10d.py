# ruff: noqa: F403
"""The name of 2018 of what is now :mod:`torch.distributed`."""

from .distributed_c10d import *
