"""What this process has of shared memory, and the lock that guards the lists of it."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, NamedTuple

from .._arena import Arena

if TYPE_CHECKING:
    from .children import Provision


class SharedMemoryError(RuntimeError):
    """There is no room in shared memory, or a segment of another process cannot be reached."""


SharedMemoryError.__module__ = "torch.multiprocessing"


class Handle(NamedTuple):
    """What a message says of a block: the segment, where to open it, and which block of it."""

    segment: int
    paths: tuple[str, ...]
    index: int
    generation: int
    nbytes: int


class Own(NamedTuple):
    """The segment that this process allocates in, and where others open it."""

    arena: Arena
    paths: tuple[str, ...]


class _State:
    strategy = "file_descriptor"
    is_chosen = False  # the strategy, by this program rather than by who started it
    own: Own | None = None
    given: Provision | None = None  # for `own`, made by who started this process
    kept: list[Provision] = []  # made for children
    attached: dict[int, Arena] = {}  # by segment id: those of others, and own ones from before
    paths: dict[int, tuple[str, ...]] = {}  # of these


state = _State()
# Held while the lists above change, and by a thread that forks: its child must find them whole and the lock its own.
lock = threading.RLock()


def locked(function):
    """`function`, run by one thread at a time."""

    @functools.wraps(function)
    def guarded(*args, **kwargs):
        with lock:
            return function(*args, **kwargs)

    return guarded


def arenas() -> list[Arena]:
    """All segments of this process."""
    own = [state.own.arena] if state.own is not None else []
    return [*own, *state.attached.values()]


def retire() -> None:
    """New blocks come from another segment; this one stays while blocks of it live."""
    if state.own is not None:
        state.attached[state.own.arena.id] = state.own.arena
        state.paths[state.own.arena.id] = state.own.paths
        state.own = None
