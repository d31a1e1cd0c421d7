"""The server of a TCPStore: one thread that holds the table and answers the processes of a job.

A connection sends requests one after another; one that has to wait for keys is kept until they are set, or until its
sender has waited long enough.
"""

import contextlib
import os
import selectors
import socket
import threading
import time
import weakref

from .codec import decode, encode
from .table import Missing, Table
from .wire import LARGEST, LENGTH

GREETING = b"torch.distributed store 1\n"
_all: "weakref.WeakSet[Server]" = weakref.WeakSet()


class Connection:
    """What has come from one client and what is still to be sent to it."""

    def __init__(self, connected):
        self.socket = connected
        self.received = bytearray()
        self.outgoing = bytearray(GREETING)
        self.greeted = False
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
                elif key.fileobj is not self.wake_reader:
                    self.serve(self.connections[key.fileobj], events)
            self.expire()
        self.close()

    def close(self):
        for connection in list(self.connections.values()):
            self.drop(connection)
        self.selector.close()
        for one in (self.listening, self.wake_reader, self.wake_writer):
            one.close()

    def patience(self):
        deadlines = [c.waiting[2] for c in self.connections.values() if c.waiting]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def accept(self):
        try:
            connected, _ = self.listening.accept()
        except OSError:
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
            if not events & selectors.EVENT_READ:
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
        while connection.waiting is None and len(received) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(received)
            if length > LARGEST:
                return self.drop(connection)
            if len(received) < LENGTH.size + length:
                return None
            try:
                request, patience, *arguments = decode(bytes(received[LENGTH.size : LENGTH.size + length]))
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
        if request not in ("get", "wait", "check", "keys", "multi_get", "queue_len"):
            self.look_again()

    def look_again(self):
        """Keys have changed: try the requests that wait for some."""
        for connection in list(self.connections.values()):
            if connection.waiting and all(key in self.table.values for key in connection.waiting[3]):
                request, arguments, deadline, _ = connection.waiting
                connection.waiting = None
                self.answer(connection, request, arguments, deadline)
                if connection.socket in self.connections and connection.waiting is None:
                    self.work(connection)

    def expire(self):
        now = time.monotonic()
        for connection in list(self.connections.values()):
            if connection.waiting and connection.waiting[2] <= now:
                keys, connection.waiting = connection.waiting[3], None
                self.reply(connection, ["late", *keys])
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


def _forget_in_child():
    """A forked child has no server thread, and must not keep its parent's connections open."""
    for server in list(_all):
        for one in [*server.connections, server.listening, server.wake_reader, server.wake_writer]:
            one.close()
        server.connections.clear()


os.register_at_fork(after_in_child=_forget_in_child)
