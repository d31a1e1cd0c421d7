"""The two ends of the line between a loader and one worker: whole messages, no locks, no threads.

The loader's end never waits when it sends: a worker that waits to send its batch could not be reading.
"""

from __future__ import annotations

import collections
import contextlib
import os
import select
import socket
from multiprocessing import reduction

from torch.multiprocessing._messages import Packet, drop, give, packed, take, unpacked

from .report import ExceptionWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_BUFFER = 1 << 20
_WATCH = 2  # seconds after which a worker that waits looks whether its parent still runs


class Channel:
    """One end of a socket pair that keeps messages whole."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._waiting: collections.deque[Packet] = collections.deque()
        self._carriers: list = []  # blocks of what was posted and may not have been received
        self._parent = 0

    @staticmethod
    def pair() -> tuple[Channel, Channel]:
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        return Channel(ends[0]), Channel(ends[1])

    def __reduce__(self) -> Any:  # to a spawned process
        return _rebuild, (reduction.DupFd(self._end.fileno()),)

    def fileno(self) -> int:
        return self._end.fileno()

    def watch_parent(self) -> None:
        """`send` and `receive` end with the process that started this one, even if others hold its end open."""
        self._parent = os.getppid()

    def _wait(self, event: int) -> None:
        """Waits until something can be read or written, and looks at the parent now and then."""
        waiter = select.poll()
        waiter.register(self._end, event)
        while not waiter.poll(1000 * _WATCH):
            if os.getppid() != self._parent:
                raise BrokenPipeError("the process of the loader has ended")

    def send(self, message: Any) -> None:
        """Waits until there is room."""
        packet = packed(message)
        while True:
            try:
                return give(self._end, packet)
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def receive(self) -> Any:
        """Waits for a message; None when the other end is closed."""
        while True:
            try:
                taken = take(self._end)
            except BlockingIOError:
                self._wait(select.POLLIN)
                continue
            return unpacked(*taken) if taken[0] else None

    def post(self, message: Any) -> None:
        """Sends without waiting; what finds no room goes with a later `push`."""
        # Tensors go by value: what a worker that dies has not read of one that others have as well could not be told.
        packet = packed(message, by_value=True)
        self._carriers = [block for block in self._carriers if block.is_under_way]
        self._carriers += packet.blocks
        self._waiting.append(packet)
        self.push()

    def push(self) -> bool:
        """Sends what is waiting as far as there is room; True when nothing is left."""
        while self._waiting:
            try:
                give(self._end, self._waiting[0])
            except BlockingIOError:
                return False
            except (BrokenPipeError, ConnectionResetError):  # the worker is gone; its sentinel tells
                self._waiting.clear()
                break
            self._waiting.popleft()
        return True

    @property
    def is_full(self) -> bool:
        """Whether something waits for a `push`."""
        return bool(self._waiting)

    def poll(self) -> Any:
        """A message in a tuple, or the error of unpickling it; () when there is none, None when the other end is closed."""
        try:
            taken = self._next()
        except BlockingIOError:
            return ()
        if not taken[0]:
            return None
        try:
            return (unpacked(*taken),)
        except Exception as e:  # of an object in the message
            return (ExceptionWrapper(e, "where the loader unpickled a batch"),)

    def _next(self) -> tuple:
        try:
            return take(self._end)
        except ConnectionResetError:  # it ended without reading all; said once, before what it had sent
            return take(self._end)

    def hang_up(self) -> None:
        """Ends the talk: the other end sees the end, and what it has sent can still be taken."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def drain(self) -> None:
        """Takes what has come and drops it, so that the shared memory of no message stays behind."""
        with contextlib.suppress(OSError, RuntimeError):  # closed already, or its segment cannot be reached
            while (taken := self._next())[0]:
                drop(*taken)

    def recall(self) -> None:
        """After the end of the other process: what it was sent and has not received is let go."""
        for block in self._carriers:
            block.recall()

    def close(self) -> None:
        self._carriers.clear()
        self._end.close()


def _rebuild(duplicate) -> Channel:
    return Channel(socket.socket(fileno=duplicate.detach()))
