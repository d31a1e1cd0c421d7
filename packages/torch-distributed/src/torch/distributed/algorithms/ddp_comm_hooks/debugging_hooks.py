"""Hooks for finding out what communication costs."""

from torch.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_, bucket):
    """Sends nothing: each rank keeps its own gradients."""
    future = Future()
    future.set_result(bucket.buffer())
    return future
