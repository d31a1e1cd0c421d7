"""The two ends of the line between a loader and one worker: whole messages, no locks, no threads.

The loader's end never waits when it sends: a worker that waits to send its batch could not be reading.
"""

from __future__ import annotations

import collections
import contextlib
import os
import socket
import struct
from multiprocessing import reduction

from torch.multiprocessing._messages import LONGEST, drop, packed, take, unpacked

_BUFFER = 1 << 20
_WATCH = 2  # seconds after which a worker that waits looks whether its parent still runs


class Channel:
    """One end of a socket pair that keeps messages whole."""

    def __init__(self, end: socket.socket):
        self._end = end
        self._waiting: collections.deque[bytes] = collections.deque()
        self._parent = 0

    @staticmethod
    def pair() -> tuple[Channel, Channel]:
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        return Channel(ends[0]), Channel(ends[1])

    def __reduce__(self):  # to a spawned process
        return _rebuild, (reduction.DupFd(self._end.fileno()),)

    def fileno(self) -> int:
        return self._end.fileno()

    def watch_parent(self) -> None:
        """`send` and `receive` end with the process that started this one, even if others hold its end open."""
        self._parent = os.getppid()
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._end.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", _WATCH, 0))

    def _still_watched(self) -> None:
        if os.getppid() != self._parent:
            raise BrokenPipeError("the process of the loader has ended")

    def send(self, message) -> None:
        """Waits until there is room."""
        packet = packed(message)
        while True:
            try:
                self._end.send(packet)
                return
            except BlockingIOError:
                self._still_watched()

    def receive(self):
        """Waits for a message; None when the other end is closed."""
        while True:
            try:
                packet = self._end.recv(LONGEST + 1)
                return unpacked(packet) if packet else None
            except BlockingIOError:
                self._still_watched()

    def post(self, message) -> None:
        """Sends without waiting; what finds no room goes with a later `push`."""
        self._waiting.append(packed(message))
        self.push()

    def push(self) -> bool:
        """Sends what is waiting as far as there is room; True when nothing is left."""
        while self._waiting:
            try:
                self._end.send(self._waiting[0], socket.MSG_DONTWAIT)
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

    def poll(self):
        """A message in a tuple, or () when there is none, or None when the other end is closed."""
        try:
            taken = self._next()
        except BlockingIOError:
            return ()
        return (unpacked(*taken),) if taken[0] else None

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

    def close(self) -> None:
        self._end.close()


def _rebuild(duplicate) -> Channel:
    return Channel(socket.socket(fileno=duplicate.detach()))
