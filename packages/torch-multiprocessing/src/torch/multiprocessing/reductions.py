"""How tensors and storages go through the queues, pipes and arguments of processes: as handles of shared memory.

Registered with the standard library's `ForkingPickler`, so its own queues carry tensors in the same way.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from multiprocessing import reduction, util

import torch
from torch import _C, _seams
from torch._seams import PickledStorage

from . import _messages, _share

ForkingPickler = reduction.ForkingPickler

# In a loader's worker, whose tensors go one way: a part of a larger storage is copied to shared memory by itself, or one
# row of a data set would take all of it there.
copy_views = False


def reduce_tensor(tensor):
    """The call that makes a tensor over the same memory in another process.

    The tensor's storage is moved into shared memory, in place, when it is not there yet.

    >>> rebuild, arguments = torch.multiprocessing.reductions.reduce_tensor(torch.ones(2))
    >>> rebuild(*arguments)
    tensor([1., 1.])
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a tensor with requires_grad=True that is no leaf cannot be sent to another process, because gradients do not "
            "cross processes; send tensor.detach() and rebuild the graph there"
        )
    if tensor.requires_grad:
        _warn_of_hooks(tensor)
    if _messages.goes_by_value():
        if (
            tensor.layout == torch.strided
            and tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size()
        ):
            tensor = tensor.detach().clone().requires_grad_() if tensor.requires_grad else tensor.clone()
        return tensor.__reduce_ex__(4)
    if tensor.is_sparse:
        return reduce_sparse_tensor(tensor)
    if tensor.layout != torch.strided:
        return reduce_sparse_compressed_tensor(tensor)
    if tensor.device.type == "meta":
        kind, size = type(tensor), tensor.untyped_storage().nbytes()
        geometry = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        return rebuild_meta_tensor, (kind, *geometry, tensor.dtype, size, tensor.requires_grad)
    if tensor.device.type == "cuda":
        return reduce_cuda_tensor(tensor)
    if tensor.device.type != "cpu":
        raise RuntimeError(f"a tensor on {tensor.device} cannot be sent to another process; send tensor.cpu()")
    kind, grad = type(tensor), tensor.requires_grad
    storage = tensor.untyped_storage()
    if copy_views and len(storage) > tensor.numel() * tensor.element_size() and not storage.is_shared():
        copied = _share.empty_shared(tuple(tensor.shape), tensor.dtype)
        copied.copy_(tensor.detach())
        tensor, storage = copied, copied.untyped_storage()
    _share.share_storage_(storage)
    place = _share.send_storage(storage)
    geometry = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
    attributes = (tensor._attributes or None) if kind is not torch.Tensor else None
    return rebuild_tensor, (kind, place, (tensor.dtype, *geometry, grad, attributes))


def _of_cuda():
    """What torch-core-cuda sends and receives memory by; RuntimeError says why there is no device."""
    torch.cuda.init()
    from torch._cuda import sharing

    return sharing


def reduce_cuda_tensor(tensor):
    """The call that makes a tensor over the same memory of a CUDA device in another process, which waits for the work that
    this process has started on it. The memory stays this process's, which must live until the other one is done."""
    kind, storage = type(tensor), tensor.untyped_storage()
    geometry = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
    attributes = (tensor._attributes or None) if kind is not torch.Tensor else None
    metadata = tensor.dtype, *geometry, tensor.requires_grad, attributes
    return rebuild_cuda_tensor, (kind, _of_cuda().send(storage), metadata)


def _warn_of_hooks(tensor) -> None:
    hooks = getattr(tensor, "_backward_hooks", None) or {}
    if not all(hasattr(hook, "__torch_unserializable__") for hook in hooks.values()):  # its author knows
        warnings.warn("the hooks of a tensor do not go to another process with it", stacklevel=_level_of_sender())


def _level_of_sender() -> int:
    """The `stacklevel` by which a warning of this module's functions names the line that sends the tensor."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(
        ("torch.multiprocessing", "multiprocessing.")
    ):
        level, frame = level + 1, frame.f_back
    return level


def rebuild_tensor(cls, storage, metadata):
    """The tensor of a message; `storage` is a storage or what stands for one there.

    >>> from torch.multiprocessing.reductions import rebuild_tensor, reduce_tensor
    >>> rebuild, arguments = reduce_tensor(torch.ones(2))
    >>> rebuild(*arguments)
    tensor([1., 1.])
    """
    dtype, offset, size, stride, requires_grad, attributes = metadata
    if storage is None or isinstance(storage, (int, tuple)):
        storage = _share.receive_storage(storage)
    tensor = _seams.tensor_over(storage, dtype, offset, size, stride)
    if cls is not torch.Tensor:
        tensor = torch.Tensor._make_subclass(cls, tensor, requires_grad)
        for name, value in (attributes or {}).items():
            setattr(tensor, name, value)
        return tensor
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_meta_tensor(
    tensor_cls, tensor_size, tensor_stride, tensor_offset, dtype, storage_size_bytes, requires_grad
):
    """A tensor without data."""
    items = storage_size_bytes // dtype.itemsize
    tensor = torch.empty(items, dtype=dtype, device="meta").as_strided(tensor_size, tensor_stride, tensor_offset)
    if tensor_cls is not torch.Tensor:
        return torch.Tensor._make_subclass(tensor_cls, tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def reduce_sparse_tensor(sparse):
    """The call that makes a sparse tensor over the same indices and values in another process."""
    attributes = (sparse._attributes or None) if type(sparse) is not torch.Tensor else None
    members = *reduce_tensor(sparse._indices()), *reduce_tensor(sparse._values())
    state = tuple(sparse.shape), sparse.is_coalesced(), sparse.requires_grad, type(sparse), attributes
    return rebuild_sparse_coo_tensor, (*members, *state)


def rebuild_sparse_coo_tensor(
    rebuild_indices_func,
    rebuild_indices_args,
    rebuild_values_func,
    rebuild_values_args,
    shape,
    is_coalesced,
    requires_grad=False,
    cls=torch.Tensor,
    attributes=None,
):
    """The sparse tensor of a message. Its indices are those of another process, which may change them: operations check
    them when they use them."""
    indices, values = rebuild_indices_func(*rebuild_indices_args), rebuild_values_func(*rebuild_values_args)
    tensor = _seams.operator("_sparse_coo_tensor_unsafe")(indices, values, shape, is_coalesced)
    if cls is not torch.Tensor:
        tensor = torch.Tensor._make_subclass(cls, tensor, requires_grad)
        for name, value in (attributes or {}).items():
            setattr(tensor, name, value)
        return tensor
    return tensor.requires_grad_() if requires_grad else tensor


def reduce_sparse_compressed_tensor(sparse):
    """The call that makes a tensor of a compressed sparse layout over the same indices and values in another process."""
    attributes = (sparse._attributes or None) if type(sparse) is not torch.Tensor else None
    parts = [reduce_tensor(part) for part in torch.sparse.parts(sparse.detach()).values()]
    state = sparse.layout, tuple(sparse.shape), sparse.requires_grad, type(sparse), attributes
    return rebuild_sparse_compressed_tensor, (parts, *state)


def rebuild_sparse_compressed_tensor(parts, layout, shape, requires_grad, cls, attributes):
    """The tensor of a message. Its indices are those of another process, which may change them: operations check them
    when they use them."""
    own = [function(*args) for function, args in parts]
    tensor = _seams.operator("_sparse_compressed_pattern")(*own, shape, layout=layout)
    if cls is not torch.Tensor:
        tensor = torch.Tensor._make_subclass(cls, tensor, requires_grad)
        for name, value in (attributes or {}).items():
            setattr(tensor, name, value)
        return tensor
    return tensor.requires_grad_() if requires_grad else tensor


def reduce_storage(storage):
    """The call that makes a storage over the same memory in another process.

    >>> rebuild, arguments = torch.multiprocessing.reductions.reduce_storage(torch.ones(2).untyped_storage())
    >>> rebuild(*arguments).nbytes()
    8
    """
    if _messages.goes_by_value():
        return PickledStorage(storage).__reduce_ex__(4)
    if storage.device.type == "cuda":
        return rebuild_storage_cuda, (type(storage), _of_cuda().send(storage))
    place = _share.send_storage(_share.share_storage_(storage))
    return rebuild_storage_filename, (type(storage), None, place, len(storage))


def rebuild_storage_filename(cls, manager, handle, size, dtype=None):
    """The storage of a handle.

    >>> storage = torch.ones(2).untyped_storage()
    >>> rebuild, arguments = torch.multiprocessing.reductions.reduce_storage(storage)
    >>> rebuild(*arguments).nbytes()
    8
    """
    return _share.receive_storage(handle)


def rebuild_storage_fd(cls, df, size):
    """The storage of a handle; both strategies use the same one.

    >>> storage = torch.ones(2).untyped_storage()
    >>> rebuild, arguments = torch.multiprocessing.reductions.reduce_storage(storage)
    >>> rebuild(*arguments).nbytes()
    8
    """
    return _share.receive_storage(df)


def rebuild_storage_empty(cls):
    """A storage of no bytes.

    >>> torch.multiprocessing.reductions.rebuild_storage_empty(torch.UntypedStorage).nbytes()
    0
    """
    return cls(0)


def _reduce_pickled_storage(pickled: PickledStorage):
    # Subclasses of Tensor are taken apart by Tensor.__reduce_ex__, which knows nothing of processes.
    _register_parameter()
    return reduce_storage(pickled.storage)


def rebuild_cuda_tensor(tensor_cls, place, metadata):
    """The CUDA tensor of a message."""
    return rebuild_tensor(tensor_cls, _of_cuda().receive(place), metadata)


def rebuild_storage_cuda(cls, place):
    """The storage on a CUDA device of a message.

    >>> if torch.cuda.is_available():
    ...     storage = torch.ones(2, device="cuda").untyped_storage()
    ...     rebuild, arguments = torch.multiprocessing.reductions.reduce_storage(storage)
    ...     assert rebuild is torch.multiprocessing.reductions.rebuild_storage_cuda
    """
    return _of_cuda().receive(place)


def reduce_event(event):
    """The call that opens a ``torch.cuda.Event``, made with ``interprocess=True``, in another process. The class registers it
    when CUDA is first used.

    >>> if torch.cuda.is_available():
    ...     event = torch.cuda.Event(interprocess=True)
    ...     rebuild, arguments = torch.multiprocessing.reductions.reduce_event(event)
    """
    handle = event.ipc_handle()
    return rebuild_event, (event.device, handle)


def rebuild_event(device, handle):
    """The event of a message.

    >>> if torch.cuda.is_available():
    ...     event = torch.cuda.Event(interprocess=True)
    ...     rebuild, arguments = torch.multiprocessing.reductions.reduce_event(event)
    ...     assert rebuild is torch.multiprocessing.reductions.rebuild_event
    """
    return torch.cuda.Event.from_ipc_handle(device, handle)


def init_reductions() -> None:
    """Teaches `multiprocessing` to send tensors; done once when this module is imported."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(_C.UntypedStorage, reduce_storage)
    ForkingPickler.register(PickledStorage, _reduce_pickled_storage)
    _register_parameter()


def _register_parameter() -> None:
    # torch.nn may be imported after this module, or never.
    parameter = getattr(sys.modules.get("torch.nn"), "Parameter", None)
    if parameter is not None:
        ForkingPickler.register(parameter, reduce_tensor)


def register_after_fork(obj, func) -> None:
    """Calls ``func(obj)`` in every child that is made by fork, as `multiprocessing.util` does."""
    util.register_after_fork(obj, func)


def fd_id(fd: int) -> tuple[int, int]:
    """What tells the file of a descriptor from others: its number and its device's."""
    facts = os.fstat(fd)
    return facts.st_ino, facts.st_dev


class StorageRef:
    """2018's reference to a storage by its address, equal to others of the same address.

    >>> storage = torch.ones(2).untyped_storage()
    >>> ref = torch.multiprocessing.reductions.StorageRef(storage)
    >>> type(ref).__name__
    'StorageRef'
    """

    def __init__(self, ptr: int):
        self.cdata = ptr

    def __hash__(self):
        return hash(self.cdata)

    def __eq__(self, other):
        return isinstance(other, StorageRef) and self.cdata == other.cdata


class StorageWeakRef:
    """A weak reference to a storage, equal to others of the same memory."""

    def __init__(self, storage):
        self._address = storage.data_ptr()
        self._storage = weakref.ref(storage)

    def storage(self):
        """The storage, or None when it is gone."""
        return self._storage()

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return self._storage() is None

    def __hash__(self):
        return hash(self._address)

    def __eq__(self, other):
        return self is other or (isinstance(other, StorageWeakRef) and self._address == other._address)


class SharedCache(dict):
    """Storages that came from other processes, by their keys."""

    def __init__(self):
        self.lock = threading.Lock()
        super().__init__()

    def get(self, key, default=None):
        with self.lock:
            return dict.get(self, key, default)

    def __setitem__(self, key, reference):
        with self.lock:
            dict.__setitem__(self, key, reference)
            for old in [k for k, v in self.items() if v.expired()]:
                del self[old]


shared_cache = SharedCache()


def storage_from_cache(cls, key):
    """The storage of a key of `shared_cache`, or None."""
    reference = shared_cache.get(key)
    return None if reference is None else reference.storage()


init_reductions()
