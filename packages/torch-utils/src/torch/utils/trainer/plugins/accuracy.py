"""How often the class with the highest score is the right one."""

from __future__ import annotations

from .monitor import Monitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AccuracyMonitor(Monitor):
    """Keeps the percentage of right classes in ``stats["accuracy"]``: scores (N, C), classes (N); arguments are Monitor's.

    >>> torch.utils.trainer.plugins.accuracy.AccuracyMonitor.stat_name
    'accuracy'
    """

    stat_name = "accuracy"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("unit", "%")
        if len(args) < 4 and kwargs.get("number_format") is None:
            kwargs.setdefault("precision", 2)
        super().__init__(*args, **kwargs)

    def _get_value(self, iteration, input, target, output, loss) -> float:
        if output.dim() != 2 or target.dim() != 1 or len(output) != len(target):
            raise ValueError(
                f"AccuracyMonitor: scores (N, C) and classes (N) are needed, got {tuple(output.shape)} and "
                f"{tuple(target.shape)}; MetricMonitor takes a function of your own"
            )
        return 100.0 * int((output.argmax(1) == target).sum()) / max(len(target), 1)
