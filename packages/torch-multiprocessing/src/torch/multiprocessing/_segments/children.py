"""Segments that a process makes for a child it starts, and keeps for those who receive from the child."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import weakref
from multiprocessing import connection, reduction, resource_tracker, util

from .._arena import outline
from . import files
from .state import locked, state


class Provision:
    """The segment of one child: its number, and for the strategy "file_descriptor" the open file."""

    strategy: str
    fd: int | None = None
    process: weakref.ref | None = None  # known to who started it

    def __init__(self, identity: int):
        self.identity = identity

    def runs(self) -> bool:
        """Whether the child runs or is yet to start."""
        process = self.process and self.process()
        return process is not None and _runs(process)

    def is_over(self) -> bool:
        """Whether nothing can come from the child any more that is not received."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets the segment go."""
        raise NotImplementedError


class OpenProvision(Provision):
    """A file without a name."""

    strategy = "file_descriptor"

    def __init__(self, identity: int, fd: int, paths: tuple[str, ...]):
        super().__init__(identity)
        self.fd, self.paths = fd, paths

    @classmethod
    def new(cls, identity: int) -> OpenProvision:
        fd = os.memfd_create(f"torch_{identity:016x}", os.MFD_CLOEXEC)
        return cls(identity, fd, (f"/proc/{os.getpid()}/fd/{fd}",))

    def __reduce__(self):  # on the way to a child that is started by spawn or forkserver
        return _open_provision, (self.identity, reduction.DupFd(self.fd), self.paths)

    def is_over(self) -> bool:
        if self.runs():
            return False
        made, owner_alive, in_transit = outline(self.fd)
        return not owner_alive and (not made or in_transit == 0)

    def close(self) -> None:
        os.close(self.fd)


def _open_provision(identity, duplicate, paths):
    return OpenProvision(identity, duplicate.detach(), paths)


class NamedProvision(Provision):
    """A file in /dev/shm, which the child makes."""

    strategy = "file_system"
    pid: int | None = None

    def __reduce__(self):
        return NamedProvision, (self.identity,)

    def runs(self) -> bool:
        return super().runs() or (self.pid is not None and os.path.exists(f"/proc/{self.pid}"))

    def is_over(self) -> bool:
        return (
            not self.runs()
            and self.identity not in state.attached
            and (self.pid is None or not files.is_in_use(files.path_of(self.pid, self.identity)))
        )

    def close(self) -> None:
        if self.pid is not None:
            files.remove(files.path_of(self.pid, self.identity))


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


@locked
def provide(process) -> Provision:
    """Makes the segment of a process that is about to start."""
    identity = secrets.randbits(63) | 1
    if state.strategy == "file_descriptor":
        provision: Provision = OpenProvision.new(identity)
    else:
        resource_tracker.ensure_running()  # one for all processes
        provision = NamedProvision(identity)
        if not any(isinstance(kept, NamedProvision) for kept in state.kept):
            util.Finalize(None, _remove_files, exitpriority=-90)
    provision.process = weakref.ref(process)
    state.kept.append(provision)
    return provision


def started(process) -> None:
    """After `provide`, when the process runs."""
    process._provision.pid = process.pid


@locked
def _remove_files() -> None:
    # At the end of this process: nothing will be received from children that have ended.
    for provision in [p for p in state.kept if isinstance(p, NamedProvision) and not p.runs()]:
        state.kept.remove(provision)
        provision.close()


def adopt(provision: Provision | None) -> None:
    """In a new process: uses the segment that its parent made, and shares memory in the same way."""
    state.given = provision
    if provision is not None and not state.is_chosen:
        state.strategy = provision.strategy


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


def _forget_siblings() -> None:
    """In a forked child: what the parent keeps for its children, and has for itself, is not this process's."""
    for provision in state.kept:
        if provision.fd is not None and (provision.process is None or provision.process() is not _starting.process):
            os.close(provision.fd)
    if state.given is not None and state.given.fd is not None:  # the parent's own, not used so far
        os.close(state.given.fd)
    state.given = None
    state.kept = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_siblings)
