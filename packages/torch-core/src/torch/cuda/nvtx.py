"""Ranges in NVIDIA's timelines."""

from __future__ import annotations

import contextlib

from ._absent import functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


functions(globals(), "mark", "range_end", "range_pop", "range_push", "range_start")
windows_nvToolsExt_lib = windows_nvToolsExt_path = None


@contextlib.contextmanager
def range(msg: Any, *args: Any, **kwargs: Any) -> Any:
    """A range around the block; RuntimeError without a device."""
    range_push(msg.format(*args, **kwargs))  # noqa: F821  (made by functions())
    try:
        yield
    finally:
        range_pop()  # noqa: F821
