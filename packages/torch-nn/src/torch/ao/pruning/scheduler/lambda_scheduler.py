"""Sparsity by a function of the epoch."""

from __future__ import annotations

from .base_scheduler import BaseScheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["LambdaSL"]


class LambdaSL(BaseScheduler):
    """The sparsity that a group had, times a function of the epoch: one for all groups or one each.

    >>> sparsifier = torch.ao.pruning.WeightNormSparsifier(sparsity_level=0.8)
    >>> sparsifier.prepare(torch.nn.Sequential(torch.nn.Linear(4, 4)), None)
    >>> schedule = LambdaSL(sparsifier, lambda epoch: epoch / 4)
    >>> sparsifier.step()
    >>> schedule.step()
    >>> schedule.get_last_sl()
    [0.2]
    """

    def __init__(
        self,
        sparsifier: BaseSparsifier,
        sl_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.sl_lambdas = self._for_groups(sl_lambda)
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        return [base * f(self.last_epoch) for base, f in zip(self.base_sl, self.sl_lambdas, strict=True)]
