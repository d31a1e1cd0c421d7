"""Segments that are files in /dev/shm, for the strategy "file_system".

The resource tracker of the standard library removes what is left when all processes are gone, with a complaint. It knows
each file from before it exists until after it is removed, so that none is forgotten whenever a process is killed.
"""

from __future__ import annotations

import contextlib
import os
from multiprocessing import resource_tracker, util

from .._arena import outline

FOLDER = "/dev/shm"
_KIND = "shared_memory"


def path_of(pid: int, identity: int) -> str:
    """Where the segment of a process lies. Programs take files called torch_PID_... for tensors that were not freed."""
    return f"{FOLDER}/torch_segment_{pid}_{identity:016x}"


def create(identity: int) -> tuple[int, str]:
    """The descriptor and the path of a new file of this process, which removes it when it ends."""
    path = path_of(os.getpid(), identity)
    resource_tracker.register(_tracked(path), _KIND)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        resource_tracker.unregister(_tracked(path), _KIND)
        raise
    util.Finalize(None, _remove_unless_in_use, (path,), exitpriority=-100)
    return fd, path


def _tracked(path: str) -> str:
    return "/" + os.path.basename(path)


def _remove_unless_in_use(path: str) -> None:
    # While messages are under way the name stays, for those who receive them.
    if not is_in_use(path, by_others=True):
        remove(path)


def is_in_use(path: str, by_others: bool = False) -> bool:
    """Whether the owner runs or messages are under way. The file must not be attached: that would drop its locks."""
    try:
        with open(path, "rb") as file:
            _, owner_alive, in_transit = outline(file)
            return in_transit > 0 or (owner_alive and not by_others)
    except OSError:
        return False


def remove(path: str) -> None:
    """Removes a file of this process or of an ended one, at whichever step that one was when it ended."""
    resource_tracker.register(_tracked(path), _KIND)  # again, mostly: then it changes nothing
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    resource_tracker.unregister(_tracked(path), _KIND)
