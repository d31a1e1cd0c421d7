"""How tensors and storages are written: one adapter for NumPy, one for torch-core.

An adapter numbers the storages it meets and writes a tensor as the call of a rebuild function on a persistent id
``("storage", class, key, location, numel)`` with offset, size, stride, requires_grad and an empty dict of hooks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from .._errors import warn
from .._pickles.pickler import Pickler, integer
from .._storage.location import location_tag
from .dtypes import BITS, BYTES, UNTYPED, ElementType, quantized_row
from .numpy_arrays import row_of_numpy
from .torch_arrays import BUFFER, row_of_dtype


class Adapter:
    """Keeps the storages of one file; subclasses know what a tensor is and override `write`."""

    id_end = b""  # what a persistent id of the stream format has beyond the zip's

    def __init__(self):
        self.storages: list[Any] = []  # what gives the bytes of storage "0", "1", ...
        self.rows: list[ElementType] = []  # the element type that each was first met with
        self._known: dict[int, tuple[int, ElementType, Any]] = {}
        self._ends: dict[tuple, bytes] = {}

    def write(self, pickler: Pickler, obj) -> bool:
        """Writes `obj` if it is a tensor, a storage or one of torch's small objects."""
        raise NotImplementedError

    def payload(self, storage) -> memoryview:
        """The bytes of one of `storages`."""
        raise NotImplementedError

    def geometry(self, obj) -> tuple | None:
        """(key, element type, offset, size, stride) of a dense tensor, None for anything else."""
        raise NotImplementedError

    def _register(self, identity: int, row: ElementType, storage) -> tuple[int, ElementType]:
        # The storage is kept, so that no other one gets its identity before the file is written.
        known = self._known.get(identity)
        if known is None:
            known = self._known[identity] = len(self.storages), row, storage
            self.storages.append(storage)
            self.rows.append(row)
        return known[0], known[1]

    def own_storage(self, obj) -> tuple[int, ElementType] | None:
        """(key, element type) of a storage that is saved for itself, None for anything else."""
        return None

    def storage_id(self, pickler: Pickler, key: int, row: ElementType | None, location: str, nbytes: int) -> bytes:
        """The persistent id of a storage, typed by `row` or untyped."""
        if row is None or row.storage == UNTYPED:
            name, count = "torch.storage." + UNTYPED, nbytes
        else:
            name, count = "torch." + row.storage, nbytes // row.itemsize
        digits = b"%d" % key
        return b"(%b%bX%c\0\0\0%b%b%b%btQ" % (
            pickler.text("storage"), pickler.name(name), len(digits), digits, pickler.text(location), integer(count),
            self.id_end,
        )  # fmt: skip

    def tensor(self, pickler: Pickler, key, first, row, location, nbytes, offset, size, stride, requires_grad) -> None:
        """The call that rebuilds a tensor; `first` is the type under which its storage was met first."""
        typed = first is row and row.storage != UNTYPED
        function = pickler.name("torch._utils._rebuild_tensor_v2" if typed else "torch._utils._rebuild_tensor_v3")
        place = self.storage_id(pickler, key, row if typed else None, location, nbytes)
        case = offset, size, stride, requires_grad
        end = self._ends.get(case)
        if end is None:
            view = integer(offset) + _ints(size) + _ints(stride) + (b"\x88" if requires_grad else b"\x89")
            end = view + pickler.name("collections.OrderedDict") + b")R"
            self._ends[case] = view + pickler.name("collections.OrderedDict") + b")R"  # from now on by its number
        if not typed:
            end += pickler.name("torch." + row.name)
        pickler.write(function)
        pickler.write(b"(%b%btR" % (place, end))


def _written(pickler: Pickler, save: Callable[[], object]) -> list[bytes]:
    """What `save` writes, kept out of the pickle."""
    parts: list[bytes] = []
    write, pickler.write = pickler.write, parts.append
    try:
        save()
    finally:
        pickler.write = write
    return parts


def _whole_rows(packed, sizes, per):
    """Packed integers with zeros behind them: as many bytes as there are where each row begins with a byte, which readers ask for."""
    wanted = math.prod(sizes[:-1]) * -(-sizes[-1] // per) if len(sizes) else 1
    if wanted <= packed.numel():
        return packed
    whole = packed.new_zeros(wanted)
    whole[: packed.numel()] = packed
    return whole


def _ints(values) -> bytes:
    body = b"".join(map(integer, values))
    if len(values) > 3:
        return b"(" + body + b"t"
    return body + (b")", b"\x85", b"\x86", b"\x87")[len(values)]


class NumpyAdapter(Adapter):
    """Writes ndarrays as tensors; arrays that share memory share it in the file."""

    def __init__(self):
        super().__init__()
        self._numpy = sys.modules.get("numpy")

    def write(self, pickler, obj):
        found = self.geometry(obj)
        if found is None:
            return False
        key, row, offset, size, stride = found
        nbytes = self.storages[key].nbytes
        self.tensor(pickler, key, self.rows[key], row, "cpu", nbytes, offset, size, stride, False)
        pickler.write(pickler.memoize(obj))
        return True

    def geometry(self, obj):
        np = self._numpy
        if np is None or not isinstance(obj, np.ndarray) or obj.dtype.names:
            return None
        array = obj if obj.dtype.isnative else obj.astype(obj.dtype.newbyteorder("="))
        row = row_of_numpy(array)
        if row is None:
            return None
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        width = row.itemsize
        start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        whole = root.flags.c_contiguous or root.flags.f_contiguous
        backward = min(array.strides, default=0) < 0  # PyTorch refuses negative strides
        if backward or not whole or start % width or root.nbytes % width or any(s % width for s in array.strides):
            root = array = array.copy("C")
            start = 0
        key, _ = self._register(id(root), row, root)
        return key, row, start // width, array.shape, tuple(s // width for s in array.strides)

    def payload(self, storage):
        return memoryview(storage.reshape(-1, order="A").view("uint8"))


class TorchAdapter(Adapter):
    """Writes tensors, parameters, storages, sizes, dtypes and devices of torch-core."""

    def __init__(self, torch):
        super().__init__()
        self._torch = torch
        self._tensor_type = torch.Tensor
        self._rows: dict[Any, ElementType] = {}
        names = dict(vars(torch))  # not getattr, which looks for what was meant when a name is missing
        if storages := sys.modules.get("torch.storage"):  # without it there is no typed storage to save
            names["TypedStorage"] = storages.TypedStorage
        writers = {
            "Size": self._size,
            "dtype": self._dtype,
            "device": self._device,
            "UntypedStorage": self._untyped,
            "TypedStorage": self._typed,
            "layout": self._named,
            "memory_format": self._named,
        }
        self._small = {names[name]: writer for name, writer in writers.items() if name in names}
        self._strided = names.get("strided")
        self._frames: dict[tuple, tuple[bytes, bytes]] = {}

    def write(self, pickler, obj):
        if type(obj) is self._tensor_type and obj.is_cpu and obj.layout is self._strided and not obj.requires_grad:
            if not obj._attributes:
                self._common(pickler, obj)
                return True
        if isinstance(obj, self._tensor_type):
            self._write_tensor(pickler, obj)
            return True
        writer = self._small.get(type(obj))
        if writer is None:
            if not isinstance(obj, tuple(self._small)):
                return False
            writer = next(w for cls, w in self._small.items() if isinstance(obj, cls))
        writer(pickler, obj)
        return True

    def key_of(self, storage) -> int | None:
        """The key of a storage that was met, None of any other."""
        known = self._known.get(id(storage))
        return None if known is None else known[0]

    def register(self, storage) -> int:
        """The key of a storage that another pickler writes."""
        return self._register(id(storage), BYTES, storage)[0]

    def geometry(self, obj):
        if type(obj) is not self._tensor_type or str(obj.layout) != "torch.strided" or obj.device.type == "meta":
            return None
        storage, row = obj.untyped_storage(), self._row(obj.dtype)
        key, _ = self._register(id(storage), row, storage)
        return key, row, obj.storage_offset(), tuple(obj.size()), tuple(obj.stride())

    def own_storage(self, obj):
        writer = self._small.get(type(obj))
        if writer == self._typed:
            storage, row = obj.untyped(), self._row(obj.dtype)
        elif writer == self._untyped:
            storage, row = obj, BYTES
        else:
            return None
        return self._register(id(storage), row, storage)[0], row

    def payload(self, storage):
        try:
            return memoryview(storage)
        except BufferError:  # not in main memory
            return memoryview(storage.cpu())

    def _row(self, dtype) -> ElementType:
        row = self._rows.get(dtype)
        if row is None:
            row = self._rows[dtype] = row_of_dtype(dtype)
        return row

    def _common(self, pickler: Pickler, t) -> None:
        """A dense tensor without gradient. All but the storage's number is the same bytes for tensors of one kind."""
        storage = t.untyped_storage()
        nbytes = len(storage)
        kind = t.dtype, nbytes, t.storage_offset(), t.size(), t.stride()
        frame = self._frames.get(kind)
        known = self._known.get(id(storage))
        if frame is None or known is not None:
            self._plain(pickler, t)
            if known is None:
                self._frames[kind] = self._frame(pickler, *kind)
        else:
            key = len(self.storages)
            self._known[id(storage)] = key, self._rows[kind[0]], storage
            self.storages.append(storage)
            self.rows.append(self._rows[kind[0]])
            digits = b"%d" % key
            pickler.write(b"%bX%c\0\0\0%b%b" % (frame[0], len(digits), digits, frame[1]))
        pickler.write(pickler.memoize(t))

    def _frame(self, pickler: Pickler, dtype, nbytes, offset, size, stride) -> tuple[bytes, bytes]:
        row = self._row(dtype)
        parts = _written(pickler, lambda: self.tensor(pickler, 0, row, row, "cpu", nbytes, offset, size, stride, False))
        before, _, after = b"".join(parts).partition(b"X\1\0\0\x000")
        return before, after

    def _write_tensor(self, pickler: Pickler, obj) -> None:
        kind = type(obj)
        if kind is self._tensor_type:
            if not (state := _kept(obj._attributes)):
                self._plain(pickler, obj)
            else:
                self._with_state(pickler, obj, state, kind)
        elif kind.__module__ == "torch.nn.parameter" and kind.__name__ == "Parameter":
            self._parameter(pickler, obj)
        elif kind.__module__ == "torch.nn.parameter" and kind.__name__ == "Buffer":  # PyTorch's is a tensor with a mark
            self._with_state(pickler, obj, {**obj._attributes, BUFFER: True}, self._tensor_type)
        elif getattr(kind, "is_nested", None) is True:
            self._nested(pickler, obj)
        elif getattr(kind, "is_quantized", None) is True:
            self._quantized(pickler, obj)
        elif _reduces_itself(kind):
            pickler.save_reduced(obj)
            return
        else:
            self._with_state(pickler, obj, obj._attributes or {}, kind)
        pickler.write(pickler.memoize(obj))

    def _plain(self, pickler: Pickler, t, requires_grad: bool | None = None) -> None:
        device = t.device.type
        if str(t.layout) != "torch.strided":
            self._sparse(pickler, t)
        elif device == "meta":
            self._meta(pickler, t)
        elif type(t) is not self._tensor_type and _is_hollow(t):
            self._wrapper(pickler, t)
        else:
            storage, row = t.untyped_storage(), self._row(t.dtype)
            key, first = self._register(id(storage), row, storage)
            location = "cpu" if device == "cpu" else location_tag(storage)
            grad = t.requires_grad
            if grad:  # without, looking for hooks would load torch.autograd
                _warn_of_hooks(t)
            if requires_grad is not None:
                grad = requires_grad
            self.tensor(
                pickler, key, first, row, location, len(storage), t.storage_offset(), t.size(), t.stride(), grad
            )

    def _parameter(self, pickler: Pickler, p) -> None:
        state = p._attributes
        name = "_rebuild_parameter_with_state" if state else "_rebuild_parameter"
        pickler.write(pickler.name("torch._utils." + name) + b"(")
        self._plain(pickler, p, False)
        hooks = pickler.name("collections.OrderedDict") + b")R"
        pickler.write((b"\x88" if p.requires_grad else b"\x89") + hooks)
        if state:
            pickler.save(state)
        pickler.write(b"tR")

    def _with_state(self, pickler: Pickler, t, state, kind: type) -> None:
        # rebuild_from_type_v2(function, type, args, state): what makes the plain tensor is a call of the file's words and
        # not an object, so its function and its arguments are taken from what is written for it.
        pickler.write(pickler.name("torch._tensor._rebuild_from_type_v2") + b"(")
        plain = kind is self._tensor_type
        cls = [pickler.name("torch.Tensor")] if plain else _written(pickler, lambda: pickler.save(kind))
        function, *args = _written(pickler, lambda: self._plain(pickler, t))
        pickler.write(b"".join((function, *cls, *args)).removesuffix(b"R"))
        pickler.save(dict(state))
        pickler.write(b"tR")

    def _sparse(self, pickler: Pickler, t) -> None:
        layout = str(t.layout)
        pickler.write(pickler.name("torch._utils._rebuild_sparse_tensor"))
        pickler.write(pickler.name("torch.serialization._get_layout") + pickler.text(layout) + b"\x85R")
        if layout == "torch.sparse_coo":
            pickler.save((t._indices(), t._values(), t.size(), t.is_coalesced()))
        else:
            by_rows = layout in ("torch.sparse_csr", "torch.sparse_bsr")
            places = (t.crow_indices(), t.col_indices()) if by_rows else (t.ccol_indices(), t.row_indices())
            pickler.save((*places, t.detach().values(), t.size()))
        pickler.write(b"\x86R")

    def _quantized(self, pickler: Pickler, q) -> None:
        scheme, row = str(q.qscheme()), quantized_row(q.dtype)
        integers = q.as_subclass(self._tensor_type)
        sizes, steps = integers.size(), integers.stride()
        if row.name in BITS:
            steps = integers.contiguous().stride()
            integers = _whole_rows(q.int_repr(), sizes, 8 // BITS[row.name])
        storage = integers.untyped_storage()
        _, first = self._register(id(storage), row, storage)
        if first is not row:  # readers make one storage of a number, and its class says the dtype
            integers = integers.clone()
            storage = integers.untyped_storage()
        key, _ = self._register(id(storage), row, storage)
        pickler.write(pickler.name("torch._utils._rebuild_qtensor") + b"(")
        pickler.write(self.storage_id(pickler, key, row, location_tag(storage), len(storage)))
        pickler.write(integer(integers.storage_offset()) + _ints(sizes) + _ints(steps))
        pickler.write(b"(" + pickler.name(scheme))
        if scheme == "torch.per_tensor_affine":
            parts = q.q_scale(), q.q_zero_point()
        else:
            parts = q.q_per_channel_scales(), q.q_per_channel_zero_points(), q.q_per_channel_axis()
        for part in parts:
            pickler.save(part)
        pickler.write(b"t\x89" + pickler.name("collections.OrderedDict") + b")RtR")

    def _nested(self, pickler: Pickler, t) -> None:
        if str(t.layout) == "torch.strided":
            pickler.write(pickler.name("torch._utils._rebuild_nested_tensor") + b"(")
            parts = t.values(), t._nested_tensor_size(), t._nested_tensor_strides(), t._nested_tensor_storage_offsets()
            for part in parts:
                pickler.save(part)
            pickler.write(b"tR")
            return
        module = "torch.nested._internal.nested_tensor."
        pickler.write(pickler.name("torch._tensor._rebuild_from_type_v2"))
        pickler.write(b"(" + pickler.name(module + "_rebuild_njt") + pickler.name(module + "NestedTensor"))
        pickler.save(
            (
                {
                    "values": t._values.detach(),
                    "offsets": t._offsets,
                    "lengths": t._lengths,
                    "_ragged_idx": t._ragged,
                    "requires_grad": t.requires_grad,
                },
            )
        )
        pickler.save({})
        pickler.write(b"tR")

    def _meta(self, pickler: Pickler, t) -> None:
        pickler.write(pickler.name("torch._utils._rebuild_meta_tensor_no_storage"))
        pickler.write(b"(" + pickler.name(f"torch.{self._row(t.dtype).name}"))
        pickler.write(
            _ints(tuple(t.size())) + _ints(tuple(t.stride())) + (b"\x88" if t.requires_grad else b"\x89") + b"tR"
        )

    def _wrapper(self, pickler: Pickler, t) -> None:
        # What the wrapper is made of are its attributes, which _with_state writes.
        pickler.write(pickler.name("torch._utils._rebuild_wrapper_subclass"))
        pickler.write(b"(")
        pickler.save(type(t))
        pickler.write(pickler.name(f"torch.{self._row(t.dtype).name}"))
        pickler.write(_ints(tuple(t.size())) + _ints(tuple(t.stride())) + integer(t.storage_offset()))
        pickler.write(pickler.name("torch.serialization._get_layout") + pickler.text(str(t.layout)) + b"\x85R")
        index = t.device.index
        device = pickler.name("torch.device") + pickler.text(t.device.type)
        pickler.write(device + (b"\x85R" if index is None else integer(index) + b"\x86R"))
        pickler.write((b"\x88" if t.requires_grad else b"\x89") + b"tR")

    def _untyped(self, pickler: Pickler, storage) -> None:
        self._storage(pickler, storage, BYTES)

    def _typed(self, pickler: Pickler, typed) -> None:
        self._storage(pickler, typed.untyped(), self._row(typed.dtype))

    def _storage(self, pickler: Pickler, storage, row) -> None:
        key, _ = self._register(id(storage), row, storage)
        pickler.write(self.storage_id(pickler, key, row, location_tag(storage), len(storage)))

    def _size(self, pickler: Pickler, size) -> None:
        pickler.write(pickler.name("torch.Size") + _ints(tuple(size)) + b"\x85R" + pickler.memoize(size))

    def _dtype(self, pickler: Pickler, dtype) -> None:
        pickler.write(pickler.name(str(dtype)))

    def _named(self, pickler: Pickler, obj) -> None:
        if type(obj).__name__ == "layout":
            pickler.write(pickler.name("torch.serialization._get_layout") + pickler.text(str(obj)) + b"\x85R")
        else:
            pickler.write(pickler.name(str(obj)))

    def _device(self, pickler: Pickler, device) -> None:
        args = (device.type,) if device.index is None else (device.type, device.index)
        pickler.write(pickler.name("torch.device"))
        pickler.save(args)
        pickler.write(b"R" + pickler.memoize(device))


def _kept(attributes):
    """Attributes that a file keeps: not that the sizes of nested tensors follow from this tensor."""
    if not attributes or "_ragged_length" not in attributes:
        return attributes
    return {name: value for name, value in attributes.items() if name != "_ragged_length"}


def _reduces_itself(kind: type) -> bool:
    """Whether a subclass of Tensor says in its own words how it is pickled."""
    for cls in kind.__mro__:
        if cls.__module__.partition(".")[0] == "torch" and not cls.__module__.startswith("torch.distributed."):
            return False  # its words are those of every torch; a DTensor's are its piece and where that lies
        if not {"__reduce_ex__", "__reduce__"}.isdisjoint(vars(cls)):
            return True
    return False


def _is_hollow(t) -> bool:
    from torch import _seams

    return _seams.is_hollow(t)


def _warn_of_hooks(t) -> None:
    if getattr(t, "_backward_hooks", None):
        warn("save: the hooks of a tensor are not saved; register them again after loading")
