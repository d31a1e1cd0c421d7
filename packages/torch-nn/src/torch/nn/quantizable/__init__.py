"""``torch.ao.nn.quantizable`` under its older name."""
# ruff: noqa: F403

from torch.ao.nn.quantizable import *
