"""Threads for copying and checking big files; reading, writing and checksums release the interpreter's lock."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

PARALLEL_FROM = 1 << 20  # bytes of a record from which a thread of its own pays


def executor() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # which takes longer than reading a small file

    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(min(8, cpus), "torch.serialize")
