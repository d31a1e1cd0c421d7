"""Replaces a file all at once: the new contents are written beside the old ones, forced to disk, then renamed over them.

A crash, a full disk or a kill at any moment leaves the old file as it was. Where the file system can, the new contents
have no name until they are complete: a killed writer leaves nothing behind, unless it dies between giving them a name
beside the old file and moving them over it. What was left then is told from a file in use by its lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
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
        with contextlib.suppress(OSError):  # some network file systems cannot
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if before is not None:
            os.fchmod(fd, stat.S_IMODE(before.st_mode))
        yield fd
        os.fsync(fd)
        if named or not (before is None and _give_name(fd, folder, name)):
            if not named:
                named = _give_name(fd, folder, os.path.basename(temporary))
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


def _give_name(fd: int, folder: str, name: str) -> bool:
    """Gives an unnamed file its name; False where there is a file of that name."""
    folder_fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:  # only with a folder's descriptor does os.link use linkat, which follows the link in /proc
        os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder_fd, follow_symlinks=True)
    except FileExistsError:
        return False
    finally:
        os.close(folder_fd)
    return True


def remove_left(folder: str, names: list[str]) -> None:
    """Removes what killed writers left of new contents for files of the folder; those of a living writer are locked."""
    for left in names:
        if not re.fullmatch(r"\..+\.[0-9a-f]{12}\.tmp", left):
            continue
        path = os.path.join(folder, left)
        with contextlib.suppress(OSError):  # gone by now, or in use
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(fd)


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot
            os.fsync(fd)
    finally:
        os.close(fd)
