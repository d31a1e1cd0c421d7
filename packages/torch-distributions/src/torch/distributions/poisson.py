"""Counts of rare events."""

from __future__ import annotations

import torch

from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """``P(k) = rate^k exp(-rate) / k!``.

    >>> Poisson(4.0).stddev
    tensor(2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _tensors = {"rate": 0}

    def __init__(self, rate: Tensor | int | float | bool, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return torch.xlogy(value, rate) - rate - torch.lgamma(value + 1)

    @property
    def _natural_params(self):
        return (torch.log(self.rate),)

    def _log_normalizer(self, x):
        return torch.exp(x)
