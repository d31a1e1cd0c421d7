"""Both ends of the socket of a queue, and the record of the processes that have it."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from multiprocessing import context, reduction

from . import _segments
from ._arena import Block, make_record
from ._messages import Packet, drop, give, mend, take

_BUFFER = 1 << 20
_RECORD = 4096  # bytes; csrc/packets.cpp needs a little less


class Packets:
    """Both ends of a socket pair: what is written by any process at one end is read by one at the other."""

    room = 0  # the handle of a queue's semaphore, which rises when a packet is taken

    def __init__(self):
        self._reader, self._writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end, option in ((self._writer, socket.SO_SNDBUF), (self._reader, socket.SO_RCVBUF)):
            end.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        # The record of the readers; its count is that of the processes that have the queue.
        self._holders = _segments.allocate(_RECORD)
        make_record(self._holders)
        _segments.living_queues.add(self)

    def __getstate__(self):
        context.assert_spawning(self)
        ends = reduction.DupFd(self._reader.fileno()), reduction.DupFd(self._writer.fileno())
        return ends, tuple(_segments.send(self._holders))

    def __setstate__(self, state):
        ends, holders = state
        self._reader, self._writer = (socket.socket(fileno=end.detach()) for end in ends)
        self._holders = _segments.receive(_segments.Handle(*holders))
        _segments.living_queues.add(self)

    def send(self, packet: Packet) -> bool:
        """Writes a packet; False when there is no room."""
        try:
            give(self._writer, packet)
        except BlockingIOError:
            return False
        return True

    def wait_for_room(self, seconds: float) -> bool:
        """Whether a packet can be written within some seconds, unless another process is faster."""
        waiter = select.poll()
        waiter.register(self._writer, select.POLLOUT)
        return bool(waiter.poll(seconds * 1000))

    def is_alone(self) -> bool:
        """Whether no other process has the queue, or is about to."""
        _segments.prune()
        return not (_segments.is_forking() or self._holders.is_elsewhere)

    def receive(self, timeout: float | None) -> tuple | None:
        """The next packet as `_messages.take` gives it, or None when there is none within `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                taken = take(self._reader, self._holders, self.room)
            except BlockingIOError:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self.poll(left)
                continue  # another process may be faster
            if not taken[0]:
                raise EOFError("the queue's writing end is closed")
            return taken

    def poll(self, timeout: float | None = 0) -> bool:
        """Whether a packet can be read within `timeout` seconds, or at some time."""
        waiter = select.poll()
        waiter.register(self._reader, select.POLLIN)
        return bool(waiter.poll(None if timeout is None else max(0, timeout) * 1000))

    def mend(self) -> None:
        if self._holders is not None:
            mend(self._reader, self._holders, self.room)

    def close(self) -> None:
        if self._holders is not None:
            _segments.postpone(_Rest(self._reader, self._writer, self._holders))
            self._holders = None

    def __del__(self):
        if "_holders" in self.__dict__:
            self.close()


class _Rest:
    """What a queue leaves that its process has let go: the messages in it are dropped when no other process has it."""

    def __init__(self, reader: socket.socket, writer: socket.socket, holders: Block):
        self._ends, self._holders = (reader, writer), holders

    def settle(self) -> bool:
        """Whether nothing is left to do."""
        if self._holders.count > 1:
            return False
        with contextlib.suppress(BlockingIOError, RuntimeError):
            while (taken := take(self._ends[0], self._holders))[0]:
                drop(*taken)
        self.close()
        return True

    def close(self) -> None:
        for end in self._ends:
            end.close()
