"""CRC-32 as zip files use it: torch-core's carry-less-multiply version when it is installed, else zlib's."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable

_chosen: Callable | None = None


def function() -> Callable:
    """The fastest ``crc32(data, value=0)`` that is installed.

    >>> hex(function()(b"123456789"))
    '0xcbf43926'
    """
    global _chosen
    if _chosen is None:
        core = sys.modules.get("torch._C")
        _chosen = getattr(core, "_crc32", None) or zlib.crc32
    return _chosen
