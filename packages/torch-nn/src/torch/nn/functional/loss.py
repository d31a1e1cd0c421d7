"""Losses. ``reduction`` is 'mean', 'sum' or 'none'; ``size_average`` and ``reduce`` are its 2018 spelling."""

from __future__ import annotations

import math
import warnings

import torch
from torch._seams import in_float32

from ._ops import ops
from ._reduction import MEAN, NONE, _codes, legacy, reduce_loss
from ._reduction import code as _code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "linear_cross_entropy", "margin_ranking_loss", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


# -- classes ----------------------------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood: ``-weight[y] * input[y]`` for log probabilities ``input`` (N, C, ...) and classes ``target`` (N, ...).

    Targets equal to ``ignore_index`` do not count.  The mean is weighted by ``weight[y]``.

    >>> nll_loss(torch.log(torch.tensor([[0.5, 0.5]])), torch.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    return ops.nll_loss(input, target, weight, _codes[reduction], ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``nll_loss(log_softmax(input))``: scores (N, C, ...) against classes (N, ...) or probabilities (N, C, ...).

    >>> cross_entropy(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    return ops.cross_entropy(input, target, weight, _codes[reduction], ignore_index, label_smoothing)


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
    options: Any = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``; ``options`` about chunks are accepted.

    ``input`` (N, in) or (in); ``linear_weight`` (C, ..., in): the scores are (N, C, ...).
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"linear_cross_entropy: linear_weight must be (C, ..., in), got shape {tuple(linear_weight.shape)}"
        )
    out = linear_weight.shape[:-1]
    scores = ops.linear(input, linear_weight.flatten(0, -2), None if linear_bias is None else linear_bias.flatten())
    scores = scores.reshape(*input.shape[:-1], *out)
    expected = scores.shape if target.is_floating_point() else input.shape[:-1] + out[1:]
    if input.dim() > 2 or (input.dim() == 1 and len(out) > 1) or target.shape != expected:
        raise RuntimeError(
            f"linear_cross_entropy: expected input (N, in) or (in) and target {tuple(expected)}, got "
            f"{tuple(input.shape)} and {tuple(target.shape)} for linear_weight {tuple(linear_weight.shape)}"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError(
            f"linear_cross_entropy: ignore_index={ignore_index} cannot be specified when target contains probabilities"
        )
    ignore_index = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, None, ignore_index, None, reduction, label_smoothing)


def _first(input, wrong):
    """ ", got 1.5": the first wrong element, where it can be read (not of the examples of a batch)."""
    try:
        return f", got {input.detach()[wrong][0].item()}"
    except RuntimeError:
        return ""


@in_float32
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(y log p + (1 - y) log(1 - p))`` for probabilities ``input``; the logarithms are not below -100.

    ValueError when ``target`` has another shape; RuntimeError for an input that is no probability.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    reduction = _code(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy: target has shape {tuple(target.shape)}, input has {tuple(input.shape)}; "
            "they must be equal"
        )
    possible = (input >= 0) & (input <= 1)
    if not ops._holds(possible):
        raise RuntimeError(
            f"binary_cross_entropy: all elements of input should be between 0 and 1{_first(input, ~possible)}; "
            "scores go through binary_cross_entropy_with_logits"
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(weight.shape, target.shape))
    loss = -(target * _bounded_log(input) + (1 - target) * _bounded_log(1 - input))
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def _bounded_log(p):
    """``max(log(p), -100)``, with gradient 0 instead of NaN where ``p`` is 0."""
    positive = p > 0
    log = torch.where(positive, p, torch.ones_like(p)).log().clamp(min=-100)
    return torch.where(positive, log, torch.full_like(log, -100))


@in_float32
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy(sigmoid(input), target)`` without overflow; ``pos_weight`` weighs the positive targets.

    ValueError when ``target`` has another shape.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0, 100.0]), torch.ones(2))
    tensor(0.3466)
    """
    reduction = _code(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: target has shape {tuple(target.shape)}, input has "
            f"{tuple(input.shape)}; they must be equal"
        )
    log_sigmoid = ops.log_sigmoid(input)
    if pos_weight is None:
        loss = (1 - target) * input - log_sigmoid
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * log_sigmoid
    return reduce_loss(loss if weight is None else loss * weight, reduction)


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


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of the binary cross entropy of ``sigmoid(input)``; input and target (N, C).

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 1.0]]))
    tensor(0.6931)
    """
    reduction = _code(size_average, reduce, reduction)
    loss = -(target * ops.log_sigmoid(input) + (1 - target) * ops.log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduce_loss(loss.mean(-1), reduction)


# -- regression -------------------------------------------------------------------------------------------------------


def _paired(name, input, target):
    """Both broadcast to one shape; different shapes are legal but rarely meant."""
    if not (isinstance(input, torch.Tensor) and isinstance(target, torch.Tensor)):
        raise TypeError(
            f"{name}: input and target must be Tensors, got {type(input).__name__}, {type(target).__name__}"
        )
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"{name}: using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting.",
        stacklevel=3,
    )
    return torch.broadcast_tensors(input, target)


def _weighted(loss, weight, reduction):
    """Reduce element losses of which each counts ``weight``."""
    if weight is None:
        return reduce_loss(loss, reduction)
    weight = weight.expand(loss.shape) if weight.shape != loss.shape else weight
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == MEAN else reduce_loss(loss, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(x - y)^2``.

    >>> mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    reduction = _codes[reduction]
    input, target = _paired("mse_loss", input, target)
    if weight is not None:
        return _weighted(ops.mse_loss(input, target, NONE), weight, reduction)
    return ops.mse_loss(input, target, reduction)


@in_float32
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``|x - y|``.

    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    tensor(1.5000)
    """
    reduction = _code(size_average, reduce, reduction)
    input, target = _paired("l1_loss", input, target)
    return _weighted((input - target).abs(), weight, reduction)


@in_float32
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``(x - y)^2 / (2 beta)`` where ``|x - y| < beta``, elsewhere ``|x - y| - beta / 2``.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 3.0]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    reduction = _code(size_average, reduce, reduction)
    input, target = _paired("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    d = (input - target).abs()
    return reduce_loss(d if beta == 0 else torch.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta), reduction)


@in_float32
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``(x - y)^2 / 2`` where ``|x - y| <= delta``, elsewhere ``delta * (|x - y| - delta / 2)``."""
    reduction = _codes[reduction]
    input, target = _paired("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss: delta must be positive, got {delta}")
    d = (input - target).abs()
    return _weighted(torch.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), weight, reduction)


@in_float32
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts ``target`` under a Poisson distribution of rate ``exp(input)`` (or ``input``).

    ``full`` adds Stirling's approximation of ``log(target!)``.

    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 2.0]))
    tensor(1.)
    """
    reduction = _code(size_average, reduce, reduction)
    loss = torch.exp(input) - target * input if log_input else input - target * torch.log(input + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(2 * math.pi * target)
        loss = loss + torch.where(target > 1, stirling, torch.zeros_like(stirling))
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log likelihood of ``target`` under a normal distribution of mean ``input`` and variance ``var``.

    ``var`` has the shape of ``input``, or its last dim is 1 or absent, or it is a number.  ValueError for a negative
    variance.
    """
    reduction = _codes[reduction]
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var must not be negative, got {var}")
        var = torch.full_like(input, var)
    elif not ops._holds(~(var < 0)):
        raise ValueError("gaussian_nll_loss: var has negative entries")
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (var.dim() == input.dim() and all(v == x or v == 1 for v, x in zip(var.shape, input.shape))):
            raise ValueError(
                f"gaussian_nll_loss: var has shape {tuple(var.shape)}, which does not fit input {tuple(input.shape)}"
            )
    # The clamp must not cut the gradient of var: it moves the value only.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@in_float32
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``y * (log y - x)`` for log probabilities ``x``; ``reduction='batchmean'`` divides the sum by the batch size.

    'mean' divides by the number of elements, which is not the Kullback-Leibler divergence.

    >>> p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
    >>> torch.nn.functional.kl_div(q.log(), p, reduction="sum")
    tensor(0.1438)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    batch = reduction == "batchmean"
    reduction = _codes["sum" if batch else reduction]
    if log_target:
        loss = torch.exp(target) * (target - input)
    else:
        loss = torch.where(target == 0, torch.zeros_like(target), target * torch.log(target)) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch and input.dim() else loss


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


# -- embeddings and rankings --------------------------------------------------------------------------------------------


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
    from .distance import pairwise_distance

    reduction = _code(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: anchor, positive and negative must have the same number of dims, got "
            f"{tuple(anchor.shape)}, {tuple(positive.shape)}, {tuple(negative.shape)}"
        )

    def distance(x, y):
        return pairwise_distance(x, y, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


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
    from .distance import pairwise_distance

    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: anchor, positive and negative must have the same number of dims, got "
            f"{tuple(anchor.shape)}, {tuple(positive.shape)}, {tuple(negative.shape)}"
        )
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, _codes[reduction])


def _triplet(anchor, positive, negative, distance, margin, swap, reduction):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return reduce_loss((margin + near - far).clamp(min=0), reduction)
