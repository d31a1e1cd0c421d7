"""Numbers that a job reports: each goes to the handler of its group.

>>> from torch.distributed.elastic import metrics
>>> class Kept(metrics.MetricHandler):
...     def __init__(self):
...         self.seen = []
...     def emit(self, metric_data):
...         self.seen.append((metric_data.group_name, metric_data.name, metric_data.value))
>>> kept = Kept()
>>> metrics.configure(kept, group="training")
>>> metrics.put_metric("batches", 4, "training")
>>> kept.seen
[('training', 'batches', 4)]
"""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ConsoleMetricHandler", "MetricData", "MetricHandler", "MetricStream", "MetricsConfig", "NullMetricHandler",
           "configure", "getStream", "get_elapsed_time_ms", "initialize_metrics", "prof", "put_metric"]  # fmt: skip

GROUP = "torchelastic"


class MetricData(NamedTuple):
    """One number: when, of which group, its name and value."""

    timestamp: int
    group_name: str
    name: str
    value: Any


class MetricsConfig:
    """Settings of metrics by name."""

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = {} if params is None else params


class MetricHandler(ABC):
    """Where numbers go."""

    @abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Take one."""


class ConsoleMetricHandler(MetricHandler):
    """Prints each number."""

    def emit(self, metric_data: MetricData) -> None:
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


class NullMetricHandler(MetricHandler):
    """Drops all of them, which is what happens unless :func:`configure` says something else."""

    def emit(self, metric_data: MetricData) -> None:
        pass


class MetricStream:
    """The numbers of a group on their way to its handler."""

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: Any) -> None:
        """Report a number."""
        self.handler.emit(MetricData(int(time.time()), self.group_name, metric_name, metric_value))


_handlers: dict[str | None, MetricHandler] = {None: NullMetricHandler()}


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """The handler of a group, or of all that have none of their own."""
    if not isinstance(handler, MetricHandler):
        raise TypeError(f"metrics.configure: handler must be a MetricHandler, got {handler!r}")
    _handlers[group] = handler


def initialize_metrics(cfg: MetricsConfig | None = None) -> None:
    """Accepted: handlers are set by :func:`configure`."""


def getStream(group: str) -> MetricStream:
    """The stream of a group."""
    return MetricStream(group, _handlers.get(group, _handlers[None]))


def put_metric(metric_name: str, metric_value: Any, metric_group: str = GROUP) -> None:
    """Report a number of a group."""
    getStream(metric_group).add_value(metric_name, metric_value)


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """Milliseconds since a time of ``time.time()``."""
    return int((time.time() - start_time_in_seconds) * 1000)


def _name_of(function) -> str:
    words = function.__qualname__.split(".")
    return ".".join(words) if len(words) > 1 else f"{function.__module__.split('.')[-1]}.{words[0]}"


def prof(fn: Callable[..., Any] | None = None, group: str = GROUP) -> Any:
    """Decorates a function: how often it succeeded and failed, and the milliseconds that it took, are reported by its name."""
    if fn is None:
        return functools.partial(prof, group=group)
    name = _name_of(fn)

    @functools.wraps(fn)
    def measured(*args: Any, **kwargs: Any) -> Any:
        began, end = time.time(), "failure"
        try:
            result = fn(*args, **kwargs)
            end = "success"
            return result
        finally:
            put_metric(f"{name}.{end}", 1, group)
            put_metric(f"{name}.duration.ms", get_elapsed_time_ms(began), group)

    return measured
