"""Shares by the logarithms of their ratios."""

from __future__ import annotations

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """A point of the simplex of n + 1 shares: the :class:`StickBreakingTransform` of n normal numbers.

    >>> LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=False)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale

    def __repr__(self) -> str:
        return repr(self.base_dist.base_dist).replace("Normal", "LogisticNormal", 1)
