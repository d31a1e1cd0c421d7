"""Means of few normal numbers, over their own spread."""

from __future__ import annotations

import math

import torch

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a ``Chi2(df) / df`` one, stretched by ``scale`` and moved by ``loc``.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = {"df": 0, "loc": 0, "scale": 0}

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``loc``; NaN for ``df <= 1``, where it does not exist."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite for ``df <= 2``, NaN for ``df <= 1``."""
        m = self.scale.pow(2) * self.df / (self.df - 2).masked_fill(self.df <= 2, 1.0)
        return m.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, self.df.dtype, self.df.device)
        z = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * x * torch.rsqrt(z / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y, df = (value - self.loc) / self.scale, self.df
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + torch.lgamma(df / 2)
        return torch.lgamma((df + 1) / 2) - norm - 0.5 * (df + 1.0) * torch.log1p(y**2.0 / df)

    def entropy(self) -> Tensor:
        df = self.df
        beta = torch.lgamma(0.5 * df) + math.lgamma(0.5) - torch.lgamma(0.5 * (df + 1))
        slope = torch.digamma(0.5 * (df + 1)) - torch.digamma(0.5 * df)
        return self.scale.log() + 0.5 * (df + 1) * slope + 0.5 * df.log() + beta
