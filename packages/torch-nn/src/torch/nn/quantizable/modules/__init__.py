"""``torch.ao.nn.quantizable.modules`` under its older name."""
# ruff: noqa: F403

from torch.ao.nn.quantizable.modules import *
