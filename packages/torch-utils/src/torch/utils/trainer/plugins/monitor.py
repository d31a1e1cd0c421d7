"""Numbers of each iteration, and their averages."""

from __future__ import annotations

from typing import Any

from .plugin import Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


class Monitor(Plugin):
    """Keeps ``last``, ``running_avg`` and ``epoch_mean`` of a number in ``trainer.stats[stat_name]``.

    Subclasses have ``stat_name`` and ``_get_value(iteration, input, target, output, loss)``.

    Args:
        running_average: whether to keep the exponential average, which begins with the first value
        epoch_average: whether to keep the mean over an epoch, in which a batch counts by its number of samples
        smoothing: the share of the old average in the new one
        precision: digits after the point
        number_format: a format of numbers such as ``".2e"``, in place of ``precision``
        unit: is printed after the number

    >>> issubclass(torch.utils.trainer.plugins.loss.LossMonitor, torch.utils.trainer.plugins.monitor.Monitor)
    True
    """

    stat_name = ""
    weighted = True

    def __init__(
        self,
        running_average: bool = True,
        epoch_average: bool = True,
        smoothing: float = 0.7,
        precision: int | None = None,
        number_format: str | None = None,
        unit: str = "",
    ) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])
        if not 0 <= smoothing < 1:
            raise ValueError(f"{type(self).__name__}: smoothing is {smoothing}, not in [0, 1)")
        self.with_running_average = running_average
        self.with_epoch_average = epoch_average
        self.smoothing = smoothing
        self.number_format = number_format or f".{4 if precision is None else precision}f"
        self.unit = unit
        self._sum = self._weight = 0.0

    def register(self, trainer: Any) -> None:
        super().register(trainer)
        self.stats = trainer.stats.setdefault(self.stat_name, {})
        self.stats["log_iter_fields"] = [self._field("last")]
        if self.with_running_average:
            self.stats["log_iter_fields"].append(f"({self._field('running_avg')})")
        self.stats["log_epoch_fields"] = [self._field("epoch_mean")] if self.with_epoch_average else []

    def _field(self, name: str) -> str:
        return f"{{{name}:{self.number_format}}}{self.unit}"

    def _get_value(self, iteration: int, input, target, output, loss) -> float:
        raise NotImplementedError(f"{type(self).__name__} needs a method _get_value(...)")

    def iteration(self, iteration: int, input: Tensor, target: Tensor, output: Any, loss: Any) -> None:
        value = float(self._get_value(iteration, input, target, output, loss))
        self.stats["last"] = value
        if self.with_running_average:
            before = self.stats.get("running_avg", value)
            self.stats["running_avg"] = before * self.smoothing + value * (1 - self.smoothing)
        if self.with_epoch_average:
            weight = len(target) if self.weighted and hasattr(target, "__len__") else 1
            self._sum += value * weight
            self._weight += weight

    def epoch(self, epoch: int) -> None:
        if self.with_epoch_average and self._weight:
            self.stats["epoch_mean"] = self._sum / self._weight
        self._sum = self._weight = 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"sum": self._sum, "weight": self._weight}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._sum, self._weight = state["sum"], state["weight"]
