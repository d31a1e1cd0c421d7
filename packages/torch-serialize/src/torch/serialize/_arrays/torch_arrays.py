"""Stored tensors as tensors and storages of torch-core."""

from __future__ import annotations

import importlib
import itertools
import math

from .._errors import FileFormatError
from .._pickles.attributes import set_attributes
from .dtypes import BYTES, ELEMENT_TYPES, ElementType
from .numpy_arrays import row_of_numpy
from .stored import MetaStorage, Stored, check_bounds

BUFFER = "_is_buffer"  # the attribute that tells a torch.nn.Buffer in files


class TorchArrays:
    """Tensors and storages of torch-core."""

    name = "torch"

    def __init__(self, torch):
        self.torch = torch
        self.has_autograd = _has_part("torch.autograd")
        self.has_nn = _has_part("torch.nn")
        self._seams = importlib.import_module("torch._seams")
        self._tensor_over = self._seams.tensor_over  # checks offset, size and stride against the storage
        self._new = torch.UntypedStorage
        self._dtypes: dict[str, object] = {}
        self.size_class = torch.Size

    def allocate(self, nbytes: int):
        return self.torch.UntypedStorage(nbytes)

    def buffer(self, storage) -> memoryview:
        return memoryview(storage)

    def wrap(self, buffer):
        storage = self._seams.storage_from_buffer(buffer)
        # Kernels want elements at multiples of their size; a file may have them anywhere.
        return storage if storage.data_ptr() % 8 == 0 else self.from_bytes(buffer)

    def from_bytes(self, data):
        storage = self._new(len(data))
        if data:
            memoryview(storage)[:] = data
        return storage

    def part(self, storage, begin: int, nbytes: int, align: int = 1):
        """Bytes of a storage, where they lie unless they are to lie at a multiple of `align`."""
        buffer = memoryview(storage)[begin : begin + nbytes]
        return self.from_bytes(buffer) if begin % align else self._seams.storage_from_buffer(buffer)

    def stored(self, storage, row: ElementType, location: str):
        return Stored(storage, row, location)

    def tensor(self, stored: Stored, row: ElementType, offset: int, size, stride, requires_grad=False):
        dtype = self._dtypes.get(row.name)
        if dtype is None:
            dtype = self._dtypes[row.name] = self.dtype(row)
        if type(stored.data) is MetaStorage:
            check_bounds(len(stored.data), row, offset, size, stride)
            return self.meta(row, size, stride, requires_grad)
        tensor = self._tensor_over(stored.data, dtype, offset, size, stride)
        return tensor.requires_grad_() if requires_grad and self.has_autograd else tensor

    def is_tensor(self, obj) -> bool:
        return issubclass(type(obj), self.torch.Tensor)

    def nbytes(self, tensor) -> int:
        plain = self.torch.Tensor
        return plain.numel(tensor) * plain.element_size(tensor)

    def resolved(self, tensor, conj, neg):
        """A copy of a tensor, conjugated, negated or both."""
        plain = self.torch.Tensor
        source = plain.detach(tensor)
        out = self.torch.empty(source.shape, dtype=source.dtype, device=source.device)
        if source.device.type != "meta":
            out.copy_(source.conj() if conj else source)
            if neg:
                out.neg_()
        return out.requires_grad_() if tensor.requires_grad else out

    def public(self, stored: Stored):
        """What a storage is to the user who saved it for itself."""
        if type(stored.data) is MetaStorage:
            raise NotImplementedError(
                "load: a storage that was saved for itself has no place on device 'meta'; its tensors have"
            )
        typed = getattr(self.torch, "TypedStorage", None)
        if typed is None or stored.row is BYTES:
            return stored.data
        return typed(wrap_storage=stored.data, dtype=self.dtype(stored.row), _internal=True)

    def parameter(self, data, requires_grad):
        if not self.has_nn:  # the values are still of use
            return data.requires_grad_() if requires_grad and self.has_autograd else data
        from torch.nn import Parameter

        return Parameter(data, requires_grad and self.has_autograd)

    def require_grad(self, tensor, required: bool) -> None:
        if self.has_autograd:
            self.torch.Tensor.requires_grad_(tensor, required)

    def has_own_state(self, tensor, state) -> bool:
        """Gives a tensor of a class that the user allowed its attributes, unless that class does so itself."""
        if type(tensor).__setstate__ is not self.torch.Tensor.__setstate__:
            return False
        set_attributes(tensor, state)
        return True

    def subclass(self, value, cls: type | None, state):
        """A tensor with the attributes in `state`, as a `cls` if that is a class of tensors."""
        if type(state) is dict and state.get(BUFFER) is True and cls is self.torch.Tensor:
            state = {name: attribute for name, attribute in state.items() if name != BUFFER}
            cls = self.tensor_class("Buffer")
        plain = self.torch.Tensor
        if cls is not None and type(value) is not cls and cls is not plain and issubclass(cls, plain):
            value = plain._make_subclass(cls, value, value.requires_grad)
        if type(value).__setstate__ is not plain.__setstate__:
            value.__setstate__(state)  # of a class that the user allowed
        elif state is not None:
            set_attributes(value, state)
        return value

    def tensor_class(self, name: str):
        if name not in ("Parameter", "Buffer") or not self.has_nn:
            return self.torch.Tensor
        return getattr(importlib.import_module("torch.nn"), name)

    def dtype(self, row: ElementType):
        try:
            return getattr(self.torch, row.name)
        except AttributeError:
            raise NotImplementedError(
                f"load: this torch-core has no elements of type {row.name}; arrays='numpy' reads them"
            ) from None

    def row(self, dtype) -> ElementType:
        return row_of_dtype(dtype)

    def sparse(self, indices, values, size, coalesced, ready):
        """The tensor; its indices are a copy, which no other tensor of the file changes after they were looked at."""
        torch, plain = self.torch, self.torch.Tensor
        if not ready:
            return torch.sparse_coo_tensor(size=size)
        indices, grad = plain.clone(plain.detach(indices)), values.requires_grad
        made = torch.sparse_coo_tensor(indices, plain.detach(values), size, is_coalesced=coalesced and _ascend(indices))
        return made.requires_grad_() if grad else made

    def compressed(self, layout, lines, places, values, size, ready):
        """A tensor of a compressed sparse layout; its indices are copies, as those of `sparse`."""
        torch, plain = self.torch, self.torch.Tensor
        if not ready:
            return torch.sparse_coo_tensor(size=size)
        own = [plain.clone(plain.detach(part)) for part in (lines, places)]
        made = torch.sparse_compressed_tensor(*own, plain.detach(values), size, layout=layout, check_invariants=False)
        return made.requires_grad_() if values.requires_grad else made

    def is_nested(self, tensor) -> bool:
        return tensor.is_nested

    def nested(self, buffer, sizes, strides, offsets, ready):
        """A nested tensor of views of one buffer; rows of ``sizes`` and ``strides``, and where each begins."""
        shapes_agree = sizes.shape == strides.shape and offsets.shape == sizes.shape[:1]
        if buffer.dim() != 1 or sizes.dim() != 2 or not shapes_agree or not _are_whole(sizes, strides, offsets):
            shapes = ", ".join(str(tuple(part.shape)) for part in (buffer, sizes, strides, offsets))
            raise FileFormatError(f"a nested tensor is made of tensors of shapes {shapes}")
        if not ready:
            return buffer
        for row, (size, stride, offset) in enumerate(zip(sizes.tolist(), strides.tolist(), offsets.tolist())):
            last = offset + sum((n - 1) * step for n, step in zip(size, stride))
            if min([offset, *size, *stride]) < 0 or (all(size) and last >= buffer.numel()):
                raise FileFormatError(
                    f"item {row} of a nested tensor has shape {tuple(size)}, strides {tuple(stride)} and offset {offset} "
                    f"in {buffer.numel()} elements"
                )
        from torch import _seams

        return _seams.nested_over(buffer.detach(), sizes, strides, offsets).requires_grad_(buffer.requires_grad)

    def jagged(self, values, offsets, lengths, ragged, requires_grad, ready):
        """A nested tensor of packed values, and where its rows begin."""
        if not 1 <= ragged <= values.dim() or offsets.dim() != 1 or offsets.numel() < 2 or not _are_whole(offsets):
            raise FileFormatError(
                f"a jagged tensor is made of values of shape {tuple(values.shape)}, offsets of shape {tuple(offsets.shape)} "
                f"and ragged dim {ragged}"
            )
        if lengths is not None and (lengths.shape != (offsets.numel() - 1,) or not _are_whole(lengths)):
            raise FileFormatError(f"a jagged tensor has lengths of shape {tuple(lengths.shape)}")
        if not ready:
            return values
        begins, end = offsets.tolist(), values.shape[ragged - 1]
        counts = [b - a for a, b in itertools.pairwise(begins)] if lengths is None else lengths.tolist()
        if any(a < 0 or n < 0 or a + n > end for a, n in zip(begins, counts)):
            raise FileFormatError(f"rows of a jagged tensor lie outside of its {end} values")
        from torch import _seams

        if requires_grad:
            self.require_grad(values, True)
        return _seams.jagged_over(values, offsets, lengths, ragged)

    def unpacked(self, packed, bits: int, size):
        """Integers of so many bits out of bytes, the first in the lowest bits."""
        each = [(packed >> (bits * i)) & (2**bits - 1) for i in range(8 // bits)]
        return self.torch.stack(each, -1).flatten()[: math.prod(size)].reshape(size)

    def quantized(self, integers, scale, zero, axis: int | None, kind: str, ready: bool):
        """A tensor of small integers with a scale, or one for each place of a dim; zero points are among its integers."""
        from torch import _seams

        limits = self.torch.iinfo(integers.dtype)
        if axis is None:
            if not 0 < scale < float("inf"):
                raise FileFormatError(f"a quantized tensor has scale {scale}")
            least = most = zero
        else:
            if (
                not -integers.dim() <= axis < integers.dim()
                or scale.shape != zero.shape
                or scale.shape != (integers.shape[axis],)
                or not scale.dtype.is_floating_point
                or not (zero.dtype.is_floating_point or _are_whole(zero))
            ):
                raise FileFormatError(
                    f"a quantized tensor of shape {tuple(integers.shape)} has other scales than this file says"
                )
            is_known = ready and zero.numel() and not zero.is_meta and not zero.dtype.is_floating_point
            least, most = map(int, zero.aminmax()) if is_known else (0, 0)
        if least < limits.min or most > limits.max:
            wrong = least if least < limits.min else most
            raise FileFormatError(f"a quantized tensor of {kind} has zero point {wrong}")
        return _seams.rebuilt_quantized(integers, scale, zero, axis, getattr(self.torch, kind))

    def size(self, dims=()):
        return self.torch.Size(dims)

    def device(self, *args):
        return self.torch.device(*args)

    def from_numpy(self, array, row: ElementType | None):
        """A tensor with the elements of an array, in memory of its own."""
        own = row_of_numpy(array.astype(array.dtype.newbyteorder("="), "C"))
        if own is None:
            raise FileFormatError(f"a tensor is made of a NumPy array of {array.dtype}")
        stored = Stored(self.from_bytes(array.astype(own.numpy, "C").tobytes()), own)
        strides = tuple(math.prod(max(n, 1) for n in array.shape[i + 1 :]) for i in range(array.ndim))
        tensor = self.tensor(stored, own, 0, array.shape, strides)
        return tensor if row is None or row is own else tensor.to(self.dtype(row))

    def meta(self, row, size, stride, requires_grad):
        dtype = self.dtype(row)
        tensor = self.torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
        return tensor.requires_grad_() if requires_grad and self.has_autograd else tensor

    def wrapper(self, cls, row, size, stride, storage_offset, device, requires_grad):
        """A tensor of a class that answers operators itself, without memory; its parts come as its state."""
        from torch import _seams

        if not issubclass(cls, self.torch.Tensor):
            raise FileFormatError(f"a wrapper is made of the class {cls.__qualname__}, which is none of tensors")
        grad = requires_grad and self.has_autograd
        return _seams.make_hollow(cls, size, stride, storage_offset, self.dtype(row), device, grad)


def _ascend(indices) -> bool:
    """Whether the columns of a sparse tensor's indices are in order and differ, as those of a coalesced one do."""
    before, after = indices[:, :-1], indices[:, 1:]
    if not indices.shape[0] or not before.shape[1]:
        return indices.shape[1] < 2
    less = before[-1] < after[-1]
    for dim in reversed(range(indices.shape[0] - 1)):
        less = (before[dim] < after[dim]) | ((before[dim] == after[dim]) & less)
    return bool(less.all())


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


def _are_whole(*tensors) -> bool:
    return all(str(t.dtype) in ("torch.int64", "torch.int32") for t in tensors)
