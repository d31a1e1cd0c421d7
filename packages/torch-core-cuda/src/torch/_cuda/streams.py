"""Streams, in which work runs in order, and events, which mark places in them."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import torch

from . import _native
from .devices import index_of

__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream", "get_stream_from_external",
    "set_stream", "stream",
]  # fmt: skip


class Stream(torch.Stream):
    """A queue of work of one device; what is in different streams may run at the same time.

    >>> s = torch.cuda.Stream()
    >>> with torch.cuda.stream(s):
    ...     x = torch.ones(3, device="cuda")
    >>> s.synchronize()
    >>> s.query()
    True
    """

    priority = 0

    def __new__(cls, device=None, priority=0, *, stream_id=None, device_index=None, device_type=1):
        if stream_id is not None:
            return cls._of((index_of(device_index), 0, int(stream_id)))
        if not isinstance(priority, int):
            raise TypeError(f"torch.cuda.Stream: priority must be an int, got {type(priority).__name__}")
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
        if not isinstance(event, Event):
            raise TypeError(f"Stream.record_event: expected a torch.cuda.Event, got {type(event).__name__}")
        event.record(self)
        return event

    def wait_event(self, event) -> None:
        """Let later work wait for an event."""
        if not isinstance(event, Event):
            raise TypeError(f"Stream.wait_event: expected a torch.cuda.Event, got {type(event).__name__}")
        event.wait(self)

    @property
    def stream_id(self) -> int:
        """The number that ``Stream(stream_id=...)`` makes the same stream of."""
        return self.cuda_stream

    @property
    def device_index(self) -> int:
        """The ordinal of the stream's device."""
        return self._index

    @property
    def device_type(self) -> int:
        """1, the number of CUDA among types of devices."""
        return 1

    @property
    def _as_parameter_(self):
        import ctypes

        return ctypes.c_void_p(self.cuda_stream)

    def is_capturing(self) -> bool:
        """Whether the stream's work is recorded for a graph."""
        return _native.is_stream_capturing(self._index, self.cuda_stream)

    def __enter__(self):
        self._blocks = [*getattr(self, "_blocks", ()), StreamContext(self)]
        self._blocks[-1].__enter__()
        return self

    def __exit__(self, *error):
        self._blocks.pop().__exit__(*error)

    def wait_stream(self, stream) -> None:
        """Let later work wait for what is in another stream now."""
        if not isinstance(stream, Stream):
            raise TypeError(f"Stream.wait_stream: expected a torch.cuda.Stream, got {type(stream).__name__}")
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


class Event(torch.Event):
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
        if interprocess and enable_timing:
            raise ValueError("torch.cuda.Event: an event between processes has no time: enable_timing=False")
        self._timed, self._blocking, self._shared, self._place = bool(enable_timing), blocking, interprocess, None

    def _at(self, index: int) -> int:
        """The handle, on the device that first records it."""
        if self._place is None:
            made = _native.event_create(index, self._timed, bool(self._blocking), bool(self._shared))
            self._place = (index, made)
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
        if not isinstance(stream, Stream):
            raise TypeError(f"Event.record: expected a torch.cuda.Stream, got {type(stream).__name__}")
        if self._place is not None and self._place[0] != stream._index:
            raise RuntimeError(
                f"Event.record: Event device {self._place[0]} does not match recording stream's device {stream._index}; "
                "make another event for that device"
            )
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
        if self._place[0] != end_event._place[0]:
            raise RuntimeError(
                f"Event.elapsed_time: the events are of one device each, cuda:{self._place[0]} and cuda:{end_event._place[0]}; "
                "time passes between events of the same device"
            )
        if not (self.query() and end_event.query()):
            raise RuntimeError("Event.elapsed_time: an event is not done yet; call synchronize() before")
        return _native.event_elapsed(self._place[1], end_event._place[1])

    def ipc_handle(self) -> bytes:
        """A handle that another process on this machine opens with ``from_ipc_handle``."""
        if not self._shared:
            raise RuntimeError("Event.ipc_handle: only an event made with interprocess=True has one")
        return _native.event_handle(self._at(_native.current_device()))

    @classmethod
    def from_ipc_handle(cls, device, handle: bytes) -> Event:
        """The event of another process."""
        index = index_of(device, "Event.from_ipc_handle")
        self = cls(interprocess=True)
        self._place = (index, _native.open_event(index, handle))
        return self

    def __reduce__(self):
        raise TypeError(
            "a torch.cuda.Event cannot be pickled; send event.ipc_handle() of an event with interprocess=True, "
            "or the event itself through torch.multiprocessing"
        )

    def __del__(self):
        place, self._place = getattr(self, "_place", None), None
        if place:
            _native.event_destroy(place[1])

    def __repr__(self):
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self._place else "<torch.cuda.Event uninitialized>"


def _reduce_event(event):
    return Event.from_ipc_handle, (event._place[0] if event._place else _native.current_device(), event.ipc_handle())


ForkingPickler.register(Event, _reduce_event)


def current_stream(device=None) -> Stream:
    """The stream that this thread's work on a device goes to."""
    return Stream._of(_native.current_stream(index_of(device, "torch.cuda.current_stream")))


def default_stream(device=None) -> Stream:
    """The stream that is current before another one is chosen."""
    index = index_of(device, "torch.cuda.default_stream")
    _native.check_device(index)
    return Stream._of((index, 0, 0))


def set_stream(stream) -> None:
    """Work on this stream from now on, where its device is the current one; None changes nothing."""
    if stream is not None:
        if not isinstance(stream, Stream):
            raise TypeError(f"torch.cuda.set_stream: expected a torch.cuda.Stream, got {type(stream).__name__}")
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
        if not isinstance(stream, (Stream, type(None))):
            raise TypeError(f"torch.cuda.stream: expected a torch.cuda.Stream, got {type(stream).__name__}")
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


def hand_over(index: int, stream) -> None:
    """Before memory of a device goes to another library: ``stream`` is where that will use it, as DLPack has it."""
    if stream == -1:  # it sees to the order itself
        return
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise TypeError(f"__dlpack__: stream must be an int or None, got {type(stream).__name__}")
    if stream == 0:
        raise ValueError(
            "__dlpack__: stream 0 is ambiguous; pass 1 for the legacy default stream, or 2 for the thread's"
        )
    handle = 0 if stream in (None, 1) else stream
    source = current_stream(index)
    if handle != source.cuda_stream:
        ExternalStream(handle, index).wait_stream(source)


def to_take_over(index: int) -> int:
    """What a consumer tells a producer of CUDA memory: the stream that is current on the device."""
    return current_stream(int(index)).cuda_stream or 1
