"""Padding layers."""

from .. import functional as F
from ..functional._sizes import expand
from .module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """``padding`` is one number, or (left, right, top, bottom, front, back) as far as there are dims."""

    _dims, _mode = None, None

    def __init__(self, padding):
        super().__init__()
        self.padding = expand(padding, 2 * self._dims, "padding")

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pads the last dim with ``value``."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dims with ``value``.

    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 9.0)(torch.zeros(1, 1))
    tensor([[9., 0.],
            [9., 9.]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dims with ``value``."""

    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Pads the last dim with zeros."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads the last two dims with zeros."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads the last three dims with zeros."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """Pads (N, C, L) with its mirror image; the edge itself is not repeated."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pads (N, C, H, W) with its mirror image."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pads (N, C, D, H, W) with its mirror image."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pads (N, C, L) by repeating the edge."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pads (N, C, H, W) by repeating the edges."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pads (N, C, D, H, W) by repeating the edges."""

    _dims, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Pads (N, C, L) with its other end."""

    _dims, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pads (N, C, H, W) with its opposite sides."""

    _dims, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """Pads (N, C, D, H, W) with its opposite sides."""

    _dims, _mode = 3, "circular"
