"""A differentiable coin."""

from __future__ import annotations

import torch

from . import constraints
from ._probabilities import Chances, one_of
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, softplus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Chances, Distribution):
    """The logit of a :class:`RelaxedBernoulli` number (Maddison, Mnih and Teh 2016).

    >>> LogitRelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.5)).has_rsample
    True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True
    _tensors = {"probs": 0, "logits": 0}
    _shared = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | int | float | bool | None = None,
        logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        if one_of("LogitRelaxedBernoulli", probs=probs, logits=logits) == "probs":
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape, logits = self._extended_shape(sample_shape), self.logits
        u = clamp_probs(torch.rand(shape, dtype=logits.dtype, device=logits.device))
        return (u.log() - (-u).log1p() + logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value * self.temperature
        log_temperature = torch.as_tensor(self.temperature, dtype=diff.dtype, device=diff.device).log()
        return log_temperature + diff - 2 * softplus(diff)


class RelaxedBernoulli(TransformedDistribution):
    """A number between 0 and 1 that is nearly one of them for a low ``temperature``, and passes gradients on.

    >>> sharp = RelaxedBernoulli(torch.tensor(1e-3), probs=torch.tensor([1.0, 0.0]))
    >>> sharp.rsample().round()
    tensor([1., 0.])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | int | float | bool | None = None,
        logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        one_of("RelaxedBernoulli", probs=probs, logits=logits)
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=False)
        super().__init__(base, SigmoidTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    def _is_given(self, name):
        return self.base_dist._is_given(name)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs

    def __repr__(self) -> str:
        return repr(self.base_dist).removeprefix("Logit")
