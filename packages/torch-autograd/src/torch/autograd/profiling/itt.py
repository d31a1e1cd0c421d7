"""Marks for Intel's VTune, which this build does not make: each function says so."""

from contextlib import contextmanager

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available():
    """False."""
    return False


def _fail(name):
    raise RuntimeError(
        f"torch.profiler.itt.{name}: ITT functions are not available: this build has no support for Intel's ITT"
    )


def range_push(msg):
    """RuntimeError."""
    _fail("range_push")


def range_pop():
    """RuntimeError."""
    _fail("range_pop")


def mark(msg):
    """RuntimeError."""
    _fail("mark")


@contextmanager
def range(msg, *args, **kwargs):
    """RuntimeError."""
    _fail("range")
    yield
