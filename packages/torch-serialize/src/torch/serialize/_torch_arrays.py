"""Stored tensors as tensors and storages of torch-core."""

from __future__ import annotations

import importlib

from ._dtypes import BYTES, ELEMENT_TYPES, ElementType
from ._stored import MetaStorage, Stored, check_bounds, check_dims

BUFFER = "_is_buffer"  # the attribute that tells a torch.nn.Buffer in files


class TorchArrays:
    """Tensors and storages of torch-core."""

    name = "torch"

    def __init__(self, torch):
        self.torch = torch
        self.has_autograd = _has_part("torch.autograd")
        self._tensor_over = torch._C._tensor_over  # checks offset, size and stride against the storage
        self._new = torch.UntypedStorage
        self._dtypes: dict[str, object] = {}

    def allocate(self, nbytes: int):
        return self.torch.UntypedStorage(nbytes)

    def buffer(self, storage) -> memoryview:
        return memoryview(storage)

    def wrap(self, buffer):
        storage = self.torch._C._storage_from_buffer(buffer)
        # Kernels want elements at multiples of their size; a file may have them anywhere.
        return storage if storage.data_ptr() % 8 == 0 else self.from_bytes(buffer)

    def from_bytes(self, data):
        storage = self._new(len(data))
        if data:
            memoryview(storage)[:] = data
        return storage

    def part(self, storage, begin: int, nbytes: int):
        return self.torch._C._storage_from_buffer(memoryview(storage)[begin : begin + nbytes])

    def stored(self, storage, row: ElementType, location: str):
        return Stored(storage, row, location)

    def tensor(self, stored: Stored, row: ElementType, offset: int, size, stride, requires_grad=False):
        dtype = self._dtypes.get(row.name)
        if dtype is None:
            dtype = self._dtypes[row.name] = self.dtype(row)
        if type(stored.data) is MetaStorage:
            check_bounds(len(stored.data), row, offset, size, stride)
            return self.meta(row, size, stride, requires_grad)
        tensor = self._tensor_over(stored.data, dtype, offset, tuple(size), tuple(stride))
        return tensor.requires_grad_() if requires_grad and self.has_autograd else tensor

    def like(self, tensor):
        made = self.torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return made.requires_grad_() if tensor.requires_grad else made

    def resolve(self, out, tensor, conj, neg) -> None:
        out, tensor = out.detach(), tensor.detach()
        out.copy_(tensor.conj() if conj else tensor)
        if neg:
            out.neg_()

    def public(self, stored: Stored):
        """What a storage is to the user who saved it for itself."""
        typed = getattr(self.torch, "TypedStorage", None)
        if typed is None or stored.row is BYTES:
            return stored.data
        return typed(wrap_storage=stored.data, dtype=self.dtype(stored.row), _internal=True)

    def parameter(self, data, requires_grad):
        try:
            from torch.nn import Parameter
        except ImportError:  # torch-nn is not installed: the values are still of use
            return data.requires_grad_() if requires_grad and self.has_autograd else data
        return Parameter(data, requires_grad and self.has_autograd)

    def subclass(self, value, cls, state):
        if isinstance(state, dict) and state.get(BUFFER) is True and cls is self.torch.Tensor:
            state = {name: attribute for name, attribute in state.items() if name != BUFFER}
            cls = self.tensor_class("Buffer")
        if type(value) is not cls and issubclass(cls, self.torch.Tensor) and cls is not self.torch.Tensor:
            value = self.torch.Tensor._make_subclass(cls, value, value.requires_grad)
        if isinstance(state, tuple) and len(state) == 2:
            state = {**(state[0] or {}), **(state[1] or {})}
        for name, attribute in (state or {}).items():
            setattr(value, name, attribute)
        return value

    def tensor_class(self, name: str):
        if name not in ("Parameter", "Buffer"):
            return self.torch.Tensor
        try:
            return getattr(importlib.import_module("torch.nn"), name)
        except ImportError:
            return self.torch.Tensor

    def dtype(self, row: ElementType):
        try:
            return getattr(self.torch, row.name)
        except AttributeError:
            raise NotImplementedError(
                f"load: this torch-core has no elements of type {row.name}; arrays='numpy' reads them"
            ) from None

    def row(self, dtype) -> ElementType:
        return row_of_dtype(dtype)

    def sparse(self, indices, values, size, coalesced):
        """The tensor, its indices still to be looked at: they may not have been read yet."""
        return self.torch._C._operator("_sparse_coo_tensor_unsafe")(indices, values, size, coalesced)

    def check_sparse(self, tensor) -> None:
        """A RuntimeError when an index lies outside the tensor's size."""
        parts = tensor._indices(), tensor._values(), tensor.shape
        self.torch.sparse_coo_tensor(*parts, is_coalesced=tensor.is_coalesced())

    def size(self, dims=()):
        return self.torch.Size(check_dims(dims))

    def device(self, *args):
        return self.torch.device(*args)

    def from_numpy(self, array):
        return self.torch.from_numpy(array)

    def meta(self, row, size, stride, requires_grad):
        dtype = self.dtype(row)
        tensor = self.torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
        return tensor.requires_grad_() if requires_grad and self.has_autograd else tensor


def _has_part(name: str) -> bool:
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def tensor_bytes(tensor) -> memoryview:
    """The elements of a dense tensor in row-major order."""
    tensor = tensor.detach().cpu().contiguous()
    start = tensor.storage_offset() * tensor.element_size()
    return memoryview(tensor.untyped_storage())[start : start + tensor.numel() * tensor.element_size()]


def row_of_dtype(dtype) -> ElementType:
    name = str(dtype).removeprefix("torch.")
    try:
        return ELEMENT_TYPES[name]
    except KeyError:
        raise NotImplementedError(f"save: elements of type {dtype} cannot be written yet") from None
