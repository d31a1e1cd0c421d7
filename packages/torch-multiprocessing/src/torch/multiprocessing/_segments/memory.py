"""Blocks of shared memory: making them, and passing them from process to process."""

from __future__ import annotations

import os
import resource
import secrets

from .._arena import Arena, Block
from . import files, reclaim
from .state import Handle, Own, SharedMemoryError, lock, locked, state
from .strategy import address_space, remedy

#: where addresses are few (ulimit -v), a segment takes this part of them: a process attaches those of its workers too
SHARE = 16


def own_arena() -> Own:
    """The segment that this process allocates in, made at first use."""
    own = state.own
    if own is None:
        with lock:
            own = state.own = state.own or _make_own()
    return own


def _make_own() -> Own:
    given, state.given = state.given, None
    if given is not None and given.strategy != state.strategy:
        if given.fd is not None:
            os.close(given.fd)
        given = None
    identity = given.identity if given is not None else secrets.randbits(63) | 1
    if state.strategy == "file_system":
        try:
            fd, path = files.create(identity)
        except OSError as e:
            raise SharedMemoryError(f"shared memory: cannot make {e.filename}: {e.strerror}. {remedy()}") from None
        paths: tuple[str, ...] = (path,)
    else:
        fd = given.fd if given is not None else os.memfd_create(f"torch_{identity:016x}", os.MFD_CLOEXEC)
        paths = (f"/proc/{os.getpid()}/fd/{fd}", *(given.paths if given is not None else ()))
    try:
        return Own(_create(fd, identity), paths)
    except BaseException:
        os.close(fd)
        if state.strategy == "file_system":
            files.remove(path)
        raise


def _create(fd: int, identity: int) -> Arena:
    size = _reserve()
    while True:
        try:
            return Arena.create(fd, identity, size)
        except RuntimeError as e:
            if "map" not in str(e) or size < 256 << 20:  # less address space than usual (ulimit -v): try a part of it
                raise SharedMemoryError(f"{e}. {remedy()}") from None
            size //= 2


def _reserve() -> int:
    """Address space of a segment: room for all the memory that there is, since none of it is taken before it is used."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    wanted, longest_file = max(1 << 30, min(2 * pages, 1 << 40)), resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    rooms = [wanted, longest_file, address_space() // SHARE]
    return min(room for room in rooms if room >= 0) // 4096 * 4096


def allocate(nbytes: int) -> Block:
    """A block of shared memory; raises SharedMemoryError, before anything is written, when there is no room."""
    arena = own_arena().arena
    try:
        return arena.allocate(nbytes)
    except RuntimeError as e:
        raise SharedMemoryError(f"{e}. {remedy()}") from None


def handle(block: Block) -> Handle:
    """The handle of a block."""
    arena = block.arena
    own = state.own
    paths = own.paths if own is not None and own.arena is arena else _paths_of(arena)
    return Handle(arena.id, paths, *block.handle)


def send(block: Block) -> Handle:
    """The handle of a block for one message, which holds the block from now on until it is received."""
    block.send()
    return handle(block)


def _paths_of(arena: Arena) -> tuple[str, ...]:
    # A block of another process goes on to a third one: it may find the segment here as well as where we found it.
    return (f"/proc/{os.getpid()}/fd/{arena.fd}", *state.paths.get(arena.id, ()))


def receive(handle: Handle) -> Block:
    """The block of a handle; once for each `send`."""
    return arena_of(handle).receive(handle.index, handle.generation, handle.nbytes)


def arena_of(handle: Handle) -> Arena:
    """The segment of a handle, attached when it was not; raises SharedMemoryError when it cannot be reached."""
    own = state.own
    arena = state.attached.get(handle.segment)
    if arena is None:
        arena = own.arena if own is not None and own.arena.id == handle.segment else _attach(handle)
    return arena


@locked
def _attach(handle: Handle) -> Arena:
    if handle.segment in state.attached:  # by another thread, a moment ago
        return state.attached[handle.segment]
    reclaim.prune()
    fd, reasons = _fd_of(handle)
    if fd is None:
        raise SharedMemoryError(
            f"the process that sent this tensor cannot be reached any more ({'; '.join(reasons)}). A process that shares "
            "tensors must live, or have been started by one that lives, until they are received. If it does live, this "
            "system hides processes from each other: torch.multiprocessing.set_sharing_strategy('file_system')"
        )
    try:
        arena = Arena.attach(fd, handle.segment)
    except RuntimeError as e:
        os.close(fd)
        raise SharedMemoryError(str(e)) from None
    state.attached[handle.segment] = arena
    state.paths[handle.segment] = handle.paths
    return arena


def _fd_of(handle: Handle) -> tuple[int | None, list[str]]:
    for i, provision in enumerate(state.kept):
        if provision.identity == handle.segment and provision.fd is not None:
            # Closing a second descriptor of the file would drop this process's locks on it, so this one is used.
            del state.kept[i]
            return provision.fd, []
    reasons = []
    for path in dict.fromkeys(handle.paths):
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as e:
            reasons.append(f"{path}: {e.strerror}")
            continue
        if _identity(fd) == handle.segment:
            return fd, []
        os.close(fd)
        reasons.append(f"{path}: another file by now")
    return None, reasons


def _identity(fd: int) -> int:
    try:
        return int.from_bytes(os.pread(fd, 8, 8), "little")
    except OSError:
        return 0
