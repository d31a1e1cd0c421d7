"""One of several distributions of a family, chosen at random."""

from __future__ import annotations

import torch

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dim of ``component_distribution``.

    ``mixture_distribution`` is a :class:`Categorical` over that dim.

    >>> from torch.distributions import Normal
    >>> d = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), torch.ones(2)))
    >>> d.mean, d.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: dict = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f"MixtureSameFamily: the mixture distribution must be a Categorical, got {mixture_distribution!r}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"MixtureSameFamily: the component distribution must be a Distribution, got {component_distribution!r}"
            )
        weights, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        if len(components) == 0:
            raise ValueError("MixtureSameFamily: the component distribution needs a batch dim that counts components")
        for a, b in zip(reversed(weights), reversed(components[:-1])):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"MixtureSameFamily: batch shape {tuple(weights)} of the mixture distribution does not fit "
                    f"{tuple(components[:-1])} of the components"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != components[-1]:
            raise ValueError(
                f"MixtureSameFamily: the mixture distribution chooses among {count} components, there are {components[-1]}"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = torch.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._finished(new, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    def _weights(self):
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    def _over_components(self, values):
        return (self._weights() * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._over_components(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        means = self._component_distribution.mean
        centre = self.mean.unsqueeze(-1 - self._event_ndims)
        return self._over_components(self._component_distribution.variance + (means - centre).pow(2))

    def cdf(self, x: Tensor) -> Tensor:
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        each = self._component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(each + torch.log_softmax(self._mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            sample_shape = torch.Size(sample_shape)
            batch = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(chosen.shape + (1,) + self._event_shape)
            return torch.gather(drawn, batch, index).squeeze(batch)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture_distribution}, {self._component_distribution})"
