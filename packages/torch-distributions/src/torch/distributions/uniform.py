"""Every number of an interval alike."""

from __future__ import annotations

import torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = ["Uniform"]


class Uniform(Distribution):
    """Density ``1 / (high - low)`` on [low, high).

    >>> Uniform(0.0, 4.0).log_prob(torch.tensor(1.0)).exp()
    tensor(0.2500)
    """

    has_rsample = True
    _tensors = {"low": 0, "high": 0}

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: no value is likelier than the others."""
        return torch.full_like(self.high, torch.nan)

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.low + torch.rand(shape, dtype=self.low.dtype, device=self.low.device) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value) & (value < self.high)
        return torch.log(inside.to(self.low.dtype)) - torch.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return torch.log(self.high - self.low)
