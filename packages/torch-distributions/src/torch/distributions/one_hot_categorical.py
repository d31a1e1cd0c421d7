"""One of several outcomes, as a vector with a single 1."""

from __future__ import annotations

import torch

from . import constraints
from ._probabilities import OfCategorical
from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical, Distribution):
    """A unit vector of length k, by probabilities or unnormalised logarithms of shape (*, k).

    >>> OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = self._choice(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finished(new, batch_shape)

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        probs = self._categorical.probs
        return self._one_hot(probs.argmax(-1), probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, index, like):
        zeros = torch.zeros(index.shape + self._event_shape, dtype=like.dtype, device=like.device)
        return zeros.scatter_(-1, index.unsqueeze(-1), 1.0)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self._one_hot(self._categorical.sample(sample_shape), self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n,) + self._batch_shape + (n,)) if expand else values

    def __repr__(self) -> str:
        name = "probs" if "probs" in vars(self._categorical) else "logits"
        value = getattr(self, name)
        return f"{type(self).__name__}({name}: {value if value.numel() == 1 else value.size()})"


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Its ``rsample`` passes the sample's gradient straight on to the probabilities (Bengio and others 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        samples = self.sample(sample_shape)
        probs = self._categorical.probs  # cached: the graph is the caller's
        return samples + (probs - probs.detach())
