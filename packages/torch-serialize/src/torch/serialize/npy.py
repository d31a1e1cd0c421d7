"""NumPy's ``.npy`` and ``.npz`` files, read without running anything in them.

Format: NumPy NEP 1, versions 1 to 3: magic, version, header length, a dict literal, the elements.
"""

from __future__ import annotations

import importlib
import math

from ._arrays.dtypes import BY_NUMPY, ElementType
from ._arrays.numpy_arrays import is_numpy_array, row_of_numpy
from ._arrays.stored import MAX_DIMS, Stored
from ._arrays.torch_arrays import row_of_dtype, tensor_bytes
from ._errors import FileFormatError, brief
from ._formats import crc as crc
from ._formats.zip_reader import TRUSTED_EXPANSION, ZipReader, check_name
from ._formats.zip_writer import ZipLayout
from ._storage.source import MemorySource, Source, open_source
from ._storage.write import write_to

_MAX_HEADER = 10_000  # as NumPy itself reads
_CODES = {"b1": "bool", "c8": "complex64", "c16": "complex128"}
_NAMES = {"f": "float", "i": "int", "u": "uint"}


def load_npy(f, arrays: str | None = None):
    """The tensor of a ``.npy`` file, or an ndarray where only NumPy is installed; arrays of objects are refused.

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
    return _with_session(f, arrays, lambda source, session: read_npz(ZipReader(source, TRUSTED_EXPANSION), session))


def _with_session(f, arrays, read):
    from ._session import Session, Settings

    source = open_source(f, "load_npy")
    try:
        with Session(source, Settings(arrays)) as session:
            return read(source, session)
    finally:
        source.close()


def read_npy(source: Source, session):
    """The tensor in a source that starts with NumPy's magic."""
    row, swapped, fortran, shape, offset = _header(source)
    nbytes = math.prod(shape) * row.itemsize
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
        storage, contents = session.archived(reader, record)
        member = MemorySource(contents, f"{reader.source.name}:{name}")
        row, swapped, fortran, shape, offset = _header(member, record.size)
        part = session.backend.part(storage, offset, math.prod(shape) * row.itemsize, row.itemsize)
        session.swap(part, row, swapped)
        stored = session.backend.stored(part, row, "cpu")
        out[name.removesuffix(".npy")] = _strided(session, stored, row, shape, fortran)
    return out


def _header(source: Source, size_of_file: int | None = None):
    head = bytes(source.read(0, min(12, source.size)))
    if len(head) < 10 or head[:6] != b"\x93NUMPY":
        raise FileFormatError(f"load: {source.name} is not a .npy file")
    wide = head[6] > 1
    start = 12 if wide else 10
    size = int.from_bytes(head[8:start], "little")
    if head[6] not in (1, 2, 3) or size > _MAX_HEADER:
        raise FileFormatError(f"load: {source.name} has a .npy header of version {head[6]} and {size} bytes")
    text = bytes(source.read(start, size)).decode("utf-8" if head[6] == 3 else "latin1")
    import ast

    try:
        fields = ast.literal_eval(text.strip())
        code, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise FileFormatError(f"load: {source.name} has a broken .npy header: {text[:80]!r}") from None
    if (
        type(fortran) is not bool
        or type(shape) is not tuple
        or len(shape) > MAX_DIMS
        or not all(type(n) is int and 0 <= n < 1 << 63 for n in shape)
    ):
        raise FileFormatError(f"load: {source.name} declares an array of shape {brief(shape)}")
    name = _CODES.get(code[1:], _NAMES.get(code[1:2], "") + _bits(code[2:])) if type(code) is str else ""
    row = BY_NUMPY.get(name)
    if row is None:
        raise FileFormatError(
            f"load: {source.name} holds elements of type {brief(code)}; numbers and booleans are read"
        )
    there = (source.size if size_of_file is None else size_of_file) - start - size
    if math.prod(shape) * row.itemsize > there:
        raise FileFormatError(
            f"load: {source.name} declares an array of shape {brief(shape)} and type {row.name}, "
            f"and has {there} bytes after its header"
        )
    return row, code[0] == ">", fortran, shape, start + size


def _bits(text: str) -> str:
    return str(8 * int(text)) if text.isdecimal() and len(text) < 3 else "?"


def save_npy(array, f) -> None:
    """Writes a tensor or ndarray as a ``.npy`` file of version 1."""
    head, data = _encoded(array, "save_npy")
    write_to(f, "array", lambda sink: (sink.write(head), sink.write(data)))


def save_npz(arrays: dict, f) -> None:
    """Writes tensors or ndarrays by name as a ``.npz`` archive, uncompressed.

    Example:
        >>> import io, numpy
        >>> out = io.BytesIO()
        >>> save_npz({"a": numpy.arange(3)}, out)
        >>> load_npz(out.getvalue(), arrays="numpy")
        {'a': array([0, 1, 2])}
    """
    if not isinstance(arrays, dict) or not all(type(name) is str for name in arrays):
        raise TypeError("save_npz: expected a dict of tensors by name")
    crc32 = crc.function()
    for name in arrays:
        check_name(name, "save_npz")

    def produce(sink):
        write, layout = sink.write, ZipLayout()
        for name, array in arrays.items():
            head, data = _encoded(array, f"save_npz: {name!r}")
            write(layout.header(name + ".npy", len(head) + len(data), crc32(data, crc32(head))))
            write(head)
            write(data)
        write(layout.end())

    write_to(f, "arrays", produce)


def _encoded(array, what: str) -> tuple[bytes, memoryview]:
    """The header and the elements; columns before rows where they lie so in memory."""
    if is_numpy_array(array):
        numpy = importlib.import_module("numpy")
    elif hasattr(array, "untyped_storage"):
        tensor = array.detach().cpu()
        row = row_of_dtype(tensor.dtype)
        if row.numpy is None:
            raise TypeError(f"{what}: NumPy has no elements of type {row.name}: save tensor.float() instead")
        return _header_of(row, tuple(map(int, tensor.shape)), False), tensor_bytes(tensor)
    else:
        raise TypeError(f"{what}: expected a tensor or an ndarray, got {type(array).__name__}")
    row = row_of_numpy(array)
    if row is None or row.numpy is None:
        raise TypeError(f"{what}: elements of type {array.dtype} cannot be written; numbers and booleans can")
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = (array.T if fortran else array).astype(row.numpy, "C", copy=False)
    return _header_of(row, array.shape, fortran), memoryview(numpy.ascontiguousarray(flat).reshape(-1).view("u1"))


def _header_of(row: ElementType, shape: tuple, fortran: bool) -> bytes:
    kind = "b" if row.name == "bool" else {"f": "f", "c": "c", "i": "i", "u": "u"}[row.name[0]]
    code = f"{'|' if row.itemsize == 1 else '<'}{kind}{row.itemsize}"
    text = repr({"descr": code, "fortran_order": fortran, "shape": shape}).encode("latin1")
    text += b" " * (-(11 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
