"""The store over TCP: one process serves it, all of them ask."""

import contextlib
import errno
import os
import socket
import time

from .._errors import DistNetworkError
from .base import DEFAULT_TIMEOUT, Late, Store
from .codec import decode, encode
from .server import GREETING, Server
from .wire import dial, receive, receive_exactly, send

ERRORS = {"ValueError": ValueError, "TypeError": TypeError}


class TCPStore(Store):
    """A store that one process (``is_master=True``) serves at ``host_name:port`` and all others reach there.

    Port 0 takes a free one, which ``port`` then tells.  With ``world_size`` and ``wait_for_workers`` every process
    waits in here until all have come.  Raises DistNetworkError when the port is taken, when nobody serves a store
    there within ``timeout``, and in every later call once the serving process has gone.  Stores with ``multi_tenant``
    of one process share the server of a port, which lasts as long as the process.

    >>> from torch.distributed import TCPStore
    >>> store = TCPStore("127.0.0.1", 0, is_master=True)
    >>> other = TCPStore("127.0.0.1", store.port)
    >>> store.set("key", "value")
    >>> other.get("key")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size=None,
        is_master: bool = False,
        timeout=DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd=None,
        use_libuv: bool = True,
    ):
        super().__init__()
        if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
            raise ValueError(f"TCPStore: port must be from 0 to 65535, got {port!r}")
        if port == 0 and not is_master:
            raise ValueError("TCPStore: port 0 is for the master; give the others the port that it got")
        self.set_timeout(timeout)
        self.host = host_name
        self._server = None
        self._shared = multi_tenant
        self._idle: list = []
        self._pid = os.getpid()
        if is_master:
            self._server = _serve(host_name, port, multi_tenant, master_listen_fd)
            port = self._server.port
        self.port = port
        self._ask("check")  # fails here rather than at first use
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._meet(world_size)

    def _meet(self, world_size):
        came = self.add("\0workers", 1)
        if came >= world_size:
            self.set("\0all workers", b"1")
        try:
            self.wait(["\0all workers"])
        except RuntimeError as error:
            came = self.add("\0workers", 0)
            raise DistNetworkError(
                f"TCPStore {self.host}:{self.port}: {came} of {world_size} processes came within "
                f"{self._timeout.total_seconds():g} s"
            ) from error

    @property
    def libuvBackend(self) -> bool:
        """False: the server is our own."""
        return False

    @property
    def is_master(self) -> bool:
        """Whether this process serves the store."""
        return self._server is not None

    def list_keys(self):
        return [key for key in super().list_keys() if not key.startswith("\0")]

    def _connect(self, deadline):
        where = f"TCPStore {self.host}:{self.port}"
        # The serving process need not find itself by a name that is meant for others.
        host = "127.0.0.1" if self._server is not None and _everywhere(self._server) else self.host
        try:
            connection = dial(host, self.port, deadline)
        except TimeoutError as error:
            raise DistNetworkError(
                f"{where}: no answer within {self._timeout.total_seconds():g} s ({error}); does rank 0 run, and is this "
                "its address?"
            ) from None
        except OSError as error:
            raise DistNetworkError(f"{where}: {error}") from None
        try:
            connection.sendall(GREETING)
            greeting = receive_exactly(connection, len(GREETING), min(deadline, time.monotonic() + 30))
        except OSError:
            greeting = b""
        if greeting != GREETING:
            connection.close()
            raise DistNetworkError(
                f"{where}: whatever listens there is not a store of this torch.distributed; choose another port "
                "(MASTER_PORT)"
            )
        return connection

    def local_address(self) -> str:
        """The address of this machine on the way to the store."""
        connection = self._take(time.monotonic() + self._timeout.total_seconds())
        try:
            return connection.getsockname()[0]
        finally:
            self._idle.append(connection)

    def _take(self, deadline):
        if self._pid != os.getpid():  # a forked child speaks for itself
            self._pid, self._idle, self._server = os.getpid(), [], None
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect(deadline)

    def _apply(self, request, arguments, deadline):
        connection = self._take(deadline)
        try:
            # The server says when the wait is over; give its word time to arrive.
            send(connection, encode([request, max(deadline - time.monotonic(), 0.0), *arguments]), deadline + 30)
            status, result = _reply(decode(receive(connection, deadline + 30)))
        except BaseException as error:
            connection.close()
            if isinstance(error, (OSError, ValueError)):
                raise DistNetworkError(
                    f"TCPStore {self.host}:{self.port}: the store is gone ({error}): the process that serves it has "
                    "ended, or the network has failed"
                ) from None
            raise
        self._idle.append(connection)
        if status == "late":
            raise Late(f"TCPStore.{request}", result)
        if status == "error":
            raise ERRORS.get(result[0], RuntimeError)(result[1])
        return result[0]

    def close(self) -> None:
        """Close the connections and, in the process that serves it, the store."""
        for connection in self._idle:
            connection.close()
        self._idle = []
        if self._server is not None and not self._shared:
            self._server.stop()

    def __del__(self):
        with contextlib.suppress(Exception):
            self.close()


def _reply(message) -> tuple:
    """A server's answer; ValueError for what no store says."""
    status, *result = message if type(message) is list and message else [None]
    texts = all(type(part) is str for part in result)
    if (status, len(result)) == ("done", 1) or (texts and (status == "late" or (status, len(result)) == ("error", 2))):
        return status, result
    raise ValueError(f"it answers {message!r:.80}")


_servers: dict = {}
"""Servers by port that several stores of this process may share."""


def _serve(host, port, multi_tenant, listen_fd):
    if multi_tenant and port in _servers and not _servers[port].stopping:
        return _servers[port]
    server = Server(socket.socket(fileno=listen_fd) if listen_fd is not None else _listen(host, port))
    if multi_tenant:
        _servers[server.port] = server
    return server


def _listen(host, port) -> socket.socket:
    """Only the loopback hears a store for one machine; a store for others is heard on every interface."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise DistNetworkError(f"TCPStore: cannot find host {host!r}: {error}") from None
    loopback = all(address[0].startswith("127.") or address[0] == "::1" for *_, address in found)
    family, address = (found[0][0], found[0][4]) if loopback else (socket.AF_INET, ("", port))
    if not loopback and all(one[0] == socket.AF_INET6 for one in found):
        family, address = socket.AF_INET6, ("::", port)
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(4096)
    except OSError as error:
        listening.close()
        way = "; another job or program uses it: choose another port, or 0 for a free one"
        raise DistNetworkError(
            f"TCPStore: cannot serve at {host}:{port}: {error.strerror} ({errno.errorcode.get(error.errno, '?')})"
            + (way if error.errno == errno.EADDRINUSE else "")
        ) from None
    return listening


def _everywhere(server) -> bool:
    return server.listening.getsockname()[0] in ("0.0.0.0", "::")
