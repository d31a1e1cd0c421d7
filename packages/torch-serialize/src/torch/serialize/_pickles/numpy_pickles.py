"""NumPy's own pickled names, for arrays and scalars of numbers, text and dates: everything but objects and fields.

NumPy's `__setstate__` frees the memory that an array has, and believes what it is told of a dtype. Here an array and a
dtype get their state once, before anything else can have seen them, and it is one of our own: made of sizes that were
compared with the number of bytes, and of a copy of these.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable

from .._errors import FileFormatError, brief
from .budget import Budget
from .words import KINDS, TABLE, Kind, Word, is_dims

_KINDS = "biufcSUmM"
_is_code = re.compile(r"[<>|=]?[biufcSUmM?]\d{0,7}").fullmatch
_ORDERS = ("<", ">", "=", "|")
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")
_ROWS = {name: (takes, make) for name, takes, _, make in TABLE if name.startswith("numpy.")}
_CLASSES = frozenset(
    f"{name}DType"
    for name in (
        "Bool", "Byte", "UByte", "Short", "UShort", "Int", "UInt", "Long", "ULong", "LongLong", "ULongLong", "Int8", "UInt8",
        "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float16", "Float32", "Float64", "LongDouble", "Complex64",
        "Complex128", "CLongDouble", "Bytes", "Str", "DateTime64", "TimeDelta64",
    )
)  # fmt: skip


def _check(dtype) -> None:
    if dtype.kind not in _KINDS or dtype.fields or dtype.subdtype:
        raise FileFormatError(f"a NumPy array of {dtype} is in the file; arrays of numbers, text and dates are read")


class NumpyWords:
    """The words of NumPy for one reader, which pays for the bytes of arrays out of `budget()`."""

    def __init__(self, budget: Callable[[], Budget]):
        self._budget = budget
        self._waiting: dict[int, object] = {}  # arrays and dtypes by id, whose state is still to come
        self._words: dict[str, Word] = {}

    def find(self, module: str, name: str) -> Word | None:
        """The word for a name of NumPy, or None."""
        full = f"{module}.{name}"
        if full in self._words:
            return self._words[full]
        if module == "numpy.dtypes" and name in _CLASSES:  # protocol of NumPy 2 for its dtype classes
            if (cls := getattr(importlib.import_module("numpy").dtypes, name, None)) is None:
                return None
            word = Word(full, "", lambda: self._of_class(cls), {})
        elif (row := _ROWS.get(full)) is not None:
            takes, make = row
            numpy = importlib.import_module("numpy")
            kinds = KINDS | {
                "ndarray": Kind(lambda obj: obj is numpy.ndarray),
                "npdtype": Kind(lambda obj: isinstance(obj, numpy.dtype)),
            }
            value = numpy.ndarray if make is None else numpy.dtype if make == "dtype" else None
            word = Word(full, takes, make and getattr(self, f"_{make}"), kinds, value)
        else:
            return None
        return self._words.setdefault(full, word)

    def build(self, target, state) -> bool:
        """Sets the state of an ndarray or dtype; False for anything else."""
        if type(target).__module__.partition(".")[0] != "numpy":
            return False
        numpy = importlib.import_module("numpy")
        if type(target) is numpy.ndarray:
            set_state = self._array_state
        elif isinstance(target, numpy.dtype):
            set_state = self._dtype_state
        else:
            return False
        if self._waiting.get(id(target)) is not target:
            raise FileFormatError(f"the state of a NumPy {type(target).__name__} that is complete is set once more")
        set_state(numpy, target, state)
        del self._waiting[id(target)]
        return True

    def is_complete(self, array) -> bool:
        """Whether an array has its elements."""
        return id(array) not in self._waiting

    def _array_state(self, numpy, target, state) -> None:
        if type(state) is not tuple or len(state) != 5:
            raise FileFormatError(f"a NumPy array with the state {brief(state)} is in the file")
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, numpy.dtype) or not is_dims(shape) or min(shape, default=0) < 0:
            raise FileFormatError(f"a NumPy array of shape {brief(shape)} and type {brief(dtype)} is in the file")
        _check(dtype)
        if type(data) not in (bytes, str):
            raise FileFormatError("a NumPy array of objects is in the file; arrays of numbers, text and dates are read")
        self._budget().pay(len(data), "its NumPy arrays")
        own = data.encode("latin1") if type(data) is str else bytes(memoryview(data))
        if math.prod(shape) * dtype.itemsize != len(own) or not dtype.itemsize:
            raise FileFormatError(
                f"a NumPy array of shape {brief(shape)} and type {dtype} is stored in {len(own)} bytes"
            )
        self._waiting.pop(id(dtype), None)
        numpy.ndarray.__setstate__(
            target, (1, tuple(shape), dtype, fortran is True or (type(fortran) is int and fortran == 1), own)
        )

    def _dtype_state(self, numpy, target, state) -> None:
        dates = target.kind in "mM"
        if type(state) is not tuple or len(state) < 8 or type(state[1]) is not str or state[1] not in _ORDERS:
            raise FileFormatError(f"a NumPy dtype with the state {brief(state)} is in the file")
        if any(part is not None for part in state[2:5]):
            raise FileFormatError(f"a NumPy dtype with the state {brief(state)} is in the file")
        if dates and len(state) == 9:
            numpy.dtype.__setstate__(target, (4, state[1], None, None, None, -1, -1, 0, _unit(state[8])))
        elif target.kind in "biufc":
            numpy.dtype.__setstate__(target, (3, state[1], None, None, None, -1, -1, 0))
        elif target.kind == "U":
            numpy.dtype.__setstate__(target, (3, state[1], None, None, None, target.itemsize, 4, 8))

    def _dtype(self, code, align=False, copy=False):
        if not _is_code(code):  # NumPy reads a whole language of field lists here
            raise FileFormatError(f"a NumPy dtype of {brief(code)} is in the file")
        try:
            dtype = importlib.import_module("numpy").dtype(code, False, True)
        except TypeError as e:
            raise FileFormatError(f"a NumPy dtype of {brief(code)} is in the file: {e}") from None
        _check(dtype)
        self._waiting[id(dtype)] = dtype
        return dtype

    def _of_class(self, cls):
        dtype = cls()
        _check(dtype)
        return dtype

    def _scalar(self, dtype, data):
        _check(dtype)
        self._waiting.pop(id(dtype), None)
        if type(data) is str:
            data = data.encode("latin1")
        if len(data) != dtype.itemsize or not data:
            raise FileFormatError(f"a NumPy scalar of type {dtype} is stored in {len(data)} bytes")
        return importlib.import_module("numpy").frombuffer(data, dtype)[0]

    def _reconstruct(self, subtype, shape, code):
        array = importlib.import_module("numpy").ndarray((0,), "b")
        self._waiting[id(array)] = array
        return array

    def _frombuffer(self, data, dtype, shape, order):
        _check(dtype)
        self._waiting.pop(id(dtype), None)
        fits = min(shape, default=0) >= 0 and math.prod(shape) * dtype.itemsize == len(data) and dtype.itemsize
        if order not in ("C", "F", "A") or not fits:
            raise FileFormatError(
                f"a NumPy array of shape {brief(shape)}, order {brief(order)} and type {dtype} is in {len(data)} bytes"
            )
        if type(data) is bytearray:
            self._budget().pay(len(data), "its NumPy arrays")
            data = bytearray(data)
        if not data:
            return importlib.import_module("numpy").empty(tuple(shape), dtype)
        # As NumPy's: of bytes, which others may hold as well, it is read-only.
        return importlib.import_module("numpy").frombuffer(data, dtype).reshape(tuple(shape), order=order)


def _unit(metadata) -> tuple:
    """The unit of dates and spans of time: (None, (unit, how many of it, parts of it, events))."""
    if type(metadata) is tuple and len(metadata) == 2 and type(metadata[1]) is tuple and len(metadata[1]) == 4:
        unit, *numbers = metadata[1]
        if type(unit) in (bytes, str) and all(type(n) is int and 1 <= n < 1 << 31 for n in numbers):
            name = unit.decode("latin1") if type(unit) is bytes else unit
            if name in _UNITS and numbers[1:] == [1, 1]:
                return None, (name.encode(), *numbers)
    raise FileFormatError(f"a NumPy date of the unit {brief(metadata)} is in the file")
