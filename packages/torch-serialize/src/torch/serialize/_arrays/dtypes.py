"""Element types as files name them: torch's dtype name, bytes per element, NumPy's name, storage class, safetensors code."""

from __future__ import annotations

from typing import NamedTuple


class ElementType(NamedTuple):
    name: str  # torch.<name>
    itemsize: int
    numpy: str | None  # None: NumPy has no such type; see numpy_arrays
    storage: str  # class that the pickle names: torch.<storage>; newer types are stored untyped
    safetensors: str | None


UNTYPED = "UntypedStorage"

ELEMENT_TYPES = {
    row.name: row
    for row in (
        ElementType("bool", 1, "bool", "BoolStorage", "BOOL"),
        ElementType("uint8", 1, "uint8", "ByteStorage", "U8"),
        ElementType("int8", 1, "int8", "CharStorage", "I8"),
        ElementType("int16", 2, "int16", "ShortStorage", "I16"),
        ElementType("int32", 4, "int32", "IntStorage", "I32"),
        ElementType("int64", 8, "int64", "LongStorage", "I64"),
        ElementType("float16", 2, "float16", "HalfStorage", "F16"),
        ElementType("bfloat16", 2, None, "BFloat16Storage", "BF16"),
        ElementType("float32", 4, "float32", "FloatStorage", "F32"),
        ElementType("float64", 8, "float64", "DoubleStorage", "F64"),
        ElementType("complex64", 8, "complex64", "ComplexFloatStorage", "C64"),
        ElementType("complex128", 16, "complex128", "ComplexDoubleStorage", None),
        ElementType("uint16", 2, "uint16", UNTYPED, "U16"),
        ElementType("uint32", 4, "uint32", UNTYPED, "U32"),
        ElementType("uint64", 8, "uint64", UNTYPED, "U64"),
        ElementType("float8_e4m3fn", 1, None, UNTYPED, "F8_E4M3"),
        ElementType("float8_e5m2", 1, None, UNTYPED, "F8_E5M2"),
        ElementType("float8_e4m3fnuz", 1, None, UNTYPED, None),
        ElementType("float8_e5m2fnuz", 1, None, UNTYPED, None),
        ElementType("float8_e8m0fnu", 1, None, UNTYPED, "F8_E8M0"),
        ElementType("complex32", 4, None, UNTYPED, None),
    )
}

BY_STORAGE = {row.storage: row for row in ELEMENT_TYPES.values() if row.storage != UNTYPED}
BY_STORAGE[UNTYPED] = BYTES = ELEMENT_TYPES["uint8"]._replace(storage=UNTYPED)
BY_STORAGE["ComplexHalfStorage"] = ELEMENT_TYPES["complex32"]  # of files of 2020
#: integers that stand for numbers, by the class of their storage
QUANTIZED = {"QInt8Storage": "int8", "QUInt8Storage": "uint8", "QInt32Storage": "int32"}
BY_STORAGE |= {name: ELEMENT_TYPES[row] for name, row in QUANTIZED.items()}
_QUANTIZED_ROWS = {f"torch.q{row}": ELEMENT_TYPES[row]._replace(storage=name) for name, row in QUANTIZED.items()}
#: those of less than a byte, packed into bytes, the first in the lowest bits: how many bits each has
BITS = {"quint4x2": 4, "quint2x4": 2}
_QUANTIZED_ROWS |= {
    f"torch.{name}": ElementType(name, 1, "uint8", f"QU{name[2:].capitalize()}Storage", None) for name in BITS
}
BY_STORAGE |= {row.storage: row for row in _QUANTIZED_ROWS.values() if row.name in BITS}
BY_NUMPY = {row.numpy: row for row in ELEMENT_TYPES.values() if row.numpy}
BY_SAFETENSORS = {row.safetensors: row for row in ELEMENT_TYPES.values() if row.safetensors}

# Spellings of 2018 and of the C++ side that pickles name as well.
ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}


def quantized_row(dtype) -> ElementType:
    """The integers of a quantized dtype, under the class of their storage."""
    try:
        return _QUANTIZED_ROWS[str(dtype)]
    except KeyError:
        raise NotImplementedError(f"save: elements of type {dtype} cannot be written yet") from None


def swap_bytes(data: bytearray | memoryview, row: ElementType) -> None:
    """Reverses the byte order of every element in place (a complex number is two elements)."""
    width = row.itemsize // 2 if row.name.startswith("complex") else row.itemsize
    if width == 1:
        return
    source = bytes(data)
    for i in range(width):
        data[i::width] = source[width - 1 - i :: width]
