"""Queues between processes that a killed process cannot leave locked.

A message is one packet of a socket pair (SOCK_SEQPACKET), so the kernel keeps messages whole for any number of writers
and readers, and no lock is held around a read or a write. A message too long for a packet lies in shared memory and the
packet carries its handle (`_messages`). `put` pickles in the caller, so what it sends is the object as it was and errors are raised
there; only when the socket is full does a thread send the rest.
"""

from __future__ import annotations

from multiprocessing import connection, context, reduction, util
from multiprocessing.queues import SimpleQueue  # noqa: F401  (its pickler carries tensors as it is)
from queue import Empty, Full

from ._messages import packed, unpacked
from ._packets import Packets
from ._sender import Sender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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

    def __init__(self, maxsize: int = 0, *, ctx: Any = None) -> None:
        from multiprocessing.synchronize import SEM_VALUE_MAX

        from ._context import get_context

        ctx = ctx or get_context()
        self._maxsize = maxsize if maxsize > 0 else SEM_VALUE_MAX
        self._packets = Packets()
        self._room = ctx.BoundedSemaphore(self._maxsize)
        self._prepare()

    def _prepare(self) -> None:
        self._packets.room = self._room._semlock.handle
        self._sender = Sender(self._packets)
        self._closed = False
        util.register_after_fork(self, Queue._forked)

    def _forked(self) -> None:
        # What the parent's thread has yet to send is the parent's to send.
        self._sender = Sender(self._packets)

    def __del__(self) -> None:
        if "_sender" in self.__dict__:
            self._sender.close()

    def __getstate__(self) -> dict[str, Any]:
        context.assert_spawning(self)
        return self._maxsize, self._packets, self._room

    def __setstate__(self, state: Any) -> None:
        self._maxsize, self._packets, self._room = state
        self._prepare()

    @property
    def _reader(self):
        # As in `multiprocessing`: programs wait for several queues with connection.wait([queue._reader, ...]).
        return self._packets._reader

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        """Adds an object; raises `queue.Full` when there is no room within `timeout` seconds."""
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")
        packet = packed(obj)
        if not self._room.acquire(block, timeout):
            raise Full
        self._sender.send(packet)

    def put_nowait(self, obj: Any) -> None:
        """Adds an object if there is room."""
        self.put(obj, False)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Takes an object; raises `queue.Empty` when there is none within `timeout` seconds."""
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")
        taken = self._packets.receive(timeout if block else 0.0)
        if taken is None:
            raise Empty
        return unpacked(*taken)

    def get_nowait(self) -> Any:
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
        """This process puts and takes no more; what it has put is still sent, as long as another process can read it."""
        self._closed = True
        self._sender.close()

    def join_thread(self) -> None:
        """Waits until all that was put is in the socket; only after `close`."""
        if not self._closed:
            raise AssertionError(f"Queue {self!r} not closed")
        self._sender.join()

    def cancel_join_thread(self) -> None:
        """The process may end before all that was put is sent."""
        self._sender.cancel_join()


class JoinableQueue(Queue):
    """A queue that counts how many of its objects are done with."""

    def __init__(self, maxsize: int = 0, *, ctx: Any = None) -> None:
        from ._context import get_context

        super().__init__(maxsize, ctx=ctx)
        ctx = ctx or get_context()
        self._unfinished = ctx.Semaphore(0)
        self._all_done = ctx.Condition()

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__(), self._unfinished, self._all_done

    def __setstate__(self, state: Any) -> None:
        base, self._unfinished, self._all_done = state
        super().__setstate__(base)

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
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
    """A connection whose `send` and `recv` carry tensors by handle, as those of `multiprocessing` do by themselves.

    >>> one, other = torch.multiprocessing.Pipe()
    >>> sender, receiver = map(torch.multiprocessing.queue.ConnectionWrapper, (one, other))
    >>> sender.send(torch.ones(2))
    >>> receiver.recv()
    tensor([1., 1.])
    """

    def __init__(self, conn: connection.Connection) -> None:
        self.conn = conn

    def send(self, obj: Any) -> None:
        """Sends an object."""
        self.conn.send_bytes(reduction.ForkingPickler.dumps(obj))

    def recv(self) -> Any:
        """Receives an object."""
        return reduction.ForkingPickler.loads(self.conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")
