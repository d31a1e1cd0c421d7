"""Normalisation over batches, layers, groups, instances and neighbouring channels."""

from __future__ import annotations

import math

import torch
from torch._seams import of_tensors

from ._ops import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def _check_several(op, values, shape):
    if values == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape} ({op})")


def _verify_batch_size(size: Sequence[int]) -> None:
    """ValueError where a batch has one value for each channel, of which there are ``size[1]``.

    >>> torch.nn.functional._verify_batch_size([1, 3])
    Traceback (most recent call last):
    ValueError: Expected more than 1 value per channel when training, got input size [1, 3] (batch_norm)
    """
    _check_several("batch_norm", math.prod(size) // size[1] if size[1] else 0, list(size))


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each channel of ``input`` (N, C, ...).

    In training, mean and variance are the batch's, and the running ones move towards them by ``momentum``; else they
    are the running ones.  ValueError when a channel has only one value in training, or for an ``eps`` below 0 (in
    training, of 0).

    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if eps < 0 or (training and eps == 0):
        raise ValueError(f"batch_norm: eps must be {'positive in training' if training else 'at least 0'}, got {eps}")
    if training:
        values = 1
        for i, size in enumerate(input.shape):
            values *= 1 if i == 1 else size
        _check_several("batch_norm", values, input.shape)
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Batch norm of each example by itself: mean and variance over the spatial dims of ``input`` (N, C, ...).

    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    if not use_input_stats:
        return ops.batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, True)
    if input.dim() < 3:
        raise ValueError(f"instance_norm: expected (N, C, ...) with at least one spatial dim, got {tuple(input.shape)}")
    n, c = input.shape[:2]
    _check_several("instance_norm", input.numel() // max(n * c, 1), input.shape)
    means = None if running_mean is None else running_mean.repeat(n)
    variances = None if running_var is None else running_var.repeat(n)
    weights = None if weight is None else weight.repeat(n)
    biases = None if bias is None else bias.repeat(n)
    joined = input.reshape(1, n * c, *input.shape[2:])
    output = ops.batch_norm(joined, weights, biases, means, variances, True, momentum, eps, True)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.copy_(means.view(n, c).mean(0))
        if running_var is not None:
            running_var.copy_(variances.view(n, c).mean(0))
    return output.reshape(input.shape)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the trailing dims ``normalized_shape``.

    >>> layer_norm(torch.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


@of_tensors
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``x / sqrt(mean(x^2) + eps) * weight`` over the trailing dims ``normalized_shape``; eps is the dtype's by default."""
    shape = tuple(normalized_shape) if hasattr(normalized_shape, "__len__") else (normalized_shape,)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(f"rms_norm: the last dims of input {tuple(input.shape)} must equal normalized_shape {shape}")
    if weight is not None and tuple(weight.shape) != shape:
        raise RuntimeError(f"rms_norm: weight has shape {tuple(weight.shape)}, normalized_shape is {shape}")
    half = input.dtype in (torch.float16, torch.bfloat16)
    x = input.float() if half else input
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    dims = tuple(range(-len(shape), 0))
    x = x.contiguous()
    output = (x * torch.rsqrt((x * x).mean(dims, keepdim=True) + eps)).to(input.dtype)
    return output if weight is None else output * weight


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Layer norm over each of ``num_groups`` groups of channels of ``input`` (N, C, ...).

    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"group_norm: expected (N, C, ...), got shape {tuple(input.shape)}")
    c = input.shape[1]
    if num_groups <= 0 or c % num_groups:
        raise RuntimeError(f"group_norm: num_groups {num_groups} must divide the number of channels {c}")
    _check_several("group_norm", input.numel() // num_groups, input.shape)
    return ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``x / (k + alpha * mean of x^2 over size neighbouring channels)^beta`` (Krizhevsky 2012, section 3.3).

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 4, 1), 2, alpha=1.0, beta=1.0, k=1.0).flatten()
    tensor([0.6667, 0.5000, 0.5000, 0.5000])
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    n, c = input.shape[:2]
    squares = (input * input).reshape(n, 1, c, -1)
    squares = ops.constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2))
    means = ops.avg_pool2d(squares, (size, 1), 1).reshape(input.shape)
    return input / (means * alpha + k).pow(beta)
