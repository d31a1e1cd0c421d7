"""The bell curve."""

from __future__ import annotations

import math

import torch

from ._location import LocationScale
from .exp_family import ExponentialFamily
from .utils import _standard_normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["Normal"]


class Normal(LocationScale, ExponentialFamily):
    """Mean ``loc`` and standard deviation ``scale``.

    >>> Normal(0.0, 1.0).cdf(torch.tensor(0.0))
    tensor(0.5000)
    """

    _mean_carrier_measure = 0
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
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -z.pow(2) / 2 - self.scale.log() - math.log(2 * math.pi) / 2

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * torch.erfc((self.loc - value) / self.scale / math.sqrt(2))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)
