"""Files within files: what `save` wrote at some place of a larger file, as in the checkpoints of jobs of many processes.

>>> import tempfile, torch
>>> from torch.serialize.regions import load_region
>>> with tempfile.TemporaryFile() as file:
...     _ = file.write(b"something else")
...     start = file.tell()
...     torch.save(torch.arange(3), file)
...     length = file.tell() - start
...     _ = file.write(b"and more")
...     load_region(file, start, length)
tensor([0, 1, 2])
"""

from __future__ import annotations

import os

from ._errors import FileFormatError
from ._formats.dispatch import opened
from ._session import Session, Settings
from ._storage.source import DescriptorSource

__all__ = ["load_region"]


def load_region(file, start: int, length: int, mmap: bool = False):
    """The object in bytes ``[start, start + length)`` of an open file, read as by `load` with ``weights_only=True``.

    Args:
        file: a binary file with a descriptor; where it stands does not change
        mmap: tensors come from disk when they are touched; those that do not begin at a multiple of their element's
            size are read

    Raises:
        FileFormatError: when the file ends before, or something else lies there
    """
    name = file.name if isinstance(file.name, str) else "file"
    there = max(0, os.fstat(file.fileno()).st_size - start)
    if start < 0 or length < 0 or there < length:
        raise FileFormatError(f"load_region: {name} ends within {length} bytes from {start} on: {there} are there")
    return opened(DescriptorSource(file.fileno(), name, start, size=length), Session, False, Settings(mapped=mmap))
