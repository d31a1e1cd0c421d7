"""Losses of classes and of numbers; those that ask for a margin are in margin.py.

``reduction`` is 'mean', 'sum' or 'none'; ``size_average`` and ``reduce`` are its 2018 spelling.
"""

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


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "gaussian_nll_loss", "huber_loss", "kl_div",
    "l1_loss", "mse_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
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


def _first(input, wrong):
    """ ", got 1.5": the first wrong element, where it can be read (not of the examples of a batch)."""
    try:
        return f", got {input.detach()[wrong][0].item()}"
    except RuntimeError:
        return ""


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(y log p + (1 - y) log(1 - p))`` for probabilities ``input``; the logarithms are not below -100.

    ValueError when ``target`` has another shape; RuntimeError for an input that is no probability, and under
    ``torch.autocast("cuda")``, whose half types have no probabilities near 0 and 1.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        raise RuntimeError(
            "binary_cross_entropy: probabilities in half types are unsafe to autocast: those near 0 and 1 are rounded away. "
            "Leave the sigmoid out and use binary_cross_entropy_with_logits (BCEWithLogitsLoss), or compute the loss of "
            "input.float() within torch.autocast('cuda', enabled=False)"
        )
    return _binary_cross_entropy(input, target, weight, _code(size_average, reduce, reduction))


@in_float32
def _binary_cross_entropy(input, target, weight, reduction):
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy: target has shape {tuple(target.shape)}, input has {tuple(input.shape)}; "
            "they must be equal"
        )
    at = input.detach()
    spread = at * (1 - at)
    possible = spread >= 0
    if not ops._holds(possible):
        raise RuntimeError(
            f"binary_cross_entropy: all elements of input should be between 0 and 1{_first(input, ~possible)}; "
            "scores go through binary_cross_entropy_with_logits"
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(weight.shape, target.shape))
    loss = _loss_by_logarithms(input, target, spread == 0, spread < _LEAST_SPREAD)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


# Of p (1 - p), by which the gradient (p - t) / (p (1 - p)) divides: it stays finite at 0 and 1, and points the right way.
_LEAST_SPREAD = 1e-12


def _loss_by_logarithms(p, target, whole, certain):
    """By logarithms from -100 on; what is certain is a line in ``p`` with the slope that it has at the edge of that."""
    at = p.detach()
    doubtful = torch.where(certain, at, p).masked_fill(whole, 0.5)
    loss = (target - 1) * (1 - doubtful).log() - target * doubtful.log().clamp(min=-100)
    loss = torch.where(whole, 100.0 * (target * (1 - at) + (1 - target) * at), loss)
    return loss + torch.where(certain, p - at, 0.0) / _LEAST_SPREAD * (at - target)


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
    """Both broadcast to one shape; different shapes are legal but rarely meant. A mask counts as 0 and 1."""
    if not (isinstance(input, torch.Tensor) and isinstance(target, torch.Tensor)):
        raise TypeError(
            f"{name}: input and target must be Tensors, got {type(input).__name__}, {type(target).__name__}"
        )
    if target.dtype == torch.bool:
        target = target.to(input.dtype)
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"{name}: using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    try:
        return torch.broadcast_tensors(input, target)
    except RuntimeError:
        raise RuntimeError(
            f"{name}: target has shape {tuple(target.shape)} and input {tuple(input.shape)}; they must be equal"
        ) from None


def _broadcast_or_raise(name, input, target):
    try:
        torch.broadcast_shapes(input.shape, target.shape)
    except RuntimeError:
        raise RuntimeError(
            f"{name}: input {tuple(input.shape)} and target {tuple(target.shape)} must have one shape, or broadcast to one"
        ) from None


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
    d = input - target
    loss = reduce_loss(d.abs() if beta == 0 else ops.huber(d, beta), reduction)
    return loss if beta in (0, 1) else loss / beta


@in_float32
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``(x - y)^2 / 2`` where ``|x - y| <= delta``, elsewhere ``delta * (|x - y| - delta / 2)``."""
    reduction = _codes[reduction]
    input, target = _paired("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss: delta must be positive, got {delta}")
    loss = ops.huber(input - target, delta)
    if weight is None:
        return reduce_loss(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError(f"huber_loss: weight has shape {tuple(weight.shape)}, input and target {tuple(loss.shape)}")
    return reduce_loss(loss * weight, reduction)  # a mean over elements, not over weights as in mse_loss


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
    if not torch.jit.is_scripting():  # compiled programs leave it to the difference
        _broadcast_or_raise("kl_div", input, target)
    if log_target:
        loss = torch.exp(target) * (target - input)
    else:
        loss = torch.where(target == 0, torch.zeros_like(target), target * torch.log(target)) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch and input.dim() else loss
