"""NVIDIA's profilers, started and stopped by the program."""

from __future__ import annotations

import contextlib

from .cudart import check_error, cudart

__all__ = ["cudaOutputMode", "init", "profile", "start", "stop"]

cudaOutputMode = cudart().cudaOutputMode


def init(output_file, flags=None, output_mode="key_value"):
    """Raises NotImplementedError: CUDA 13 has no profiler within the process."""
    raise NotImplementedError(
        f"torch.cuda.profiler.init({output_file!r}): CUDA's profiler within the process ended with CUDA 12; run the program "
        "in nsys or ncu, and use torch.cuda.profiler.start() and stop()"
    )


def start() -> None:
    """NVIDIA's profilers record from here on, where they were told to wait (``nsys profile -c cudaProfilerApi``).

    >>> torch.cuda.profiler.start()
    >>> torch.cuda.profiler.stop()
    """
    check_error(cudart().cudaProfilerStart())


def stop() -> None:
    """NVIDIA's profilers stop recording."""
    check_error(cudart().cudaProfilerStop())


@contextlib.contextmanager
def profile():
    """A block that NVIDIA's profilers record.

    >>> with torch.cuda.profiler.profile():
    ...     x = torch.ones(2, device="cuda") + 1
    """
    start()
    try:
        yield
    finally:
        stop()
