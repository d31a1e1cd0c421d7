"""Calls that are made when their results are asked for. In a script they are made at once, as those of ``fork``."""

from __future__ import annotations

from typing import Any

from torch._awaits import _Await

__all__ = ["_Await", "_awaitable", "_awaitable_nowait", "_awaitable_wait"]


def _awaitable(func: Any, *args: Any, **kwargs: Any) -> _Await:
    """A call of the function, to be made later.

    >>> torch.jit._awaitable_wait(torch.jit._awaitable(max, 1, 2))
    2
    """
    return _Await(func, args, kwargs)


def _awaitable_wait(aw: Any) -> Any:
    """The result of a call that was to be made later."""
    return aw.wait()


def _awaitable_nowait(o: Any) -> _Await:
    """A value in the place of such a call."""
    return _Await(None, (o,), {}, True)
