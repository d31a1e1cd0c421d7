"""How much memory of a device is used, by the counters of the caching allocator."""

from __future__ import annotations

from collections import OrderedDict

from . import _native
from .devices import index_of

__all__ = [
    "caching_allocator_alloc", "caching_allocator_delete", "empty_cache", "get_allocator_backend", "get_per_process_memory_fraction",
    "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached",
    "memory_reserved", "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]  # fmt: skip


def memory_stats(device=None) -> OrderedDict:
    """The allocator's counters by name.

    >>> x = torch.empty(1000, device="cuda")
    >>> torch.cuda.memory_stats()["requested_bytes.all.current"] >= 4000
    True
    """
    return OrderedDict(sorted(_native.stats(index_of(device, "torch.cuda.memory_stats")).items()))


def memory_stats_as_nested_dict(device=None) -> dict:
    """The allocator's counters as dicts of dicts."""
    nested: dict = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        place = nested
        for word in path:
            place = place.setdefault(word, {})
        place[last] = value
    return nested


def memory_allocated(device=None) -> int:
    """Bytes that tensors hold, in multiples of 512 for each.

    >>> before = torch.cuda.memory_allocated()
    >>> x = torch.empty(100, device="cuda")
    >>> torch.cuda.memory_allocated() - before
    512
    """
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device=None) -> int:
    """The most that tensors held at one time, since the start or ``reset_peak_memory_stats``."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device=None) -> int:
    """Bytes that the allocator has from CUDA: what tensors hold and what it keeps for the next ones."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device=None) -> int:
    """The most that the allocator had from CUDA at one time."""
    return memory_stats(device)["reserved_bytes.all.peak"]


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # their names before 1.4


def reset_peak_memory_stats(device=None) -> None:
    """Start the peaks anew, at what is used now."""
    _native.reset_peak_stats(index_of(device, "torch.cuda.reset_peak_memory_stats"))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None) -> None:
    """Start the totals of what was allocated and freed anew."""
    _native.reset_accumulated_stats(index_of(device, "torch.cuda.reset_accumulated_memory_stats"))


def empty_cache() -> None:
    """Give memory that no tensor holds back to the device, for other programs."""
    _native.empty_cache()


def mem_get_info(device=None) -> tuple[int, int]:
    """Free and total bytes of a device, as CUDA has it."""
    return _native.mem_get_info(index_of(device, "torch.cuda.mem_get_info"))


def get_allocator_backend() -> str:
    """What gives device memory out: "native", or "pluggable" after ``change_current_allocator``."""
    return "pluggable" if _native.has_foreign_allocator() else "native"


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """Limit what this process may take of a device's memory."""
    if not isinstance(fraction, float):
        raise TypeError(f"set_per_process_memory_fraction: fraction must be a float, got {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"set_per_process_memory_fraction: fraction must lie in [0, 1], got {fraction}")
    _native.set_memory_fraction(index_of(device), fraction)


def get_per_process_memory_fraction(device=None) -> float:
    """The limit that ``set_per_process_memory_fraction`` set."""
    return _native.memory_fraction(index_of(device))


def memory_snapshot(*args, **kwargs) -> list[dict]:
    """The allocator's segments and the blocks in them."""
    return _native.snapshot()


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """The allocator's counters as a table."""
    index = index_of(device, "torch.cuda.memory_summary")
    stats = memory_stats(index)
    rows = [
        ("Allocated memory", "allocated_bytes"),
        ("Requested memory", "requested_bytes"),
        ("Reserved memory", "reserved_bytes"),
        ("Free within segments", "inactive_split_bytes"),
        ("Allocations", "allocation"),
        ("Segments", "segment"),
    ]
    columns = ("current", "peak", "allocated", "freed")
    lines = [
        f"Memory of cuda:{index}; out of memory {stats['num_ooms']} times, cache freed {stats['num_alloc_retries']} times",
        f"{'':22}" + "".join(f"{c:>14}" for c in columns),
    ]
    lines += [f"{title:22}" + "".join(f"{stats[f'{name}.all.{c}']:14}" for c in columns) for title, name in rows]
    return "\n".join(lines)


def caching_allocator_alloc(size: int, device=None, stream=None) -> int:
    """Memory from the allocator, for other libraries: its address."""
    from .streams import current_stream

    index = index_of(device)
    handle = current_stream(index).cuda_stream if stream is None else int(getattr(stream, "cuda_stream", stream))
    return _native.allocate(size, index, handle)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back what ``caching_allocator_alloc`` gave."""
    _native.release(mem_ptr)
