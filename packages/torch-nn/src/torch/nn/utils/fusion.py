"""Folding batch norm into the layer before it, for inference."""

from __future__ import annotations

import torch

from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _copy(module):
    import copy

    return copy.deepcopy(module)


def _scale_and_shift(bias, mean, var, eps, weight, shift):
    """The factor of each output channel and the bias after it."""
    bias = torch.zeros_like(mean) if bias is None else bias
    weight = torch.ones_like(mean) if weight is None else weight
    shift = torch.zeros_like(mean) if shift is None else shift
    scale = weight * torch.rsqrt(var + eps)
    return scale, (bias - mean) * scale + shift


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that does both; ``transpose`` for a transposed one."""
    with torch.no_grad():
        scale, bias = _scale_and_shift(conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
        shape = [1] * conv_w.dim()
        shape[1 if transpose else 0] = -1
        weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b is not None and conv_b.requires_grad)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does ``bn(conv(x))``; both must be in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = _copy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that does both."""
    with torch.no_grad():
        scale, bias = _scale_and_shift(linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
        weight = (linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, linear_b is not None and linear_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does ``bn(linear(x))``; both must be in evaluation mode."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            f"fuse_linear_bn_eval: linear has {linear.out_features} outputs, bn has {bn.num_features} features"
        )
    fused = _copy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
