"""Functions as they stand in ``torch`` itself, whose ways are numbers: losses, where a ``reduction`` of 0 gives them element by
element, 1 their mean, 2 their sum (without one they are not reduced), and bags of vectors; and those that ``torch.nn.functional``
has under no name, or another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch._seams import of_tensors

from . import ctc
from . import loss as losses
from . import margin as margins
from ._reduction import MEAN, NONE, SUM
from .dropout import _dropout_channels, alpha_dropout, feature_alpha_dropout
from .embedding import _bags, _segment_argmax
from .embedding import embedding_bag as _reduced_bags
from .sampling import affine_grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = [
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "embedding_bag", "hinge_embedding_loss",
    "kl_div", "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss", "_ctc_loss", "_weight_norm", "affine_grid_generator",
    "alpha_dropout_", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "norm_except_dim",
]  # fmt: skip


def _named(function: str, reduction: int) -> str:
    """The name of a reduction; a number that stands for none is no reduction."""
    if isinstance(reduction, bool) or not isinstance(reduction, int):
        raise TypeError(
            f"{function}(): argument 'reduction' must be int, not {type(reduction).__name__} ({reduction!r}); "
            f"torch.nn.functional.{function} takes the names 'none', 'mean' and 'sum'"
        )
    return {MEAN: "mean", SUM: "sum"}.get(reduction, "none")


@of_tensors
def kl_div(input: Tensor, target: Tensor, reduction: int = NONE, *, log_target: bool = False) -> Tensor:
    """``y * (log y - x)`` for log probabilities ``x`` of any shape; TypeError for the name of a reduction.

    >>> p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
    >>> torch.kl_div(q.log(), p, 2)
    tensor(0.1438)
    """
    return losses.kl_div(input, target, reduction=_named("kl_div", reduction), log_target=log_target)


@of_tensors
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution; TypeError for the name of a reduction.

    >>> torch.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 2.0]), True, False, 1e-8, 0)
    tensor([1., 1.])
    """
    reduced = _named("poisson_nll_loss", reduction)
    return losses.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduced)


@of_tensors
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = NONE,
) -> Tensor:
    """The cross entropy of probabilities given as logits, of any shape; TypeError for the name of a reduction.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([0.0, 1.0]), None, None, 1)
    tensor(0.6931)
    """
    reduced = _named("binary_cross_entropy_with_logits", reduction)
    return losses.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=reduced)


@of_tensors
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = NONE,
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of unaligned sequences, log probabilities as (T, N, C); TypeError for the name of a reduction.

    >>> log_probs = torch.zeros(2, 1, 2).log_softmax(-1)
    >>> torch.ctc_loss(log_probs, torch.tensor([[1]]), [2], [1])
    tensor([0.2877])
    """
    reduced = _named("ctc_loss", reduction)
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduced, zero_infinity)


@of_tensors
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = NONE) -> Tensor:
    """Distances of any shape, and ``max(0, margin - distance)`` where the target is -1; TypeError for the name of a reduction.

    >>> torch.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]))
    tensor([0.5000, 0.7500])
    """
    return margins.hinge_embedding_loss(input, target, margin, reduction=_named("hinge_embedding_loss", reduction))


@of_tensors
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = NONE
) -> Tensor:
    """``1 - cos`` of vectors (N, D) that belong together, ``max(0, cos - margin)`` of others; TypeError for the name of a reduction.

    >>> x = torch.eye(2)
    >>> torch.cosine_embedding_loss(x, x, torch.tensor([1, -1]))
    tensor([0., 1.])
    """
    return margins.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_named("cosine_embedding_loss", reduction)
    )


@of_tensors
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = NONE
) -> Tensor:
    """``max(0, -y * (x1 - x2) + margin)`` for scores of any shape; TypeError for the name of a reduction.

    >>> torch.margin_ranking_loss(torch.tensor([1.0, 2.0]), torch.zeros(2), torch.tensor([1.0, -1.0]))
    tensor([0., 2.])
    """
    return margins.margin_ranking_loss(
        input1, input2, target, margin, reduction=_named("margin_ranking_loss", reduction)
    )


@of_tensors
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = NONE,
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` for vectors (N, D); TypeError for the name of a reduction.

    >>> x = torch.zeros(1, 2)
    >>> torch.triplet_margin_loss(x, x, x)
    tensor([1.])
    """
    reduced = _named("triplet_margin_loss", reduction)
    return margins.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=reduced)


@of_tensors
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums, means or maxima (``mode`` 0, 1, 2) of the vectors of each bag (B, D), and what they are made of.

    These are the bag of each index, how many each bag has (zeros for sums), and the indices of maxima (B, D).

    >>> vectors = torch.tensor([[1.0, 4.0], [2.0, 3.0]])
    >>> torch.embedding_bag(vectors, torch.tensor([0, 1]), torch.tensor([0]), mode=2)
    (tensor([[2., 4.]]), tensor([0, 0]), tensor([2]), tensor([[1, 0]]))
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got {mode!r}")
    given = offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse, per_sample_weights
    result = _reduced_bags(indices, weight, *given, include_last_offset, padding_idx)
    bags, count = _bags(indices, offsets, include_last_offset)
    sizes = torch.zeros(count, dtype=indices.dtype, device=indices.device)
    if mode == 0:
        return result, bags, sizes, sizes.clone()
    left_out = None if padding_idx is None else indices == padding_idx % len(weight)
    counted = torch.ones_like(indices) if left_out is None else (~left_out).to(indices.dtype)
    sizes = sizes.index_add(0, bags, counted)
    if mode == 1:
        return result, bags, sizes, sizes.clone()
    first = _segment_argmax(weight[indices], bags, count, left_out)
    return result, bags, sizes, torch.cat([indices, indices.new_zeros(1)])[first]


def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int] | Tensor,
    target_lengths: Sequence[int] | Tensor,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """The loss of each example (N), and what it is summed from: the log probabilities (N, T, 2 S + 1) of the first symbols of
    each target, with blanks between them, after each step.

    >>> probs = torch.full((2, 1, 2), 0.5).log()
    >>> loss, alpha = torch._ctc_loss(probs, torch.tensor([[1]]), (2,), (1,))
    >>> loss.exp(), alpha[0, -1].exp()
    (tensor([1.3333]), tensor([0.2500, 0.5000, 0.2500]))
    """
    steps: list[Tensor] = []
    loss, _, _ = ctc.summed_over_paths(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, steps)
    return loss, torch.stack(steps, 1)


@of_tensors
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of ``v`` over all dims but ``dim``, with those dims kept as 1; over all with ``dim`` -1.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[5.],
            [2.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, keepdim=True) if others else v.unsqueeze(-1).norm(pow, -1)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """``g v / |v|``, with the norms of :func:`norm_except_dim`.

    >>> torch._weight_norm(torch.tensor([[3.0, 4.0]]), torch.tensor([[10.0]]))
    tensor([[6., 8.]])
    """
    return v * (g / norm_except_dim(v, 2, dim))


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """:func:`torch.nn.functional.affine_grid`.

    >>> torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    return affine_grid(theta, list(size), align_corners)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drops whole channels of ``input`` (N, C, ...); RuntimeError below two dims.

    >>> torch.feature_dropout(torch.ones(1, 100, 2), 0.5, True).unique()
    tensor([0., 2.])
    """
    return _dropout_channels("feature_dropout", input, p, train, False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`feature_dropout` within ``input``.

    >>> x = torch.ones(1, 100, 2)
    >>> torch.feature_dropout_(x, 0.5, True) is x
    True
    """
    return _dropout_channels("feature_dropout_", input, p, train, True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`torch.nn.functional.alpha_dropout` within ``input``.

    >>> torch.alpha_dropout_(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`torch.nn.functional.feature_alpha_dropout` within ``input``.

    >>> torch.feature_alpha_dropout_(torch.ones(1, 2, 1), 0.5, False).flatten()
    tensor([1., 1.])
    """
    return feature_alpha_dropout(input, p, train, inplace=True)
