"""``torch.ao.nn.qat`` under its older name."""
# ruff: noqa: F403

from torch.ao.nn.qat import *
