"""Names that stand in files, and what they mean here.

Files are written with PyTorch's names, whichever of our modules an object lives in, and read by the same names, so
`torch._utils._rebuild_tensor_v2` is a word of the format and not a place in our code.
"""

from __future__ import annotations

import math
import re
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable

from .._arrays.dtypes import ALIASES, BITS, BY_STORAGE, ELEMENT_TYPES, ElementType
from .._arrays.numpy_arrays import is_plain_array
from .._arrays.stored import Stored
from .._errors import FileFormatError, UnsafeGlobalError, brief, warn
from .budget import Budget
from .numpy_pickles import NumpyWords
from .safe import allowed, is_allowed
from .words import KINDS, PLAIN, TABLE, Kind, Mark, Word, is_dims


class StorageClass:
    """A storage class named in a persistent id, such as ``torch.FloatStorage``."""

    def __init__(self, row: ElementType, name: str):
        self.row = row
        self.name = name


_SCRIPT_OBJECT = "torch.ScriptObject"


class ScriptState:
    """An object of PyTorch's C++ in a pickle of a trusted file (packed parameters): its class's name and its state."""

    type_name, state = "", None

    def __setstate__(self, given):
        self.state, self.type_name = given


_ITEM = 50  # bytes of a tensor of Python for each byte that says where it begins
LAYOUTS = ("torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr",
           "torch.sparse_bsc")  # fmt: skip
_ROWS = {name: (takes, make) for name, takes, _, make in TABLE if name.startswith("torch.")}
_CLASS_NAMES = {
    row: row.rpartition(".")[2] for row, (_, make) in _ROWS.items() if make in (None, "variable", "parameter")
}


class TorchNames:
    """The words of torch and NumPy in the hands of one reader, over one backend of `_arrays.backends`.

    Args:
        backend: makes tensors or arrays
        budget: pays for what is copied
        nested: ``nested(data)`` reads a file within the file: so plain pickles hold storages
        settle: waits until all storages named so far are filled
    """

    def __init__(self, backend, budget: Budget, nested=None, settle: Callable[[], None] = lambda: None):
        self.backend = backend
        self.budget = budget
        self._settle = settle
        self._nested = nested
        self._make = backend.tensor
        self.used = 0  # storages that became part of a tensor
        self.filled = True  # whether storages have their bytes once `settle` has returned
        self.again = False  # whether something could not be made because they have not
        self._numpy = NumpyWords(lambda: self.budget)
        self._dtypes: dict[int, ElementType] = {}  # by id: what `find` gave for names of element types
        self._schemes: dict[int, tuple[object, str]] = {}  # likewise, of schemes of quantized tensors
        self._layouts: dict[str, object] = {}  # that `layout` gave
        self._kinds = KINDS | {
            "storage": Kind(lambda obj: isinstance(obj, Stored)),
            "tensor": Kind(backend.is_tensor),
            "array": Kind(lambda obj: is_plain_array(obj) and self._numpy.is_complete(obj)),
            "dtype": Kind(lambda obj: id(obj) in self._dtypes),
            "layout": Kind(lambda obj: any(obj is known for known in self._layouts.values())),
            "sparse": Kind(self._is_sparse),
            "quantizer": Kind(self._is_quantizer),
            "function": Kind(_is_function),
        }
        self._words: dict[str, Word | None] = {}

    def find(self, module: str, name: str) -> Word | None:
        """The meaning of a name of torch or NumPy, or None when it is not a word of the format."""
        full = f"{module}.{name}"
        if (found := self._words.get(full)) is None:
            top = module.partition(".")[0]
            if top == "numpy":
                return self._numpy.find(module, name)
            if top == "torch":
                found = self._words[full] = self._look_up(full, module, name)
        return found

    def _look_up(self, full: str, module: str, name: str) -> Word | None:
        if (plain := PLAIN.get(full)) is not None:
            return plain
        if (row := _ROWS.get(full)) is not None:
            takes, make = row
            value = self.backend.tensor_class(_CLASS_NAMES[full]) if full in _CLASS_NAMES else None
            if full == "torch.Size":
                value = self.backend.size_class
            word = Word(full, takes, make and getattr(self, make), self._kinds, value)
            if make == "rebuild_tensor_v2":
                word.proven = self.rebuild_proven
            return word
        if module in ("torch", "torch.cuda", "torch.storage") and name in BY_STORAGE:
            return _constant(full, StorageClass(BY_STORAGE[name], name))
        if module == "torch" and (row := ELEMENT_TYPES.get(ALIASES.get(name, name))):
            dtype = self.backend.dtype(row)
            self._dtypes[id(dtype)] = row
            return _constant(full, dtype)
        if module == "torch" and name in (*_MEMORY_FORMATS, *_SCHEMES, *_NAMED_DTYPES):
            found = self._named(name)
            if name in _SCHEMES:
                self._schemes[id(found)] = found, name
            return _constant(full, found)
        return None

    def trusted(self, module: str, name: str):
        """The function or class for a word of torch, for an unpickler that calls what a trusted file says; or None."""
        if f"{module}.{name}" == _SCRIPT_OBJECT:
            return ScriptState
        word = self.find(module, name) if module.partition(".")[0] == "torch" else None
        if word is None or word.value is not word:
            return word and word.value
        if word.name == "torch._tensor._rebuild_from_type_v2":
            return lambda function, cls, args, state: self.rebuild_from_type(function(*args), cls, state)
        return word.make or self.variable

    def build(self, target, state) -> bool:
        """Sets the state of an array, a dtype or a tensor; False for anything else."""
        if type(target) is Mark or self._numpy.build(target, state):
            return True
        if not self.backend.is_tensor(target):
            return False
        # Files of 2017: a Variable's state is (requires_grad, volatile, hooks).
        if type(state) is tuple and len(state) == 3 and type(state[0]) is bool:
            self.backend.require_grad(target, state[0])
            return True
        return self.backend.has_own_state(target, state)

    # What the names do. Arguments are of the kinds that the table says.

    def rebuild_tensor(self, storage, storage_offset, size, stride):
        return self._tensor(storage, storage.row, storage_offset, size, stride)

    def rebuild_tensor_v2(self, storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
        if backward_hooks:
            warn("load: the hooks saved with a tensor are left out; register them again")
        return self._tensor(storage, storage.row, storage_offset, size, stride, requires_grad, metadata)

    def rebuild_proven(self, storage, storage_offset, size, stride, requires_grad):
        """`rebuild_tensor_v2` of numbers that are known to be numbers."""
        if not isinstance(storage, Stored):
            raise FileFormatError(f"a tensor is made of {type(storage).__name__} instead of a storage")
        self.used += 1
        return self._make(storage, storage.row, storage_offset, size, stride, requires_grad)

    def rebuild_tensor_v3(
        self, storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
    ):
        row = self._dtypes.get(id(dtype)) or self.backend.row(dtype)
        return self._tensor(storage, row, storage_offset, size, stride, requires_grad, metadata)

    def _tensor(self, stored, row, offset, size, stride, requires_grad=False, metadata=None):
        self.used += 1
        if row.name in BITS:
            raise FileFormatError(f"a plain tensor is made of a storage of {row.name}")
        tensor = self._make(stored, row, offset, tuple(size), tuple(stride), requires_grad)
        if not metadata or not any(metadata.values()):
            return tensor
        # PyTorch had conjugated or negated the view without touching its elements; here they are computed.
        self.budget.pay(math.prod(size) * row.itemsize, "its conjugated and negated views")
        if not self._ready():
            return tensor
        return self.backend.resolved(tensor, metadata.get("conj", False), metadata.get("neg", False))

    def _ready(self) -> bool:
        """Whether the storages named so far have their bytes; if not, the object is read once more when they do."""
        self._settle()
        self.again |= not self.filled
        return self.filled

    def parameter(self, data, requires_grad=True):
        return self.backend.parameter(data, requires_grad)

    def rebuild_parameter(self, data, requires_grad, backward_hooks):
        return self.backend.parameter(data, requires_grad)

    def rebuild_parameter_with_state(self, data, requires_grad, backward_hooks, state):
        return self.backend.subclass(self.backend.parameter(data, requires_grad), None, state)

    def rebuild_from_type(self, tensor, cls, state):
        """A tensor that `rules` had made, with attributes or of another class."""
        if not self.backend.is_tensor(tensor):
            raise FileFormatError(f"a tensor is rebuilt from {brief(tensor)}")
        if self.backend.is_nested(tensor):
            return tensor  # its attributes are what it was made of
        return self.backend.subclass(tensor, cls if isinstance(cls, type) else None, state)

    def rebuild_from_numpy(self, array, dtype, device, requires_grad):
        row = self._dtypes.get(id(dtype))
        self.budget.pay(max(array.nbytes, array.size * row.itemsize if row else 0), "its NumPy arrays")
        tensor = self.backend.from_numpy(array, row)
        if requires_grad:
            self.backend.require_grad(tensor, True)
        return tensor

    def variable(self, data):
        return data

    def nested(self, data):
        return self._nested(data)

    def size(self, dims=()):
        return self.backend.size(tuple(dims))

    def device(self, kind, index=None):
        return self.backend.device(kind) if index is None else self.backend.device(kind, index)

    def layout(self, name):
        if name not in LAYOUTS:
            raise FileFormatError(f"layout {brief(name)} is unknown")
        if name not in self._layouts:
            self._layouts[name] = self._named(name.removeprefix("torch."))
        return self._layouts[name]

    def _named(self, name: str):
        """A memory format, scheme or dtype without tensors: torch-core's, or its name."""
        return getattr(getattr(self.backend, "torch", None), name, f"torch.{name}")

    def _is_sparse(self, data) -> bool:
        """Indices, values, size and perhaps a flag; or two tensors of indices, values and size of a compressed layout."""
        if type(data) is not tuple or len(data) not in (3, 4):
            return False
        tensors = 3 if len(data) == 4 and self.backend.is_tensor(data[2]) else 2
        return (
            all(map(self.backend.is_tensor, data[:tensors]))
            and is_dims(data[tensors])
            and all(type(flag) is bool for flag in data[tensors + 1 :])
        )

    def rebuild_sparse_tensor(self, layout, data):
        compressed = self.backend.is_tensor(data[2])
        if compressed != (str(layout) != "torch.sparse_coo") or str(layout) == "torch.strided":
            raise FileFormatError(f"a sparse tensor of layout {layout} has other parts than this file says")
        for part in data[: 2 + compressed]:
            self.budget.pay(self.backend.nbytes(part), "its sparse tensors")
        if compressed:
            return self.backend.compressed(layout, *data[:3], tuple(data[3]), self._ready())
        indices, values, size, *coalesced = data
        return self.backend.sparse(indices, values, tuple(size), coalesced == [True], self._ready())

    def _is_quantizer(self, data) -> bool:
        """A scheme, and one scale and zero point, or those of each channel and the dim of the channels."""
        if type(data) is not tuple or len(data) not in (3, 4):
            return False
        _, scheme = self._schemes.get(id(data[0]), (None, None))  # what else may stand there is not made a text of
        if scheme is None:
            return False
        if len(data) == 3:
            return scheme == "per_tensor_affine" and type(data[1]) is float and type(data[2]) is int
        return all(map(self.backend.is_tensor, data[1:3])) and type(data[3]) is int

    def rebuild_qtensor(self, storage, storage_offset, size, stride, quantizer, requires_grad, backward_hooks):
        bits = BITS.get(storage.row.name)
        kind = _QUANTIZED.get(storage.row.name) if bits is None else storage.row.name
        if kind is None:
            raise FileFormatError(f"a quantized tensor is made of a storage of {storage.row.name}")
        if bits is None:
            integers = self._tensor(storage, storage.row, storage_offset, size, stride)
        else:
            integers = self._unpacked(storage, bits, storage_offset, size, stride)
        _, scale, zero, *axis = quantizer
        for part in (scale, zero) if axis else ():
            self.budget.pay(self.backend.nbytes(part), "its quantized tensors")
        ready = not axis or self._ready()
        return self.backend.quantized(integers, scale, zero, axis[0] if axis else None, kind, ready)

    def _unpacked(self, storage, bits, offset, size, stride):
        """Integers of less than a byte, one to a byte."""
        steps = [math.prod(size[i + 1 :]) for i in range(len(size))]
        if offset or any(n > 1 and step != want for n, step, want in zip(size, stride, steps, strict=True)):
            raise FileFormatError(
                f"a tensor of {storage.row.name} begins at {offset} with steps {tuple(stride)}, which none does"
            )
        count = math.prod(size)
        packed = self._tensor(storage, ELEMENT_TYPES["uint8"], 0, (-(-count * bits // 8),), (1,))
        self.budget.pay(count, "its quantized tensors")
        self._ready()
        return self.backend.unpacked(packed, bits, tuple(size))

    def rebuild_nested(self, buffer, sizes, strides, offsets):
        self.budget.pay(self.backend.nbytes(sizes) + _ITEM * self.backend.nbytes(offsets), "its nested tensors")
        return self.backend.nested(buffer, sizes, strides, offsets, self._ready())

    def rebuild_jagged(self, parts):
        ragged, lengths = parts.get("_ragged_idx", 1), parts.get("lengths")
        tensors = [parts.get("values"), parts.get("offsets")] + ([] if lengths is None else [lengths])
        if not all(map(self.backend.is_tensor, tensors)) or type(ragged) is not int:
            raise FileFormatError(f"a jagged tensor is made of {', '.join(map(brief, [*tensors, ragged]))}")
        for part in tensors[1:]:
            self.budget.pay(self.backend.nbytes(part), "its nested tensors")
        grad = parts.get("requires_grad") is True
        return self.backend.jagged(*tensors[:2], lengths, ragged, grad, self._ready())

    def rebuild_wrapper(self, cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
        device_type = type(self.device("cpu"))
        if not isinstance(cls, type) or str(layout) != "torch.strided" or type(device) is not device_type:
            raise FileFormatError(f"a wrapper is made of {brief(cls)}, {brief(layout)} and {brief(device)}")
        row = self._dtypes[id(dtype)]
        return self.backend.wrapper(cls, row, tuple(size), tuple(stride), storage_offset, device, requires_grad)

    def rebuild_meta_tensor(self, dtype, size, stride, requires_grad):
        return self.backend.meta(self._dtypes[id(dtype)], tuple(size), tuple(stride), requires_grad)


_SCHEMES = (
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
)
_INTEGERS = ("qint8", "quint8", "qint32")
_QUANTIZED = dict(zip(("int8", "uint8", "int32"), _INTEGERS, strict=True))
#: dtypes that are named in files (by the configurations of quantizers) and have no tensors
_NAMED_DTYPES = (
    *_INTEGERS,
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8)),
    *("quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float4_e2m1fn_x2"),
)
_MEMORY_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")


def _constant(name: str, value) -> Word:
    """A word that is data and not called."""
    return Word(name, "-", None, KINDS, value)


def _is_function(obj) -> bool:
    """Whether this makes a plain tensor: a word of the format, or a function that the user allowed."""
    if type(obj) is Word:
        return obj.name.rpartition(".")[2].startswith("_rebuild_")
    return is_allowed(obj)


def known(names: TorchNames, module: str, name: str):
    """The meaning of a name for the data-only reader, or None when it is not allowed."""
    written = f"{module}.{name}"
    module, name = _of_today(module, name)
    full = f"{module}.{name}"
    if (found := PLAIN.get(full)) is None and (found := names.find(module, name)) is None:
        found = allowed(full)
        if found is None:
            found = allowed(written)
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
    elif module == "torch" and _of_quantized(name):
        lines.append("It stands for an element type that cannot be read yet.")
    elif top == "torch" and module.startswith("torch.nn"):
        lines.append("The file holds a whole module; a state_dict would load without it.")
    if f"{module}.{name}" == _SCRIPT_OBJECT:
        lines.append(
            "It holds weights that PyTorch packed for a quantized layer, which only a file that you trust may have:"
        )
        lines.append("torch.load(f, weights_only=False) reads them, and runs whatever code the file names.")
        return "\n".join(lines)
    lines.append(
        f"If you trust who made the file, allow it: torch.serialization.add_safe_globals([{name}]) "
        f"after `from {module} import {name.partition('.')[0]}`,"
    )
    lines.append(
        "for this one call: `with torch.serialization.safe_globals([...]):`, "
        "or let the file run any code it likes: torch.load(f, weights_only=False)."
    )
    return "\n".join(lines)
