"""Protocol buffers, as far as event files need them: a message is the bytes of its fields, one after the other.

https://protobuf.dev/programming-guides/encoding/ tells the format. Field numbers stand where a message is made.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable


def varint(value: int) -> bytes:
    """
    >>> varint(300).hex(), varint(-1).hex()
    ('ac02', 'ffffffffffffffffff01')
    """
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int | bool) -> bytes:
    return varint(field << 3) + varint(int(value))


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


def data(field: int, value: bytes | str) -> bytes:
    """Bytes, text, or a message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def doubles(field: int, values: Iterable[float]) -> bytes:
    """Repeated doubles, packed."""
    values = list(values)
    return data(field, struct.pack(f"<{len(values)}d", *values))


def entries(field: int, messages: dict[str, bytes]) -> bytes:
    """A map from text to messages."""
    return b"".join(data(field, data(1, key) + data(2, value)) for key, value in messages.items())
