"""Any number that a function finds."""

from __future__ import annotations

from collections.abc import Callable

from .monitor import Monitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MetricMonitor(Monitor):
    """Keeps what ``function(output, target)`` gives in ``stats[name]``; other arguments are Monitor's."""

    def __init__(self, name: str, function: Callable, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stat_name, self.function = name, function

    def _get_value(self, iteration, input, target, output, loss) -> float:
        return self.function(output, target)
