"""``torch.ao.nn.quantized.functional`` under its older name."""
# ruff: noqa: F403

from torch.ao.nn.quantized.functional import *
