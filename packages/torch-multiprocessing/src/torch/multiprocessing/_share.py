"""Storages in shared memory: moving one there in place, sending it by handle, making tensors there from the start."""

from __future__ import annotations

import math

from torch import _C, _seams

from . import _messages, _segments
from ._arena import Block


def storage_over(block: Block):
    """A storage over a block, which lives as long as the storage."""
    return _seams.storage_from_buffer(block, True)


def block_of(storage) -> Block | None:
    """The block that a storage lies in, or None when it is not shared."""
    owner = storage._owner
    return owner if type(owner) is Block else None


def empty_shared(size, dtype):
    """An uninitialised contiguous tensor in shared memory."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    nbytes = math.prod(size) * dtype.itemsize
    storage = storage_over(_segments.allocate(nbytes)) if nbytes else _C.UntypedStorage(0)
    return _seams.tensor_over(storage, dtype, 0, tuple(size), tuple(reversed(strides)))


def share_tensor_(tensor):
    """Moves the tensor's storage into shared memory, in place: every tensor over it is shared from then on.

    Raises:
        SharedMemoryError: when there is no room; nothing has changed then
    """
    if tensor.layout == _C.strided:
        members = (tensor,)
    else:
        from torch.sparse import parts

        members = parts(tensor.detach()).values()
    for member in members:
        share_storage_(member.untyped_storage())
    return tensor


def share_storage_(storage):
    """`share_tensor_` for a storage."""
    nbytes = len(storage)
    if nbytes == 0 or storage.is_shared() or storage.device.type == "cuda":  # which other processes reach as it is
        return storage
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"share_memory_: the tensor is on {storage.device}; only memory of the CPU is shared this way"
        )
    storage._adopt(_segments.allocate(nbytes), True)
    return storage


def send_storage(storage) -> int | tuple | None:
    """What stands for a storage in a pickle; None when it is empty. The storage must be shared."""
    if len(storage) == 0:
        return None
    block = block_of(storage)
    if block is None:
        raise RuntimeError(
            "the storage shares memory that is not from torch.multiprocessing but from a file, say, so it has no handle; "
            "send tensor.clone(), or open the file there"
        )
    return _messages.attach(block)


def receive_storage(place: int | tuple | None):
    """The storage that `send_storage` gave the place for; every message of one block gives the same block."""
    return _C.UntypedStorage(0) if place is None else storage_over(_messages.attached(place))
