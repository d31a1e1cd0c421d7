"""Lays out stored (uncompressed) zip archives whose record data start at multiples of 64 bytes, so that it can be mapped."""

from __future__ import annotations

import struct

ALIGNMENT = 64
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
# Version 2.0, UTF-8 names, stored; 1980-01-01, so that equal contents give equal files.
_LOCAL = struct.pack("<4s5H", b"PK\x03\x04", 20, 0x0800, 0, 0, 0x0021)
_ENTRY = struct.pack("<4s6H", b"PK\x01\x02", 20, 20, 0x0800, 0, 0, 0x0021)
_LOCAL64 = _LOCAL.replace(b"\x14\0", b"\x2d\0", 1)  # 4.5: with zip64 sizes
_ENTRY64 = _ENTRY.replace(b"\x14\0\x14\0", b"\x2d\0\x2d\0", 1)
_facts = struct.Struct("<3LH").pack  # CRC, size twice, length of the name: the same in both headers
_rest = struct.Struct("<H10xL").pack  # of an entry: length of its extra field, where the local header is
# Extra field "FB", which PyTorch's own files use for the same purpose.
_PADDING = [struct.pack("<2H", 0x4246, n) + b"Z" * n for n in range(ALIGNMENT)]
_EXTRA_SIZE = [(4 + n).to_bytes(2, "little") for n in range(ALIGNMENT)]


class ZipLayout:
    """Turns records, told in order, into headers and the directory at the end; knows where it is in the file."""

    def __init__(self):
        self.position = 0
        self._entries: list[bytes] = []

    def header(self, name: str, size: int, crc: int) -> bytes:
        """The bytes before a record's data; `position` moves behind that data."""
        raw = name.encode()
        start = self.position
        if size >= _MAX32 or start >= _MAX32:
            return self._header64(raw, start, size, crc)
        used = start + 34 + len(raw)  # 30 of the header, 4 of the padding field's own header
        padding = -used % ALIGNMENT
        self.position = used + padding + size
        facts = _facts(crc, size, size, len(raw))
        self._entries.append(_ENTRY + facts + _rest(0, start) + raw)
        return b"%b%b%b%b%b" % (_LOCAL, facts, _EXTRA_SIZE[padding], raw, _PADDING[padding])

    def _header64(self, raw: bytes, start: int, size: int, crc: int) -> bytes:
        big = size >= _MAX32
        sizes = struct.pack("<2H2Q", 1, 16, size, size) if big else b""
        used = start + 34 + len(raw) + len(sizes)
        padding = -used % ALIGNMENT
        self.position = used + padding + size
        facts = _facts(crc, *[min(size, _MAX32)] * 2, len(raw))
        extra = struct.pack("<2Q", size, size) * big + struct.pack("<Q", start) * (start >= _MAX32)
        extra = struct.pack("<2H", 1, len(extra)) + extra
        self._entries.append(_ENTRY64 + facts + _rest(len(extra), min(start, _MAX32)) + raw + extra)
        extra_size = (len(sizes) + 4 + padding).to_bytes(2, "little")
        return b"".join((_LOCAL64, facts, extra_size, raw, sizes, _PADDING[padding]))

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
