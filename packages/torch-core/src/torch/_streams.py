"""Streams and events of whatever device works: of CUDA's where it has devices, else of the CPU, which has one order of work."""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


def _kind(name: str, device: Any) -> str:
    """The kind of device that was asked for: the accelerator's where none was."""
    from . import accelerator

    asked = accelerator.current_accelerator(True) if device is None else _C.device(device)
    kind = "cpu" if asked is None else asked.type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"torch.{name}: device {kind} has no streams; expected cpu or cuda")
    return kind


class _OfDevice(type):
    """Classes whose call makes the one of the device that is asked for; those of a device derive from them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__module__ == __name__:
            device = args[0] if args else kwargs.get("device")
            if _kind(cls.__name__, device) == "cuda":
                return cls._on_cuda(*args, **kwargs)
        return super().__call__(*args, **kwargs)


class Stream(metaclass=_OfDevice):
    """An order of work of a device. On the CPU there is one, and what was called is done.

    >>> stream = torch.Stream("cpu")
    >>> stream.query(), stream.device
    (True, device(type='cpu'))
    """

    stream_id = 0

    def __new__(cls, device: Any = None, priority: int = 0) -> Any:
        return object.__new__(cls)

    @staticmethod
    def _on_cuda(*args: Any, **kwargs: Any) -> Any:
        from . import cuda

        return cuda.Stream(*args, **kwargs)

    @property
    def device(self) -> torch.device:
        """The stream's device."""
        return _C.device("cpu")

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Waits for all work."""

    def wait_stream(self, stream: Any) -> None:
        """Lets later work wait for what the other stream has now."""

    def wait_event(self, event: Any) -> None:
        """Lets later work wait for an event."""

    def record_event(self, event: Any = None) -> Any:
        """An event behind the work that is in the stream now. RuntimeError on the CPU: it marks none."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return type(other) is Stream

    def __hash__(self) -> int:
        return hash(Stream)

    def __repr__(self) -> str:
        return "<torch.Stream device=cpu>"


class Event(metaclass=_OfDevice):
    """A moment in the work of a device. The CPU marks none: to record one is a RuntimeError.

    >>> torch.Event("cpu").query()
    True
    """

    @staticmethod
    def _on_cuda(device: Any = None, **kwargs: Any) -> Any:
        from . import cuda

        return cuda.Event(**kwargs)  # on the device that records it first

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        pass

    @property
    def device(self) -> torch.device:
        """The event's device."""
        return _C.device("cpu")

    def record(self, stream: Any = None) -> None:
        """Marks the work that is in the stream now. RuntimeError on the CPU."""
        raise RuntimeError("torch.Event.record: cpu backend doesn't support events; time.perf_counter() tells its time")

    def query(self) -> bool:
        """Whether what it marks is done."""
        return True

    def synchronize(self) -> None:
        """Waits for what it marks."""

    def wait(self, stream: Any = None) -> None:
        """Lets a stream's later work wait for what it marks."""

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds to a later event. ValueError on the CPU: neither is recorded."""
        raise ValueError("torch.Event.elapsed_time: both events must be recorded, and the CPU records none")

    def __repr__(self) -> str:
        return "<torch.Event device=cpu>"
