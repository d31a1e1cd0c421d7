"""How operations go forward: some thread turns the mesh, and the clock ends what takes too long."""

import contextlib
import os
import select
import threading
import time
from collections import deque

from .frames import NOTICE, Header
from .transfers import Refused

NUDGE = 0.1  # seconds of waiting at a board, after which the others are told what for


class Progress:
    """A part of :class:`Mesh`; its methods hold the mutex, but for those that a thread of their own runs."""

    def _turn(self):
        """Wait for something to happen, and deal with it."""
        self.turning = True
        try:
            patience = self._patience()
            if not self.ready:
                self.sleeping = True
                self.mutex.release()
                try:
                    events = self.epoll.poll(patience)
                finally:
                    self.mutex.acquire()
                    self.sleeping = False
                for fd, what in events:
                    peer = self.by_fd.get(fd)
                    if peer is None:
                        self._hush()
                        self._look_at_boards()
                        continue
                    if what & select.EPOLLOUT:
                        self._write(peer)
                    if what & ~select.EPOLLOUT and peer.gone is None:
                        self._read(peer)
                        self._watch(peer)
            self._run_ready()
            self._look_at_the_clock()
        except BaseException as error:
            # Half done, the state is of no use to anyone: say so rather than go on.
            self._fail(f"rank {self.rank} was interrupted by {type(error).__name__}: {error}".rstrip(": "))
            raise
        finally:
            self.turning = False

    def _patience(self):
        deadlines = [task.deadline for task in self.tasks if task.deadline is not None]
        deadlines += [when for when, _ in self.gatherings if when is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _attend_in_background(self):
        if self.background is None:
            self.background = threading.Thread(
                target=self._run_in_background, name="torch.distributed progress", daemon=True
            )
            self.background.start()
        self.unattended.notify()

    def _run_in_background(self):
        while True:
            with self.mutex:
                while self.turning or not any(not task.attended for task in self.tasks):
                    if self.closed:
                        return
                    if self.turning and any(not task.attended for task in self.tasks):
                        self.changed.wait(1)
                    else:
                        self.unattended.wait()
                self._turn()
                self.changed.notify_all()
            self._call_back()

    def _ring(self):
        if self.bell is not None:
            os.eventfd_write(self.bell, 1)
        else:
            os.write(self.bell_pipe[1], b"x")

    def _bell_reader(self):
        return self.bell if self.bell is not None else self.bell_pipe[0]

    def _hush(self):
        with contextlib.suppress(BlockingIOError):
            if self.bell is not None:
                os.eventfd_read(self.bell)
            else:
                os.read(self.bell_pipe[0], 4096)

    def _call_back(self):
        while self.finished:
            try:
                task = self.finished.pop()
            except IndexError:
                return
            for callback in task.callbacks:
                callback(task)

    def _start(self, task):
        if task.deadline is None:
            task.deadline = time.monotonic() + task.patience
        try:
            self._compare_arrivals(task)
        except Refused as error:
            return self._fail(str(error))
        return self._advance(task)

    def _compare_arrivals(self, task):
        """Look whether what others have sent already is of the call that we begin."""
        for peer in [self.peers[rank] for rank in task.group.ranks] if task.collective else []:
            if peer is not None and peer.unexpected:
                for arrivals in list(peer.unexpected.values()):
                    for arrival in arrivals:
                        self._compare(peer, arrival.header)

    def _advance(self, task):
        if task.done:
            return
        try:
            while True:
                pending = [one for one in task.steps.send(None) if not one.done]
                if self.failure is not None:
                    return
                if pending:
                    task.pending, task.left = pending, len(pending)
                    for one in pending:
                        one.task = task
                    return
        except StopIteration:
            self._finish(task)
        except Refused as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(f"rank {self.rank}: {task.text}: {type(error).__name__}: {error}")

    def _finish(self, task, error=None):
        if task.done:
            return
        task.done, task.error, task.pending = True, error, []
        with contextlib.suppress(ValueError):  # it may be the one that is just going forward
            task.steps.close()
        self.tasks.discard(task)
        if task.callbacks:
            self.finished.append(task)
        queue = task.group.queue
        if queue and queue[0] is task:
            queue.popleft()
            if queue and self.failure is None:
                self._start(queue[0])
        self.changed.notify_all()

    def _run_ready(self):
        while self.ready:
            self._advance(self.ready.popleft())

    def _complete(self, transfer):
        transfer.done = True
        transfer.view = None
        task = transfer.task
        if task is not None:
            task.left -= 1
            if task.left == 0:
                self.ready.append(task)

    def post_gathering(self, gathering):
        """Wait for what other ranks publish at a board."""
        if gathering.board.wants(gathering):
            gathering.done = True
            return gathering
        for rank in gathering.ranks():
            if self.peers[rank].gone is not None:
                raise Refused(self.peers[rank].gone)
        self.gatherings.append([time.monotonic() + NUDGE, gathering])
        return gathering

    def _look_at_boards(self):
        came = [one for _, one in self.gatherings if one.board.has_come(one)]
        if came:
            self.gatherings = [entry for entry in self.gatherings if entry[1] not in came]
            for one in came:
                self._complete(one)

    def _nudge(self, gathering):
        """Tell those who let us wait at a board what we call: they may wait for a message that we do not send."""
        task = gathering.task
        for rank in gathering.ranks():
            header = Header(NOTICE, task.request, task.group.number, task.number, 0, 0)
            with contextlib.suppress(Refused):  # one that has left is lost: we will hear of it
                self.post_send(rank, header, None)

    def _look_at_the_clock(self):
        now = time.monotonic()
        for entry in self.gatherings:
            when, gathering = entry
            if when is not None and when <= now:
                entry[0] = None
                self._nudge(gathering)
        for task in [t for t in self.tasks if t.deadline is not None and t.deadline <= now]:
            if task.done:
                continue
            waits = sorted({rank for one in task.pending if not one.done for rank in one.ranks()})
            whom = f"rank {', '.join(map(str, waits))}" if waits else "any rank"
            reason = f"{task.text}: timed out after {task.patience:g} s: rank {self.rank} still waits for {whom}"
            if task.late is not None:
                reason = f"{task.text}: {task.late()}"
            if task.collective or any(one.started for one in task.pending):
                return self._fail(reason)
            for one in task.pending:  # nothing has been sent or received: no other work is harmed
                self._withdraw(one)
            self._finish(task, reason)
        return None

    def _withdraw(self, transfer):
        for peer in self.peers if transfer.peer is None else [self.peers[transfer.peer]]:
            if peer is not None:
                with contextlib.suppress(ValueError):
                    peer.posted[transfer.key].remove(transfer)
                peer.outgoing = deque(one for one in peer.outgoing if one[1] is not transfer)
