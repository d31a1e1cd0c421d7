"""Lays out stored (uncompressed) zip archives whose record data start at multiples of 64 bytes, so that it can be mapped."""

from __future__ import annotations

import struct

ALIGNMENT = 64
_LOCAL = struct.Struct("<4s5H3L2H").pack
_ENTRY = struct.Struct("<4s6H3L5H2L").pack
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
_UTF8 = 0x0800
_DATE = 0x0021  # 1980-01-01: equal contents give equal files
_PADDING = 0x4246  # extra field "FB", which PyTorch's own files use for the same purpose


class ZipLayout:
    """Turns records, told in order, into headers and the directory at the end; knows where it is in the file."""

    def __init__(self):
        self.position = 0
        self._entries: list[bytes] = []

    def header(self, name: str, size: int, crc: int) -> bytes:
        """The bytes before a record's data; `position` moves behind that data."""
        raw = name.encode()
        start = self.position
        if size < _MAX32:
            short, zip64 = size, b""
        else:
            short, zip64 = _MAX32, struct.pack("<2H2Q", 1, 16, size, size)
        used = start + 34 + len(raw) + len(zip64)  # 30 of the header, 4 of the padding field's own header
        padding = -used % ALIGNMENT
        extra_size = len(zip64) + 4 + padding
        local = _LOCAL(b"PK\x03\x04", 45 if zip64 else 20, _UTF8, 0, 0, _DATE, crc, short, short, len(raw), extra_size)
        self.position = used + padding + size

        entry64 = struct.pack("<2Q", size, size) if zip64 else b""
        if start >= _MAX32:
            entry64 += struct.pack("<Q", start)
        version = 20
        if entry64:
            version = 45
            entry64 = struct.pack("<2H", 1, len(entry64)) + entry64
        self._entries.append(
            _ENTRY(b"PK\x01\x02", version, version, _UTF8, 0, 0, _DATE, crc, short, short, len(raw), len(entry64), 0, 0, 0, 0,
                   min(start, _MAX32)) + raw + entry64
        )  # fmt: skip
        return b"".join((local, raw, zip64, struct.pack("<2H", _PADDING, padding), b"Z" * padding))

    def end(self) -> bytes:
        """The directory and the end record."""
        directory = b"".join(self._entries)
        count, size, start = len(self._entries), len(directory), self.position
        parts = [directory]
        if count >= _MAX16 or size >= _MAX32 or start >= _MAX32:
            parts.append(struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start))
            parts.append(struct.pack("<4sLQL", b"PK\x06\x07", 0, start + size, 1))
        low = min(count, _MAX16)
        parts.append(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, low, low, min(size, _MAX32), min(start, _MAX32), 0))
        self.position = start + sum(map(len, parts))
        return b"".join(parts)
