"""Names that stand in files, and what they mean here.

Files are written with PyTorch's names, whichever of our modules an object lives in, and read by the same names, so
`torch._utils._rebuild_tensor_v2` is a word of the format and not a place in our code.
"""

from __future__ import annotations

import math
import re
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

from . import _numpy_pickles
from ._dtypes import ALIASES, BY_STORAGE, ELEMENT_TYPES, ElementType
from ._errors import FileFormatError, UnsafeGlobalError, brief, warn
from ._plain import PLAIN
from ._safe import allowed
from ._stored import Stored


class StorageClass:
    """A storage class named in a persistent id, such as ``torch.FloatStorage``."""

    def __init__(self, row: ElementType, name: str):
        self.row = row
        self.name = name


_MISSING = ("qtensor", "nested_tensor", "wrapper_subclass")
_EAGER_LAYOUTS = ("torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr",
                  "torch.sparse_bsc")  # fmt: skip


class TorchNames:
    """The names of torch that every file may use, over one backend of `_arrays`.

    `nested(data)` reads a file within the file: so plain pickles hold storages. `room` is the size of the file.
    """

    def __init__(self, backend, nested=None, room: int = 0):
        self.backend = backend
        self._room = room  # bytes that copies of tensors may take
        self._make = backend.tensor
        self.used = 0  # storages that became part of a tensor
        self.sparse: list = []  # tensors to look at when all of the file is read
        self.lazy: list = []  # (tensor, view, metadata): what to compute then
        self.copied = 0  # bytes of these
        self._table = {
            "torch._utils._rebuild_tensor": self.rebuild_tensor,
            "torch._utils._rebuild_tensor_v2": self.rebuild_tensor_v2,
            "torch._utils._rebuild_tensor_v3": self.rebuild_tensor_v3,
            "torch._utils._rebuild_parameter": self.rebuild_parameter,
            "torch._utils._rebuild_parameter_with_state": self.rebuild_parameter_with_state,
            "torch._utils._rebuild_sparse_tensor": self.rebuild_sparse_tensor,
            "torch._utils._rebuild_device_tensor_from_numpy": self.rebuild_from_numpy,
            "torch._tensor._rebuild_from_type_v2": self.rebuild_from_type,
            "torch._utils._rebuild_meta_tensor_no_storage": self.rebuild_meta_tensor,
            **dict.fromkeys(map("torch._utils._rebuild_{}".format, _MISSING), self.rebuild_missing),
            "torch.serialization._get_layout": self.layout,
            "torch.storage._load_from_bytes": nested,
            "torch.Size": backend.size,
            "torch.device": backend.device,
        }

    def find(self, module: str, name: str):
        """The meaning of a name of torch, or None when it is not a word of the format."""
        full = f"{module}.{name}"
        if (found := self._table.get(full)) is None and module.partition(".")[0] == "torch":
            found = self._table[full] = self._look_up(module, name)
        return found

    def _look_up(self, module: str, name: str):
        if module in ("torch", "torch.cuda", "torch.storage") and name in BY_STORAGE:
            return StorageClass(BY_STORAGE[name], name)
        if module == "torch" and (row := ELEMENT_TYPES.get(ALIASES.get(name, name))):
            return self.backend.dtype(row)
        if module == "torch" and name in _MEMORY_FORMATS:
            return self._constant(name)
        if (module, name) in _TENSOR_CLASSES:
            return self.backend.tensor_class(name)
        return None

    # What the names do. Arguments are the file's, so their kinds are checked.

    def rebuild_tensor(self, storage, storage_offset, size, stride):
        return self._tensor(storage, storage_offset, size, stride)

    def rebuild_tensor_v2(self, storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
        if backward_hooks:
            warn("load: the hooks saved with a tensor are left out; register them again")
        if not isinstance(storage, Stored):
            return self._tensor(storage, storage_offset, size, stride)
        self.used += 1
        tensor = self._make(storage, storage.row, storage_offset, size, stride, requires_grad is True)
        return self._resolved(tensor, size, storage.row, metadata) if metadata else tensor

    def rebuild_tensor_v3(
        self, storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
    ):
        row = self.backend.row(dtype)
        tensor = self._tensor(storage, storage_offset, size, stride, requires_grad, row)
        return self._resolved(tensor, size, row, metadata) if metadata else tensor

    def _resolved(self, view, size, row: ElementType, metadata):
        """A copy of the elements of a view that PyTorch had conjugated or negated without touching them."""
        if not isinstance(metadata, dict) or not metadata.keys() <= {"conj", "neg"}:
            raise FileFormatError(f"a tensor has metadata {brief(metadata)}")
        if not any(metadata.values()):
            return view
        self.copied += math.prod(size) * row.itemsize
        if self.copied > self._room:
            raise FileFormatError("its conjugated and negated views take more room than all of the file")
        tensor = self.backend.like(view)
        self.lazy.append((tensor, view, metadata))
        return tensor

    def _tensor(self, stored, offset, size, stride, requires_grad=False, row=None):
        self.used += 1
        if not isinstance(stored, Stored):
            raise FileFormatError(f"a tensor is made of {type(stored).__name__} instead of a storage")
        return self.backend.tensor(stored, row or stored.row, offset, size, stride, requires_grad is True)

    def rebuild_parameter(self, data, requires_grad, backward_hooks):
        return self.backend.parameter(data, requires_grad is True)

    def rebuild_parameter_with_state(self, data, requires_grad, backward_hooks, state):
        return self.backend.subclass(self.backend.parameter(data, requires_grad is True), object, state)

    def rebuild_from_type(self, function, cls, args, state):
        named = getattr(function, "__name__", "")
        if getattr(self, named, None) != function and allowed(_name_of(function)) is None:
            raise FileFormatError("a tensor is rebuilt by something that is not a rebuild function")
        return self.backend.subclass(function(*args), cls, state)

    def rebuild_from_numpy(self, array, dtype, device, requires_grad):
        tensor = self.backend.from_numpy(array)
        return tensor.requires_grad_() if requires_grad and self.backend.name == "torch" else tensor

    def layout(self, name):
        if name not in _EAGER_LAYOUTS:
            raise FileFormatError(f"layout {brief(name)} is unknown")
        return self._constant(name.removeprefix("torch."))

    def _constant(self, name: str):
        """A layout or memory format: torch-core's, or its name."""
        return getattr(getattr(self.backend, "torch", None), name, f"torch.{name}")

    def rebuild_sparse_tensor(self, layout, data):
        if str(layout) != "torch.sparse_coo":
            raise NotImplementedError(f"load: tensors of layout {brief(str(layout))} cannot be read yet")
        indices, values, size, *coalesced = data
        tensor = self.backend.sparse(indices, values, size, bool(coalesced and coalesced[0]))
        self.sparse.append(tensor)
        return tensor

    def rebuild_missing(self, *args):
        raise NotImplementedError("load: quantized and nested tensors and those of wrapper classes cannot be read yet")

    def rebuild_meta_tensor(self, dtype, size, stride, requires_grad):
        return self.backend.meta(self.backend.row(dtype), size, stride, requires_grad is True)


_MEMORY_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
_TENSOR_CLASSES = {
    ("torch", "Tensor"),
    ("torch._tensor", "Tensor"),
    ("torch.tensor", "Tensor"),
    ("torch.nn.parameter", "Parameter"),
    ("torch.nn.parameter", "Buffer"),
    ("torch.autograd.variable", "Variable"),
}


def _name_of(obj) -> str:
    return f"{getattr(obj, '__module__', None)}.{getattr(obj, '__qualname__', None)}"


def known(names: TorchNames, module: str, name: str):
    """The meaning of a name for the data-only reader, or None when it is not allowed."""
    written = f"{module}.{name}"
    module, name = _of_today(module, name)
    full = f"{module}.{name}"
    if (found := PLAIN.get(full)) is None and (found := names.find(module, name)) is None:
        if (found := allowed(full) or allowed(written)) is None and module.partition(".")[0] == "numpy":
            found = _numpy_pickles.find(module, name)
    return found


def _of_today(module: str, name: str) -> tuple[str, str]:
    """What Python 3 calls something that protocols below 3 name as Python 2 did: builtins.int for __builtin__.long."""
    if (renamed := NAME_MAPPING.get((module, name))) is not None:
        return renamed
    return IMPORT_MAPPING.get(module, module), name


def safe_find(names: TorchNames, what: str):
    """A `find` for DataUnpickler that explains what it refuses."""

    def find(module: str, name: str):
        found = known(names, module, name)
        if found is None:
            module, name = _of_today(module, name)
            raise UnsafeGlobalError(refusal(what, module, name), f"{module}.{name}")
        return found

    return find


_of_quantized = re.compile(r"QU?Int\w+Storage|qu?int\w+").fullmatch


def refusal(what: str, module: str, name: str) -> str:
    top = module.partition(".")[0]
    lines = [f"load: {what} asks for {module}.{name}, which is not a data type, so it was not loaded."]
    if module in ("builtins", "os", "posix", "nt", "subprocess", "sys", "runpy", "shutil", "socket"):
        lines.append("A checkpoint has no use for it: the file was probably made to do harm.")
    elif module == "torch" and (name in ("complex32", "ComplexHalfStorage") or _of_quantized(name)):
        lines.append("It stands for an element type that cannot be read yet.")
    elif top == "torch" and module.startswith("torch.nn"):
        lines.append("The file holds a whole module; a state_dict would load without it.")
    lines.append(
        f"If you trust who made the file, allow it: torch.serialization.add_safe_globals([{name}]) "
        f"after `from {module} import {name.partition('.')[0]}`,"
    )
    lines.append(
        "for this one call: `with torch.serialization.safe_globals([...]):`, "
        "or let the file run any code it likes: torch.load(f, weights_only=False)."
    )
    return "\n".join(lines)
