"""Ranges that programs name. The profiler shows them (``torch.profiler``); NVIDIA's tools are not told of them: NVTX is
not opened, and without a profiler a range is nothing but its place in the nesting."""

from __future__ import annotations

import threading

from torch._seams import begin_range, end_range

__all__ = ["mark", "range_end", "range_pop", "range_push", "range_start"]


class _Thread(threading.local):
    def __init__(self):
        self.open = []


_thread = _Thread()


def range_push(msg: str) -> int:
    """Begin a range within the ones that are open in this thread; how many there were.

    >>> torch.cuda.nvtx.range_push("step"), torch.cuda.nvtx.range_push("forward")
    (0, 1)
    >>> torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_pop()
    (1, 0)
    """
    _thread.open.append(range_start(msg))
    return len(_thread.open) - 1


def range_pop() -> int:
    """End the innermost range of this thread; how many are around it. -2 where none is open, as NVTX has it."""
    if not _thread.open:
        return -2
    range_end(_thread.open.pop())
    return len(_thread.open)


def range_start(msg: str) -> int:
    """Begin a range that ends with ``range_end`` of the number that is returned."""
    if not isinstance(msg, str):
        raise TypeError(f"torch.cuda.nvtx: the name of a range must be a str, got {type(msg).__name__}")
    return begin_range(msg)


def range_end(range_id: int) -> None:
    """End a range that ``range_start`` began."""
    end_range(range_id)


def mark(msg: str) -> None:
    """A range of no length.

    >>> torch.cuda.nvtx.mark("here")
    """
    range_end(range_start(msg))
