"""``torch.ao.nn.qat`` under its older name."""
# ruff: noqa: F403

import sys

from torch.ao.nn.qat import *
from torch.ao.nn.qat import dynamic as dynamic
from torch.ao.nn.qat import modules as modules

sys.modules |= {
    f"{__name__}.dynamic": dynamic,
    f"{__name__}.modules": modules,
    f"{__name__}.modules.conv": modules.conv,
}
