"""What happens in a job, one record after the other, as lines of JSON to a handler of ``logging`` by its name.

>>> from torch.distributed.elastic.events import Event, EventSource
>>> event = Event("started", EventSource.WORKER, timestamp=7, metadata={"rank": 0})
>>> Event.deserialize(event.serialize()) == event
True
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict, dataclass, field
from enum import Enum

__all__ = ["Event", "EventMetadataValue", "EventSource", "get_logging_handler", "handlers", "record"]

EventMetadataValue = str | int | float | bool | None


class EventSource(str, Enum):
    """Who saw it: the agent of a machine or one of its workers."""

    AGENT = "AGENT"
    WORKER = "WORKER"


@dataclass
class Event:
    """One event, with what else is to be said of it."""

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    def serialize(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    __str__ = serialize

    @staticmethod
    def deserialize(data: str | Event) -> Event:
        """An event of its JSON."""
        if isinstance(data, Event):
            return data
        read = json.loads(data)
        return Event(**{**read, "source": EventSource[read["source"]]})


class _Console(logging.StreamHandler):
    """To what is standard error at the moment."""

    def emit(self, record):
        self.stream = sys.stderr
        super().emit(record)


#: Handlers by name; a program adds its own.
handlers: dict[str, logging.Handler] = {"console": _Console(), "null": logging.NullHandler()}


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """The handler of a name: ``console``, ``null``, or one that was added to ``handlers``."""
    if destination not in handlers:
        raise ValueError(f"events: no handler is called {destination!r}; there are {', '.join(sorted(handlers))}")
    return handlers[destination]


def record(event: Event, destination: str = "null") -> None:
    """Hand an event to a handler.

    >>> from torch.distributed.elastic import events
    >>> events.record(events.Event("started", events.EventSource.AGENT), destination="null")
    """
    handler = get_logging_handler(destination)
    logger = logging.getLogger(f"torchelastic-events-{destination}")
    if handler not in logger.handlers:
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO)
    logger.info(event.serialize())
