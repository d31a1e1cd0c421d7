"""Whole messages over a socket, with a deadline: four bytes of length, then so many bytes."""

import socket
import time
from struct import Struct

LENGTH = Struct("<I")
LARGEST = 1 << 30
WAIT = 2e6  # seconds that one call waits at most; sockets take milliseconds as an int


class Closed(ConnectionError):
    """The other side has closed the connection."""


def remaining(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return min(left, WAIT)


def send(connection: socket.socket, message: bytes, deadline: float) -> None:
    connection.settimeout(remaining(deadline))
    connection.sendall(LENGTH.pack(len(message)) + message)


def receive(connection: socket.socket, deadline: float, largest: int = LARGEST) -> bytes:
    (length,) = LENGTH.unpack(receive_exactly(connection, LENGTH.size, deadline))
    if length > largest:
        raise ConnectionError(f"a message of {length} bytes was announced")
    return receive_exactly(connection, length, deadline)


def receive_exactly(connection, count: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < count:  # what is announced is not yet there: memory grows with what comes
        connection.settimeout(remaining(deadline))
        got = connection.recv(min(count - len(data), 1 << 20))
        if not got:
            raise Closed("the other side closed the connection")
        data += got
    return bytes(data)


def dial(host: str, port: int, deadline: float) -> socket.socket:
    """A connection to ``host:port``, tried again while nothing listens there; TimeoutError at the deadline."""
    pause, last = 0.01, None
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(str(last) if last else "timed out")
        try:
            connection = socket.create_connection((host, port), timeout=min(left, 30))
        except socket.gaierror as error:
            if error.errno not in (socket.EAI_AGAIN,):
                raise
            last = error
        except OSError as error:
            last = error
        else:
            # A port without a listener can be given to the dialling socket itself, which then meets itself.
            if connection.getsockname() != connection.getpeername():
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            connection.close()
        time.sleep(min(pause, max(left, 0)))
        pause = min(pause * 1.5, 0.5)
