"""Where bytes come from: a path, a file object or memory, all read by (offset, count) and never beyond the end.

A `Source` knows its size, so a reader can compare every size that the file declares with what is there before it
allocates anything.
"""

from __future__ import annotations

import io
import mmap
import os
import threading

from .._descriptor import Descriptor
from .._errors import FileFormatError
from .progress import SILENT

# Files up to this size are read in one go: one system call instead of two for every record.
WHOLE = 4 << 20
_STEP = 16 << 20  # between two reports of progress


class Source:
    """`size` bytes called `name`; `read` gives a bytes-like object, `read_into` fills a writable buffer."""

    concurrent = True  # read_into may be called by several threads at once
    memory: memoryview | None = None  # the whole contents, where they are at hand anyway
    fd = None  # the descriptor that the contents can be mapped from
    owned = False  # whether what is read is a file of our own: opened by its path, or a temporary one
    base = 0  # where the contents begin in the caller's file object
    end = None  # where the object ends that was read, when something may follow it
    told = SILENT  # who hears of bytes read by read_into

    def __init__(self, name: str, size: int):
        self.name = name
        self.size = size

    def check(self, offset: int, count: int) -> None:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise FileFormatError(
                f"{self.name}: {count} bytes expected at offset {offset}, but the file ends at {self.size}: "
                "it is truncated or altered"
            )

    def read(self, offset: int, count: int):
        raise NotImplementedError

    def read_into(self, offset: int, target: memoryview) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class MemorySource(Source):
    def __init__(self, data, name: str = "file", release=None, base: int = 0):
        super().__init__(name, len(data))
        self.memory = memoryview(data)
        self.base = base
        self._release = release

    def read(self, offset, count):
        self.check(offset, count)
        return self.memory[offset : offset + count]

    def read_into(self, offset, target):
        self.check(offset, len(target))
        target[:] = self.memory[offset : offset + len(target)]
        self.told.advance(len(target))

    def close(self):
        self.memory = None
        if self._release is not None:
            self._release()


class DescriptorSource(Source):
    """Bytes [base, base + size) of a regular file; to its end unless `size` is given."""

    def __init__(self, fd: int, name: str, base: int = 0, owned: bool = False, size: int | None = None):
        super().__init__(name, os.fstat(fd).st_size - base if size is None else size)
        self.fd = fd
        self.base = base
        self.owned = owned

    def read(self, offset, count):
        self.check(offset, count)
        data = os.pread(self.fd, count, self.base + offset)
        if len(data) != count:  # a signal, the 2 GiB limit of one call, or a file that shrank meanwhile
            buffer = bytearray(count)
            self.read_into(offset, memoryview(buffer))
            return bytes(buffer)
        return data

    def read_into(self, offset, target):
        self.check(offset, len(target))
        done, told = 0, self.told
        step = len(target) if told is SILENT else _STEP
        while done < len(target):
            count = os.preadv(self.fd, [target[done : done + step]], self.base + offset + done)
            if count == 0:
                raise FileFormatError(f"{self.name}: the file became shorter while it was read")
            done += count
            told.advance(count)

    def close(self):
        if self.owned and self.fd is not None:
            os.close(self.fd)
        self.fd = None


class StreamSource(Source):
    """A seekable file object that has no descriptor: an archive member, a file in a remote file system."""

    concurrent = False

    def __init__(self, stream, name: str, base: int):
        self._stream = stream
        self.base = base
        self._lock = threading.Lock()
        super().__init__(name, stream.seek(0, os.SEEK_END) - base)

    def read(self, offset, count):
        self.check(offset, count)
        with self._lock:
            self._stream.seek(self.base + offset)
            parts = []
            while count:
                part = self._stream.read(count)
                if not part:
                    raise FileFormatError(f"{self.name}: the stream ended {count} bytes early")
                parts.append(part)
                count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_into(self, offset, target):
        if not hasattr(self._stream, "readinto"):
            target[:] = self.read(offset, len(target))
            self.told.advance(len(target))
            return
        self.check(offset, len(target))
        with self._lock:
            self._stream.seek(self.base + offset)
            while len(target):
                count = self._stream.readinto(target)
                if not count:
                    raise FileFormatError(f"{self.name}: the stream ended {len(target)} bytes early")
                target = target[count:]
                self.told.advance(count)


def open_source(f, what: str = "load", spool: bool = False) -> Source:
    """The bytes of a path, of a binary file object from its position on, or of a buffer object.

    What can only be read in order goes into memory, or with `spool` into a temporary file.
    """
    if isinstance(f, Source):
        return f
    if isinstance(f, (str, os.PathLike)):
        return _open_path(os.fspath(f), what, spool)
    if isinstance(f, io.BytesIO):
        view, base = f.getbuffer(), f.tell()
        part = view[base:]

        def release():
            part.release()
            view.release()

        return MemorySource(part, _name(f), release, base)
    if isinstance(f, (bytes, bytearray, memoryview, mmap.mmap)):
        return MemorySource(memoryview(f).cast("B"), type(f).__name__)
    if not hasattr(f, "read") and hasattr(f, "fileno"):
        f = Descriptor(f)
    if not hasattr(f, "read"):
        raise AttributeError(
            f"{what}: expected a path or a binary file object with 'read', 'seek' and 'tell', got {type(f).__name__}"
        )
    return _open_stream(f, what, spool)


def _open_path(path, what: str, spool: bool) -> Source:
    name = os.fsdecode(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.path.isdir(fd):
            raise IsADirectoryError(f"{what}: {name!r} is a directory")
        source = DescriptorSource(fd, name, owned=True)
    except BaseException:
        os.close(fd)
        raise
    if 0 < source.size <= WHOLE:
        data = source.read(0, source.size)
        source.memory = memoryview(data)
    elif source.size == 0:  # an empty file, or a pipe, which has no size
        data = os.read(fd, 1 << 16)
        if data:
            with open(fd, "rb", buffering=0) as pipe:
                return _taken(pipe, name, spool, data)
    return source


def _taken(stream, name: str, spool: bool, begin: bytes = b"") -> Source:
    """All that a stream still gives, behind `begin`."""
    if not spool:
        data = bytearray(begin)  # grows in place: no second copy beside the pieces
        while piece := stream.read(1 << 20):
            data += piece
        return MemorySource(data, name)
    import shutil
    import tempfile

    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(begin)
        shutil.copyfileobj(stream, file, 1 << 20)
        return DescriptorSource(os.dup(file.fileno()), name, owned=True)


def _name(f) -> str:
    name = getattr(f, "name", None)
    return name if isinstance(name, str) else f"{type(f).__name__} object"


def _open_stream(f, what: str, spool: bool) -> Source:
    name = _name(f)
    if isinstance(f, io.TextIOBase):
        raise TypeError(f"{what}: {name} is open in text mode; open it with mode 'rb'")
    try:
        base = f.tell()
    except (AttributeError, OSError):  # a pipe or a socket: take all there is
        return _taken(f, name, spool)
    if isinstance(f, (io.BufferedReader, io.FileIO, io.BufferedRandom)):
        return DescriptorSource(f.fileno(), name, base)
    if not hasattr(f, "seek"):
        raise AttributeError(
            f"{what}: {name} has no 'seek'. torch.load needs to jump inside the file; "
            "read it first: torch.load(io.BytesIO(f.read()))"
        )
    return _taken(f, name, True) if spool else StreamSource(f, name, base)
