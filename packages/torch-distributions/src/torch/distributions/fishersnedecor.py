"""Ratios of mean squares."""

from __future__ import annotations

import math

import torch

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """``(Chi2(df1) / df1) / (Chi2(df2) / df2)``: the F distribution.

    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _tensors = {"df1": 0, "df2": 0}

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN for ``df2 <= 2``, where it does not exist."""
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """NaN for ``df1 <= 2``, where the density falls from the start."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN for ``df2 <= 4``, where it does not exist."""
        a, b = self.df1, self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4))

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        above = Gamma(self.df1 / 2, self.df1 / 2, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 / 2, self.df2 / 2, validate_args=False).rsample(sample_shape)
        tiny = torch.finfo(above.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * torch.log1p(ratio * value) - beta
