"""Reads the pickles of a package: classes come from the package, storages from beside the pickle."""

from __future__ import annotations

import pickle
import struct
import sys
from typing import Any

import torch
from torch.serialize._errors import FileFormatError

from ._mangling import demangle


def raised_by_stream(error: Exception) -> bool:
    """Whether the unpickler itself raised an error, at what stands in the file, and no code that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == pickle.__file__


class PackageUnpickler(pickle._Unpickler):  # type: ignore[misc, name-defined]  # written in Python: `dispatch` can be changed
    """An unpickler whose classes are those of an importer."""

    def __init__(self, importer: Any, file: Any, storages: dict[str, Any], map_location: Any):
        super().__init__(file)
        self._importer, self._storages, self._map_location = importer, storages, map_location

    def _bytearray(self) -> None:
        # The base class makes room for as many bytes as the file claims before it looks for them.
        (size,) = struct.unpack("<Q", self.read(8))
        data = self.read(min(size, sys.maxsize))
        if len(data) < size:
            raise pickle.UnpicklingError(f"expected {size} bytes in a bytearray, but only {len(data)} remain")
        self.append(bytearray(data))

    dispatch = {**pickle._Unpickler.dispatch, pickle.BYTEARRAY8[0]: _bytearray}  # type: ignore[attr-defined]

    def find_class(self, module: str, name: str) -> Any:
        module = {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module)
        found = self._importer.import_module(demangle(module))
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def persistent_load(self, pid: Any) -> Any:
        if not isinstance(pid, tuple) or not pid:
            raise FileFormatError(f"{self._importer.filename}: {pid!r} is no persistent id of a package")
        if pid[0] != "storage":
            raise NotImplementedError(
                f"load_pickle: {pid[0]!r} in a package (compiled modules lie as such) is not read"
            )
        _, kind, key, location, count = pid
        untyped = self._storages.get(str(key))
        itemsize = 1 if kind is torch.storage.UntypedStorage else kind.dtype.itemsize
        if untyped is None:
            title = f".data/{key}.storage"
            if not self._importer.zip_reader.has_record(title):
                raise FileFormatError(f"{self._importer.filename}: there is no storage {key!r}")
            nbytes = self._importer.zip_reader.get_record_size(title)
            if not isinstance(count, int) or count * itemsize > nbytes:
                raise FileFormatError(
                    f"{self._importer.filename}: storage {key!r} has {nbytes} bytes, not {count} elements"
                )
            bytes_ = self._importer.zip_reader.get_storage_from_record(title, nbytes, torch.uint8)
            untyped = self._storages[str(key)] = bytes_.untyped_storage()
        moved = self._moved(untyped, location)
        if kind is torch.storage.UntypedStorage:
            return moved
        return torch.storage.TypedStorage(wrap_storage=moved, dtype=kind.dtype)

    def _moved(self, storage: Any, location: str) -> Any:
        where = self._map_location
        if callable(where):
            return where(storage, location) or storage
        if isinstance(where, dict):
            where = where.get(location, location)
        where = str(where if where is not None else location)
        return storage if where == "cpu" else torch.serialize.default_restore_location(storage, where)
