"""Marks for Intel's VTune, which this build does not make: each function says so."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> Any:
    """False."""
    return False


def _fail(name):
    raise RuntimeError(
        f"torch.profiler.itt.{name}: ITT functions are not available: this build has no support for Intel's ITT"
    )


def range_push(msg: Any) -> None:
    """RuntimeError."""
    _fail("range_push")


def range_pop() -> None:
    """RuntimeError."""
    _fail("range_pop")


def mark(msg: Any) -> None:
    """RuntimeError."""
    _fail("mark")


@contextmanager
def range(msg: Any, *args: Any, **kwargs: Any) -> Any:
    """RuntimeError."""
    _fail("range")
    yield
