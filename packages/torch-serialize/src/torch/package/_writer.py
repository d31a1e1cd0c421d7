"""The zip of a package, written record by record: to a file object as it comes, to a path in one step at the end."""

from __future__ import annotations

import os
import tempfile
import weakref
import zlib
from typing import Any

from torch.serialize._formats.zip_writer import ZipLayout


class Writer:
    """Records under the name of the archive; nothing is at the path before `end`."""

    def __init__(self, f: Any):
        self._layout = ZipLayout()
        self._path = None
        if isinstance(f, (str, os.PathLike)):
            self._path = os.fspath(f)
            folder = os.path.dirname(os.path.abspath(self._path))
            self._file = tempfile.NamedTemporaryFile(dir=folder, prefix=".package-", delete=False)  # noqa: SIM115
            self.name = os.path.splitext(os.path.basename(os.fsdecode(self._path)))[0] or "archive"
            self._forget = weakref.finalize(self, _remove, self._file)  # of a package that is not closed
        elif hasattr(f, "write"):
            self._file, self.name = f, "archive"
        else:
            raise TypeError(f"PackageExporter: expected a path or a binary file object, got {type(f).__name__}")
        self.written: set[str] = set()

    def record(self, title: str, data: Any) -> None:
        """One record; its contents may be any bytes-like object."""
        if title in self.written:
            raise RuntimeError(f"PackageExporter: there is a record {title!r} already")
        self.written.add(title)
        view = memoryview(data).cast("B")
        self._file.write(self._layout.header(f"{self.name}/{title}", len(view), zlib.crc32(view)))
        self._file.write(view)

    def end(self) -> None:
        """The directory; then the file is there under its name."""
        self._file.write(self._layout.end())
        if self._path is None:
            if hasattr(self._file, "flush"):
                self._file.flush()
            return
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(self._file.fileno(), 0o666 & ~mask)
        self._file.close()
        self._forget.detach()
        os.replace(self._file.name, self._path)

    def drop(self) -> None:
        """Leave nothing at the path."""
        if self._path is not None:
            self._forget()


def _remove(file: Any) -> None:
    file.close()
    os.unlink(file.name)
