"""NumPy's ``.npy`` and ``.npz`` files, read without running anything in them.

Format: NumPy NEP 1, versions 1 to 3: magic, version, header length, a dict literal, the elements.
"""

from __future__ import annotations

import ast
import math

from ._arrays import Stored
from ._dtypes import BY_NUMPY, ElementType
from ._errors import FileFormatError
from ._source import MemorySource, Source, open_source
from ._zip_reader import ZipReader

_MAX_HEADER = 1 << 16
_CODES = {"b1": "bool", "c8": "complex64", "c16": "complex128"}
_NAMES = {"f": "float", "i": "int", "u": "uint"}
NPZ_EXPANSION = 1000  # masks and labels compress well; deflate cannot do more than 1032


def load_npy(f, arrays: str | None = None):
    """The tensor of a ``.npy`` file, or an ndarray with NumPy alone; arrays of objects are refused.

    Example:
        >>> import io, numpy
        >>> out = io.BytesIO()
        >>> numpy.save(out, numpy.arange(3.0))
        >>> load_npy(out.getvalue(), arrays="numpy")
        array([0., 1., 2.])
    """
    return _with_session(f, arrays, read_npy)


def load_npz(f, arrays: str | None = None) -> dict:
    """The tensors of a ``.npz`` archive by name."""
    return _with_session(f, arrays, lambda source, session: read_npz(ZipReader(source, NPZ_EXPANSION), session))


def _with_session(f, arrays, read):
    import pickle

    from ._session import Session

    source = open_source(f, "load_npy")
    try:
        with Session(source, arrays, None, True, pickle, {}, False) as session:
            return read(source, session)
    finally:
        source.close()


def read_npy(source: Source, session):
    """The tensor in a source that starts with NumPy's magic."""
    row, swapped, fortran, shape, offset = _header(source)
    nbytes = math.prod(shape) * row.itemsize
    if offset + nbytes > source.size:
        raise FileFormatError(
            f"load: {source.name} declares an array of shape {shape} and type {row.name}, {nbytes} bytes, "
            f"and has {source.size - offset} after its header"
        )
    session.swapped = swapped
    stored = session.storage(row, "cpu", nbytes, lambda target: source.read_into(offset, target), offset)
    return _strided(session, stored, row, shape, fortran)


def _strided(session, stored: Stored, row: ElementType, shape, fortran):
    strides, step = [], 1
    for n in shape if fortran else reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return session.backend.tensor(stored, row, 0, shape, tuple(strides if fortran else reversed(strides)))


def read_npz(reader: ZipReader, session) -> dict:
    """The arrays of a zip archive of ``.npy`` records."""
    out = {}
    for name, record in reader.records.items():
        member = MemorySource(memoryview(reader.read(record)), f"{reader.source.name}:{name}")
        out[name.removesuffix(".npy")] = read_npy(member, session)
    return out


def _header(source: Source):
    head = bytes(source.read(0, min(12, source.size)))
    if len(head) < 10 or head[:6] != b"\x93NUMPY":
        raise FileFormatError(f"load: {source.name} is not a .npy file")
    wide = head[6] > 1
    start = 12 if wide else 10
    size = int.from_bytes(head[8:start], "little")
    if head[6] not in (1, 2, 3) or size > _MAX_HEADER:
        raise FileFormatError(f"load: {source.name} has a .npy header of version {head[6]} and {size} bytes")
    text = bytes(source.read(start, size)).decode("utf-8" if head[6] == 3 else "latin1")
    try:
        fields = ast.literal_eval(text.strip())
        code, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise FileFormatError(f"load: {source.name} has a broken .npy header: {text[:80]!r}") from None
    if type(fortran) is not bool or type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape):
        raise FileFormatError(f"load: {source.name} declares an array of shape {shape!r:.80}")
    name = _CODES.get(code[1:], _NAMES.get(code[1:2], "") + _bits(code[2:])) if type(code) is str else ""
    row = BY_NUMPY.get(name)
    if row is None:
        raise FileFormatError(f"load: {source.name} holds elements of type {code!r:.80}; numbers and booleans are read")
    return row, code[0] == ">", fortran, shape, start + size


def _bits(text: str) -> str:
    return str(8 * int(text)) if text.isdecimal() and len(text) < 3 else "?"


def save_npy(array, f) -> None:
    """Writes a tensor or ndarray as a ``.npy`` file of version 1."""
    from ._save import _write

    data = memoryview(array.numpy() if hasattr(array, "numpy") else array)
    fields = {"descr": _descr(data), "fortran_order": False, "shape": data.shape}
    text = repr(fields).encode("latin1")
    text += b" " * (-(11 + len(text)) % 64) + b"\n"
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    _write(f, "array", lambda write, name: (write(head), write(data.tobytes())))


def _descr(data: memoryview) -> str:
    kinds = {"?": "b1", "e": "f2", "f": "f4", "d": "f8", "Zf": "c8", "Zd": "c16"}
    if data.format in kinds:
        return ("|" if data.format == "?" else "<") + kinds[data.format]
    signed = data.format in "bhilq"
    return ("|" if data.itemsize == 1 else "<") + ("i" if signed else "u") + str(data.itemsize)
