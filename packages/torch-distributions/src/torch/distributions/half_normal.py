"""Sizes of normal numbers."""

from __future__ import annotations

import math

import torch

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """``|x|`` for x normal with mean 0 and standard deviation ``scale``.

    >>> HalfNormal(1.0).mode
    tensor(0.)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, self._get_checked_instance(HalfNormal, _instance))

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return torch.erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, prob: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * torch.erfinv(prob)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)

    def __repr__(self) -> str:
        return f"HalfNormal(scale: {self.scale if self.scale.numel() == 1 else self.scale.size()})"
