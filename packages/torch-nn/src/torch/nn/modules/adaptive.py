"""Softmax over very many classes (Grave 2016)."""

from __future__ import annotations

import collections

import torch

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_Output = collections.namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log softmax that spends little on rare classes: classes are sorted by frequency and cut into clusters.

    The head scores the most frequent classes and the clusters; cluster i scores its own classes from a projection
    ``div_value^i`` times smaller.  Input (N, in_features) and target (N) give the target's log probabilities and loss.

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 100, cutoffs=[10, 50])
    >>> result = layer(torch.randn(4, 8), torch.tensor([0, 9, 30, 99]))
    >>> result.output.shape, result.loss.shape
    (torch.Size([4]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive integers sorted in an "
                f"increasing order, where each value is between 1 and n_classes-1, got {cutoffs}"
            )
        if div_value <= 0:
            raise ValueError(f"AdaptiveLogSoftmaxWithLoss: div_value must be positive, got {div_value}")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = cutoffs + [n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **options), Linear(width, size, bias=False, **options)
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for projection, scores in self.tail:
            projection.reset_parameters()
            scores.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        single = target.dim() == 0
        if single:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        if target.dim() != 1 or input.dim() != 2 or input.shape[0] != target.shape[0]:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: input and target should have the same size in the batch dimension, got "
                f"{tuple(input.shape)} and {tuple(target.shape)}"
            )
        outside = (target < 0) | (target >= self.n_classes)
        if bool(outside.any()):
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: target values should be in [0, {self.n_classes - 1}], "
                f"but values in range [{int(target.min())}, {int(target.max())}] were found."
            )
        head = F.log_softmax(self.head(input), 1)
        in_head = target
        parts, rows = [], []
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            member = (target >= low) & (target < high)
            where = member.nonzero().reshape(-1)
            if where.numel() == 0:
                continue
            in_head = torch.where(member, torch.full_like(target, self.shortlist_size + i), in_head)
            scores = F.log_softmax(cluster(input.index_select(0, where)), 1)
            parts.append(scores.gather(1, (target[where] - low).unsqueeze(1)).squeeze(1))
            rows.append(where)
        output = head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        if parts:
            output = output.index_add(0, torch.cat(rows), torch.cat(parts))
        loss = -output.mean()
        return _Output(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes: (N, n_classes).

        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 100, cutoffs=[10, 50])
        >>> layer.log_prob(torch.randn(4, 8)).exp().sum(dim=1).allclose(torch.ones(4))
        True
        """
        return self._get_full_log_prob(input, self.head(input))

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """:meth:`log_prob` with what the head makes of the input."""
        head = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each example: (N). Clusters are only scored for examples that the head sends there.

        >>> layer, x = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 100, cutoffs=[10, 50]), torch.randn(4, 8)
        >>> torch.equal(layer.predict(x), layer.log_prob(x).argmax(dim=1))
        True
        """
        best = self.head(input).argmax(1)
        rare = (best >= self.shortlist_size).nonzero().reshape(-1)
        if rare.numel():
            best = best.clone()
            best[rare] = self.log_prob(input[rare]).argmax(1)
        return best
