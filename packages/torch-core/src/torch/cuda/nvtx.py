"""Ranges under names of the program's, which the profiler shows."""

from __future__ import annotations

import contextlib

from ._absent import functions, plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


if plugin is not None and plugin.is_available():
    from torch._cuda.nvtx import mark, range_end, range_pop, range_push, range_start
else:
    functions(globals(), "mark", "range_end", "range_pop", "range_push", "range_start")
__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
windows_nvToolsExt_lib = windows_nvToolsExt_path = None


@contextlib.contextmanager
def range(msg: Any, *args: Any, **kwargs: Any) -> Any:
    """A range around the block; RuntimeError without a device."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
