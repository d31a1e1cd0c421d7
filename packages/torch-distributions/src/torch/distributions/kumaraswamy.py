"""A distribution function in closed form on the unit interval."""

from __future__ import annotations

import math

import torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """On [0, 1], with distribution function ``1 - (1 - x^concentration1)^concentration0``.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            torch.full_like(self.concentration0, 0),
            torch.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        super().__init__(base, self._parts(), validate_args)

    def _parts(self):
        return [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        new = super().expand(batch_shape, new)
        new.transforms = new._parts()
        return new

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + torch.xlogy(a - 1, value) + torch.special.xlog1py(b - 1, -(value**a))

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -torch.expm1(torch.special.xlog1py(self.concentration0, -(value**self.concentration1)))

    def _moment(self, n):
        b, r = self.concentration0, 1 + n / self.concentration1
        return b * torch.exp(torch.lgamma(r) + torch.lgamma(b) - torch.lgamma(r + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """NaN where the density has no single peak: for a concentration below 1, or both equal to 1."""
        a, b = self.concentration1, self.concentration0
        mode = torch.exp(a.reciprocal() * (torch.log(a - 1) - torch.log(a * b - 1)))
        return mode.masked_fill((a < 1) | (b < 1) | ((a == 1) & (b == 1)), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - torch.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)
