"""A store in a file that all processes can reach: a log of changes, which each of them replays.

A change is appended under a lock.  A process that is killed while it writes leaves a record that is cut off; the next
writer removes it.
"""

import contextlib
import fcntl
import os
import threading
import time
from struct import Struct

from .base import Late, Store
from .codec import decode, encode
from .table import READS, Missing, Table

HEAD = Struct("<4sI")
MARK = b"TDfs"
CHANGES = {"set", "add", "append", "compare_set", "delete", "multi_set", "push", "pop", "try_pop"}


class FileStore(Store):
    """A store in ``file_name``, which is made if it is not there; every process of the job opens the same file.

    With ``world_size``, the last of so many processes to let go of its store removes the file.  A file of an earlier
    job holds that job's keys: give each job a file of its own.

    >>> import tempfile, os
    >>> from torch.distributed import FileStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = FileStore(os.path.join(folder, "store"), 1)
    ...     store.set("key", "value")
    ...     FileStore(store.path).get("key")
    b'value'
    """

    def __init__(self, file_name, world_size: int = -1):
        super().__init__()
        self._path = os.fspath(file_name)
        self._world_size = world_size
        self._table = Table()
        self._read_to = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._log = open(self._path, "a+b", buffering=0)  # noqa: SIM115  (open as long as the store is)
        if world_size > 0:
            self._ask("add", "\0open", 1)

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def list_keys(self):
        return [key for key in super().list_keys() if not key.startswith("\0")]

    def _apply(self, request, arguments, deadline):
        pause = 0.001
        while True:
            try:
                with self._lock:
                    return self._once(request, arguments)
            except Missing as missing:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Late(f"FileStore({self._path!r}).{request}", missing.keys) from None
                time.sleep(min(pause, left))
                pause = min(pause * 1.5, 0.02)

    def _once(self, request, arguments):
        if request in READS and request not in CHANGES:
            self._replay()
            return self._table.apply(request, arguments)
        fcntl.flock(self._log, fcntl.LOCK_EX)
        try:
            end = self._replay()
            if end != self._read_to:
                os.ftruncate(self._log.fileno(), self._read_to)
            result = self._table.apply(request, arguments)
            if request in CHANGES:
                body = encode([request, *arguments])
                record = HEAD.pack(MARK, len(body)) + body
                if self._log.write(record) != len(record):
                    raise OSError(f"FileStore: no room for {len(record)} bytes in {self._path}")
                self._read_to += len(record)
            return result
        finally:
            fcntl.flock(self._log, fcntl.LOCK_UN)

    def _replay(self):
        """Apply the records that are new; the length of the file."""
        end = os.fstat(self._log.fileno()).st_size
        data = os.pread(self._log.fileno(), end - self._read_to, self._read_to) if end > self._read_to else b""
        at = 0
        while at + HEAD.size <= len(data):
            mark, length = HEAD.unpack_from(data, at)
            if mark != MARK:
                raise ValueError(f"FileStore: {self._path} is not the file of a store")
            if at + HEAD.size + length > len(data):
                break
            try:
                request, *arguments = decode(data[at + HEAD.size : at + HEAD.size + length])
                if request not in CHANGES:
                    raise ValueError(f"it is of kind {request!r}")
                self._table.apply(request, arguments)
            except (ValueError, TypeError, Missing) as error:
                raise ValueError(
                    f"FileStore: {self._path} holds a record at byte {self._read_to + at} that is none of a store: {error}"
                ) from error
            at += HEAD.size + length
        self._read_to += at
        return end

    def __del__(self):
        with contextlib.suppress(Exception):
            if self._world_size > 0 and self._pid == os.getpid():
                self._ask("add", "\0closed", 1)
                closed = int(self._table.values["\0closed"])
                if closed >= self._world_size and closed >= int(self._table.values["\0open"]):
                    os.unlink(self._path)
            self._log.close()
