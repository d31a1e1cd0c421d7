"""What lies beyond a threshold."""

from __future__ import annotations

import math

import torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, expm1_ratio, log1p_ratio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Survival ``(1 + c z)^(-1 / c)`` of ``z = (x - loc) / scale`` for the concentration c; ``exp(-z)`` for c = 0.

    >>> GeneralizedPareto(0.0, 1.0, 0.0).cdf(torch.tensor(2.0).log())
    tensor(0.5000)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _tensors = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        bounded = self.concentration < 0
        end = self.loc - self.scale / self.concentration.masked_fill(~bounded, -1.0)
        return constraints.interval(self.loc, end.masked_fill(~bounded, math.inf))

    def _hazard(self, value):
        """log(1 + c z) / c, which is -log of the survival."""
        z = (value - self.loc) / self.scale
        endless = z == math.inf
        z = z.masked_fill(endless, 0.0)
        return (z * log1p_ratio(self._times_concentration(z))).masked_fill(endless, math.inf)

    def _times_concentration(self, z):
        product = self.concentration * z
        return product.masked_fill(product.isnan(), 0.0)  # 0 times infinity

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -self.scale.log() - (1 + self.concentration) * self._hazard(value)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """``log(1 - cdf(value))``."""
        if self._validate_args:
            self._validate_sample(value)
        return -self._hazard(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """``log(cdf(value))``."""
        return torch.log(self.cdf(value))

    def cdf(self, value: Tensor) -> Tensor:
        return -torch.expm1(self.log_survival_function(value))

    def icdf(self, value: Tensor) -> Tensor:
        hazard = -torch.log1p(-value)
        product = self._times_concentration(hazard)
        near = product.abs() < 1  # beyond, the ratio of infinite numbers is not needed, nor is that of 0 here
        c = self.concentration.masked_fill(self.concentration == 0, 1.0)
        far = torch.expm1(product.masked_fill(near, 1.0)) / c
        return self.loc + self.scale * torch.where(near, hazard * expm1_ratio(product.masked_fill(~near, 0.0)), far)

    @property
    def mean(self) -> Tensor:
        """Infinite for ``concentration >= 1``."""
        c = self.concentration
        heavy = c >= 1
        mean = self.loc + self.scale / (1 - c.masked_fill(heavy, 0.0))
        return mean.masked_fill(heavy, math.inf)

    @property
    def variance(self) -> Tensor:
        """Infinite for ``concentration >= 1 / 2``."""
        c = self.concentration
        heavy = c >= 0.5
        c = c.masked_fill(heavy, 0.0)
        return (self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))).masked_fill(heavy, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return torch.log(self.scale) + self.concentration + 1
