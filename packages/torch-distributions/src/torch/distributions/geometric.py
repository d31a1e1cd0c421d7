"""Failures before the first success."""

from __future__ import annotations

import torch

from . import constraints
from ._probabilities import Chances, one_of
from .distribution import Distribution
from .utils import broadcast_all, softplus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["Geometric"]


class Geometric(Chances, Distribution):
    """The number of failures before the first success of probability ``probs``: ``P(k) = (1 - p)^k p``.

    ``torch.Tensor.geometric_`` counts the success as well and begins at 1.

    >>> Geometric(torch.tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _tensors = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Tensor | int | float | bool | None = None,
        logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if one_of("Geometric", probs=probs, logits=logits) == "probs":
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution Geometric "
                f"to be positive but found invalid values: {self.probs}"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape, p = self._extended_shape(sample_shape), self.probs
        with torch.no_grad():
            u = torch.rand(shape, dtype=p.dtype, device=p.device).clamp(min=torch.finfo(p.dtype).tiny)
            return (u.log() / (-p).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)
        return value * (-probs.masked_fill(certain, 0)).log1p() + probs.log()

    def entropy(self) -> Tensor:
        return (softplus(self.logits) - self.probs * self.logits) / self.probs
