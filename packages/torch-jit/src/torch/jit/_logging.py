"""Counters of compiled programs: ``torch.jit._logging``."""

from __future__ import annotations

import enum
import threading
import time

__all__ = ["AggregationType", "LockingLogger", "NoopLogger", "add_stat_value", "set_logger", "time_point"]


class AggregationType(enum.Enum):
    """What a counter is of the values that it was given."""

    SUM = 0
    AVG = 1


class NoopLogger:
    """Keeps nothing."""

    def add_stat_value(self, name: str, value: int) -> None:
        """Forget it."""


class LockingLogger:
    """Keeps counters, from several threads.

    >>> from torch.jit import _logging
    >>> before = _logging.set_logger(logger := _logging.LockingLogger())
    >>> logger.set_aggregation_type("steps", _logging.AggregationType.AVG)
    >>> _logging.add_stat_value("steps", 2), _logging.add_stat_value("steps", 4)
    (None, None)
    >>> logger.get_counter_val("steps"), _logging.set_logger(before) is logger
    (3, True)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, tuple[int, int]] = {}
        self._kinds: dict[str, AggregationType] = {}

    def add_stat_value(self, name: str, value: int) -> None:
        """One more value of a counter."""
        with self._lock:
            total, count = self._values.get(name, (0, 0))
            self._values[name] = total + int(value), count + 1

    def set_aggregation_type(self, name: str, kind: AggregationType) -> None:
        """Whether a counter is a sum, as it is unless this says otherwise, or a mean."""
        with self._lock:
            self._kinds[name] = kind

    def get_counter_val(self, name: str) -> int:
        """What the counter is now: 0 where it was given nothing."""
        with self._lock:
            total, count = self._values.get(name, (0, 0))
            return total // max(count, 1) if self._kinds.get(name) is AggregationType.AVG else total


_logger: LockingLogger | NoopLogger = NoopLogger()


def set_logger(logger: LockingLogger | NoopLogger) -> LockingLogger | NoopLogger:
    """Where values go from now on; the one before."""
    global _logger
    before, _logger = _logger, logger
    return before


def add_stat_value(name: str, value: int) -> None:
    """One more value of a counter of the logger that was set."""
    _logger.add_stat_value(name, value)


def time_point() -> int:
    """Nanoseconds of a clock that never goes back."""
    return time.monotonic_ns()
