"""A lock that processes hand to each other, by the name of a file."""

from __future__ import annotations

import fcntl
import os
import time
import warnings


class FileBaton:
    """One process holds it at a time; it is free again when its holder releases it, or ends in whatever way.

    Args:
        lock_file_path: a file that exists while the baton is held
        wait_seconds: between two looks of `wait`
        warn_after_seconds: how long `wait` is silent; None: for ever

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "baton")
        >>> ours, theirs = FileBaton(path), FileBaton(path)
        >>> ours.try_acquire(), theirs.try_acquire()
        (True, False)
        >>> ours.release()
        >>> theirs.try_acquire()
        True
    """

    def __init__(
        self, lock_file_path: str | os.PathLike, wait_seconds: float = 0.1, warn_after_seconds: float | None = None
    ) -> None:
        self.lock_file_path = os.fspath(lock_file_path)
        self.wait_seconds = wait_seconds
        self.warn_after_seconds = warn_after_seconds
        self.fd: int | None = None

    def try_acquire(self) -> bool:
        """Takes the baton unless it is held, and tells whether it did."""
        if self.fd is not None:
            return False
        while True:
            fd = os.open(self.lock_file_path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held = not self._shares(fd)
                os.close(fd)
                if held:
                    return False
                continue  # another process only looked (see `_is_held`)
            if self._is_there(fd):
                self.fd = fd
                return True
            os.close(fd)  # its holder has removed the file meanwhile: take the next one

    def wait(self) -> None:
        """Returns when the baton is free; it is not taken."""
        began, warned = time.monotonic(), False
        while self._is_held():
            waited = time.monotonic() - began
            if self.warn_after_seconds is not None and waited > self.warn_after_seconds and not warned:
                warnings.warn(f"FileBaton: waiting for {self.lock_file_path} since {waited:.0f} s", stacklevel=2)
                warned = True
            time.sleep(self.wait_seconds)

    def release(self) -> None:
        """Gives the baton back and removes the file."""
        if self.fd is not None:
            if self._is_there(self.fd):  # else it was removed, and the file there is another holder's
                os.remove(self.lock_file_path)
            os.close(self.fd)
            self.fd = None

    def _is_there(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self.lock_file_path))
        except FileNotFoundError:
            return False

    def _is_held(self) -> bool:
        try:
            fd = os.open(self.lock_file_path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return not self._shares(fd)
        finally:
            os.close(fd)

    @staticmethod
    def _shares(fd: int) -> bool:
        """Takes a lock that any number may have at once, and so not beside a holder's."""
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
