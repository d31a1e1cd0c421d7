"""Recorded launches of kernels that run again as one."""

from __future__ import annotations

from ._absent import functions, kind

CUDAGraph = kind(
    "CUDAGraph", ("capture_begin", "capture_end", "debug_dump", "enable_debug_mode", "pool", "replay", "reset")
)
graph = kind("graph", ("__enter__", "__exit__"))
functions(globals(), "graph_pool_handle", "make_graphed_callables")


def is_current_stream_capturing() -> bool:
    """Whether launches are being recorded: no device, no recording."""
    return False
