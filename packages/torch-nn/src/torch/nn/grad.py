"""Gradients of convolutions as functions of their own."""

from __future__ import annotations

import torch

from . import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(conv, of, input, weight, grad_output, options):
    with torch.enable_grad():
        output = conv(input, weight, None, *options)
        return torch.autograd.grad(output, of, grad_output)[0]


def _input(conv, input_size, weight, grad_output, options):
    input = torch.zeros(tuple(input_size), dtype=weight.dtype, device=weight.device).requires_grad_()
    return _gradient(conv, input, input, weight.detach(), grad_output, options)


def _weight(conv, input, weight_size, grad_output, options):
    weight = torch.zeros(tuple(weight_size), dtype=input.dtype, device=input.device).requires_grad_()
    return _gradient(conv, weight, input.detach(), weight, grad_output, options)


def conv1d_input(
    input_size: int,
    weight: Tensor,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Any:
    """The gradient of conv1d with respect to its input, of shape ``input_size``.

    >>> torch.nn.grad.conv1d_input((1, 1, 4), torch.ones(1, 1, 2), torch.ones(1, 1, 3))
    tensor([[[1., 2., 2., 1.]]])
    """
    return _input(F.conv1d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Any:
    """The gradient of conv1d with respect to its weight, of shape ``weight_size``.

    >>> torch.nn.grad.conv1d_weight(torch.arange(4.0).view(1, 1, 4), (1, 1, 2), torch.ones(1, 1, 3))
    tensor([[[3., 6.]]])
    """
    return _weight(F.conv1d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: int,
    weight: Tensor,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Any:
    """The gradient of conv2d with respect to its input, of shape ``input_size``.

    >>> torch.nn.grad.conv2d_input((1, 1, 2, 2), torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return _input(F.conv2d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Any:
    """The gradient of conv2d with respect to its weight, of shape ``weight_size``.

    >>> torch.nn.grad.conv2d_weight(torch.ones(1, 1, 3, 3), (1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _weight(F.conv2d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: int,
    weight: Tensor,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Any:
    """The gradient of conv3d with respect to its input, of shape ``input_size``.

    >>> torch.nn.grad.conv3d_input((1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _input(F.conv3d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Any:
    """The gradient of conv3d with respect to its weight, of shape ``weight_size``.

    >>> torch.nn.grad.conv3d_weight(torch.ones(1, 1, 3, 3, 3), (1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _weight(F.conv3d, input, weight_size, grad_output, (stride, padding, dilation, groups))
