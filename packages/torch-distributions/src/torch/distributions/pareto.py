"""Few have most."""

from __future__ import annotations

import math

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Density ``alpha scale^alpha / x^(alpha + 1)`` above ``scale``.

    >>> Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=False)
        super().__init__(base, self._parts(), validate_args)

    def _parts(self):
        return [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = self.scale.expand(batch_shape), self.alpha.expand(batch_shape)
        new = super().expand(batch_shape, new)
        new.transforms = new._parts()
        return new

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """Infinite for ``alpha <= 1``."""
        heavy = self.alpha <= 1
        a = self.alpha.masked_fill(heavy, 2.0)
        return (a * self.scale / (a - 1)).masked_fill(heavy, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite for ``alpha <= 2``."""
        heavy = self.alpha <= 2
        a = self.alpha.masked_fill(heavy, 3.0)
        return (self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))).masked_fill(heavy, math.inf)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
