"""Functions as they stand in ``torch`` itself, whose ways are numbers: losses, where a ``reduction`` of 0 gives them element by
element, 1 their mean, 2 their sum (without one they are not reduced), and bags of vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import ctc
from . import loss as losses
from . import margin as margins
from ._reduction import MEAN, NONE, SUM
from .embedding import _bags, _segment_argmax
from .embedding import embedding_bag as _reduced_bags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = [
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "embedding_bag", "hinge_embedding_loss",
    "kl_div", "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss",
]  # fmt: skip


def _named(function: str, reduction: int) -> str:
    """The name of a reduction; a number that stands for none is no reduction."""
    if isinstance(reduction, bool) or not isinstance(reduction, int):
        raise TypeError(
            f"{function}(): argument 'reduction' must be int, not {type(reduction).__name__} ({reduction!r}); "
            f"torch.nn.functional.{function} takes the names 'none', 'mean' and 'sum'"
        )
    return {MEAN: "mean", SUM: "sum"}.get(reduction, "none")


def kl_div(input: Tensor, target: Tensor, reduction: int = NONE, *, log_target: bool = False) -> Tensor:
    """``y * (log y - x)`` for log probabilities ``x`` of any shape; TypeError for the name of a reduction.

    >>> p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
    >>> torch.kl_div(q.log(), p, 2)
    tensor(0.1438)
    """
    return losses.kl_div(input, target, reduction=_named("kl_div", reduction), log_target=log_target)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution; TypeError for the name of a reduction.

    >>> torch.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 2.0]), True, False, 1e-8, 0)
    tensor([1., 1.])
    """
    reduced = _named("poisson_nll_loss", reduction)
    return losses.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduced)


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


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = NONE) -> Tensor:
    """Distances of any shape, and ``max(0, margin - distance)`` where the target is -1; TypeError for the name of a reduction.

    >>> torch.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]))
    tensor([0.5000, 0.7500])
    """
    return margins.hinge_embedding_loss(input, target, margin, reduction=_named("hinge_embedding_loss", reduction))


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
