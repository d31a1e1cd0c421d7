"""Numbers that a program tells of itself: counters over windows of time, and events for whoever asked to hear of them.

>>> import datetime
>>> heard = []
>>> handle = register_event_handler(lambda event: heard.append(dict(event.data)))
>>> loss = Stat("loss", [Aggregation.MEAN, Aggregation.COUNT], datetime.timedelta(minutes=1), max_samples=2)
>>> loss.add(1.0)
>>> loss.add(3.0)
>>> heard
[{'loss.mean': 2.0, 'loss.count': 2.0}]
>>> unregister_event_handler(handle)
"""

from __future__ import annotations

import datetime
import enum
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


__all__ = [
    "STAT_EVENT", "Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "data_value_t", "log_event",
    "register_event_handler", "unregister_event_handler",
]  # fmt: skip

#: the name of the events that a :class:`Stat` logs
STAT_EVENT = "torch.monitor.Stat"
data_value_t = (str, float, int, bool)


class Aggregation(enum.Enum):
    """What a :class:`Stat` makes of the values of a window."""

    VALUE = 1  #: the last one
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


VALUE, MEAN, COUNT, SUM, MAX, MIN = Aggregation
_FROM = {
    VALUE: lambda values: values[-1],
    MEAN: lambda values: sum(values) / len(values),
    COUNT: lambda values: float(len(values)),
    SUM: sum,
    MAX: max,
    MIN: min,
}


class Event:
    """Something that happened: a name, a moment, and texts and numbers by name."""

    def __init__(self, name: str, timestamp: datetime.datetime, data: dict[str, Any]) -> None:
        for key, value in data.items():
            if not isinstance(key, str) or not isinstance(value, data_value_t):
                raise TypeError(f"Event: data are texts and numbers by name, got {key!r}: {value!r}")
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """What :func:`register_event_handler` gives, to unregister the handler by."""

    def __init__(self, handler: Callable[[Event], Any]) -> None:
        self._handler = handler


_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], Any]) -> EventHandlerHandle:
    """Have a function called with every event, in the thread that logs it."""
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call it no more."""
    if handler in _handlers:
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Give an event to all handlers."""
    for handle in list(_handlers):
        handle._handler(event)


class Stat:
    """Values of a window of time, put together in some ways when it ends; ``get()`` gives those of the last one that did.

    A window also ends with its ``max_samples``-th value. Its numbers are then logged as an event named ``STAT_EVENT``.
    """

    def __init__(
        self,
        name: str,
        aggregations: Sequence[Aggregation],
        window_size: datetime.timedelta,
        max_samples: int = 2**63 - 1,
    ) -> None:
        if window_size <= datetime.timedelta(0):
            raise ValueError(f"Stat: a window must have a length, got {window_size}")
        self._name, self._aggregations = name, tuple(dict.fromkeys(map(Aggregation, aggregations)))
        self._seconds, self._max_samples = window_size.total_seconds(), max_samples
        self._values: list[float] = []
        self._window = self._now()
        self._last = dict.fromkeys(self._aggregations, 0.0)
        self._lock = threading.Lock()

    name = property(lambda self: self._name, doc="The name, before the dot in events.")

    @property
    def count(self) -> int:
        """How many values the current window has."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Put a value into the current window."""
        with self._lock:
            ended = [self._finish()] if self._now() != self._window else []
            self._values.append(float(v))
            if len(self._values) >= self._max_samples:
                ended.append(self._finish())
        for event in filter(None, ended):
            log_event(event)

    def get(self) -> dict[Aggregation, float]:
        """The numbers of the last window that ended; zeros before that."""
        with self._lock:
            ended = self._finish() if self._now() != self._window else None
        if ended is not None:
            log_event(ended)
        return dict(self._last)

    def _now(self):
        return int(time.monotonic() / self._seconds)

    def _finish(self):
        self._window, values = self._now(), self._values
        if not values:
            return None
        self._values = []
        self._last = {how: _FROM[how](values) for how in self._aggregations}
        data = {f"{self._name}.{how.name.lower()}": value for how, value in self._last.items()}
        return Event(STAT_EVENT, datetime.datetime.now(), data)


class TensorboardEventHandler:
    """A handler that writes the numbers of every :class:`Stat` as scalars of a ``SummaryWriter``."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
