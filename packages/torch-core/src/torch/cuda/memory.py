"""How much memory of a device is used: nothing, without one."""

from __future__ import annotations

from collections import OrderedDict

from ._absent import functions, kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


def _zero(device=None):
    """0 bytes: there is no device.

    >>> torch.cuda.max_memory_allocated()
    0
    """
    return 0


memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _zero
memory_cached = max_memory_cached = _zero  # their names before 1.4


def memory_stats(device: torch.device | str | int | None = None) -> dict[str, Any]:
    """Counters of the allocator: none."""
    return OrderedDict()


memory_stats_as_nested_dict = memory_stats


def memory_snapshot(*args: Any, **kwargs: Any) -> Any:
    """Segments of the allocator: none."""
    return []


def memory_summary(device: torch.device | str | int | None = None, abbreviated: bool = False) -> str:
    """The allocator's counters as text."""
    from ._absent import REASON

    return f"no memory of a CUDA device is used; {REASON}"


def empty_cache() -> None:
    """Give cached device memory back; nothing is held without the plug-in.

    >>> torch.cuda.empty_cache() is None
    True
    """


def _reset(device=None):
    """Start the peaks anew; there are none."""


reset_peak_memory_stats = reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = _reset
functions(
    globals(),
    *(
        "caching_allocator_alloc",
        "caching_allocator_delete",
        "change_current_allocator",
        "get_allocator_backend",
        "get_per_process_memory_fraction",
    ),
    *("list_gpu_processes", "mem_get_info", "set_per_process_memory_fraction"),
)
CUDAPluggableAllocator, MemPool, use_mem_pool = kind("CUDAPluggableAllocator"), kind("MemPool"), kind("use_mem_pool")

__all__ = [n for n in list(globals()) if n[0] != "_" and n not in ("OrderedDict", "functions", "kind")]
