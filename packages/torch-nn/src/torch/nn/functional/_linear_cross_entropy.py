"""Cross entropy of linear scores."""

from __future__ import annotations

import torch

from ._ops import ops
from ._reduction import _codes
from .loss import cross_entropy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from ..modules.linear_cross_entropy_options import LinearCrossEntropyOptions

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    ``input`` (N, in) or (in); ``linear_weight`` (C, ..., in): the scores are (N, C, ...). With ``options``
    (:class:`torch.nn.LinearCrossEntropyOptions`) they are held for some rows of the batch at a time.

    >>> linear_cross_entropy(torch.ones(2, 3), torch.zeros(4, 3), torch.tensor([0, 1]))
    tensor(1.3863)
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"linear_cross_entropy: linear_weight must be (C, ..., in), got shape {tuple(linear_weight.shape)}"
        )
    reduction = ("none", "mean", "sum")[_codes[reduction]]
    if input.dim() == 2 and target.dim() > 0 and len(target) != len(input):
        raise ValueError(
            f"linear_cross_entropy: Expected input batch_size ({len(input)}) to match target batch_size ({len(target)})."
        )
    out = linear_weight.shape[:-1]
    expected = input.shape[:-1] + (out if target.is_floating_point() else out[1:])
    if input.dim() not in (1, 2) or (input.dim() == 1 and len(out) > 1) or target.shape != expected:
        raise RuntimeError(
            f"linear_cross_entropy: expected input (N, in) or (in) and target {tuple(expected)}, got "
            f"{tuple(input.shape)} and {tuple(target.shape)} for linear_weight {tuple(linear_weight.shape)}"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError(
            f"linear_cross_entropy: ignore_index={ignore_index} cannot be specified when target contains probabilities"
        )
    ignored = -100 if ignore_index is None else ignore_index

    def loss(x, matrix, bias, y, reduction):
        scores = ops.linear(x, matrix.flatten(0, -2), None if bias is None else bias.flatten())
        scores = scores.reshape(*x.shape[:-1], *matrix.shape[:-1])
        return cross_entropy(scores, y, weight, None, ignored, None, reduction, label_smoothing)

    rows = len(input) if options is None or input.dim() == 1 else options.rows(*input.shape, out.numel())
    if rows >= len(input) or input.dim() == 1:
        return loss(input, linear_weight, linear_bias, target, reduction)
    from ._chunked import Chunked

    half = input.dtype in (torch.float16, torch.bfloat16)
    accumulate = options.acc_dtype or (torch.float32 if half else None)
    each = "none" if reduction == "none" else "sum"
    total = Chunked.apply(
        lambda *given: loss(*given, each), rows, accumulate, input, linear_weight, linear_bias, target
    )
    return total if reduction != "mean" else total / _count(target, weight, ignored, out)


def _count(target, weight, ignored, out):
    """What the mean is divided by: the weights of the classes that count, or the elements of the loss."""
    if target.is_floating_point():
        return target.numel() // out[0]
    counts = target != ignored
    if weight is None:
        return counts.sum()
    return (weight[torch.where(counts, target, 0)] * counts).sum()
