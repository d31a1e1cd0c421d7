"""Pools of memory of the program's own, and a record of what is allocated and freed."""

from __future__ import annotations

import ctypes
import os
import pickle
import weakref

from . import _native
from .devices import index_of

__all__ = ["CUDAPluggableAllocator", "MemPool", "change_current_allocator", "use_mem_pool"]


class CUDAPluggableAllocator:
    """An allocator of a library of your own, for :func:`torch.cuda.memory.change_current_allocator`.

    ``void* alloc(ssize_t size, int device, cudaStream_t stream)`` gives memory that work of the stream may use at once, and
    ``void free(void* ptr, ssize_t size, int device, cudaStream_t stream)`` takes it back in the order of that stream. OSError when the
    library cannot be opened, AttributeError when it has no function of the name.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str):
        self._library = ctypes.CDLL(os.fspath(path_to_so_file))
        self._functions = [
            ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value for name in (alloc_fn_name, free_fn_name)
        ]

    def allocator(self):
        """The allocator itself, as older programs ask for it."""
        return self


_current: list[CUDAPluggableAllocator] = []


def change_current_allocator(allocator: CUDAPluggableAllocator) -> None:
    """Take memory from ``allocator`` in the place of the cache, for the rest of the process.

    Pools, statistics and fractions do not see what it gives. RuntimeError when a tensor of CUDA was made before.
    """
    if not isinstance(allocator, CUDAPluggableAllocator):
        raise TypeError(f"change_current_allocator: expected a CUDAPluggableAllocator, got {type(allocator).__name__}")
    _native.use_allocator(*allocator._functions)
    _current[:] = [allocator]  # its library stays open


class MemPool:
    """A pool of the caching allocator, from which a block of ``use_mem_pool`` allocates. Its memory is given back when the
    pool and all tensors in it are gone.

    >>> pool = torch.cuda.MemPool()
    >>> with torch.cuda.use_mem_pool(pool):
    ...     x = torch.ones(3, device="cuda")
    >>> pool.snapshot()[0]["segment_pool_id"] == pool.id
    True
    """

    def __init__(self, allocator=None, use_on_oom: bool = False, symmetric: bool = False, no_split: bool = False):
        if allocator is not None:
            raise NotImplementedError("MemPool: a pool is one of the caching allocator; allocator must be None")
        if use_on_oom or symmetric or no_split:
            raise NotImplementedError("MemPool: use_on_oom, symmetric and no_split do not exist in torch-core-cuda")
        self.id, self._devices = _native.new_pool(True), set()
        weakref.finalize(self, _let_go, self.id, self._devices)

    @property
    def allocator(self):
        """None: the caching allocator."""

    def _on(self, device: int) -> None:
        if device not in self._devices:
            _native.retain_pool(device, self.id)
            self._devices.add(device)

    def use_count(self) -> int:
        """How many hold the pool: itself, on each device that it has been used on."""
        return max(1, len(self._devices))

    def snapshot(self, include_traces: bool = True) -> list[dict]:
        """The pool's segments and the blocks in them."""
        return [segment for segment in _native.snapshot() if segment["segment_pool_id"] == self.id]


def _let_go(pool, devices) -> None:
    for device in devices:
        _native.release_pool(device, pool)


class use_mem_pool:
    """A block in which this thread's allocations on a device come from a :class:`torch.cuda.MemPool`."""

    def __init__(self, pool: MemPool, device=None):
        if not isinstance(pool, MemPool):
            raise TypeError(f"use_mem_pool: expected a torch.cuda.MemPool, got {type(pool).__name__}")
        self._pool, self._index = pool, index_of(device, "torch.cuda.use_mem_pool")

    def __enter__(self):
        self._pool._on(self._index)
        _native.begin_pool(self._index, self._pool.id)

    def __exit__(self, *error):
        _native.end_pool(self._index, self._pool.id)


def _record_memory_history(enabled="all", *args, max_entries: int = 2**63 - 1, device=None, **kwargs) -> None:
    """Record what is allocated and freed from now on, the last ``max_entries`` of it; None stops it. Where in the program
    that was is not recorded."""
    if enabled not in (None, False, True, "state", "all"):
        raise ValueError(f"_record_memory_history: expected 'all', 'state' or None, got {enabled!r}")
    _native.record_memory(int(max_entries) if enabled else 0)


def _snapshot(device=None, *args, **kwargs) -> dict:
    """The allocator's segments, and what ``_record_memory_history`` recorded, by device."""
    names = ("action", "addr", "size", "device", "stream", "time_us")
    traces: list[list[dict]] = [[] for _ in range(_native.device_count())]
    for entry in _native.recorded_memory():
        entry = dict(zip(names, entry), frames=[])
        traces[entry.pop("device")].append(entry)
    return {
        "segments": _native.snapshot(),
        "device_traces": traces,
        "allocator_settings": {},
        "external_annotations": [],
    }


def _dump_snapshot(filename="dump_snapshot.pickle") -> None:
    """Write ``_snapshot()`` to a file."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)
