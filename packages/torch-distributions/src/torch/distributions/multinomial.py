"""Counts of several outcomes."""

from __future__ import annotations

import torch

from . import constraints
from ._probabilities import OfCategorical
from .binomial import Binomial
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Multinomial"]


class Multinomial(OfCategorical, Distribution):
    """How often each of k outcomes comes in ``total_count`` draws, one number for the whole batch.

    ``log_prob`` allows other totals.

    >>> Multinomial(4, torch.tensor([0.5, 0.5])).mean
    tensor([2., 2.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported: expected an int")
        if total_count < 0:
            raise ValueError(f"Multinomial: total_count must not be negative, got {total_count}")
        self.total_count = total_count
        self._categorical = self._choice(probs, logits, validate_args)
        self._binomial = Binomial(total_count, probs=self.probs, validate_args=False)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = torch.Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self._event_shape)
        return self._finished(new, batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = torch.Size(sample_shape)
        with torch.no_grad():
            drawn = self._categorical.sample(shape + (self.total_count,))  # shape, count, batch
            drawn = drawn.movedim(len(shape), -1)
            counts = torch.zeros(self._extended_shape(shape), dtype=self.probs.dtype, device=self.probs.device)
            return counts.scatter_add_(-1, drawn, torch.ones_like(drawn, dtype=counts.dtype))

    def entropy(self) -> Tensor:
        n = torch.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        chances = torch.exp(self._binomial.log_prob(counts))
        repeats = (chances * torch.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + repeats

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -torch.inf), 0)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def __repr__(self) -> str:
        return f"Multinomial(total_count: {self.total_count}, probs: {self.probs.size()})"
