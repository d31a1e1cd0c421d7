"""The server of a TCPStore: one thread that holds the table and answers the processes of a job.

A connection sends requests one after another; one that has to wait for keys is kept until they are set, or until its
sender has waited long enough.
"""

import contextlib
import errno
import os
import selectors
import socket
import threading
import time
import weakref

from .base import LONGEST
from .codec import decode, encode
from .table import Missing, Table
from .wire import LARGEST, LENGTH

GREETING = b"torch.distributed store 1\n"
SHY = 30.0  # seconds that a connection may take to greet
AHEAD = 1 << 20  # bytes that may come before the last answer went out: who waits for one sends nothing
LOOK_AT = 1e6  # seconds that one look at the connections lasts; epoll takes milliseconds as an int
_all: "weakref.WeakSet[Server]" = weakref.WeakSet()


class Connection:
    """What has come from one client and what is still to be sent to it."""

    def __init__(self, connected):
        self.socket = connected
        self.received = bytearray()
        self.outgoing = bytearray(GREETING)
        self.greeted = False
        self.until = time.monotonic() + SHY  # when to hang up on who has not greeted
        self.waiting = None  # (request, arguments, deadline, keys)


class Server:
    def __init__(self, listening: socket.socket):
        self.listening = listening
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        self.table = Table()
        self.selector = selectors.DefaultSelector()
        self.wake_reader, self.wake_writer = socket.socketpair()
        self.selector.register(listening, selectors.EVENT_READ)
        self.selector.register(self.wake_reader, selectors.EVENT_READ)
        self.connections: dict = {}
        self.changed = False  # keys were set that requests may wait for
        self.stopping = False
        self.pid = os.getpid()
        _all.add(self)
        self.thread = threading.Thread(target=self.run, name="torch.distributed store", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        if self.pid == os.getpid() and not self.stopping:
            self.stopping = True
            with contextlib.suppress(OSError):  # it may have seen the flag already, and closed
                self.wake_writer.send(b"x")
            if self.thread is not threading.current_thread():
                self.thread.join(5)

    def run(self):
        while not self.stopping:
            for key, events in self.selector.select(self.patience()):
                if key.fileobj is self.listening:
                    self.accept()
                elif key.fileobj in self.connections:
                    self.guarded(self.serve, self.connections[key.fileobj], events)
                self.look_again()
            self.expire()
            self.look_again()
        self.close()

    def guarded(self, act, connection, *more):
        """What goes wrong with one connection ends that one: the others need the server."""
        try:
            act(connection, *more)
        except Exception:
            if connection.socket in self.connections:
                self.drop(connection)

    def close(self):
        for connection in list(self.connections.values()):
            self.drop(connection)
        self.selector.close()
        for one in (self.listening, self.wake_reader, self.wake_writer):
            one.close()

    def patience(self):
        deadlines = [c.waiting[2] for c in self.connections.values() if c.waiting]
        deadlines += [c.until for c in self.connections.values() if not c.greeted]
        return min(max(0.0, min(deadlines) - time.monotonic()), LOOK_AT) if deadlines else None

    def accept(self):
        try:
            connected, _ = self.listening.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):  # give up those that say nothing
                for connection in [c for c in self.connections.values() if not c.greeted]:
                    self.drop(connection)
                time.sleep(0.01)
            return
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.connections[connected] = Connection(connected)
        self.selector.register(connected, selectors.EVENT_READ)
        self.flush(self.connections[connected])

    def drop(self, connection):
        self.selector.unregister(connection.socket)
        del self.connections[connection.socket]
        connection.socket.close()

    def serve(self, connection, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.flush(connection)
                if connection.socket not in self.connections:
                    return
                if not connection.outgoing:
                    self.work(connection)  # what came while the answer before it was on its way
            if not events & selectors.EVENT_READ or connection.socket not in self.connections:
                return
            data = connection.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            if connection.socket in self.connections:
                self.drop(connection)
            return
        connection.received += data
        self.work(connection)
        busy = connection.socket in self.connections and (connection.waiting is not None or connection.outgoing)
        if busy and len(connection.received) > AHEAD:
            self.drop(connection)

    def work(self, connection):
        """Answer what has come whole, up to a request that has to wait."""
        received = connection.received
        if not connection.greeted:
            if not GREETING.startswith(bytes(received[: len(GREETING)])):
                return self.drop(connection)
            if len(received) < len(GREETING):
                return None
            del received[: len(GREETING)]
            connection.greeted = True
        while connection.waiting is None and not connection.outgoing and len(received) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(received)
            if length > LARGEST:
                return self.drop(connection)
            if len(received) < LENGTH.size + length:
                return None
            try:
                request, patience, arguments = _asked(decode(bytes(received[LENGTH.size : LENGTH.size + length])))
            except ValueError:
                return self.drop(connection)
            del received[: LENGTH.size + length]
            self.answer(connection, request, arguments, time.monotonic() + patience)
            if connection.socket not in self.connections:
                return None
        return None

    def answer(self, connection, request, arguments, deadline):
        try:
            result = self.table.apply(request, arguments)
        except Missing as missing:
            connection.waiting = (request, arguments, deadline, missing.keys)
            return
        except Exception as error:
            self.reply(connection, ["error", type(error).__name__, str(error)])
            return
        connection.waiting = None
        self.reply(connection, ["done", result])
        self.changed |= request not in ("get", "wait", "check", "keys", "multi_get", "queue_len")

    def look_again(self):
        """Try the requests that wait for keys, as often as what follows them sets some."""
        while self.changed:
            self.changed = False
            for connection in list(self.connections.values()):
                if connection.waiting and all(key in self.table.values for key in connection.waiting[3]):
                    self.guarded(self.go_on, connection)

    def go_on(self, connection):
        request, arguments, deadline, _ = connection.waiting
        connection.waiting = None
        self.answer(connection, request, arguments, deadline)
        if connection.socket in self.connections and connection.waiting is None:
            self.work(connection)

    def expire(self):
        now = time.monotonic()
        for connection in list(self.connections.values()):
            if not connection.greeted and connection.until <= now:
                self.drop(connection)
            elif connection.waiting and connection.waiting[2] <= now:
                self.guarded(self.late, connection)

    def late(self, connection):
        keys, connection.waiting = connection.waiting[3], None
        self.reply(connection, ["late", *keys])
        if connection.socket in self.connections:
            self.work(connection)

    def reply(self, connection, message):
        body = encode(message)
        connection.outgoing += LENGTH.pack(len(body)) + body
        self.flush(connection)

    def flush(self, connection):
        try:
            while connection.outgoing:
                del connection.outgoing[: connection.socket.send(connection.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            return self.drop(connection)
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.outgoing else 0)
        if self.selector.get_key(connection.socket).events != wanted:
            self.selector.modify(connection.socket, wanted)
        return None


def _asked(message) -> tuple:
    """Request, patience and arguments; ValueError for what no store asks."""
    if type(message) is not list or len(message) < 2 or type(message[0]) is not str:
        raise ValueError("it is no request")
    request, patience, *arguments = message
    if type(patience) not in (int, float) or not 0 <= patience < float("inf"):
        raise ValueError("it waits for no time that there is")
    return request, min(patience, LONGEST), arguments


def _forget_in_child():
    """A forked child has no server thread, and must not keep its parent's connections open."""
    for server in list(_all):
        for one in [*server.connections, server.listening, server.wake_reader, server.wake_writer]:
            one.close()
        server.connections.clear()


os.register_at_fork(after_in_child=_forget_in_child)
