"""``torch.ao.nn.intrinsic`` under its older name."""
# ruff: noqa: F403

import sys

from torch.ao.nn.intrinsic import *
from torch.ao.nn.intrinsic import qat as qat
from torch.ao.nn.intrinsic import quantized as quantized

sys.modules[f"{__name__}.qat"], sys.modules[f"{__name__}.quantized"] = qat, quantized
