"""Tells the format of a file by its first bytes and has its reader build the object that it holds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from .._errors import CallersError, FileFormatError
from .._session import Session, Settings
from .._storage.progress import progress as telling
from .._storage.source import DescriptorSource, MemorySource, Source, open_source
from ..npy import read_npy
from ..safetensors import is_safetensors, read_safetensors
from . import legacy_load, zip_load
from .zip_reader import is_zip


def opened(f, make: Callable[..., Session], told, settings: Settings, reader: Callable | None = None):
    """The object of a file, read by a session of these settings; `told` is the user's ``progress=``.

    `reader` reads it in place of the one that its format has.
    """
    reader = reader or read
    source = open_source(f, spool=settings.mapped)
    try:
        with telling(told, source.size, "load") as source.told, make(source, settings, reader) as session:
            return session.finish(reader(session))
    except CallersError as e:
        raise e.__cause__ from None
    finally:
        _leave_at_end(f, source)
        source.close()


def read(session: Session):
    """The object of the session's source, whatever its format."""
    return format_of(session.source)[1](session)


def format_of(source: Source) -> tuple[str, Callable[[Session], object]]:
    """What a file is, for people, and its reader."""
    if source.size == 0:
        raise EOFError(f"load: {source.name} is empty: it was never written, or the stream stands at its end")
    head = bytes(source.read(0, min(source.size, 512)))
    if is_zip(source):
        return "zip archive", zip_load.load
    if head.startswith(b"\x93NUMPY"):
        return "NumPy array", lambda session: read_npy(source, session)
    if is_safetensors(source, head):
        return "safetensors", lambda session: read_safetensors(source, session)
    if legacy_load.is_tar(head):
        return "tar archive of PyTorch 0.1", legacy_load.load_tar
    if legacy_load.is_stream(head):
        return "stream of pickles of PyTorch 0.1.10 to 1.5", legacy_load.load_stream
    if head[:1] == b"\x80" or head[:1] in b"(]}c":
        return "pickle", legacy_load.load_stream
    if head.startswith(b"version https://git-lfs"):
        raise FileFormatError(
            f"load: {source.name} is a pointer of git-lfs and not the file itself: fetch it with `git lfs pull`"
        )
    raise FileFormatError(
        f"load: {source.name} is not a file of torch.save, safetensors or NumPy; it starts with {head[:16]!r}"
    )


def _leave_at_end(f, source: Source) -> None:
    """A file object stands behind what was read, as after any read."""
    if not isinstance(f, (str, os.PathLike)) and hasattr(f, "seek") and hasattr(f, "tell"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            if source.end is not None and not source.owned:
                f.seek(source.base + source.end)
            elif isinstance(source, (DescriptorSource, MemorySource)):
                f.seek(0, os.SEEK_END)
