"""Two exponential distributions back to back."""

from __future__ import annotations

import math

import torch

from ._location import LocationScale
from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["Laplace"]


class Laplace(LocationScale, Distribution):
    """Density ``exp(-|x - loc| / scale) / (2 scale)``.

    >>> Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    _tensors = LocationScale._tensors

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(loc, scale, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        # the difference of two exponential numbers
        shape = torch.Size((2,)) + self._extended_shape(sample_shape)
        a, b = torch.empty(shape, dtype=self.loc.dtype, device=self.loc.device).exponential_()
        return self.loc + self.scale * (a - b)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        tail = torch.exp(-z.abs()) / 2
        return torch.where(z < 0, tail, 1 - tail)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)
