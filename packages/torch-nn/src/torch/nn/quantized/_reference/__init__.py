"""``torch.ao.nn.quantized.reference`` under its older name."""
# ruff: noqa: F403

import sys

from torch.ao.nn.quantized.reference import *
from torch.ao.nn.quantized.reference import modules as modules

sys.modules |= {f"{__name__}.modules": modules, f"{__name__}.modules.utils": modules.utils}
