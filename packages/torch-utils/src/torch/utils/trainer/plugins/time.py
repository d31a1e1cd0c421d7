"""How long an iteration takes."""

from __future__ import annotations

import time

from .monitor import Monitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TimeMonitor(Monitor):
    """Keeps the milliseconds from the end of one iteration to that of the next in ``stats["time"]``.

    The waiting for data is part of them; the first iteration of an epoch counts from the end of the last event.

    >>> torch.utils.trainer.plugins.time.TimeMonitor.stat_name
    'time'
    """

    stat_name = "time"
    weighted = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("unit", "ms")
        if len(args) < 4 and kwargs.get("number_format") is None:
            kwargs.setdefault("precision", 1)
        super().__init__(*args, **kwargs)

    def register(self, trainer: Any) -> None:
        super().register(trainer)
        self._since = time.perf_counter()

    def _get_value(self, iteration, input, target, output, loss) -> float:
        since, self._since = self._since, time.perf_counter()
        return 1000 * (self._since - since)

    def epoch(self, epoch: int) -> None:
        super().epoch(epoch)
        self._since = time.perf_counter()
