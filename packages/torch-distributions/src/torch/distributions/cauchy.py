"""Ratios of normal numbers."""

from __future__ import annotations

import math

import torch

from ._location import LocationScale
from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["Cauchy"]


class Cauchy(LocationScale, Distribution):
    """Density ``1 / (pi scale (1 + ((x - loc) / scale)^2))``, without mean and variance (NaN and infinity).

    >>> Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    _tensors = LocationScale._tensors

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(loc, scale, validate_args)

    @property
    def mean(self) -> Tensor:
        return torch.full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return torch.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + torch.empty(shape, dtype=self.loc.dtype, device=self.loc.device).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).pow(2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
