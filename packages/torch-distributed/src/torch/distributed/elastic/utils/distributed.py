"""Ports of this machine that nobody uses."""

import socket

__all__ = ["get_free_port", "get_socket_with_port"]


def get_free_port() -> int:
    """A port that was free a moment ago; who can, lets the system choose and listens at port 0.

    >>> 0 < get_free_port() < 65536
    True
    """
    with get_socket_with_port() as held:
        return held.getsockname()[1]


def get_socket_with_port() -> socket.socket:
    """A socket bound to a free port of this machine."""
    for family, *_, address in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM):
        held = socket.socket(family, socket.SOCK_STREAM)
        try:
            held.bind((address[0], 0))
        except OSError:
            held.close()
            continue
        return held
    raise RuntimeError("get_socket_with_port: no address of localhost has a free port")
