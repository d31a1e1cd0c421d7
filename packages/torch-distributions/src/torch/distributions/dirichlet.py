"""Points of the simplex."""

from __future__ import annotations

import torch

from . import constraints
from .exp_family import ExponentialFamily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Shares of 1, with density proportional to the product of ``x_i^(concentration_i - 1)``: (*, k), event shape (k,).

    >>> Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _tensors = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return torch.xlogy(a - 1.0, value).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The peak inside; where no concentration is above 1, the corner of the largest one, NaN if all are equal to 1."""
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        corners = (self.concentration < 1).all(-1)
        largest = self.concentration.argmax(-1, keepdim=True)
        corner = torch.zeros_like(mode).scatter(-1, largest, 1.0)
        return torch.where(corners.unsqueeze(-1), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return (
            torch.lgamma(a).sum(-1)
            - torch.lgamma(total)
            - (k - total) * torch.digamma(total)
            - ((a - 1.0) * torch.digamma(a)).sum(-1)
        )

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
