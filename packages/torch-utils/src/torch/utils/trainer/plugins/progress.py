"""How much of an epoch is done."""

from __future__ import annotations

from .plugin import Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


class ProgressMonitor(Plugin):
    """Keeps ``batches_used``, ``epoch_size`` (in batches) and ``percent`` in ``stats["progress"]``.

    >>> torch.utils.trainer.plugins.progress.ProgressMonitor.stat_name
    'progress'
    """

    stat_name = "progress"

    def __init__(self) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])

    def register(self, trainer: Any) -> None:
        super().register(trainer)
        stats = trainer.stats.setdefault(self.stat_name, {})
        try:
            stats["epoch_size"] = len(trainer.dataset)
        except TypeError:  # a stream, or no data set yet
            stats["log_iter_fields"] = ["{batches_used}"]
        else:
            stats["log_iter_fields"] = ["{batches_used}/{epoch_size}", "({percent:.2f}%)"]
        stats["batches_used"], stats["log_epoch_fields"] = 0, []

    def iteration(self, iteration: int, input: Tensor, target: Tensor, output: Any, loss: Any) -> None:
        stats = self.trainer.stats[self.stat_name]
        stats["batches_used"] += 1
        if size := stats.get("epoch_size"):
            stats["percent"] = 100.0 * stats["batches_used"] / size

    def epoch(self, epoch: int) -> None:
        self.trainer.stats[self.stat_name].update(batches_used=0, percent=0.0)
