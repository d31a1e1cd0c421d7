"""Streams and events of whatever accelerator there is: none, so that making one says so."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NONE = "no accelerator is available: on the CPU operators run in the order in which they are called"


class Stream:
    """An order of work on an accelerator. Raises RuntimeError: there is none.

    >>> torch.Stream()
    Traceback (most recent call last):
    RuntimeError: torch.Stream: no accelerator is available: on the CPU operators run in the order in which they are called
    """

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        raise RuntimeError(f"torch.{cls.__name__}: {NONE}")


class Event:
    """A moment in the work of an accelerator. Raises RuntimeError: there is none."""

    def __new__(
        cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Any:
        raise RuntimeError(f"torch.{cls.__name__}: {NONE}")
