"""NumPy's own pickled names, for arrays and scalars of numbers, text and dates: everything but objects and fields."""

from __future__ import annotations

import importlib
import re

from ._errors import FileFormatError, brief

_KINDS = "biufcSUmM"
_is_code = re.compile(r"[<>|=]?[biufcSUmM?]\d{0,7}").fullmatch
_PLAIN_STATES = ({"<", ">", "=", "|"}, (None, None, None))


def _check(dtype) -> None:
    if dtype.kind not in _KINDS or dtype.fields or dtype.subdtype:
        raise FileFormatError(f"a NumPy array of {dtype} is in the file; arrays of numbers, text and dates are read")


def _dtype(code, align=False, copy=False):
    if type(code) is not str or not _is_code(code):  # NumPy reads a whole language of field lists here
        raise FileFormatError(f"a NumPy dtype of {brief(code)} is in the file")
    dtype = importlib.import_module("numpy").dtype(code, False, True)
    _check(dtype)
    return dtype


def _scalar(dtype, data=b""):
    numpy = importlib.import_module("numpy")
    if type(data) is str:
        data = data.encode("latin1")
    _check(dtype)
    if type(data) is not bytes or len(data) != dtype.itemsize:
        raise FileFormatError(f"a NumPy scalar of type {dtype} is stored in {len(data)} bytes")
    return numpy.frombuffer(data, dtype)[0]


def _reconstruct(subtype, shape, code):
    return importlib.import_module("numpy").ndarray((0,), "b")


def _frombuffer(data, dtype, shape, order):
    numpy = importlib.import_module("numpy")
    _check(dtype)
    return numpy.frombuffer(data, dtype).reshape(shape, order=order)  # like NumPy: of bytes, it is read-only


def build(target, state) -> bool:
    """Sets the state of an ndarray or dtype after a look at it; False for anything else."""
    name = f"{type(target).__module__}.{type(target).__qualname__}"
    if name == "numpy.ndarray":
        _, shape, dtype, fortran, data = state
        _check(dtype)
        if type(data) not in (bytes, str):
            raise FileFormatError("a NumPy array of objects is in the file; arrays of numbers, text and dates are read")
        target.__setstate__(state)
        return True
    if name.startswith("numpy.") and type(target).__mro__[-2].__name__ == "dtype":
        order, fields = _PLAIN_STATES
        if len(state) < 8 or state[1] not in order or tuple(state[2:5]) != fields:
            raise FileFormatError(f"a NumPy dtype with the state {brief(state)} is in the file")
        if target.kind in "biufc":
            target.__setstate__(tuple(state[:8]))
        return True
    return False


def find(module: str, name: str):
    """The function or class for a name of NumPy, or None."""
    if module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        return {"scalar": _scalar, "_reconstruct": _reconstruct}.get(name)
    if module in ("numpy.core.numeric", "numpy._core.numeric"):
        return {"_frombuffer": _frombuffer}.get(name)
    if module == "numpy" and name == "dtype":
        return _dtype
    if module == "numpy" and name == "ndarray":
        return importlib.import_module("numpy").ndarray
    if module == "numpy.dtypes" and name.endswith("DType"):  # protocol of NumPy 2 for its dtype classes
        return _dtype_class(name)
    return None


def _dtype_class(name: str):
    cls = getattr(importlib.import_module("numpy").dtypes, name, None)
    if cls is None:
        return None

    def make(*args):
        dtype = cls()
        _check(dtype)
        return dtype

    return make
