"""Event files: a sequence of records, each with its length and two checksums."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import struct
import time
import weakref

from torch import _seams

from . import proto

_count = 0
_open: weakref.WeakSet = weakref.WeakSet()


def masked(crc: int) -> int:
    """A checksum that may itself stand in checked data, as TensorFlow's records have it."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class RecordWriter:
    """Appends records to a file: length, its checksum, the bytes, their checksum."""

    def __init__(self, path: str | os.PathLike) -> None:
        self._file = open(path, "ab")  # noqa: SIM115  (closed by close)

    def write(self, record: bytes) -> None:
        length = struct.pack("<Q", len(record))
        head = length + struct.pack("<I", masked(_seams.crc32c(length)))
        self._file.write(head + record + struct.pack("<I", masked(_seams.crc32c(record))))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def event(step: int | None = None, walltime: float | None = None, content: bytes = b"") -> bytes:
    """Event: wall_time 1, step 2, and one of file_version 3, graph_def 4, summary 5, session_log 7."""
    head = proto.double(1, time.time() if walltime is None else walltime)
    return head + (b"" if step is None else proto.integer(2, int(step))) + content


class FileWriter:
    """One event file below `log_dir`. It appears with the first event; a forked child writes one of its own.

    Events reach the disk when `max_queue` have come or `flush_secs` are over, at `flush`, at `close` and at the end of the
    program.
    """

    def __init__(
        self, log_dir: str | os.PathLike, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self.log_dir = os.fspath(log_dir)
        os.makedirs(self.log_dir, exist_ok=True)
        self._suffix = filename_suffix
        self._most, self._seconds = max_queue, flush_secs
        self._records: RecordWriter | None = None
        self._process = os.getpid()
        self._waiting: list[bytes] = []
        self._flushed = time.monotonic()
        self._closed = False
        _open.add(self)

    def get_logdir(self) -> str:
        return self.log_dir

    def add_event(self, event: bytes) -> None:
        if self._closed:
            raise ValueError(f"the event file in {self.log_dir} is closed; reopen() begins a new one")
        self._own()
        self._waiting.append(event)
        if len(self._waiting) >= self._most or time.monotonic() - self._flushed >= self._seconds:
            self.flush()

    def add_summary(self, summary: bytes, global_step: int | None = None, walltime: float | None = None) -> None:
        self.add_event(event(global_step, walltime, proto.data(5, summary)))

    def flush(self) -> None:
        self._own()
        self._flushed = time.monotonic()
        if not self._waiting:
            return
        if self._records is None:
            self._records = RecordWriter(os.path.join(self.log_dir, self._name()))
            self._records.write(event(content=proto.data(3, "brain.Event:2")))
        waiting, self._waiting = self._waiting, []
        for record in waiting:
            self._records.write(record)
        self._records.flush()

    def close(self) -> None:
        self.flush()
        self._closed = True
        if self._records is not None:
            self._records.close()
            self._records = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # what an unclosed writer has waiting is not lost
            if not self._closed:
                self.close()

    def reopen(self) -> None:
        """After `close`: the next event begins another file."""
        self._closed = False

    def _name(self) -> str:
        global _count
        _count += 1
        return f"events.out.tfevents.{int(time.time()):010}.{socket.gethostname()}.{os.getpid()}.{_count}{self._suffix}"

    def _own(self) -> None:
        if self._process != os.getpid():  # forked: what waits, and the file, are the parent's
            self._process = os.getpid()
            self._waiting = []
            self._records = None


@atexit.register
def _flush_all() -> None:
    for writer in list(_open):
        if not writer._closed:
            writer.flush()
