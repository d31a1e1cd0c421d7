"""Stored tensors as ndarrays, where only NumPy is installed."""

from __future__ import annotations

import importlib
import math
import sys

from .dtypes import BY_NUMPY, ELEMENT_TYPES, ElementType
from .stored import NO_META, Stored, check_bounds


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

    def part(self, storage, begin: int, nbytes: int, align: int = 1):
        return storage[begin : begin + nbytes]

    def stored(self, storage, row: ElementType, location: str) -> Stored:
        return StoredArray(storage, row, location)

    def public(self, stored: Stored):
        return stored

    def tensor(self, stored: Stored, row: ElementType, offset: int, size, stride, requires_grad=False):
        check_bounds(len(stored.data), row, offset, size, stride)
        np, data = self.numpy, stored.data
        kind = np.dtype(row.numpy or ("complex64" if row.name == "complex32" else "float32"))
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
        if row.name == "complex32":
            return codes.view(np.float16).astype(np.float32).view(np.complex64)
        return np.array(_float8_values(row.name), np.float32)[codes]

    def is_tensor(self, obj) -> bool:
        return type(obj) is self.numpy.ndarray

    def nbytes(self, array) -> int:
        return array.nbytes

    def resolved(self, array, conj, neg):
        """A copy of an array, conjugated, negated or both."""
        out = self.numpy.array(array)
        if conj:
            self.numpy.conjugate(out, out=out)
        if neg:
            self.numpy.negative(out, out=out)
        return out

    def parameter(self, data, requires_grad):
        return data

    def require_grad(self, array, required) -> None:
        """Nothing: arrays have no gradients."""

    def has_own_state(self, array, state) -> bool:
        return False

    def subclass(self, value, cls, state):
        return value

    size_class = None  # sizes are tuples

    def tensor_class(self, name: str):
        return None  # no class: in files of 2017 a Variable or Parameter is made of its data

    def dtype(self, row: ElementType):
        if row.numpy:
            return self.numpy.dtype(row.numpy)
        wide = "complex64" if row.name == "complex32" else "float32"
        return self.numpy.dtype(wide, metadata={"torch": row.name})

    def sparse(self, indices, values, size, coalesced, ready):
        raise NotImplementedError(
            "load: no array is sparse; sparse tensors need torch-core (pip install --no-index --find-links WHEELHOUSE torch-core) and no arrays='numpy'"
        )

    def compressed(self, layout, lines, places, values, size, ready):
        return self.sparse(places, values, size, False, ready)

    def is_nested(self, tensor) -> bool:
        return False

    def nested(self, *parts):
        raise NotImplementedError("load: NumPy has no nested arrays; torch-core reads them")

    jagged = nested

    def unpacked(self, packed, bits, size):
        raise NotImplementedError("load: NumPy has no quantized numbers; torch-core reads them")

    def quantized(self, integers, scale, zero, axis, kind, ready):
        raise NotImplementedError("load: NumPy has no quantized numbers; torch-core reads them")

    def size(self, dims=()):
        return dims

    def device(self, kind, index=None):
        return kind if index is None else f"{kind}:{index}"

    def from_numpy(self, array, row: ElementType | None):
        return array

    def meta(self, row, size, stride, requires_grad):
        raise NotImplementedError(NO_META)

    def wrapper(self, cls, row, size, stride, storage_offset, device, requires_grad):
        raise NotImplementedError(
            f"load: the tensor of class {cls.__qualname__} has no memory of its own: NumPy has no array for it"
        )


class RawArrays(NumpyArrays):
    """Arrays that keep every bit: elements that NumPy lacks are unsigned integers whose dtype says what they are."""

    def tensor(self, stored: Stored, row: ElementType, offset: int, size, stride, requires_grad=False):
        if row.numpy is not None:
            return super().tensor(stored, row, offset, size, stride)
        code = ELEMENT_TYPES[f"uint{8 * row.itemsize}"]
        array = super().tensor(stored, code, offset, size, stride)
        return array.view(self.numpy.dtype(code.name, metadata={"torch": row.name}))

    def sparse(self, indices, values, size, coalesced, ready):
        raise NotImplementedError(
            "convert: sparse tensors have no other format; load them and save what to_dense() gives"
        )


class StoredArray(Stored):
    """A storage that was saved for itself: `numpy.asarray` gives its elements."""

    __slots__ = ()

    def __array__(self, dtype=None, copy=None):
        return NumpyArrays().tensor(self, self.row, 0, (len(self),), (1,))

    def __len__(self):
        return len(self.data) // self.row.itemsize


#: bits of the exponent, its bias, and the code of the only NaN where there is one, and no infinity and negative zero
_FLOAT8 = {
    "float8_e4m3fn": (4, 7, None),
    "float8_e5m2": (5, 15, None),
    "float8_e4m3fnuz": (4, 8, 0x80),
    "float8_e5m2fnuz": (5, 16, 0x80),
}


def _float8_values(name: str) -> list[float]:
    """The 256 values of an 8-bit float, by its definition (OCP 8-bit floating point, revision 1.0; MX 1.0; arXiv:2206.02915)."""
    if name == "float8_e8m0fnu":
        return [math.ldexp(1.0, code - 127) for code in range(255)] + [math.nan]
    exponent_bits, bias, only_nan = _FLOAT8[name]
    fraction_bits = 7 - exponent_bits
    values = []
    for code in range(256):
        exponent, fraction = code >> fraction_bits & (1 << exponent_bits) - 1, code & (1 << fraction_bits) - 1
        if code == only_nan:
            value = math.nan
        elif exponent == 0:
            value = math.ldexp(fraction, 1 - bias - fraction_bits)
        elif only_nan is None and exponent_bits == 5 and exponent == 31:
            value = math.nan if fraction else math.inf
        elif only_nan is None and exponent_bits == 4 and exponent == 15 and fraction == 7:
            value = math.nan
        else:
            value = math.ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits)
        values.append(-value if code & 128 else value)
    return values


def is_numpy_array(obj) -> bool:
    """Whether `obj` is an ndarray, told without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.ndarray)


def is_plain_array(obj) -> bool:
    """Whether `obj` is an ndarray and of no class derived from it."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(obj) is numpy.ndarray


def row_of_numpy(array) -> ElementType | None:
    meant = array.dtype.metadata and array.dtype.metadata.get("torch")
    if meant and array.dtype.kind == "u":  # of RawArrays
        return ELEMENT_TYPES.get(meant)
    return BY_NUMPY.get(array.dtype.name)
