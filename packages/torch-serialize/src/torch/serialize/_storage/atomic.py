"""Replaces a file all at once: the new contents are written beside the old ones, forced to disk, then renamed over them.

A crash, a full disk or a kill at any moment leaves the old file as it was. Where the file system can, the new contents
have no name until they are complete, so a killed writer leaves nothing behind either.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat


@contextlib.contextmanager
def replacing(path):
    """Yields a descriptor to write; the file at `path` becomes its contents when the block ends without an error."""
    target = os.path.realpath(path)  # a link stays a link
    folder, name = os.path.split(target)
    try:
        before = os.stat(path)
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):  # a pipe, /dev/stdout: nothing to replace
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)
        return
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(f"save: {target!r} may not be written")
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(6).hex()}.tmp")
    fd, named = _open_unnamed(folder), False
    if fd is None:
        fd, named = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), True
    try:
        if before is not None:
            os.fchmod(fd, stat.S_IMODE(before.st_mode))
        yield fd
        os.fsync(fd)
        if not named:
            _give_name(fd, folder, os.path.basename(temporary))
            named = True
        os.rename(temporary, target)
        named = False
    finally:
        os.close(fd)
        if named:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    _sync_folder(folder)


def _open_unnamed(folder: str) -> int | None:
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, flag | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError as e:
        if e.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT) and os.path.isdir(folder):
            return None
        raise


def _give_name(fd: int, folder: str, name: str) -> None:
    folder_fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:  # only with a folder's descriptor does os.link use linkat, which follows the link in /proc
        os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder_fd, follow_symlinks=True)
    finally:
        os.close(folder_fd)


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot
            os.fsync(fd)
    finally:
        os.close(fd)
