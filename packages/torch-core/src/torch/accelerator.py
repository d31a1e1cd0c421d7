"""The accelerator of this machine, whichever it is: none in this build.

>>> torch.accelerator.is_available(), torch.accelerator.current_accelerator()
(False, None)
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch

#: what needs an accelerator
ABSENT = (
    "current_device_idx", "current_device_index", "current_stream", "device_index", "empty_cache", "empty_host_cache",
    "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
)  # fmt: skip


def is_available() -> bool:
    """False without the distribution torch-core-cuda."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> torch.device | str | int | None:
    """None."""


def _absent(name):
    def needs_one(*args, **kwargs):
        raise RuntimeError(
            f"accelerator.{name}: cannot access an accelerator device when none is available; ask is_available() first"
        )

    needs_one.__name__ = needs_one.__qualname__ = name
    needs_one.__doc__ = "RuntimeError: there is no accelerator."
    return needs_one


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


globals().update((name, _absent(name)) for name in ABSENT)

sys.modules[__name__ + ".memory"] = memory = sys.modules[__name__]  # where PyTorch has the functions about memory
