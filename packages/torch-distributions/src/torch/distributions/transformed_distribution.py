"""Distributions of transformed samples."""

from __future__ import annotations

import torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``y = f(x)`` for x from ``base_distribution`` and a transform f, or several, first to last.

    The density follows by the change of variables: ``log p(y) = log p(x) - log |dy/dx|``.

    >>> from torch.distributions import ExpTransform, Normal
    >>> d = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
    >>> d.log_prob(torch.tensor(1.0)) == Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(True)
    """

    arg_constraints: dict = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list) and all(isinstance(t, Transform) for t in transforms):
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms!r}")
        transform = ComposeTransform(self.transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, "
                f"but got {tuple(base_shape)}"
            )
        forward_shape = transform.forward_shape(base_shape)
        wanted = transform.inverse_shape(forward_shape)
        if tuple(wanted) != tuple(base_shape):  # parameters of the transform widen the batch
            base_distribution = base_distribution.expand(wanted[: len(wanted) - len(base_distribution.event_shape)])
        more = transform.domain.event_dim - len(base_distribution.event_shape)
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        gained = transform.codomain.event_dim - transform.domain.event_dim
        event_dim = max(transform.codomain.event_dim, len(self.base_dist.event_shape) + gained)
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape = torch.Size(batch_shape) + self._event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._finished(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def _forward(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim, total, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - _sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return total + _sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _sign(self):
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def _backward(self, y):
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return y

    def cdf(self, value: Tensor) -> Tensor:
        """For increasing and decreasing transforms alike; NotImplementedError where a transform has no sign."""
        sign = self._sign()
        value = self._backward(value)  # of what lies at the edge of the support, the edge of the base's
        if self._validate_args:
            self.base_dist._validate_sample(value)
        value = self.base_dist.cdf(value)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        sign = self._sign()
        if not (isinstance(sign, int) and sign == 1):
            value = sign * (value - 0.5) + 0.5
        return self._forward(self.base_dist.icdf(value))

    def __repr__(self) -> str:
        if type(self).arg_constraints:
            return super().__repr__()
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"
