"""Reciprocals of gamma numbers."""

from __future__ import annotations

import math

import torch

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """``1 / x`` for x from ``Gamma(concentration, rate)``.

    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=False)
        minus_one = PowerTransform(exponent=-torch.ones((), dtype=base.rate.dtype, device=base.rate.device))
        super().__init__(base, minus_one, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """Infinite for ``concentration <= 1``."""
        heavy = self.concentration <= 1
        return (self.rate / (self.concentration.masked_fill(heavy, 2.0) - 1)).masked_fill(heavy, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for ``concentration <= 2``."""
        heavy = self.concentration <= 2
        a = self.concentration.masked_fill(heavy, 3.0)
        return (self.rate.square() / ((a - 1).square() * (a - 2))).masked_fill(heavy, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()

    def __repr__(self) -> str:
        return repr(self.base_dist).replace("Gamma", "InverseGamma", 1)
