"""The sockets between all ranks of a job and the work in progress on them.

An operation is a generator (see ``collectives.py``) that posts sends and receives and yields those it must wait for.
It goes forward whenever some thread turns the mesh: the one that waits for it, or, for work that nobody waits for, a
thread in the background.  One mutex guards everything; the thread that turns lets go of it while it sleeps in epoll.

The first rank that finds something wrong - a peer gone, a deadline passed, a message that does not fit - tells all
others why, and every operation on every rank ends with that reason.
"""

import contextlib
import os
import select
import threading
import time
import weakref
from collections import deque

from .._errors import DistBackendError
from .agreement import Agreement
from .endings import Endings
from .exchange import Exchange
from .frames import POINT_TO_POINT, Request
from .messages import Messages
from .progress import Progress
from .transfers import Group, Peer, Task

REMEMBERED = 256  # collectives of a group that late messages are compared with
_meshes: "weakref.WeakSet[Mesh]" = weakref.WeakSet()


class Mesh(Progress, Messages, Agreement, Endings):
    """The connections of rank ``rank`` to all others, by rank."""

    def __init__(self, rank, sockets, memory=None):
        self.rank, self.size = rank, len(sockets)
        self.memory = memory  # shared with the other ranks of this machine; None where there is none
        self.pid = os.getpid()
        self.peers = [None if s is None else Peer(r, s) for r, s in enumerate(sockets)]
        self.by_fd = {peer.socket.fileno(): peer for peer in self.peers if peer}
        self.epoll = select.epoll()
        for fd in self.by_fd:
            self.epoll.register(fd, select.EPOLLIN)
        if memory is not None:
            self.bell = memory.bell
        else:
            self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if hasattr(os, "eventfd") else None
        self.bell_pipe = None if self.bell is not None else _pipe()
        self.epoll.register(self._bell_reader(), select.EPOLLIN)
        self.mutex = threading.Lock()
        self.changed = threading.Condition(self.mutex)  # somebody's work is done, or the place of the turner is free
        self.unattended = threading.Condition(self.mutex)
        self.turning = False
        self.sleeping = False
        self.background = None
        self.groups: dict = {}
        self.tasks: set = set()
        self.ready: deque = deque()
        self.gatherings: list = []  # [when to tell the others that we wait for them, or None; Gathering]
        self.finished: list = []  # callbacks to run without the mutex
        self.failure = None
        self.closed = False
        _meshes.add(self)

    # ---- what groups ask for

    def group(self, number, ranks, name):
        with self.mutex:
            board = None if self.memory is None else self.memory.board(number, ranks, self.rank)
            group = self.groups[number] = Group(number, ranks, name, board)
        return group

    def submit(self, group, request: Request, steps, patience: float, text: str, attended: bool, late=None) -> Task:
        """Start an operation, or put it behind the group's earlier collectives.

        ``steps(exchange)`` makes the generator; ``text`` says in an error what was asked for.
        """
        self.check_process()
        with self.mutex:
            if self.failure is not None:
                raise DistBackendError(f"{text}: {self.failure}")
            if self.closed:
                raise DistBackendError(f"{text}: the process group has been destroyed")
            number = 0
            if request.operation != POINT_TO_POINT:
                number = group.counter
                group.counter += 1
            task = Task(None, group, number, request, patience, text)
            task.steps = steps(Exchange(self, group, task))
            task.attended, task.late = attended, late
            if task.collective:
                group.requests[number] = request
                for other, theirs in group.notices.pop(number, ()):
                    self._hear(other, group, number, theirs)
                if self.failure is not None:
                    raise DistBackendError(f"{text}: {self.failure}")
                group.requests.pop(number - REMEMBERED, None)
                self.tasks.add(task)
                group.queue.append(task)
                if group.queue[0] is task:
                    self._start(task)
            else:
                self.tasks.add(task)
                self._start(task)
            self._run_ready()
            if not attended and not task.done:
                self._attend_in_background()
            elif self.sleeping and not task.done:
                self._ring()  # a sooner deadline, or another task to wake for
        self._call_back()
        return task

    def wait(self, task: Task, seconds=None) -> None:
        """Return when the task is done, turning the mesh if nobody else does; raise what went wrong."""
        if not task.done:
            self.check_process()
            with self.mutex:
                task.attended = True
                if seconds is not None:
                    sooner = time.monotonic() + seconds
                    task.deadline = sooner if task.deadline is None else min(task.deadline, sooner)
                    task.patience = min(seconds, task.patience)
                while not task.done:
                    if self.turning:
                        if self.sleeping and seconds is not None:
                            self._ring()
                        self.changed.wait(self._patience())
                    else:
                        self._turn()
                    if self.finished:
                        self.mutex.release()
                        try:
                            self._call_back()
                        finally:
                            self.mutex.acquire()
                if any(not one.attended for one in self.tasks):
                    self._attend_in_background()
                self.changed.notify_all()
        self._call_back()
        if task.error is not None:
            raise DistBackendError(task.error)

    def then(self, task, callback):
        """Call ``callback(task)`` when it is done, whoever notices."""
        with self.mutex:
            if not task.done:
                task.callbacks.append(callback)
                if not task.attended:
                    self._attend_in_background()
                return
        callback(task)

    def check_process(self):
        if self.pid != os.getpid():
            raise RuntimeError(
                f"torch.distributed: the process group belongs to process {self.pid}; this is process {os.getpid()}, "
                "forked from it. Initialise a group of its own in the child, or start it with spawn"
            )

    def __del__(self, suppress=contextlib.suppress, os=os):  # modules may be gone when the program ends
        with suppress(Exception):
            if self.pid == os.getpid():
                for fd in [self.bell] if self.bell is not None else self.bell_pipe:
                    os.close(fd)

    def forget(self):
        """In a forked child: let go of the connections, which the parent goes on using."""
        self.mutex = threading.Lock()
        self.tasks.clear()
        for peer in self.peers:
            if peer is not None:
                peer.socket.close()
        self.epoll.close()
        if self.memory is not None:
            self.memory.close()
        for fd in [self.bell] if self.bell is not None else self.bell_pipe:
            os.close(fd)


def _pipe():
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    return reader, writer


def _forget_in_child():
    for mesh in list(_meshes):
        mesh.forget()


os.register_at_fork(after_in_child=_forget_in_child)
