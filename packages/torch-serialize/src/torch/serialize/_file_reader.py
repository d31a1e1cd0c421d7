"""The records of a file of ``torch.save`` one by one, for programs that read weights when they need them."""

from __future__ import annotations

from ._formats.zip_reader import TRUSTED_EXPANSION, ZipReader
from ._storage.source import open_source

SERIALIZATION_ID = ".data/serialization_id"


class PyTorchFileReader:
    """The records of an archive: a path or a file object that can seek. RuntimeError for a name that it lacks.

    >>> import io, torch
    >>> file = io.BytesIO()
    >>> torch.save([torch.arange(3)], file)
    >>> reader = torch.PyTorchFileReader(file)
    >>> "data/0" in reader.get_all_records(), reader.get_record_size("data/0")
    (True, 24)
    """

    def __init__(self, name_or_buffer):
        if hasattr(name_or_buffer, "seek"):
            name_or_buffer.seek(0)
        self._source = open_source(name_or_buffer, "PyTorchFileReader")
        self._reader = ZipReader(self._source, TRUSTED_EXPANSION)
        if not self._reader.records:
            raise self._reader.fail("it holds no records")
        self._root = next(iter(self._reader.records)).partition("/")[0] + "/"

    def _record(self, name):
        record = self._reader.records.get(self._root + name)
        if record is None:
            raise RuntimeError(f"PyTorchFileReader: {self._source.name} has no record {name!r}")
        return record

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.removeprefix(self._root) for name in self._reader.records]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return self._root + name in self._reader.records

    def get_record(self, name: str) -> bytes:
        """The contents of a record."""
        return self._reader.read(self._record(name))

    def get_record_size(self, name: str) -> int:
        """How many bytes a record holds."""
        return self._record(name).size

    def get_record_offset(self, name: str) -> int:
        """Where the contents of a stored record begin in the file."""
        record = self._record(name)
        if record.deflated:
            raise RuntimeError(f"PyTorchFileReader: record {name!r} is compressed: its bytes do not stand in the file")
        return record.offset

    def get_storage_from_record(self, name: str, numel: int, dtype):
        """A tensor of ``numel`` elements with the contents of a record; ``tensor.untyped_storage()`` is its storage."""
        import torch

        record = self._record(name)
        if numel * dtype.itemsize > record.size:
            raise RuntimeError(
                f"PyTorchFileReader: record {name!r} holds {record.size} bytes, fewer than {numel} of {dtype}"
            )
        contents = bytearray(record.size)
        self._reader.read_into(record, memoryview(contents))
        if not contents:
            return torch.empty(0, dtype=dtype)
        return torch.frombuffer(contents, dtype=torch.uint8)[: numel * dtype.itemsize].view(dtype)

    def serialization_id(self) -> str:
        """What tells this file from others, as its writer noted it; empty where there is no note."""
        return self.get_record(SERIALIZATION_ID).decode() if self.has_record(SERIALIZATION_ID) else ""
