"""The thread of a queue that sends what its socket has no room for."""

from __future__ import annotations

import collections
import errno
import threading
import weakref
from multiprocessing import util

from ._messages import Packet
from ._packets import Packets

_PATIENCE = 0.2  # seconds between looks at whether there still is a reader


class Sender:
    """Sends packets in order: at once where there is room, else by a thread.

    The thread knows the sender and not the queue, which can be collected while much is to be sent. What no process can read
    any more is not sent: then neither the thread nor the end of the process waits for room that never comes.
    """

    def __init__(self, packets: Packets):
        self._packets = packets
        self._waiting: collections.deque[Packet] = collections.deque()
        self._lock = threading.RLock()  # the collector may close a queue within
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._joins_at_exit = True
        self._finalizer: util.Finalize | None = None

    def send(self, packet: Packet) -> None:
        """Sends a packet, now or later."""
        with self._lock:
            if self._thread is None and self._packets.send(packet):
                return
            self._waiting.append(packet)
            if self._thread is None:
                self._start()

    def close(self) -> None:
        """Says that this process will not read; what waits is sent to others."""
        with self._lock:
            self._is_closed = True
            is_busy = self._thread is not None
        if not is_busy:
            self._packets.close()

    def join(self) -> None:
        """Waits until nothing is left to send."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def cancel_join(self) -> None:
        """The end of the process waits for nothing."""
        self._joins_at_exit = False
        if self._finalizer is not None:
            self._finalizer.cancel()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._send_rest, name="queue sender", daemon=True)
        self._thread.start()
        if self._joins_at_exit and self._finalizer is None:
            self._finalizer = util.Finalize(None, _finish, (weakref.ref(self),), exitpriority=-5)

    def _send_rest(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    if self._is_closed:
                        self._packets.close()
                    return
                packet = self._waiting[0]
            try:
                is_sent = self._packets.send(packet)
                if not is_sent and (
                    self._packets.wait_for_room(_PATIENCE) or not (self._is_closed and self._packets.is_alone())
                ):
                    continue
            except OSError as e:
                if e.errno not in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
                    raise
                is_sent = False
            with self._lock:
                if is_sent:
                    self._waiting.popleft()
                else:
                    self._waiting.clear()


def _finish(reference) -> None:
    sender = reference()
    if sender is not None:
        sender.close()
        sender.join()
