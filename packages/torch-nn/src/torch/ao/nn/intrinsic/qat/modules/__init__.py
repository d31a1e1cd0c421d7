"""What joined layers of one's own derive from."""

from . import conv_fused as conv_fused

__all__ = ["conv_fused"]
