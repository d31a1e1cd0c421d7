"""The same layers, and what joined layers of one's own derive from."""
# ruff: noqa: F403

from torch.ao.nn.intrinsic.qat import LinearBn1d, LinearReLU

from . import conv_fused as conv_fused
from .conv_fused import *
from .conv_fused import __all__ as _CONVOLUTIONS

__all__ = [*_CONVOLUTIONS, "LinearBn1d", "LinearReLU", "conv_fused"]
