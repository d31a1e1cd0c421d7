"""``torch.ao.nn.intrinsic`` under its older name."""
# ruff: noqa: F403

import sys

from torch.ao.nn.intrinsic import *
from torch.ao.nn.intrinsic import _FusedModule as _FusedModule
from torch.ao.nn.intrinsic import qat as qat
from torch.ao.nn.intrinsic import quantized as quantized

sys.modules |= {
    f"{__name__}.qat": qat,
    f"{__name__}.qat.modules": qat.modules,
    f"{__name__}.qat.modules.conv_fused": qat.modules.conv_fused,
    f"{__name__}.quantized": quantized,
    f"{__name__}.quantized.dynamic": quantized.dynamic,
}
