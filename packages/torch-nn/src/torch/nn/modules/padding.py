"""Padding layers."""

from __future__ import annotations

from .. import functional as F
from ..functional._sizes import expand
from .module import Module
from .utils import _ntuple, _pair, _quadruple  # noqa: F401  (others import them from here)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Sized:
    """``padding`` is one number, or (left, right, top, bottom, front, back) as far as there are dims."""

    _dims = None

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = expand(padding, 2 * self._dims, "padding")


class _PadNd(Module):
    """Classes written elsewhere set ``padding`` themselves."""

    _mode = None

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(Module):
    """Classes written elsewhere set ``padding`` themselves."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ConstantPad(_ConstantPadNd):
    _dims = None

    def __init__(self, padding: int | Sequence[int], value: Any) -> None:
        super().__init__(value)
        self.padding = expand(padding, 2 * self._dims, "padding")


class ConstantPad1d(_ConstantPad):
    """Pads the last dim with ``value``.

    >>> torch.nn.ConstantPad1d((1, 2), 9.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dims with ``value``.

    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 9.0)(torch.zeros(1, 1))
    tensor([[9., 0.],
            [9., 9.]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dims with ``value``.

    >>> torch.nn.ConstantPad3d(1, 0.0)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Pads the last dim with zeros."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads the last two dims with zeros.

    >>> torch.nn.ZeroPad2d((1, 0, 0, 1))(torch.ones(1, 1, 2))
    tensor([[[0., 1., 1.],
             [0., 0., 0.]]])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads the last three dims with zeros."""

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_Sized, _ReflectionPadNd):
    """Pads (N, C, L) with its mirror image; the edge itself is not repeated.

    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_Sized, _ReflectionPadNd):
    """Pads (N, C, H, W) with its mirror image.

    >>> torch.nn.ReflectionPad2d((1, 1, 0, 0))(torch.arange(4.0).view(1, 2, 2))
    tensor([[[1., 0., 1., 0.],
             [3., 2., 3., 2.]]])
    """

    _dims = 2


class ReflectionPad3d(_Sized, _ReflectionPadNd):
    """Pads (N, C, D, H, W) with its mirror image."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_Sized, _ReplicationPadNd):
    """Pads (N, C, L) by repeating the edge.

    >>> torch.nn.ReplicationPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    _dims = 1


class ReplicationPad2d(_Sized, _ReplicationPadNd):
    """Pads (N, C, H, W) by repeating the edges.

    >>> torch.nn.ReplicationPad2d(1)(torch.arange(4.0).view(1, 2, 2))
    tensor([[[0., 0., 1., 1.],
             [0., 0., 1., 1.],
             [2., 2., 3., 3.],
             [2., 2., 3., 3.]]])
    """

    _dims = 2


class ReplicationPad3d(_Sized, _ReplicationPadNd):
    """Pads (N, C, D, H, W) by repeating the edges.

    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _CircularPadNd(_PadNd):
    _mode = "circular"
    _dims = None

    def forward(self, input: Tensor) -> Tensor:
        n = self._dims
        if n is not None and input.dim() not in (n + 1, n + 2):
            raise ValueError(f"{type(self).__name__}: expected {n + 1}D or {n + 2}D input, got {input.dim()}D")
        return super().forward(input)


class CircularPad1d(_Sized, _CircularPadNd):
    """Pads (N, C, L) with its other end."""

    _dims = 1


class CircularPad2d(_Sized, _CircularPadNd):
    """Pads (N, C, H, W) with its opposite sides."""

    _dims = 2


class CircularPad3d(_Sized, _CircularPadNd):
    """Pads (N, C, D, H, W) with its opposite sides."""

    _dims = 3
