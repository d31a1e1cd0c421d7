"""How a mesh ends: a peer is lost, work fails on all ranks for one reason, or the group is closed."""

import contextlib
import os
import select
import socket
import time

from .frames import ABORT, BYE, Header, Request
from .transfers import Arrival

FAREWELL = 1.0  # seconds to hand over what is still to be sent, when a mesh ends


class Endings:
    """A part of :class:`Mesh`; its methods hold the mutex, but for :meth:`close`."""

    def _break(self, peer, error):
        """A peer takes nothing any more; it may have said why before."""
        while peer.gone is None and self.failure is None:
            before = peer.current, peer.staged
            self._read(peer)
            if (peer.current, peer.staged) == before:
                break
        if self.failure is None:
            self._lose(peer, error)

    def _lose(self, peer, error, farewell=None):
        """A connection has ended; work that needs it cannot be done."""
        if peer.gone is not None:
            return
        if farewell is not None:
            peer.gone = f"rank {peer.rank} has left the process group ({farewell})"
        else:
            peer.gone = f"rank {peer.rank} died, or its connection broke" + (f" ({error})" if error else "")
        if peer.current is not None and isinstance(peer.current[3], Arrival):
            self._take_out(peer, peer.current[3])  # the rest of it will not come
        with contextlib.suppress(OSError, ValueError):
            self.epoll.unregister(peer.socket.fileno())
        del self.by_fd[peer.socket.fileno()]
        peer.socket.close()
        peer.outgoing.clear()
        self._look_at_boards()  # it may have done its part before
        for task in list(self.tasks):
            needs = [one.ranks() for one in task.pending if not one.done]
            if any(peer.rank in ranks or (not ranks and self._alone(task)) for ranks in needs):
                self._fail(f"{task.text}: {peer.gone}")
                break

    def _alone(self, task):
        return all(self.peers[r] is None or self.peers[r].gone is not None for r in task.group.ranks)

    def _fail(self, reason, told=False):
        """End all work with a reason, and let the other ranks know it."""
        if self.failure is not None:
            return
        self.failure = reason
        self.gatherings = []
        for group in self.groups.values():
            if group.board is not None:
                group.board.withdraw()
        for task in list(self.tasks):
            self._finish(task, reason if reason.startswith(task.text) else f"{task.text}: {reason}")
        if not told:
            message = reason.encode()
            self._farewell(Header(ABORT, Request(0), 0, 0, 0, len(message)).pack() + message)
        self.changed.notify_all()

    def _farewell(self, message):
        """Send a last message to everyone, after what is under way to them, as far as they take it in time."""
        for peer in self.peers:
            if peer is not None and peer.gone is None:
                peer.outgoing.append([memoryview(message), None])
        deadline = time.monotonic() + FAREWELL
        while time.monotonic() < deadline:
            poll = select.poll()
            for peer in self.peers:
                if peer is not None and peer.gone is None and peer.outgoing:
                    try:
                        while peer.outgoing:
                            piece, _ = peer.outgoing[0]
                            sent = peer.socket.send(piece)
                            if sent < piece.nbytes:
                                peer.outgoing[0][0] = piece[sent:]
                            else:
                                peer.outgoing.popleft()
                    except BlockingIOError:
                        # A peer that sends to us while we send to it takes nothing before we take something.
                        with contextlib.suppress(OSError):
                            peer.socket.recv(1 << 20)
                        poll.register(peer.socket.fileno(), select.POLLOUT | select.POLLIN)
                    except OSError:
                        peer.outgoing.clear()
            if not any(peer.outgoing for peer in self.peers if peer is not None and peer.gone is None):
                return
            poll.poll(50)
        for peer in self.peers:
            if peer is not None and peer.gone is None and peer.outgoing:  # it takes nothing: no use in trying again
                peer.gone = f"rank {peer.rank} takes no messages"
                peer.outgoing.clear()
                del self.by_fd[peer.socket.fileno()]
                peer.socket.close()

    def close(self, farewell: str) -> None:
        """Say goodbye to every peer and close the connections."""
        if self.pid != os.getpid() or self.closed:
            return
        with self.mutex:
            if self.closed:
                return
            for task in list(self.tasks):
                self._finish(task, f"{task.text}: the process group was destroyed before this was done")
            self.closed = True
            # One that leaves because of a failure says so: its peers may hear of it from nobody else in time.
            kind, message = (BYE, farewell.encode()) if self.failure is None else (ABORT, self.failure.encode())
            self._farewell(Header(kind, Request(0), 0, 0, 0, len(message)).pack() + message)
            self._let_arrive()
            for peer in self.peers:
                if peer is not None and peer.gone is None:
                    peer.gone = "the process group has been destroyed"
                    peer.socket.close()
            self.by_fd.clear()
            if self.memory is not None:
                self.memory.close()
            if self.sleeping:
                self._ring()
            self.unattended.notify_all()
            self.changed.notify_all()

    def _let_arrive(self):
        """A connection that is closed with unread data in it drops what it has not sent: wait for that."""
        import fcntl
        import termios

        deadline = time.monotonic() + FAREWELL
        for peer in self.peers:
            if peer is None or peer.gone is not None or peer.socket.family == socket.AF_UNIX:
                continue
            with contextlib.suppress(OSError):
                peer.socket.shutdown(socket.SHUT_WR)
                while time.monotonic() < deadline:
                    queued = fcntl.ioctl(peer.socket.fileno(), termios.TIOCOUTQ, b"\0" * 4)  # not yet acknowledged
                    if int.from_bytes(queued, "little") <= 1:  # the end of the stream counts for one
                        break
                    time.sleep(0.001)
