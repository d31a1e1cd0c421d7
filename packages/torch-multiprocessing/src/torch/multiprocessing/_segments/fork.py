"""What a forked child takes over of its parent's shared memory.

A child inherits every Block object. Its parent holds the blocks on its behalf from before the fork, and a pipe tells how
far the child came: whether the parent is to let them go for one that was killed before it could take them.
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from .._arena import Arena
from .state import arenas, lock, locked, retire


class _Inheritance(NamedTuple):
    reader: int
    writer: int
    held: list[tuple[Arena, list[int]]]


_inheritances: list[_Inheritance] = []


def is_forking() -> bool:
    """Whether a child may not have taken over yet."""
    return bool(_inheritances)


def _before_fork() -> None:
    lock.acquire()
    settle()
    held = [(arena, numbers) for arena in arenas() if (numbers := arena.before_fork())]
    if held:
        # Out of descriptors, a child does without a pipe: one that is killed at once keeps the blocks then.
        with contextlib.suppress(OSError):
            _inheritances.append(_Inheritance(*os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK), held))


def _after_fork_in_parent() -> None:
    if _inheritances and _inheritances[-1].writer >= 0:
        last = _inheritances.pop()
        os.close(last.writer)
        _inheritances.append(last._replace(writer=-1))
    lock.release()


def _announce(writer: int) -> None:
    # From here on the owners of the segments take back what this process holds when it ends.
    os.write(writer, b"s")


@locked
def settle() -> None:
    """Lets go of what was held for children that were killed before they had taken it."""
    for one in list(_inheritances):
        try:
            said = os.read(one.reader, 2)
        except BlockingIOError:
            continue  # it has not come that far
        if not said:
            for arena, numbers in one.held:
                arena.undo_fork(numbers)
        _inheritances.remove(one)  # first: an interrupt between the two must not leave a closed descriptor here
        os.close(one.reader)


def _after_fork_in_child() -> None:
    try:
        _become_child()
    finally:
        lock.release()


def _become_child() -> None:
    mine = arenas()
    for arena in mine:
        arena.after_fork()
    writer = _inheritances[-1].writer if _inheritances else -1
    if writer >= 0:
        _announce(writer)
    for arena in mine:
        arena.take_over()
    for one in _inheritances:
        os.close(one.reader)
        if one.writer >= 0:
            os.close(one.writer)
    _inheritances.clear()
    retire()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
