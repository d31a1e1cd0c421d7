"""Taking back what processes had that have ended."""

from __future__ import annotations

import os
import weakref

from . import files, fork
from .state import arenas, locked, state

living_queues: weakref.WeakSet = weakref.WeakSet()  # whose `mend` lets go what killed readers took
_postponed: list = []


@locked
def postpone(rest) -> None:
    """Keeps what must wait for other processes to end: ``rest.settle()`` is asked now and then whether it is done."""
    if not rest.settle():
        _postponed.append(rest)


def _close_postponed() -> None:
    """In a forked child: the parent sees to it."""
    for rest in _postponed:
        rest.close()
    _postponed.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_postponed)


@locked
def prune() -> None:
    """Closes segments of processes that have ended, where none of their blocks is held or under way."""
    fork.settle()
    for queue in list(living_queues):
        queue.mend()
    for arena in arenas() if _postponed else ():
        arena.reap()  # an own one
    rests = _postponed.copy()
    _postponed.clear()  # settling may attach a segment, which comes here again
    _postponed.extend([rest for rest in rests if not rest.settle()])
    for identity, arena in list(state.attached.items()):
        if _is_over(arena):
            del state.attached[identity]  # unmapped and closed with the last reference
            paths = state.paths.pop(identity, ())
            if arena.is_owner and paths[0].startswith(files.FOLDER):
                files.remove(paths[0])
        arena = None
    for provision in [p for p in state.kept if p.is_over()]:
        state.kept.remove(provision)
        provision.close()


def _is_over(arena) -> bool:
    if arena.is_owner:  # of before the strategy changed
        arena.sweep(0)
        return arena.stats()["live_blocks"] == 0
    return arena.idle and not arena.owner_alive


@locked
def forget(process) -> None:
    """Says that all has been received that will ever come of a process that has ended.

    One that was killed between counting a message and sending it would seem to have sent it, and its segment would stay.
    """
    provision = process._provision
    if provision in state.kept:
        state.kept.remove(provision)
        provision.close()
    arena = state.attached.get(provision.identity)
    if arena is not None:
        arena.forget_messages()
    arena = None
    prune()


def sweep(keep: int = 0) -> None:
    """Takes back what killed processes held, and gives free shared memory beyond `keep` bytes to the system."""
    prune()
    if state.own is not None:
        state.own.arena.sweep(keep)
