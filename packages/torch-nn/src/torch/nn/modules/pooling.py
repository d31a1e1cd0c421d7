"""Pooling layers."""

from __future__ import annotations

from .. import functional as F
from ..functional._sizes import expand
from ._function import Function
from .module import Module
from .utils import _pair, _single, _triple  # noqa: F401  (others import them from here)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    _function = None

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window: (N, C, L) to (N, C, L_out).

    >>> torch.nn.MaxPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 4.0]]]))
    tensor([[[3., 4.]]])
    """

    _function = Function("max_pool1d")


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window: (N, C, H, W) to (N, C, H_out, W_out).

    ``stride`` is the window's size by default; ``return_indices`` also gives the places, for :class:`MaxUnpool2d`.

    >>> torch.nn.MaxPool2d(2)(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    _function = Function("max_pool2d")


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window: (N, C, D, H, W) to (N, C, D_out, H_out, W_out).

    >>> torch.nn.MaxPool3d(2)(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    _function = Function("max_pool3d")


class _MaxUnpoolNd(Module):
    _dims, _function = None, None

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = expand(kernel_size, self._dims, "kernel_size")
        self.stride = expand(kernel_size if stride is None else stride, self._dims, "stride")
        self.padding = expand(padding, self._dims, "padding")

    def forward(self, input: Tensor, indices: Tensor, output_size: int | Sequence[int | None] | None = None) -> Tensor:
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where :class:`MaxPool1d` found them; zeros elsewhere.

    >>> values, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1.0, 3.0, 4.0, 2.0]]]))
    >>> torch.nn.MaxUnpool1d(2)(values, places)
    tensor([[[0., 3., 4., 0.]]])
    """

    _dims, _function = 1, Function("max_unpool1d")


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where :class:`MaxPool2d` found them; zeros elsewhere.

    >>> values, places = torch.nn.MaxPool2d(2, return_indices=True)(torch.arange(4.0).view(1, 1, 2, 2))
    >>> torch.nn.MaxUnpool2d(2)(values, places)
    tensor([[[[0., 0.],
              [0., 3.]]]])
    """

    _dims, _function = 2, Function("max_unpool2d")


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where :class:`MaxPool3d` found them; zeros elsewhere.

    >>> values, places = torch.nn.MaxPool3d(2, return_indices=True)(torch.arange(8.0).view(1, 1, 2, 2, 2))
    >>> torch.nn.MaxUnpool3d(2)(values, places).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    _dims, _function = 3, Function("max_unpool3d")


class _AvgPoolNd(Module):
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window: (N, C, L) to (N, C, L_out).

    >>> torch.nn.AvgPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 4.0]]]))
    tensor([[[2., 3.]]])
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = expand(kernel_size, 1, "kernel_size")
        self.stride = expand(kernel_size if stride is None else stride, 1, "stride")
        self.padding = expand(padding, 1, "padding")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_AvgPoolNd):
    _function = None

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPool):
    """The mean of each window: (N, C, H, W) to (N, C, H_out, W_out).

    >>> torch.nn.AvgPool2d(2)(torch.arange(16.0).view(1, 4, 4))
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """

    _function = Function("avg_pool2d")


class AvgPool3d(_AvgPool):
    """The mean of each window: (N, C, D, H, W) to (N, C, D_out, H_out, W_out).

    >>> torch.nn.AvgPool3d(2)(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[[[3.5000]]]])
    """

    _function = Function("avg_pool3d")


class _LPPoolNd(Module):
    _function = None

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """``(sum of x^p)^(1/p)`` over each window of (N, C, L).

    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    _function = Function("lp_pool1d")


class LPPool2d(_LPPoolNd):
    """``(sum of x^p)^(1/p)`` over each window of (N, C, H, W).

    >>> torch.nn.LPPool2d(2, (1, 2))(torch.tensor([[[[3.0, 4.0]]]]))
    tensor([[[[5.]]]])
    """

    _function = Function("lp_pool2d")


class LPPool3d(_LPPoolNd):
    """``(sum of x^p)^(1/p)`` over each window of (N, C, D, H, W)."""

    _function = Function("lp_pool3d")


class _AdaptiveAvgPoolNd(Module):
    _function = None

    def __init__(self, output_size: int | tuple[int | None, ...] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means over ``output_size`` windows of (N, C, L).

    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.arange(6.0).view(1, 1, 6))
    tensor([[[1., 4.]]])
    """

    _function = Function("adaptive_avg_pool1d")


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means over a grid of ``output_size`` windows of (N, C, H, W); None keeps a size.

    >>> torch.nn.AdaptiveAvgPool2d((1, None))(torch.zeros(2, 3, 8, 9)).shape
    torch.Size([2, 3, 1, 9])
    """

    _function = Function("adaptive_avg_pool2d")


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means over a grid of ``output_size`` windows of (N, C, D, H, W); None keeps a size.

    >>> torch.nn.AdaptiveAvgPool3d((2, 2, None))(torch.ones(1, 3, 4, 4, 5)).shape
    torch.Size([1, 3, 2, 2, 5])
    """

    _function = Function("adaptive_avg_pool3d")


class _AdaptiveMaxPoolNd(Module):
    _function = None

    def __init__(self, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima over ``output_size`` windows of (N, C, L).

    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.arange(6.0).view(1, 1, 6))
    tensor([[[2., 5.]]])
    """

    _function = Function("adaptive_max_pool1d")


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima over a grid of ``output_size`` windows of (N, C, H, W); None keeps a size.

    >>> torch.nn.AdaptiveMaxPool2d((2, None))(torch.ones(1, 3, 5, 7)).shape
    torch.Size([1, 3, 2, 7])
    """

    _function = Function("adaptive_max_pool2d")


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima over a grid of ``output_size`` windows of (N, C, D, H, W); None keeps a size.

    >>> torch.nn.AdaptiveMaxPool3d(2)(torch.ones(1, 3, 4, 5, 6)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    _function = Function("adaptive_max_pool3d")


class _FractionalMaxPool(Module):
    _dims, _function = None, None

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int | None] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name, n = type(self).__name__, self._dims
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: give either output_size or output_ratio")
        self.kernel_size = expand(kernel_size, n, "kernel_size")
        self.output_size = None if output_size is None else expand(output_size, n, "output_size")
        self.output_ratio = None if output_ratio is None else expand(output_ratio, n, "output_ratio")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1 (got {output_ratio})")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Max pooling of (N, C, H, W) to any smaller size, over windows at random places (Graham 2014).

    >>> torch.nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    _dims, _function = 2, Function("fractional_max_pool2d")


class FractionalMaxPool3d(_FractionalMaxPool):
    """Max pooling of (N, C, D, H, W) to any smaller size, over windows at random places."""

    _dims, _function = 3, Function("fractional_max_pool3d")
