"""The shared segments of this process: the one it allocates in, and those of others that it uses.

A segment is a file without a name (a memfd), so there is nothing to clean up: when the last process that maps it has
ended, however it ended, its memory is gone. Another process opens it as ``/proc/<pid>/fd/<n>``. The process that starts
a child makes the child's segment and keeps it open, so that what a child has sent can still be received when it has ended.

With the strategy "file_system" a segment is a file in /dev/shm instead, which processes can open that cannot look into
each other's /proc; Python's resource tracker removes it when they have all gone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import secrets
import threading
import weakref
from multiprocessing import connection, resource_tracker, util
from typing import NamedTuple

from ._arena import Arena, Block, outline

STRATEGIES = ("file_descriptor", "file_system") if hasattr(os, "memfd_create") else ("file_system",)
FOLDER = "/dev/shm"
REMEDY = (
    "In a container, run it with --ipc=host or a larger --shm-size; or choose the other strategy: "
    "torch.multiprocessing.set_sharing_strategy({other!r})"
)


class SharedMemoryError(RuntimeError):
    """There is no room in shared memory, or a segment of another process cannot be reached."""


class Handle(NamedTuple):
    """What a message says of a block: the segment, where to open it, and which block of it."""

    segment: int
    paths: tuple[str, ...]
    index: int
    generation: int
    nbytes: int


class _Own(NamedTuple):
    arena: Arena
    paths: tuple[str, ...]


class _State:
    strategy = STRATEGIES[0]
    own: _Own | None = None
    given: Provision | None = None
    attached: dict[int, Arena] = {}  # by segment id
    kept: list[Provision] = []  # made for children
    children: set[int] = set()  # that may make files in FOLDER


_state = _State()
# Held while the lists above change, and by a thread that forks: its child must find them whole and the lock its own.
_lock = threading.RLock()


def _locked(function):
    @functools.wraps(function)
    def guarded(*args, **kwargs):
        with _lock:
            return function(*args, **kwargs)

    return guarded


def get_sharing_strategy() -> str:
    """The way this process shares memory: "file_descriptor" or "file_system"."""
    return _state.strategy


@_locked
def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses how memory is shared from now on; what is shared already stays as it is."""
    if new_strategy not in STRATEGIES:
        raise ValueError(f"set_sharing_strategy: expected one of {sorted(STRATEGIES)}, got {new_strategy!r}")
    if new_strategy != _state.strategy:
        _retire()
        _state.strategy = new_strategy


def get_all_sharing_strategies() -> set[str]:
    """The strategies that this system has."""
    return set(STRATEGIES)


def _retire() -> None:
    # The segment stays mapped while blocks of it live; new ones come from another.
    if _state.own is not None:
        _state.attached[_state.own.arena.id] = _state.own.arena
        _state.own = None


def _reserve() -> int:
    """Address space of a segment: room for all the memory that there is, since none of it is taken before it is used."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    wanted, longest_file = max(1 << 30, min(2 * pages, 1 << 40)), resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return min(wanted, longest_file if longest_file >= 0 else wanted) // 4096 * 4096


def _new_file(identity: int) -> tuple[int, str | None]:
    name = f"torch_{os.getpid()}_{identity:016x}"
    if _state.strategy == "file_descriptor":
        return os.memfd_create(name, os.MFD_CLOEXEC), None
    path = f"{FOLDER}/{name}"
    resource_tracker.register("/" + name, "shared_memory")  # removes the file when every process of ours is gone
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    util.Finalize(None, _remove, (path,), exitpriority=-100)
    return fd, path


def _remove(path: str) -> None:
    """At the end of the process; while messages are under way the name stays, and the resource tracker removes it."""
    with contextlib.suppress(OSError):
        with open(path, "rb") as file:
            if outline(file)[2]:
                return
        _unlink(path)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
        resource_tracker.unregister(path.removeprefix(FOLDER), "shared_memory")


def _create(fd: int, identity: int) -> Arena:
    size = _reserve()
    while True:
        try:
            return Arena.create(fd, identity, size)
        except RuntimeError as e:
            if "map" not in str(e) or size < 256 << 20:  # less address space than usual (ulimit -v): try a part of it
                raise SharedMemoryError(f"{e}. {_remedy()}") from None
            size //= 2


def own_arena() -> _Own:
    """The segment that this process allocates in, made at first use."""
    own = _state.own
    if own is None:
        with _lock:
            own = _state.own = _state.own or _make_own()
    return own


def _make_own() -> _Own:
    given, _state.given = _state.given, None
    if given is not None and _state.strategy == "file_descriptor":
        paths = (f"/proc/{os.getpid()}/fd/{given.fd}", f"/proc/{given.keeper}/fd/{given.keeper_fd}")
        return _Own(_create(given.fd, given.identity), paths)
    identity = secrets.randbits(63) | 1
    fd, path = _new_file(identity)
    try:
        arena = _create(fd, identity)
    except BaseException:
        os.close(fd)
        raise
    return _Own(arena, (path or f"/proc/{os.getpid()}/fd/{fd}",))


def allocate(nbytes: int) -> Block:
    """A block of shared memory; raises SharedMemoryError, before anything is written, when there is no room."""
    arena = own_arena().arena
    try:
        return arena.allocate(nbytes)
    except RuntimeError as e:
        raise SharedMemoryError(f"{e}. {_remedy()}") from None


def _remedy() -> str:
    others = [s for s in STRATEGIES if s != _state.strategy]
    return REMEDY.format(other=others[0]) if others else REMEDY.partition(";")[0]


def handle(block: Block) -> Handle:
    """The handle of a block."""
    arena = block.arena
    own = _state.own
    paths = own.paths if own is not None and own.arena is arena else _paths_of(arena)
    return Handle(arena.id, paths, *block.handle)


def send(block: Block) -> Handle:
    """The handle of a block for one message, which holds the block from now on until it is received."""
    block.send()
    return handle(block)


_foreign_paths: dict[int, tuple[str, ...]] = {}


def _paths_of(arena: Arena) -> tuple[str, ...]:
    # A block of another process goes on to a third one: it may find the segment here as well as where we found it.
    return (f"/proc/{os.getpid()}/fd/{arena.fd}", *_foreign_paths.get(arena.id, ()))


def receive(handle: Handle) -> Block:
    """The block of a handle; once for each `send`."""
    return arena_of(handle).receive(handle.index, handle.generation, handle.nbytes)


def arena_of(handle: Handle) -> Arena:
    """The segment of a handle, attached when it was not; raises SharedMemoryError when it cannot be reached."""
    own = _state.own
    arena = _state.attached.get(handle.segment)
    if arena is None:
        arena = own.arena if own is not None and own.arena.id == handle.segment else _attach(handle)
    return arena


@_locked
def _attach(handle: Handle) -> Arena:
    if handle.segment in _state.attached:  # by another thread, a moment ago
        return _state.attached[handle.segment]
    prune()
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
    _state.attached[handle.segment] = arena
    _foreign_paths[handle.segment] = handle.paths
    return arena


def _fd_of(handle: Handle) -> tuple[int | None, list[str]]:
    for i, provision in enumerate(_state.kept):
        if provision.identity == handle.segment:
            # Closing a second descriptor of the file would drop this process's locks on it, so this one is used.
            del _state.kept[i]
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


# Segments made for children


class Provision:
    """A segment that a process makes for a child it starts, and keeps open for those who receive from the child."""

    def __init__(self):
        self.identity = secrets.randbits(63) | 1
        self.fd = os.memfd_create(f"torch_{self.identity:016x}", os.MFD_CLOEXEC)
        self.keeper = os.getpid()
        self.keeper_fd = self.fd
        self.process: weakref.ref | None = None

    def __reduce__(self):  # on the way to a child that is started by spawn or forkserver
        from multiprocessing import reduction

        return _provision, (self.identity, reduction.DupFd(self.fd), self.keeper, self.keeper_fd)

    @property
    def is_over(self) -> bool:
        """Whether nothing can come from the child any more that is not received."""
        process = self.process and self.process()
        if process is not None and _runs(process):
            return False
        made, owner_alive, in_transit = outline(self.fd)
        return not owner_alive and (not made or in_transit == 0)


def _runs(process) -> bool:
    """Whether a process runs or is yet to start; its exit code is left for whoever waits for it."""
    popen = process._popen
    if popen is None:
        return not process._closed
    if popen.returncode is not None:
        return False
    try:
        return os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:  # of a fork server, or waited for by another thread just now
        return not connection.wait([popen.sentinel], 0)


def _provision(identity, duplicate, keeper, keeper_fd):
    self = Provision.__new__(Provision)
    self.identity, self.fd, self.keeper, self.keeper_fd = identity, duplicate.detach(), keeper, keeper_fd
    self.process = None
    return self


@_locked
def provide(process) -> Provision | None:
    """Makes the segment of a process that is about to start."""
    if _state.strategy != "file_descriptor":
        return None
    prune()
    provision = Provision()
    provision.process = weakref.ref(process)
    _state.kept.append(provision)
    return provision


def started(process) -> None:
    """After `provide`, when the process runs: the files that it may leave are removed here."""
    if _state.strategy == "file_system":
        if not _state.children:
            util.Finalize(_state.children, _remove_files, exitpriority=-90)
        _state.children.add(process.pid)


@_locked
def _remove_files(at_exit: bool = True) -> None:
    # A killed process leaves its own. The resource tracker would remove them, too, with a complaint.
    files: dict[int, list[str]] = {}
    for name in os.listdir(FOLDER) if _state.children else ():
        if name.startswith("torch_") and int(name.split("_")[1]) in _state.children:
            files.setdefault(int(name.split("_")[1]), []).append(f"{FOLDER}/{name}")
    for pid in [pid for pid in _state.children if not _exists(pid)]:
        for path in files.get(pid, ()):
            if at_exit or not _is_in_use(path):
                _unlink(path)
        if not any(map(os.path.exists, files.get(pid, ()))):
            _state.children.discard(pid)


def _exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _is_in_use(path: str) -> bool:
    if int(path.rpartition("_")[2], 16) in _state.attached:  # closing a descriptor would drop this process's locks
        return True
    try:
        with open(path, "rb") as file:
            _, owner_alive, in_transit = outline(file)
            return owner_alive or in_transit > 0
    except OSError:
        return False


def adopt(provision: Provision | None) -> None:
    """In a new process: uses the segment that its parent made."""
    _state.given = provision


_postponed: list = []


@_locked
def postpone(rest) -> None:
    """Keeps what must wait for other processes to end: ``rest.settle()`` is asked now and then whether it is done."""
    if not rest.settle():
        _postponed.append(rest)


living_queues: weakref.WeakSet = weakref.WeakSet()  # whose `mend` lets go what killed readers took


@_locked
def prune() -> None:
    """Closes segments of processes that have ended, where none of their blocks is held or under way."""
    settle()
    for queue in list(living_queues):
        queue.mend()
    if _postponed and _state.own is not None:
        _state.own.arena.reap()
    rests = _postponed.copy()
    _postponed.clear()  # settling may attach a segment, which comes here again
    _postponed.extend([rest for rest in rests if not rest.settle()])
    for provision in [p for p in _state.kept if p.is_over]:
        _state.kept.remove(provision)
        os.close(provision.fd)
    for identity, arena in list(_state.attached.items()):
        if arena.idle and not arena.owner_alive:
            del _state.attached[identity]  # unmapped and closed with the last reference
            _foreign_paths.pop(identity, None)
            arena = None
    _remove_files(at_exit=False)


@_locked
def forget(process) -> None:
    """Says that all has been received that will ever come of a process that has ended.

    One that was killed between counting a message and sending it would seem to have sent it, and its segment would stay.
    """
    provision, names = process._provision, []
    if provision is None:
        names = [name for name in os.listdir(FOLDER) if name.startswith(f"torch_{process.pid}_")]
        identities = [int(name.rpartition("_")[2], 16) for name in names]
    else:
        identities = [provision.identity]
    if provision in _state.kept:
        _state.kept.remove(provision)
        os.close(provision.fd)
    for arena in filter(None, map(_state.attached.get, identities)):
        arena.forget_messages()
    prune()
    for name in names:
        _unlink(f"{FOLDER}/{name}")


def sweep(keep: int = 0) -> None:
    """Takes back what killed processes held, and gives free shared memory beyond `keep` bytes to the system."""
    prune()
    if _state.own is not None:
        _state.own.arena.sweep(keep)


# Fork


def _arenas():
    own = [_state.own.arena] if _state.own is not None else []
    return [*own, *_state.attached.values()]


class _Inheritance(NamedTuple):
    """What a child that was just forked is to take over; the pipe says how far it came."""

    reader: int
    writer: int
    held: list[tuple[Arena, list[int]]]


_inheritances: list[_Inheritance] = []


def _before_fork() -> None:
    _lock.acquire()
    settle()
    held = [(arena, numbers) for arena in _arenas() if (numbers := arena.before_fork())]
    if held:
        _inheritances.append(_Inheritance(*os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK), held))


def _after_fork_in_parent() -> None:
    if _inheritances and _inheritances[-1].writer >= 0:
        last = _inheritances.pop()
        os.close(last.writer)
        _inheritances.append(last._replace(writer=-1))
    _lock.release()


def _announce(writer: int) -> None:
    # From here on the owners of the segments take back what this process holds when it ends.
    os.write(writer, b"s")


@_locked
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
        os.close(one.reader)
        _inheritances.remove(one)


def _after_fork_in_child() -> None:
    try:
        _become_child()
    finally:
        _lock.release()


def _become_child() -> None:
    arenas = _arenas()
    for arena in arenas:
        arena.after_fork()
    writer = _inheritances[-1].writer if _inheritances else -1
    if writer >= 0:
        _announce(writer)
    for arena in arenas:
        arena.take_over()
    for one in _inheritances:
        os.close(one.reader)
        if one.writer >= 0:
            os.close(one.writer)
    _inheritances.clear()
    if _state.own is not None:
        _foreign_paths[_state.own.arena.id] = _state.own.paths
    _retire()
    for rest in _postponed:
        rest.close()
    _postponed.clear()
    given = _state.given
    for provision in _state.kept:
        if provision.process is None or provision.process() is not _starting.process:
            os.close(provision.fd)
    if given is not None:  # the parent's own, not used so far
        os.close(given.fd)
        _state.given = None
    _state.kept = []
    _state.children = set()


class _Starting(threading.local):
    process = None  # the one that this thread is about to fork


_starting = _Starting()


@contextlib.contextmanager
def starting(process):
    """Around the start of a process: in a forked child its own provision stays open."""
    _starting.process = process
    try:
        yield
    finally:
        _starting.process = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
