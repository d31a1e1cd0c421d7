"""Convolutions and transposed convolutions over one, two and three dims."""

from __future__ import annotations

import math

import torch

from .. import functional as F
from .. import init
from ..functional._sizes import expand
from ..parameter import Parameter, UninitializedParameter
from ._function import Function
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple  # noqa: F401  (others import them from here)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: sizes, weight, bias."""

    _dims = None
    _transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str = "zeros",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if self._dims is None:  # a class written elsewhere, which gives tuples
            self._dims = len(kernel_size)
        name, n = type(self).__name__, self._dims
        if groups <= 0:
            raise ValueError(f"{name}: groups must be a positive integer, got {groups}")
        if in_channels % groups != 0:
            raise ValueError(f"{name}: in_channels must be divisible by groups, got {in_channels} and {groups}")
        if out_channels % groups != 0:
            raise ValueError(f"{name}: out_channels must be divisible by groups, got {out_channels} and {groups}")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"{name}: padding_mode must be one of {_PADDING_MODES}, but got {padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = expand(kernel_size, n, "kernel_size")
        self.stride = expand(stride, n, "stride")
        self.dilation = expand(dilation, n, "dilation")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"{name}: padding must be numbers, 'same' or 'valid', got {padding!r}")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError(f"{name}: padding='same' is not supported for strided convolutions, got {self.stride}")
            self.padding = padding
        else:
            self.padding = expand(padding, n, "padding")
        self.transposed = transposed
        self.output_padding = expand(output_padding, n, "output_padding")
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(torch.empty(first, second // groups, *self.kernel_size, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(torch.empty(out_channels, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in ``+-1 / sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._fans(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def _edges(self):
        """The padding in F.pad's order, for the modes that the operator does not know."""
        edges = []
        for i in reversed(range(self._dims)):
            if self.padding == "valid":
                before = after = 0
            elif self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                before, after = total // 2, total - total // 2
            else:
                before = after = self.padding[i]
            edges += [before, after]
        return edges

    @property
    def _reversed_padding_repeated_twice(self):
        return vars(self).get("_reversed_padding_repeated_twice") or tuple(self._edges())

    @_reversed_padding_repeated_twice.setter
    def _reversed_padding_repeated_twice(self, edges):
        vars(self)["_reversed_padding_repeated_twice"] = edges

    def extra_repr(self) -> str:
        n = self._dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")  # pickles of 2018 have none


class _Conv(_ConvNd):
    _function = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input, weight, bias):
        if self.padding_mode != "zeros":
            input = F.pad(input, self._edges(), mode=self.padding_mode)
            return self._function(input, weight, bias, self.stride, 0, self.dilation, self.groups)
        return self._function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation of (N, C_in, L) with ``out_channels`` kernels: (N, C_out, L_out).

    ``padding`` is numbers, 'same' or 'valid'; ``L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1``.

    >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.zeros(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _dims = 1
    _function = Function("conv1d")


class Conv2d(_Conv):
    """Cross-correlation of images (N, C_in, H, W) with ``out_channels`` kernels: (N, C_out, H_out, W_out).

    ``padding`` is numbers, 'same' or 'valid'; sizes are numbers or pairs;
    ``H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1``.

    >>> torch.nn.Conv2d(3, 16, 3, padding=1)(torch.zeros(8, 3, 32, 32)).shape
    torch.Size([8, 16, 32, 32])
    """

    _dims = 2
    _function = Function("conv2d")


class Conv3d(_Conv):
    """Cross-correlation of volumes (N, C_in, D, H, W) with ``out_channels`` kernels.

    >>> torch.nn.Conv3d(4, 8, 3, padding=1)(torch.zeros(2, 4, 5, 6, 7)).shape
    torch.Size([2, 8, 5, 6, 7])
    """

    _dims = 3
    _function = Function("conv3d")


class _ConvTransposeNd(_ConvNd):
    """What transposed convolutions share."""

    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        transposed: Any,
        output_padding: int | Sequence[int],
        groups: int,
        bias: Tensor,
        padding_mode: str = "zeros",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'{type(self).__name__}: only "zeros" padding mode is supported, got {padding_mode!r}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self, input, output_size, stride=None, padding=None, kernel_size=None, num_spatial_dims=None, dilation=None
    ):
        """The output padding that makes the output ``output_size``; ValueError when no such padding exists."""
        if output_size is None:
            return self.output_padding
        n = num_spatial_dims or self._dims
        stride, padding = stride or self.stride, self.padding if padding is None else padding
        kernel_size, dilation = kernel_size or self.kernel_size, dilation or self.dilation
        output_size = tuple(output_size)
        skip = input.dim() - n
        if len(output_size) == skip + n:
            output_size = output_size[skip:]
        if len(output_size) != n:
            raise ValueError(
                f"{type(self).__name__}: output_size must have {n} or {skip + n} elements, got {len(output_size)}"
            )
        extra = []
        for i, want in enumerate(output_size):
            least = (input.shape[skip + i] - 1) * stride[i] - 2 * padding[i]
            least += dilation[i] * (kernel_size[i] - 1) + 1
            if not least <= want < least + stride[i]:
                raise ValueError(
                    f"{type(self).__name__}: requested an output size of {output_size}, but dim {i} can only be from "
                    f"{least} to {least + stride[i] - 1} for an input of {tuple(input.shape)}"
                )
            extra.append(want - least)
        return tuple(extra)


class _ConvTranspose(_ConvTransposeNd):
    _function = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: int | Sequence[int | None] | None = None) -> Tensor:
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose):
    """The gradient of :class:`Conv1d` as a layer: (N, C_in, L) to (N, C_out, L_out), usually longer.

    >>> torch.nn.ConvTranspose1d(4, 2, 3, stride=2)(torch.zeros(1, 4, 5)).shape
    torch.Size([1, 2, 11])
    """

    _dims = 1
    _function = Function("conv_transpose1d")


class ConvTranspose2d(_ConvTranspose):
    """The gradient of :class:`Conv2d` as a layer: (N, C_in, H, W) to (N, C_out, H_out, W_out), usually larger.

    ``H_out = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``; the call takes
    ``output_size`` to choose among the sizes that stride leaves open.

    >>> torch.nn.ConvTranspose2d(16, 3, 4, stride=2, padding=1)(torch.zeros(8, 16, 16, 16)).shape
    torch.Size([8, 3, 32, 32])
    """

    _dims = 2
    _function = Function("conv_transpose2d")


class ConvTranspose3d(_ConvTranspose):
    """The gradient of :class:`Conv3d` as a layer.

    >>> torch.nn.ConvTranspose3d(4, 2, 2, stride=2)(torch.zeros(1, 4, 3, 3, 3)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    _dims = 3
    _function = Function("conv_transpose3d")


class _LazyConv(LazyModuleMixin):
    """A convolution that reads ``in_channels`` off its first input."""

    def _be_lazy(self, out_channels, groups, bias, device, dtype):
        if groups <= 0:
            raise ValueError(f"{type(self).__name__}: groups must be a positive integer, got {groups}")
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        self.groups = groups
        self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected {n + 1} or {n + 2} dims, got shape {tuple(input.shape)}"
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError(
                f"{type(self).__name__}: in_channels must be divisible by groups, got {self.in_channels} and {self.groups}"
            )
        first, second = self.out_channels, self.in_channels
        if self._transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyForward(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, 1, False, padding_mode)
        self._be_lazy(out_channels, groups, bias, device, dtype)


class _LazyTranspose(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, 1, False, dilation, padding_mode)
        self._be_lazy(out_channels, groups, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """:class:`Conv1d` that reads ``in_channels`` off its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """:class:`Conv2d` that reads ``in_channels`` off its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """:class:`Conv3d` that reads ``in_channels`` off its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTranspose, ConvTranspose1d):
    """:class:`ConvTranspose1d` that reads ``in_channels`` off its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTranspose, ConvTranspose2d):
    """:class:`ConvTranspose2d` that reads ``in_channels`` off its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTranspose, ConvTranspose3d):
    """:class:`ConvTranspose3d` that reads ``in_channels`` off its first input."""

    cls_to_become = ConvTranspose3d


_ConvTransposeMixin = _ConvTransposeNd  # its name until 1.9


def __getattr__(name):  # types that others import from here
    if name in ("_size_1_t", "_size_2_t", "_size_3_t"):
        from .. import common_types

        return getattr(common_types, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
