"""Losses that ask for a margin: between classes, ranks and embeddings."""

from __future__ import annotations

import torch
from torch._seams import in_float32

from ._reduction import _codes, reduce_loss
from ._reduction import code as _code
from .distance import pairwise_distance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


@in_float32
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum over j != y of max(0, weight[y] * (margin - x[y] + x[j]))^p / C``; input (N, C), target (N).

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([2]))
    tensor(0.5000)
    """
    reduction = _code(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, got {p}")
    _check_matrix("multi_margin_loss", input)
    rows = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    classes = target.reshape(-1)
    if classes.shape[0] != rows.shape[0] or target.dim() > 1:
        raise RuntimeError(
            f"multi_margin_loss: target has shape {tuple(target.shape)}, expected one class for each row of input {tuple(input.shape)}"
        )
    if weight is not None and (weight.dim() != 1 or weight.shape[0] != rows.shape[1]):
        kind = ValueError if weight.dim() != 1 else RuntimeError
        raise kind(f"multi_margin_loss: weight has shape {tuple(weight.shape)}, expected ({rows.shape[1]},)")
    index = classes.unsqueeze(1)
    z = (margin - rows.gather(1, index) + rows).clamp(min=0)
    z = z if p == 1 else z * z
    if weight is not None:
        z = z * weight[classes].unsqueeze(1)
    z = z.scatter(1, index, 0.0)  # j = y does not count
    loss = z.mean(1)
    return reduce_loss(loss.reshape(target.shape) if input.dim() < 2 else loss, reduction)


def _check_matrix(name, input):
    if input.dim() > 2 or (input.dim() and input.shape[-1] == 0):
        raise RuntimeError(f"{name}: expected a non-empty vector or batch of vectors, got shape {tuple(input.shape)}")


@in_float32
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """``sum of max(0, 1 - (x[y] - x[i])) / C`` over the classes y of an example and the classes i it is not in.

    ``input`` (N, C); ``target`` (N, C) holds the classes of each example, ended by -1.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([[2, -1, 0]]))
    tensor(0.5000)
    """
    reduction = _code(size_average, reduce, reduction)
    _check_matrix("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"multilabel_margin_loss: target has shape {tuple(target.shape)}, expected that of input {tuple(input.shape)}"
        )
    x = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    y = target.reshape(x.shape)
    listed = (y < 0).to(torch.int64).cumsum(1) == 0  # before the first -1
    index = y.clamp(min=0)
    member = torch.zeros_like(x).scatter_add(1, index, listed.to(x.dtype)) > 0
    margins = (1 - x.gather(1, index).unsqueeze(2) + x.unsqueeze(1)).clamp(min=0)  # (N, y, i)
    counts = listed.unsqueeze(2) & ~member.unsqueeze(1)
    loss = torch.where(counts, margins, torch.zeros_like(margins)).sum((1, 2)) / x.shape[1]
    return reduce_loss(loss.reshape(input.shape[:-1]), reduction)


@in_float32
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-y x))`` for targets 1 or -1.

    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0, 100.0]), torch.tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    reduction = _code(size_average, reduce, reduction)
    return reduce_loss(torch.log1p(torch.exp(-target * input)), reduction)


@in_float32
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -y (x1 - x2) + margin)``: x1 shall rank above x2 where y is 1, below where it is -1.

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    reduction = _code(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: input1, input2 and target must have the same number of dims, got "
            f"{tuple(input1.shape)}, {tuple(input2.shape)}, {tuple(target.shape)}"
        )
    return reduce_loss((-target * (input1 - input2) + float(margin)).clamp(min=0), reduction)


@in_float32
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``x`` where y is 1, ``max(0, margin - x)`` where y is -1; x is a distance.

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.3, 0.3]), torch.tensor([1.0, -1.0]), reduction="none")
    tensor([0.3000, 0.7000])
    """
    reduction = _code(size_average, reduce, reduction)
    zero = torch.zeros_like(input)
    loss = torch.where(target != 1, (margin - input).clamp(min=0), zero) + torch.where(target != -1, input, zero)
    return reduce_loss(loss, reduction)


@in_float32
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos(x1, x2)`` where y is 1, ``max(0, cos(x1, x2) - margin)`` where y is -1; inputs (N, D), target (N).

    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(x, y, torch.tensor([1.0]))
    tensor(1.)
    """
    reduction = _code(size_average, reduce, reduction)
    if target.dim() not in (0, 1):
        raise RuntimeError(f"cosine_embedding_loss: target must have 0 or 1 dims, got {tuple(target.shape)}")
    dims = target.dim() + 1
    if input1.dim() != dims or input2.dim() != dims:
        raise RuntimeError(
            f"cosine_embedding_loss: inputs must have {dims} dims for target {tuple(target.shape)}, got "
            f"{tuple(input1.shape)} and {tuple(input2.shape)}"
        )
    eps = 1e-12  # inside the root, so that the gradient at zero vectors is finite
    norms = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cos = (input1 * input2).sum(-1) / torch.sqrt(norms)
    zero = torch.zeros_like(cos)
    loss = torch.where(target == 1, 1 - cos, zero) + torch.where(target == -1, (cos - margin).clamp(min=0), zero)
    return reduce_loss(loss, reduction)


@in_float32
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(a, p) - d(a, n) + margin)`` with the p-norm distance along the last dim.

    ``swap`` uses the distance from positive to negative where it is the smaller one (Balntas 2016).

    >>> a, p, n = torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.5]])
    >>> torch.nn.functional.triplet_margin_loss(a, p, n)
    tensor(0.5000)
    """
    reduction = _code(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: anchor, positive and negative must have the same number of dims, got "
            f"{tuple(anchor.shape)}, {tuple(positive.shape)}, {tuple(negative.shape)}"
        )

    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _hinge(near, far, margin, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with a distance of your own (the Euclidean one by default)."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: anchor, positive and negative must have the same number of dims, got "
            f"{tuple(anchor.shape)}, {tuple(positive.shape)}, {tuple(negative.shape)}"
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _hinge(near, far, margin, _codes[reduction])


def _hinge(near, far, margin: float, reduction):
    return reduce_loss((margin + near - far).clamp(min=0), reduction)
