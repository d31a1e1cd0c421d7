"""Largest of many."""

from __future__ import annotations

import math

import torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """``loc - scale log(-log(u))`` for u uniform on (0, 1).

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps), validate_args)
        super().__init__(base, self._parts(), validate_args)

    def _parts(self):
        minus = AffineTransform(loc=0, scale=-torch.ones_like(self.scale))
        return [ExpTransform().inv, minus, ExpTransform().inv, AffineTransform(loc=self.loc, scale=-self.scale)]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        new = super().expand(batch_shape, new)
        new.transforms = new._parts()
        return new

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return torch.exp(-torch.exp((self.loc - value) / self.scale))

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
