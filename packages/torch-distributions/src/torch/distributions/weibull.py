"""Lifetimes."""

from __future__ import annotations

import torch

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """``scale x^(1 / concentration)`` for x from ``Exponential(1)``.

    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(torch.ones_like(self.scale), validate_args=False)
        super().__init__(base, self._parts(), validate_args)

    def _parts(self):
        return [PowerTransform(exponent=self.concentration.reciprocal()), AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new = super().expand(batch_shape, new)
        new.transforms = new._parts()
        return new

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        c, x = self.concentration, value / self.scale
        return (c / self.scale).log() + torch.xlogy(c - 1, x) - x**c

    @property
    def mean(self) -> Tensor:
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration.reciprocal()))

    @property
    def mode(self) -> Tensor:
        c = self.concentration
        return self.scale * ((c - 1).clamp(min=0) / c) ** c.reciprocal()

    @property
    def variance(self) -> Tensor:
        r = self.concentration.reciprocal()
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * r)) - torch.exp(2 * torch.lgamma(1 + r)))

    def entropy(self) -> Tensor:
        r = self.concentration.reciprocal()
        return euler_constant * (1 - r) + torch.log(self.scale * r) + 1
