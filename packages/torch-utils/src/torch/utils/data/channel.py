"""The two ends of the line between a loader and one worker: whole messages, no locks, no threads.

The loader's end never waits when it sends: a worker that waits to send its batch could not be reading.
"""

from __future__ import annotations

import collections
import socket
from multiprocessing import reduction

from torch.multiprocessing.queue import LONGEST, packed, unpacked

_BUFFER = 1 << 20


class Channel:
    """One end of a socket pair that keeps messages whole."""

    def __init__(self, end: socket.socket):
        self._end = end
        self._waiting: collections.deque[bytes] = collections.deque()

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

    def send(self, message) -> None:
        """Waits until there is room."""
        self._end.send(packed(message))

    def receive(self):
        """Waits for a message; None when the other end is closed."""
        packet = self._end.recv(LONGEST + 1)
        return unpacked(packet) if packet else None

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

    def poll(self):
        """A message in a tuple, or () when there is none, or None when the other end is closed."""
        try:
            packet = self._end.recv(LONGEST + 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return ()
        except ConnectionResetError:
            return None
        return (unpacked(packet),) if packet else None

    def close(self) -> None:
        self._end.close()


def _rebuild(duplicate) -> Channel:
    return Channel(socket.socket(fileno=duplicate.detach()))
