"""Writes PyTorch's two older formats, described in `legacy_load`."""

from __future__ import annotations

import struct
import sys

from .._arrays.adapters import Adapter
from .._arrays.dtypes import BYTES, ELEMENT_TYPES, UNTYPED, ElementType
from .._pickles.pickler import Pickler
from .legacy_load import MAGIC, PROTOCOL

_SYS_INFO = {
    "protocol_version": PROTOCOL,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def parts(obj, adapter: Adapter, format: str, protocol: int = 2) -> list:
    """The pieces of the file, in order."""
    return (_stream if format == "stream" else _tar)(obj, adapter, protocol)


def _dumps(obj) -> bytes:
    return Pickler(_Nothing()).dumps(obj)


class _Nothing(Adapter):
    def write(self, pickler, obj):
        return False


def _stream(obj, adapter: Adapter, protocol: int) -> list:
    adapter.id_end = b"N"  # no view of another storage
    body = Pickler(adapter, protocol).dumps(obj)
    keys = [str(i) for i in range(len(adapter.storages))]
    out = [_dumps(MAGIC), _dumps(PROTOCOL), _dumps(_SYS_INFO), body, _dumps(keys)]
    for key, storage in enumerate(adapter.storages):
        data, row = adapter.payload(storage), adapter.rows[key]
        width = 1 if row.storage == UNTYPED else row.itemsize
        out += [(len(data) // width).to_bytes(8, "little"), data]
    return out


class _TarAdapter:
    """Numbers tensors and storages of another adapter; their contents go into members of their own."""

    def __init__(self, adapter: Adapter):
        self.adapter = adapter
        self.tensors: list[bytes] = []
        self._known: dict[int, int] = {}

    def _check(self, key: int, row: ElementType) -> None:
        row, first = _of_2016(row), _of_2016(self.adapter.rows[key])
        if row.storage == UNTYPED or row.name.startswith("complex") or first is not row:
            raise NotImplementedError(f"save: the tar format of 2016 has no elements of {row.name} in this storage")

    def write(self, pickler, obj) -> bool:
        if (own := self.adapter.own_storage(obj)) is not None:
            self._check(*own)
            pickler.save(str(own[0]))
            pickler.write(b"Q")
            return True
        if getattr(type(obj), "is_quantized", None) is True:
            raise NotImplementedError("save: the tar format of 2016 has no quantized tensors")
        found = self.adapter.geometry(obj)
        if found is None:
            return self.adapter.write(pickler, obj)
        if id(obj) not in self._known:
            key, row, offset, size, stride = found
            self._check(key, row)
            number = 1_000_000 + len(self.tensors)
            self._known[id(obj)] = number
            entry = Pickler(_Names())
            cls = _Name("torch." + row.storage.replace("Storage", "Tensor"))
            head = entry.dumps((number, key, cls))
            geometry = struct.pack(f"<i4x{2 * len(size) + 1}q", len(size), *size, *stride, offset)
            self.tensors.append(head + geometry)
        pickler.save(str(self._known[id(obj)]))
        pickler.write(b"Q")
        return True


class _Name:
    def __init__(self, full: str):
        self.full = full


class _Names(_Nothing):
    def write(self, pickler, obj):
        if isinstance(obj, _Name):
            pickler.write(pickler.name(obj.full))
            return True
        return False


def _of_2016(row: ElementType) -> ElementType:
    """Its only storage of plain bytes is that of uint8."""
    return ELEMENT_TYPES["uint8"] if row is BYTES else row


def _tar(obj, adapter: Adapter, protocol: int) -> list:
    tar = _TarAdapter(adapter)
    body = Pickler(tar, protocol).dumps(obj)
    storages = [_dumps(len(adapter.storages))]
    for key, storage in enumerate(adapter.storages):
        data, row = adapter.payload(storage), adapter.rows[key]
        storages.append(Pickler(_Names()).dumps((key, "cpu", _Name("torch." + _of_2016(row).storage))))
        storages += [(len(data) // row.itemsize).to_bytes(8, "little"), data]
    storages.append(_dumps([]))
    tensors = [_dumps(len(tar.tensors)), *tar.tensors]
    out: list = []
    for name, pieces in (
        ("sys_info", [_dumps(_SYS_INFO)]),
        ("storages", storages),
        ("tensors", tensors),
        ("pickle", [body]),
    ):
        size = sum(map(len, pieces))
        out += [_tar_header(name, size), *pieces, b"\0" * (-size % 512)]
    return [*out, b"\0" * 1024]


def _tar_header(name: str, size: int) -> bytes:
    head = bytearray(512)

    def put(at, text):
        head[at : at + len(text)] = text

    put(0, name.encode())
    put(100, b"0000644\0" + b"0000000\0" * 2)
    put(124, b"%011o\0" % size + b"%011o\0" % 0 + b" " * 8 + b"0")
    put(257, b"ustar\0" + b"00")
    put(148, b"%06o\0 " % sum(head))
    return bytes(head)
