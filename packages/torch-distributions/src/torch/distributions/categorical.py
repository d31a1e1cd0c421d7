"""One of several outcomes, as its index."""

from __future__ import annotations

import math

import torch

from . import constraints
from ._probabilities import Chances, one_of
from .distribution import Distribution, check_parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = ["Categorical"]


class Categorical(Chances, Distribution):
    """An index from 0 to k - 1, by probabilities (normalised here) or unnormalised logarithms of shape (*, k).

    >>> Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _tensors = {"probs": 1, "logits": 1}
    _shared = ("_num_events",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, given, normalised = read_chances(type(self).__name__, probs, logits, self._validates(validate_args))
        setattr(self, name, normalised)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """NaN: indices are names, not numbers."""
        return torch.full(self._batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = torch.Size(sample_shape)
        with torch.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            if rows.shape[0] == 0 or shape.numel() == 0:
                return torch.empty(self._extended_shape(shape), dtype=torch.int64, device=rows.device)
            return torch.multinomial(rows, shape.numel(), True).t().reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = torch.broadcast_tensors(self.logits, value.long().unsqueeze(-1))
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)  # 0 log 0 is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(self._num_events, dtype=torch.long, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values


def read_chances(family, probs, logits, validate):
    """Which of the two was given, as it was given, and normalised; checked, so that errors show the caller's values."""
    name = one_of(family, probs=probs, logits=logits)
    given = probs if name == "probs" else logits
    if given.dim() < 1:
        raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
    normalised = probs / probs.sum(-1, keepdim=True) if name == "probs" else logits - logits.logsumexp(-1, keepdim=True)
    if validate:
        check_parameter(family, name, given, Categorical.arg_constraints[name], seen=normalised)
    return name, given, normalised
