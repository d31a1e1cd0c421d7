"""Memory of a device in several processes. A message carries a handle of the cudaMalloc that a storage lies in, the place
in it, an event behind the work that wrote it, and a byte of shared memory that says whether the receiver still uses it.

The sender keeps what it sent until then, also where its own tensors are gone. The receiver frees its part with the last
tensor over it: it waits for the device, closes the memory and clears the byte.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref

import torch
from torch import _C

from . import _native
from .devices import index_of
from .streams import Event, current_stream

__all__ = ["collect", "receive", "send"]

_MESSAGES = 1 << 16  # that are under way at a time


class _Sender:
    """What this process has sent."""

    def __init__(self):
        self.pid, self.file = os.getpid(), os.memfd_create("torch_cuda_sent", os.MFD_CLOEXEC)
        os.ftruncate(self.file, _MESSAGES)
        self.used = mmap.mmap(self.file, _MESSAGES)
        self.kept: dict[int, tuple] = {}  # by message: the storage, and the event that was shared
        self.next = 0


_lock = threading.Lock()
_sender: _Sender | None = None


def _own() -> _Sender:
    global _sender
    if _sender is None or _sender.pid != os.getpid():
        _sender = _Sender()
    return _sender


def send(storage) -> tuple:
    """What another process makes the storage of by ``receive``. Each message is for one receiver."""
    collect()
    index = storage.device.index
    base, _ = _native.segment_of(storage.data_ptr())
    if not base and storage.nbytes():
        raise RuntimeError(
            "this CUDA tensor lies in memory that torch did not allocate, such as that of another process, which cannot be "
            "sent on; send tensor.clone()"
        )
    if not storage.nbytes():
        return (index,)
    event = Event(interprocess=True)
    with torch.cuda.device(index):
        event.record(current_stream(index))
        handles = _native.memory_handle(index, base), event.ipc_handle()
    with _lock:
        own = _own()
        if len(own.kept) == _MESSAGES:
            raise RuntimeError(f"{_MESSAGES} CUDA tensors were sent to other processes that are not done with them")
        while own.next % _MESSAGES in own.kept:
            own.next += 1
        message = own.next % _MESSAGES
        own.next += 1
        own.used[message] = 1
        own.kept[message] = storage, event
    return index, (own.pid, own.file, message), *handles, storage.data_ptr() - base, storage.nbytes()


def collect() -> None:
    """Let go of what receivers are done with."""
    with _lock:
        if _sender is None or _sender.pid != os.getpid():
            return
        done = [message for message in _sender.kept if not _sender.used[message]]
        kept = [_sender.kept.pop(message) for message in done]
    del kept


class _Memory:
    """Memory of another process, as long as a storage here lies over it."""


def _close(index, base, used, message) -> None:
    try:
        _native.synchronize(index)
        _native.close_memory(index, base)
    finally:
        used[message] = 0
        used.close()


def receive(place: tuple):
    """The storage of a message, on the device of the same number."""
    index = index_of(place[0])
    if len(place) == 1:
        return torch.empty(0, dtype=torch.uint8, device=f"cuda:{index}").untyped_storage()
    _, (pid, file, message), memory, event, offset, nbytes = place
    if pid == os.getpid():  # it never left
        with _lock:
            storage, _ = _sender.kept.pop(message)
        return storage
    try:
        with open(f"/proc/{pid}/fd/{file}", "r+b") as shared:
            used = mmap.mmap(shared.fileno(), _MESSAGES)
    except OSError as error:
        raise RuntimeError(
            f"the process {pid} that sent this CUDA tensor has ended, and its memory with it ({error}); a sender must live "
            "until receivers are done"
        ) from None
    base = _native.open_memory(index, memory)
    with torch.cuda.device(index):
        Event.from_ipc_handle(index, event).wait(current_stream(index))
    owner = _Memory()
    weakref.finalize(owner, _close, index, base, used, message)
    return _C._storage_over(base + offset, nbytes, f"cuda:{index}", owner)
