"""Queues between processes that a killed process cannot leave locked.

A message is one packet of a socket pair (SOCK_SEQPACKET), so the kernel keeps messages whole for any number of writers
and readers, and no lock is held around a read or a write. A message too long for a packet lies in shared memory and the
packet carries its handle (`_messages`). `put` pickles in the caller, so what it sends is the object as it was and errors are raised
there; only when the socket is full does a thread send the rest.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import select
import socket
import threading
import time
import weakref
from multiprocessing import connection, context, reduction, util
from multiprocessing.queues import SimpleQueue  # noqa: F401  (its pickler carries tensors as it is)
from queue import Empty, Full

from . import _segments
from ._arena import Block, make_record
from ._messages import Packet, drop, give, mend, packed, take, unpacked

_BUFFER = 1 << 20
_RECORD = 4096  # bytes; csrc/packets.cpp needs a little less


class _Packets:
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

    def wait_for_room(self) -> None:
        """Returns when a packet can be written, unless another process is faster."""
        waiter = select.poll()
        waiter.register(self._writer, select.POLLOUT)
        waiter.poll()

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


class Queue:
    """A queue of any objects between any number of processes.

    Args:
        maxsize: `put` waits while the queue holds so many objects; 0 for no limit

    Example:
        >>> import torch
        >>> import torch.multiprocessing as mp
        >>> queue = mp.Queue()
        >>> queue.put([1, 2])
        >>> queue.get(timeout=5)
        [1, 2]
    """

    def __init__(self, maxsize: int = 0, *, ctx=None):
        from multiprocessing.synchronize import SEM_VALUE_MAX

        from ._context import get_context

        ctx = ctx or get_context()
        self._maxsize = maxsize if maxsize > 0 else SEM_VALUE_MAX
        self._packets = _Packets()
        self._room = ctx.BoundedSemaphore(self._maxsize)
        self._prepare()

    def _prepare(self) -> None:
        self._packets.room = self._room._semlock.handle
        self._waiting: collections.deque = collections.deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._join_at_exit = True
        self._finalizer = None
        util.register_after_fork(self, Queue._forked)

    def _forked(self) -> None:
        # What the parent's thread has yet to send is the parent's to send.
        self._waiting = collections.deque()
        self._lock = threading.Lock()
        self._thread = None
        self._finalizer = None

    def __getstate__(self):
        context.assert_spawning(self)
        return self._maxsize, self._packets, self._room

    def __setstate__(self, state):
        self._maxsize, self._packets, self._room = state
        self._prepare()

    @property
    def _reader(self):
        # As in `multiprocessing`: programs wait for several queues with connection.wait([queue._reader, ...]).
        return self._packets._reader

    def put(self, obj, block: bool = True, timeout: float | None = None) -> None:
        """Adds an object; raises `queue.Full` when there is no room within `timeout` seconds."""
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")
        packet = packed(obj)
        if not self._room.acquire(block, timeout):
            raise Full
        with self._lock:
            if self._thread is None and self._packets.send(packet):
                return
            self._waiting.append(packet)
            if self._thread is None:
                self._start()

    def put_nowait(self, obj) -> None:
        """Adds an object if there is room."""
        self.put(obj, False)

    def get(self, block: bool = True, timeout: float | None = None):
        """Takes an object; raises `queue.Empty` when there is none within `timeout` seconds."""
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")
        taken = self._packets.receive(timeout if block else 0.0)
        if taken is None:
            raise Empty
        return unpacked(*taken)

    def get_nowait(self):
        """Takes an object if there is one."""
        return self.get(False)

    def qsize(self) -> int:
        """The number of objects in the queue, about."""
        return self._maxsize - self._room._semlock._get_value()

    def empty(self) -> bool:
        """Whether nothing can be taken right now."""
        return not self._packets.poll()

    def full(self) -> bool:
        """Whether there is no room right now."""
        return self._room._semlock._is_zero()

    def close(self) -> None:
        """This process puts and takes no more; what it has put is still sent."""
        self._closed = True
        with self._lock:
            busy = self._thread is not None
        if not busy:
            self._packets.close()

    def join_thread(self) -> None:
        """Waits until all that was put is in the socket; only after `close`."""
        if not self._closed:
            raise AssertionError(f"Queue {self!r} not closed")
        thread = self._thread
        if thread is not None:
            thread.join()

    def cancel_join_thread(self) -> None:
        """The process may end before all that was put is sent."""
        self._join_at_exit = False
        if self._finalizer is not None:
            self._finalizer.cancel()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._send_rest, name="queue sender", daemon=True)
        self._thread.start()
        if self._join_at_exit and self._finalizer is None:
            self._finalizer = util.Finalize(None, _finish, (weakref.ref(self),), exitpriority=-5)

    def _send_rest(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    if self._closed:
                        self._packets.close()
                    return
                packet = self._waiting[0]
            try:
                if not self._packets.send(packet):
                    self._packets.wait_for_room()
                    continue
            except OSError as e:
                if e.errno not in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
                    raise
                with self._lock:
                    self._waiting.clear()
                continue
            with self._lock:
                self._waiting.popleft()


def _finish(reference) -> None:
    queue = reference()
    thread = queue and queue._thread
    if thread is not None:
        thread.join()


class JoinableQueue(Queue):
    """A queue that counts how many of its objects are done with."""

    def __init__(self, maxsize: int = 0, *, ctx=None):
        from ._context import get_context

        super().__init__(maxsize, ctx=ctx)
        ctx = ctx or get_context()
        self._unfinished = ctx.Semaphore(0)
        self._all_done = ctx.Condition()

    def __getstate__(self):
        return super().__getstate__(), self._unfinished, self._all_done

    def __setstate__(self, state):
        base, self._unfinished, self._all_done = state
        super().__setstate__(base)

    def put(self, obj, block: bool = True, timeout: float | None = None) -> None:
        """Adds an object that `task_done` will be called for."""
        with self._all_done:
            self._unfinished.release()
        try:
            super().put(obj, block, timeout)
        except BaseException:
            self._unfinished.acquire(False)
            raise

    def task_done(self) -> None:
        """Tells that an object taken from the queue is done with."""
        with self._all_done:
            if not self._unfinished.acquire(False):
                raise ValueError("task_done() called too many times")
            if self._unfinished._semlock._is_zero():
                self._all_done.notify_all()

    def join(self) -> None:
        """Waits until every object that was put is done with."""
        with self._all_done:
            if not self._unfinished._semlock._is_zero():
                self._all_done.wait()


class ConnectionWrapper:
    """A connection whose `send` and `recv` carry tensors by handle, as those of `multiprocessing` do by themselves."""

    def __init__(self, conn: connection.Connection):
        self.conn = conn

    def send(self, obj) -> None:
        """Sends an object."""
        self.conn.send_bytes(reduction.ForkingPickler.dumps(obj))

    def recv(self):
        """Receives an object."""
        return reduction.ForkingPickler.loads(self.conn.recv_bytes())

    def __getattr__(self, name):
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")
