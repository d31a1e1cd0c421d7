# ruff: noqa: F403
"""The older name of what :mod:`torch.distributed.tensor` has."""

from ..tensor import *
