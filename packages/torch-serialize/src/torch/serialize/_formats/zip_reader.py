"""Reads zip archives strictly: every record is checked against the file before a byte of it is used.

Refused: two records of one name, names that leave the archive, records that overlap or lie outside the file, local
headers that contradict the directory, encryption, methods other than stored and deflated, and compressed records that
promise more times the file than `set_default_load_expansion` says, or `TRUSTED_EXPANSION` when the caller trusts it.
Layout: PKWARE APPNOTE 6.3.9, sections 4.3 (records) and 4.5.3 (zip64).
"""

from __future__ import annotations

import re
import struct
import zlib
from itertools import pairwise
from typing import NamedTuple

from .._errors import FileFormatError
from .._options import options
from .._storage.source import Source
from . import crc as checksums

TRUSTED_EXPANSION = 1000  # masks and labels compress well; deflate cannot do more than 1032
_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s4x2H4x3L4H6xL")
_LOCAL = struct.Struct("<4s4xH16x2H")
_MAX32, _MAX16 = 0xFFFFFFFF, 0xFFFF
_plain_name = re.compile(rb"[\w.\-]+(?:/[\w.\-]+)*").fullmatch
_HEAD = 1 << 14
_CHUNK = 1 << 18  # stays in the cache between reading and checking


class Record(NamedTuple):
    name: str
    offset: int  # of the data, behind the local header
    size: int
    packed_size: int
    deflated: bool
    crc: int


def leaves_archive(name: str) -> bool:
    """Whether a name could mean a file elsewhere to a program that unpacks the archive."""
    parts = name.replace("\\", "/").split("/")
    return not name or "\0" in name or ".." in parts or name[0] in "/\\" or ":" in parts[0]


def check_name(name: str, what: str) -> None:
    if leaves_archive(name):
        raise ValueError(f"{what}: a record cannot be called {name!r}")


def _no_crc(data, value: int = 0) -> int:
    return 0


def is_zip(source: Source) -> bool:
    return source.size >= 22 and bytes(source.read(0, 4)) in (b"PK\x03\x04", b"PK\x05\x06")


class ZipReader:
    """The records of a zip archive by name."""

    def __init__(self, source: Source, expansion: float):
        self.source = source
        self._expansion = expansion
        self._crc32 = checksums.function() if options.compute_crc32 else _no_crc
        self.records = self._directory()

    def fail(self, text: str):
        return FileFormatError(f"{self.source.name}: not a valid zip archive: {text}")

    def _directory(self) -> dict[str, Record]:
        source = self.source
        offset, size, count = self._end()
        directory = bytes(source.read(offset, size))
        records: dict[str, Record] = {}
        spans = []
        compressed = position = 0
        for _ in range(count):
            if position + 46 > size:
                raise self.fail(f"the directory ends after {len(records)} of {count} records")
            sign, flags, method, crc, packed, full, name_size, extra_size, note_size, disk, start = _ENTRY.unpack_from(
                directory, position
            )
            if sign != b"PK\x01\x02":
                raise self.fail(f"record {len(records)} of the directory has no signature")
            begin = position + 46
            raw_name = directory[begin : begin + name_size]
            position = begin + name_size + extra_size + note_size
            if position > size:
                raise self.fail(f"the directory ends inside record {len(records)}")
            if full == _MAX32 or packed == _MAX32 or start == _MAX32:
                extra = directory[begin + name_size : begin + name_size + extra_size]
                full, packed, start = self._zip64(extra, full, packed, start)
            name = self._name(raw_name)
            if name in records:
                raise self.fail(f"two records are called {name!r}")
            if flags & 0x2041 or disk:
                raise self.fail(f"record {name!r} is encrypted or lies on another disk")
            if method not in (0, 8):
                raise self.fail(
                    f"record {name!r} uses compression method {method}; stored (0) and deflated (8) are read"
                )
            if method == 0 and packed != full:
                raise self.fail(f"record {name!r} is stored, but has the sizes {packed} and {full}")
            if method == 8:
                compressed += full
            data = self._data_offset(name, raw_name, start, method)
            if data + packed > offset:
                raise self.fail(f"record {name!r} of {packed} bytes does not fit before the directory")
            records[name] = Record(name, data, full, packed, method == 8, crc)
            spans.append((start, data + packed, name))
        if compressed > self._expansion * source.size:
            raise self.fail(
                f"its compressed records promise {compressed} bytes, more than {self._expansion} times the file's "
                f"{source.size}: this is how decompression bombs look. Store the records uncompressed (zip -0), or if you trust who "
                "made the file: torch.serialization.set_default_load_expansion(...), or torch.load(f, weights_only=False)"
            )
        spans.sort()
        for (_, end, name), (start, _, other) in pairwise(spans):
            if start < end:
                raise self.fail(f"records {name!r} and {other!r} overlap")
        return records

    def _end(self) -> tuple[int, int, int]:
        """Offset, size and number of records of the directory."""
        source = self.source
        if source.size < 22:
            raise self.fail(f"{source.size} bytes are too few")
        tail_size = min(source.size, 22 + _MAX16)
        tail = bytes(source.read(source.size - tail_size, tail_size))
        at = tail.rfind(b"PK\x05\x06")
        while at >= 0 and (
            at + 22 > tail_size or at + 22 + int.from_bytes(tail[at + 20 : at + 22], "little") != tail_size
        ):
            at = tail.rfind(b"PK\x05\x06", 0, at)
        if at < 0:
            raise self.fail("the directory at its end is missing: the file is truncated, or was never completed")
        _, disk, first, here, count, size, offset, _ = _END.unpack_from(tail, at)
        end = source.size - tail_size + at
        if at >= 20 and tail[at - 20 : at - 16] == b"PK\x06\x07":
            _, _, where, _ = _END64_LOCATOR.unpack_from(tail, at - 20)
            if where + 56 > end - 20:
                raise self.fail("its zip64 end record lies outside the file")
            sign, _, _, _, disk, first, here, count, size, offset = _END64.unpack(bytes(source.read(where, 56)))
            if sign != b"PK\x06\x06":
                raise self.fail("its zip64 end record has no signature")
            end = where
        if disk or first or here != count:
            raise self.fail("it spans several disks")
        if offset + size > end:
            raise self.fail(f"its directory of {size} bytes at {offset} does not fit into the file")
        if count * 46 > size:
            raise self.fail(f"its directory of {size} bytes cannot hold {count} records")
        return offset, size, count

    def _zip64(self, extra: bytes, full: int, packed: int, start: int) -> tuple[int, int, int]:
        position = 0
        while position + 4 <= len(extra):
            kind, size = struct.unpack_from("<2H", extra, position)
            if kind == 1:
                wide = [full, packed, start]
                fields = iter(
                    struct.unpack_from(f"<{size // 8}Q", extra.ljust(position + 4 + size, b"\0"), position + 4)
                )
                try:
                    return tuple(next(fields) if value == _MAX32 else value for value in wide)
                except (StopIteration, RuntimeError):
                    break
            position += 4 + size
        raise self.fail("a record of 4 GiB or more lacks its zip64 sizes")

    def _name(self, raw: bytes) -> str:
        if _plain_name(raw) and b".." not in raw:
            return raw.decode()
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            name = raw.decode("cp437")
        if leaves_archive(name):
            raise self.fail(f"record name {name[:80]!r} points outside the archive")
        return name

    def _data_offset(self, name: str, raw_name: bytes, start: int, method: int) -> int:
        if start + 30 + len(raw_name) > self.source.size:
            raise self.fail(f"record {name!r} starts at {start}, outside the file")
        header, at = self.source.memory, start
        if header is None:
            header, at = self.source.read(start, 30 + len(raw_name)), 0
        sign, local_method, name_size, extra_size = _LOCAL.unpack_from(header, at)
        if sign != b"PK\x03\x04" or header[at + 30 : at + 30 + len(raw_name)] != raw_name or local_method != method:
            raise self.fail(f"the header of record {name!r} at {start} contradicts the directory")
        return start + 30 + name_size + extra_size

    def _check(self, record: Record, crc: int) -> None:
        # 0: whoever wrote the record computed none (set_crc32_options, skip_data)
        if crc != record.crc and record.crc and self._crc32 is not _no_crc:
            raise FileFormatError(
                f"{self.source.name}: record {record.name!r} has CRC {crc:08x} instead of {record.crc:08x}: "
                "the file was damaged after it was written, or changed through a shared mapping "
                "(torch.serialization.set_crc32_options(False) reads it as it is)"
            )

    def read(self, record: Record) -> bytes:
        """The contents of a record, their CRC checked."""
        if record.deflated:
            out = bytearray(record.size)
            self.read_into(record, memoryview(out))
            return bytes(out)
        data = bytes(self.source.read(record.offset, record.packed_size))
        self._check(record, self._crc32(data))
        return data

    def head(self, record: Record, size: int = _HEAD) -> bytes:
        """The first bytes of a record, unchecked."""
        data = bytes(self.source.read(record.offset, min(record.packed_size, size)))
        if record.deflated:
            try:
                return zlib.decompressobj(-15).decompress(data, min(size, record.size))
            except zlib.error as e:
                raise self.fail(f"record {record.name!r} cannot be decompressed: {e}") from None
        return data

    def view(self, record: Record):
        """The contents of a stored record of a source in memory, without a copy, their CRC checked."""
        data = self.source.memory[record.offset : record.offset + record.size]
        if (crc := self._crc32(data)) != record.crc:
            self._check(record, crc)
        return data

    def read_into(self, record: Record, target: memoryview) -> None:
        """Fills `target`, which has the record's size, with its contents; CRC checked while they are in the cache."""
        crc, crc32 = 0, self._crc32
        if record.deflated:
            crc = self._inflate_into(record, target)
        else:
            for begin in range(0, record.size, _CHUNK):
                part = target[begin : begin + _CHUNK]
                self.source.read_into(record.offset + begin, part)
                crc = crc32(part, crc)
        self._check(record, crc)

    def verify(self, record: Record, contents: memoryview) -> None:
        """Compares the CRC of contents that are mapped."""
        crc = 0
        for begin in range(0, record.size, _CHUNK):
            part = contents[begin : begin + _CHUNK]
            crc = self._crc32(part, crc)
            self.source.told.advance(len(part))
        self._check(record, crc)

    def _inflate_into(self, record: Record, target: memoryview) -> int:
        unpacker, crc, done, position = zlib.decompressobj(-15), 0, 0, 0
        try:
            while position < record.packed_size and not unpacker.eof:
                count = min(_CHUNK, record.packed_size - position)
                data = self.source.read(record.offset + position, count)
                position += count
                while len(data) and not unpacker.eof:
                    part = unpacker.decompress(data, _CHUNK)
                    data = unpacker.unconsumed_tail
                    if done + len(part) > record.size:
                        break
                    target[done : done + len(part)] = part
                    crc = self._crc32(part, crc)
                    done += len(part)
                else:
                    continue
                break
        except zlib.error as e:
            raise self.fail(f"record {record.name!r} cannot be decompressed: {e}") from None
        if done != record.size or not unpacker.eof:
            raise self.fail(f"record {record.name!r} does not decompress to its declared {record.size} bytes")
        return crc
