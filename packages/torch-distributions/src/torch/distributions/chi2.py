"""Sums of squared normal numbers."""

from __future__ import annotations

from . import constraints
from .gamma import Gamma

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of ``df`` squared standard normal numbers, ``Gamma(df / 2, 1 / 2)``.

    >>> Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}
    _tensors = Gamma._tensors

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2

    def __repr__(self) -> str:
        return f"Chi2(df: {self.df if self.df.numel() == 1 else self.df.size()})"
