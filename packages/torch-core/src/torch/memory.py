"""What the CPU allocator holds. Freed memory of tensors is kept for the next one, up to a limit.

>>> torch.memory.stats()["in_use"] >= 0
True
"""

from __future__ import annotations

from . import _cold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stats() -> Any:
    """Bytes and counts as a dict: in_use, peak_in_use, held, limit, allocations, hits, trims. Small blocks are not counted."""
    return _cold.memory_stats()


def empty_cache() -> None:
    """Give all held memory back to the system."""
    _cold.empty_cache()


def reset_peak() -> None:
    """Let the peak start again from what is in use now."""
    _cold.reset_peak_memory()


def set_limit(bytes: Any) -> None:
    """Hold at most so many bytes of freed memory; trims to it at once. Raises ValueError for a negative number."""
    _cold.set_memory_limit(bytes)
