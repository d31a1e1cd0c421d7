"""Streams, in which work runs in order, and events, which mark places in them."""

from __future__ import annotations

import torch

from . import _native
from .devices import index_of

__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream", "get_stream_from_external",
    "set_stream", "stream",
]  # fmt: skip


class Stream:
    """A queue of work of one device; what is in different streams may run at the same time.

    >>> s = torch.cuda.Stream()
    >>> with torch.cuda.stream(s):
    ...     x = torch.ones(3, device="cuda")
    >>> s.synchronize()
    >>> s.query()
    True
    """

    priority = 0

    def __new__(cls, device=None, priority=0, **kwargs):
        return cls._of(_native.stream_of_pool(index_of(device, "torch.cuda.Stream"), priority))

    @classmethod
    def _of(cls, place):
        self = object.__new__(cls)
        self._index, self.priority, self.cuda_stream = place
        return self

    @property
    def device(self):
        """The stream's device."""
        return torch.device("cuda", self._index)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority; lower numbers are more urgent."""
        return _native.priority_range()

    def query(self) -> bool:
        """Whether all work is done."""
        return _native.stream_query(self._index, self.cuda_stream)

    def synchronize(self) -> None:
        """Wait for all work; what went wrong in it is raised."""
        _native.stream_synchronize(self._index, self.cuda_stream)

    def record_event(self, event=None):
        """An event behind the work that is in the stream now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event) -> None:
        """Let later work wait for an event."""
        event.wait(self)

    def wait_stream(self, stream) -> None:
        """Let later work wait for what is in another stream now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (self._index, self.cuda_stream) == (other._index, other.cuda_stream)

    def __hash__(self):
        return hash((self._index, self.cuda_stream))

    def __repr__(self):
        return f"<torch.cuda.Stream device=cuda:{self._index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, by its handle."""

    def __new__(cls, stream_ptr, device=None, **kwargs):
        return cls._of((index_of(device), 0, int(stream_ptr)))


def get_stream_from_external(data_ptr: int, device=None) -> Stream:
    """A stream that another library made, by its handle."""
    return ExternalStream(data_ptr, device)


class Event:
    """A mark in a stream: it can be waited for, and two tell the time between them.

    >>> begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    >>> begin.record()
    >>> end.record()
    >>> end.synchronize()
    >>> begin.elapsed_time(end) >= 0
    True
    """

    DEFAULT, BLOCKING_SYNC, DISABLE_TIMING, INTERPROCESS = 0, 1, 2, 4

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        if interprocess:
            raise NotImplementedError("torch.cuda.Event: events between processes do not exist in torch-core-cuda yet")
        self._timed, self._place = enable_timing, None

    def _at(self, index: int) -> int:
        """The handle, on the device that first records it."""
        if self._place is None:
            self._place = (index, _native.event_create(index, self._timed))
        return self._place[1]

    @property
    def cuda_event(self) -> int:
        """CUDA's handle; 0 before the event is first recorded."""
        return self._place[1] if self._place else 0

    @property
    def device(self):
        """The device whose stream recorded the event, or None."""
        return torch.device("cuda", self._place[0]) if self._place else None

    def record(self, stream=None) -> None:
        """Mark the work that is in the stream now."""
        stream = current_stream() if stream is None else stream
        _native.event_record(self._at(stream._index), stream._index, stream.cuda_stream)

    def wait(self, stream=None) -> None:
        """Let later work of the stream wait for the event."""
        stream = current_stream() if stream is None else stream
        if self._place is not None:
            _native.stream_wait_event(stream._index, stream.cuda_stream, self._place[1])

    def query(self) -> bool:
        """Whether the work before the event is done."""
        return self._place is None or _native.event_query(self._place[1])

    def synchronize(self) -> None:
        """Wait for the work before the event."""
        if self._place is not None:
            _native.event_synchronize(self._place[1])

    def elapsed_time(self, end_event) -> float:
        """Milliseconds from this event to another one."""
        if not (self._timed and end_event._timed):
            raise ValueError("Event.elapsed_time: both events need enable_timing=True")
        if self._place is None or end_event._place is None:
            raise ValueError("Event.elapsed_time: both events must be recorded first")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Event.elapsed_time: an event is not done yet; call synchronize() before")
        return _native.event_elapsed(self._place[1], end_event._place[1])

    def ipc_handle(self):
        """Raises NotImplementedError."""
        raise NotImplementedError("Event.ipc_handle: events between processes do not exist in torch-core-cuda yet")

    from_ipc_handle = ipc_handle

    def __del__(self):
        place, self._place = getattr(self, "_place", None), None
        if place:
            _native.event_destroy(place[1])

    def __repr__(self):
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self._place else "<torch.cuda.Event uninitialized>"


def current_stream(device=None) -> Stream:
    """The stream that this thread's work on a device goes to."""
    return Stream._of(_native.current_stream(index_of(device, "torch.cuda.current_stream")))


def default_stream(device=None) -> Stream:
    """The stream that is current before another one is chosen."""
    return Stream._of((index_of(device, "torch.cuda.default_stream"), 0, 0))


def set_stream(stream) -> None:
    """Work on this stream from now on; None changes nothing."""
    if stream is not None:
        _native.set_current_stream(stream._index, stream.priority, stream.cuda_stream)


def record_stream(tensor, stream) -> None:
    """Keep a tensor's memory, when it is freed, until the stream is done with what it has now."""
    if not isinstance(stream, Stream):
        raise TypeError(f"record_stream: expected a torch.cuda.Stream, got {type(stream).__name__}")
    place = tensor.untyped_storage().data_ptr()
    if place:
        _native.record_stream(place, stream._index, stream.priority, stream.cuda_stream)


class StreamContext:
    """A block that works on a stream, on its device; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self._device = _native.current_device()
            self._before = current_stream(self.stream.device)
            _native.set_device(self.stream._index)
            set_stream(self.stream)

    def __exit__(self, *error):
        if self.stream is not None:
            set_stream(self._before)
            _native.set_device(self._device)


stream = StreamContext
