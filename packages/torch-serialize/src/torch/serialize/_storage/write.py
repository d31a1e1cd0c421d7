"""Where `save` writes: a file that is replaced all at once, or any object with ``write``."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from .atomic import replacing

CHUNK = 1 << 18  # stays in the cache between checking and writing


class Sink:
    """Takes the bytes of a file in order; `name` is what the archive inside is called."""

    def __init__(self, name: str):
        self.name = name

    def write(self, data) -> None:
        raise NotImplementedError


class FileSink(Sink):
    """A regular file, which also takes bytes at any place and from any thread."""

    def __init__(self, fd: int, name: str):
        super().__init__(name)
        self._fd = fd
        self._position = 0

    def write(self, data):
        self.write_at(self._position, data)
        self._position += len(data)

    def write_at(self, offset: int, data) -> None:
        done = os.pwrite(self._fd, data, offset)
        if done < len(data):
            data = memoryview(data)
            while done < len(data):
                done += os.pwrite(self._fd, data[done:], offset + done)

    def pass_over(self, size: int) -> None:
        """Goes on behind bytes that others write; zeros where no one does."""
        self._position += size


class PipeSink(Sink):
    def __init__(self, fd: int, name: str):
        super().__init__(name)
        self._fd = fd

    def write(self, data):
        data = memoryview(data)
        while len(data):
            data = data[os.write(self._fd, data) :]


class StreamSink(Sink):
    """A file object of the user; nothing but its ``write`` is used, so it may be a socket or a compressor."""

    def __init__(self, stream, name: str):
        super().__init__(name)
        self._stream = stream

    def write(self, data):
        count = self._stream.write(data)
        if count is not None and count != len(data):  # a raw file may take a part
            data = memoryview(data)
            while count < len(data):
                count += self._stream.write(data[count:])


def write_to(f, default_name: str, produce: Callable[[Sink], object]) -> None:
    """Runs `produce(sink)` over a path or a file object."""
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fsdecode(os.fspath(f))))[0] or default_name
        name = name.encode(errors="replace").decode()  # bytes of a file name that are no text
        with replacing(f) as fd:
            produce((FileSink if stat.S_ISREG(os.fstat(fd).st_mode) else PipeSink)(fd, name))
        return
    produce(StreamSink(f, default_name))
    if hasattr(f, "flush"):
        f.flush()
