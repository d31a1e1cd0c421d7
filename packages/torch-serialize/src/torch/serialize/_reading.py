"""What programs that read parts of a checkpoint by themselves take from ``torch.serialization``."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable

from ._file_reader import PyTorchFileReader
from ._storage.location import default_restore_location


class StorageType:
    """What a class of storages is to who reads a pickle by hand: its dtype.

    >>> StorageType("BFloat16Storage").dtype
    torch.bfloat16
    """

    def __init__(self, name: str):
        kind = getattr(importlib.import_module("torch"), name, None) if name.endswith("Storage") else None
        dtype = getattr(kind, "dtype", None)
        if dtype is None:
            raise KeyError(f"StorageType: no class of storages has the name {name!r}")
        self.dtype = dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def _maybe_decode_ascii(text: bytes | str) -> str:
    """Texts as they are; bytes, which Python 2 pickled in their place, decoded."""
    return text.decode("ascii") if isinstance(text, bytes) else text


def _is_zipfile(f) -> bool:
    """Whether a zip archive begins where the file stands; it stands there still afterwards."""
    place = f.tell()
    first = f.read(4)
    f.seek(place)
    return bytes(first) == b"PK\x03\x04"


@contextlib.contextmanager
def _opened(file, close):
    try:
        yield file
    finally:
        close()


def _open_file_like(name_or_buffer, mode: str):
    """A context in which a path is an open file, and a buffer itself; a buffer that was written to is flushed at its end."""
    if isinstance(name_or_buffer, (str, os.PathLike)):
        file = open(name_or_buffer, mode)  # noqa: SIM115 (the context closes it)
        return _opened(file, file.close)
    if "w" in mode:
        return _opened(name_or_buffer, name_or_buffer.flush)
    if "r" not in mode:
        raise RuntimeError(f"_open_file_like: expected 'r' or 'w' in the mode, got {mode!r}")
    for method in ("seek", "tell"):
        if not hasattr(name_or_buffer, method):
            raise AttributeError(
                f"{type(name_or_buffer).__name__!r} object has no attribute {method!r}: torch.load reads files that can seek; "
                "read the contents into an io.BytesIO first"
            )
    return contextlib.nullcontext(name_or_buffer)


def _open_zipfile_reader(name_or_buffer):
    """A context that gives a :class:`PyTorchFileReader`."""
    return contextlib.nullcontext(PyTorchFileReader(name_or_buffer))


def _is_torchscript_zip(zip_file) -> bool:
    """Whether an archive is of ``torch.jit.save``."""
    return "constants.pkl" in zip_file.get_all_records()


def _get_restore_location(map_location) -> Callable:
    """The function of a storage and its location that ``map_location`` stands for."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)) or hasattr(map_location, "index"):  # a text or a torch.device
        place = str(_maybe_decode_ascii(map_location))
        return lambda storage, location: default_restore_location(storage, place)

    def restored(storage, location):
        moved = map_location(storage, location)
        return default_restore_location(storage, location) if moved is None else moved

    return restored
