"""Sparsity that grows by a cubic (Zhu 2017)."""

from __future__ import annotations

from .base_scheduler import BaseScheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["CubicSL"]


class CubicSL(BaseScheduler):
    """From ``init_sl`` at epoch ``init_t`` to the sparsity ``s_f`` that a group had, in ``total_t`` steps of ``delta_t`` epochs:
    ``s_f + (s_i - s_f) (1 - (t - t_0) / (n dt))^3``. Before ``init_t`` it is ``init_sl``, or 0 if ``initially_zero``.

    >>> sparsifier = torch.ao.pruning.WeightNormSparsifier(sparsity_level=0.8)
    >>> sparsifier.prepare(torch.nn.Sequential(torch.nn.Linear(4, 4)), None)
    >>> schedule = CubicSL(sparsifier, delta_t=1, total_t=2)
    >>> sparsifier.step()
    >>> schedule.step()
    >>> round(schedule.get_last_sl()[0], 4)
    0.7
    """

    def __init__(
        self,
        sparsifier: BaseSparsifier,
        init_sl: float | list[float] = 0.0,
        init_t: int | list[int] = 0,
        delta_t: int | list[int] = 10,
        total_t: int | list[int] = 100,
        initially_zero: bool | list[bool] = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.init_sl = self._for_groups(init_sl)
        self.init_t = self._for_groups(init_t)
        self.delta_t = self._for_groups(delta_t)
        self.total_t = self._for_groups(total_t)
        self.initially_zero = self._for_groups(initially_zero)
        super().__init__(sparsifier, last_epoch, verbose)

    @staticmethod
    def sparsity_compute_fn(
        s_0: float, s_f: float, t: int, t_0: int, dt: int, n: int, initially_zero: bool = False
    ) -> float:
        """The sparsity at epoch ``t``."""
        if initially_zero and t < t_0:
            return 0
        passed = min(max((t - t_0) / (dt * n), 0), 1)
        return s_f + (s_0 - s_f) * (1 - passed) ** 3

    def get_sl(self) -> list[float]:
        groups = zip(
            self.init_sl, self.base_sl, self.init_t, self.delta_t, self.total_t, self.initially_zero, strict=True
        )
        return [
            self.sparsity_compute_fn(s_0, s_f, self.last_epoch, t_0, dt, n, zero)
            for s_0, s_f, t_0, dt, n, zero in groups
        ]
