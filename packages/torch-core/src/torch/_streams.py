"""Streams and events of whatever accelerator there is: none, so that making one says so."""

NONE = "no accelerator is available: on the CPU operators run in the order in which they are called"


class Stream:
    """An order of work on an accelerator. Raises RuntimeError: there is none.

    >>> torch.Stream()
    Traceback (most recent call last):
    RuntimeError: torch.Stream: no accelerator is available: on the CPU operators run in the order in which they are called
    """

    def __new__(cls, device=None, *, priority=0):
        raise RuntimeError(f"torch.{cls.__name__}: {NONE}")


class Event:
    """A moment in the work of an accelerator. Raises RuntimeError: there is none."""

    def __new__(cls, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        raise RuntimeError(f"torch.{cls.__name__}: {NONE}")
