"""``torch.ao.nn.quantized.dynamic`` under its older name."""
# ruff: noqa: F403

from torch.ao.nn.quantized.dynamic import *
