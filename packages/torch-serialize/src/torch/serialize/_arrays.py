"""What a stored tensor becomes: an ndarray with NumPy alone, a tensor with torch-core.

Both backends answer the same questions. A *storage* is a flat run of bytes that several tensors may share;
`Stored` is a storage seen as elements of one type, which is what a pickle's persistent id stands for.
"""

from __future__ import annotations

import importlib
import math
import sys

from ._dtypes import BY_NUMPY, BYTES, ELEMENT_TYPES, ElementType
from ._errors import FileFormatError, brief

BUFFER = "_is_buffer"  # the attribute that tells a torch.nn.Buffer in files
MAX_DIMS = 64  # NumPy's limit
NO_META = "load: arrays have no device 'meta'; tensors without data need torch-core: pip install torch-core"


class Stored:
    """The elements of one storage record: `data` (bytes) read as `row.name`, kept on device `location`."""

    __slots__ = ("data", "job", "location", "row", "wide")

    def __init__(self, data, row: ElementType, location: str = "cpu"):
        self.data = data
        self.job = None  # the future that fills `data`, where a thread does
        self.wide = None  # the elements as NumPy has them, by the type they were read as
        self.row = row
        self.location = location

    def typed(self, row: ElementType) -> Stored:
        """The same storage as elements of another type."""
        other = type(self)(self.data, row, self.location)
        other.job = self.job
        return other


class MetaStorage:
    """The size of a storage without its bytes: what map_location="meta" makes."""

    def __init__(self, size: int):
        self._size = size

    def __len__(self) -> int:
        return self._size

    nbytes = __len__


def check_bounds(nbytes: int, row: ElementType, offset: int, size, stride) -> None:
    """Raises unless every element of the strided view lies inside `nbytes` bytes."""
    if (
        len(size) != len(stride)
        or len(size) > MAX_DIMS
        or any(type(n) is not int for n in (offset, *size, *stride))
        or min(size, default=0) < 0
    ):
        raise FileFormatError(f"a tensor has offset {brief(offset)}, size {brief(size)} and stride {brief(stride)}")
    if 0 in size:
        low = high = 0
    else:
        reach = [(n - 1) * s for n, s in zip(size, stride)]
        low = offset + sum(r for r in reach if r < 0)
        high = offset + sum(r for r in reach if r > 0) + 1
    if low < 0 or high * row.itemsize > nbytes:
        raise FileFormatError(
            f"a tensor of size {brief(size)}, stride {brief(stride)}, offset {brief(offset)} and type {row.name} "
            f"reaches outside its storage of {nbytes} bytes"
        )


def check_dims(dims) -> tuple:
    """The argument of a ``torch.Size``."""
    if type(dims) is not tuple or len(dims) > MAX_DIMS:
        raise FileFormatError(f"a torch.Size of {brief(dims)}")
    return dims


class NumpyArrays:
    """Tensors as ndarrays that share memory where the tensors did.

    Types that NumPy lacks (bfloat16, float8) are widened to float32, which holds each of their values, storage by
    storage: memory is shared then too, but no longer with the file it is mapped from.
    """

    name = "numpy"

    def __init__(self):
        try:
            self.numpy = importlib.import_module("numpy")
        except ImportError:
            raise ImportError(
                "torch.serialize makes tensors with torch-core or arrays with NumPy, and neither is installed: "
                "pip install numpy"
            ) from None

    def allocate(self, nbytes: int):
        return self.numpy.empty(nbytes, self.numpy.uint8)

    def buffer(self, storage) -> memoryview:
        return memoryview(storage)

    def wrap(self, buffer):
        return self.numpy.frombuffer(buffer, self.numpy.uint8)

    def from_bytes(self, data):
        return self.numpy.array(data, self.numpy.uint8)

    def part(self, storage, begin: int, nbytes: int):
        return storage[begin : begin + nbytes]

    def stored(self, storage, row: ElementType, location: str) -> Stored:
        return StoredArray(storage, row, location)

    def public(self, stored: Stored):
        return stored

    def tensor(self, stored: Stored, row: ElementType, offset: int, size, stride, requires_grad=False):
        check_bounds(len(stored.data), row, offset, size, stride)
        np, data = self.numpy, stored.data
        kind = np.dtype(row.numpy or np.float32)
        if 0 in size:
            return np.empty(size, kind)
        if row.numpy is None:
            data = self._widened(stored, row)
        return np.ndarray(tuple(size), kind, data, offset * kind.itemsize, [s * kind.itemsize for s in stride])

    def _widened(self, stored: Stored, row: ElementType):
        if stored.wide is None:
            if stored.job is not None:
                stored.job.result()
            stored.wide = {}
        if row.name not in stored.wide:
            stored.wide[row.name] = self._widen(stored.data, row)
        return stored.wide[row.name]

    def _widen(self, data, row: ElementType):
        np = self.numpy
        codes = data[: len(data) // row.itemsize * row.itemsize].view(f"uint{8 * row.itemsize}")
        if row.name == "bfloat16":
            return np.left_shift(codes, 16, dtype=np.uint32).view(np.float32)
        return np.array(_float8_values(row.name), np.float32)[codes]

    def like(self, array):
        """Room for the elements of an array."""
        return self.numpy.empty(array.shape, array.dtype)

    def resolve(self, out, array, conj, neg) -> None:
        """Fills `out` with the elements of an array, conjugated, negated or both."""
        out[...] = self.numpy.conjugate(array) if conj else array
        if neg:
            self.numpy.negative(out, out=out)

    def parameter(self, data, requires_grad):
        return data

    def subclass(self, value, cls, state):
        return value

    def tensor_class(self, name: str):
        return _first  # in files of 2017 a Variable or Parameter is made of its data

    def dtype(self, row: ElementType):
        if row.numpy:
            return self.numpy.dtype(row.numpy)
        return self.numpy.dtype("float32", metadata={"torch": row.name})

    def row(self, dtype) -> ElementType:
        return ELEMENT_TYPES[(dtype.metadata or {}).get("torch") or dtype.name]

    def sparse(self, indices, values, size, coalesced):
        raise NotImplementedError(
            "load: no array is sparse; sparse tensors need torch-core (pip install torch-core) and no arrays='numpy'"
        )

    def size(self, dims=()):
        return check_dims(dims)

    def device(self, kind, index=None):
        if type(kind) is not str or type(index) not in (int, type(None)):
            raise FileFormatError(f"a device of {brief(kind)} and {brief(index)}")
        return kind if index is None else f"{kind}:{index}"

    def from_numpy(self, array):
        return array

    def meta(self, row, size, stride, requires_grad):
        raise NotImplementedError(NO_META)


class RawArrays(NumpyArrays):
    """Arrays that keep every bit: elements that NumPy lacks are unsigned integers whose dtype says what they are."""

    def tensor(self, stored: Stored, row: ElementType, offset: int, size, stride, requires_grad=False):
        if row.numpy is not None:
            return super().tensor(stored, row, offset, size, stride)
        code = ELEMENT_TYPES[f"uint{8 * row.itemsize}"]
        array = super().tensor(stored, code, offset, size, stride)
        return array.view(self.numpy.dtype(code.name, metadata={"torch": row.name}))

    def sparse(self, indices, values, size, coalesced):
        raise NotImplementedError(
            "convert: sparse tensors have no other format; load them and save what to_dense() gives"
        )


def _first(data=None, *rest):
    return data


class StoredArray(Stored):
    """A storage that was saved for itself: `numpy.asarray` gives its elements."""

    __slots__ = ()

    def __array__(self, dtype=None, copy=None):
        return NumpyArrays().tensor(self, self.row, 0, (len(self),), (1,))

    def __len__(self):
        return len(self.data) // self.row.itemsize


def _float8_values(name: str) -> list[float]:
    """The 256 values of an 8-bit float, by its definition (OCP 8-bit floating point, revision 1.0)."""
    exponent_bits, bias = (4, 7) if name == "float8_e4m3fn" else (5, 15)
    fraction_bits = 7 - exponent_bits
    values = []
    for code in range(256):
        exponent, fraction = code >> fraction_bits & (1 << exponent_bits) - 1, code & (1 << fraction_bits) - 1
        if exponent == 0:
            value = math.ldexp(fraction, 1 - bias - fraction_bits)
        elif exponent_bits == 5 and exponent == 31:
            value = math.nan if fraction else math.inf
        elif exponent_bits == 4 and exponent == 15 and fraction == 7:
            value = math.nan
        else:
            value = math.ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits)
        values.append(-value if code & 128 else value)
    return values


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


_chosen: dict[str, object] = {}


def arrays(kind: str | None = None) -> NumpyArrays | TorchArrays:
    """The backend called `kind`, which may be one already, or tensors when torch-core is installed and ndarrays when not."""
    if kind is None:
        # Without torch-core `torch` is a namespace package that holds the installed parts and has no Tensor.
        torch = sys.modules.get("torch") or importlib.import_module("torch")
        kind = "torch" if hasattr(torch, "Tensor") else "numpy"
    if not isinstance(kind, str):
        return kind
    if kind not in _chosen:
        if kind == "numpy":
            _chosen[kind] = NumpyArrays()
        elif kind == "raw":
            _chosen[kind] = RawArrays()
        elif kind == "torch":
            _chosen[kind] = TorchArrays(importlib.import_module("torch"))
        else:
            raise ValueError(f"arrays must be 'numpy', 'torch' or None, got {kind!r}")
    return _chosen[kind]


def is_numpy_array(obj) -> bool:
    """Whether `obj` is an ndarray, told without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.ndarray)


def tensor_bytes(tensor) -> memoryview:
    """The elements of a dense tensor in row-major order."""
    tensor = tensor.detach().cpu().contiguous()
    start = tensor.storage_offset() * tensor.element_size()
    return memoryview(tensor.untyped_storage())[start : start + tensor.numel() * tensor.element_size()]


def row_of_numpy(array) -> ElementType | None:
    meant = array.dtype.metadata and array.dtype.metadata.get("torch")
    if meant and array.dtype.kind == "u":  # of RawArrays
        return ELEMENT_TYPES.get(meant)
    return BY_NUMPY.get(array.dtype.name)


def row_of_dtype(dtype) -> ElementType:
    name = str(dtype).removeprefix("torch.")
    try:
        return ELEMENT_TYPES[name]
    except KeyError:
        raise NotImplementedError(f"save: elements of type {dtype} cannot be written yet") from None
