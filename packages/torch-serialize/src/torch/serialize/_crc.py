"""CRC-32 as zip files use it: torch-core's carry-less-multiply version when it is installed, else zlib's."""

from __future__ import annotations

import sys
import zlib


def crc32(data, value: int = 0) -> int:
    """CRC-32 of a bytes-like object, continued from `value`.

    >>> hex(crc32(b"123456789"))
    '0xcbf43926'
    """
    native = getattr(getattr(sys.modules.get("torch"), "_C", None), "_crc32", None)
    return (native or zlib.crc32)(data, value)
