"""From ``init_method`` to a store: ``env://``, ``tcp://host:port``, ``file:///path``, and schemes of one's own."""

from __future__ import annotations

import os
from urllib.parse import parse_qs, urlparse

from . import _cluster
from ._stores import FileStore, PrefixStore, TCPStore
from ._stores.base import DEFAULT_TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict = {}


def register_rendezvous_handler(scheme: str, handler: Any) -> None:
    """Let ``handler(url, timeout=..., **kwargs)``, a generator of (store, rank, world_size), serve urls of a scheme.

    >>> def alone(url, timeout=None, **kwargs):
    ...     yield torch.distributed.HashStore(), 0, 1
    >>> scheme = f"alone{id(alone)}"  # schemes are registered once
    >>> register_rendezvous_handler(scheme, alone)
    >>> store, rank, world_size = next(torch.distributed.rendezvous(f"{scheme}://"))
    >>> rank, world_size
    (0, 1)
    >>> _ = register_rendezvous_handler.__globals__["_handlers"].pop("alone", None)  # for the next example
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Any:
    """A generator whose first value is (store, rank, world_size) for the url; ValueError that names what is missing.

    >>> from torch.distributed.rendezvous import rendezvous
    >>> store, rank, world_size = next(rendezvous("tcp://127.0.0.1:0?rank=0&world_size=1"))
    >>> rank, world_size
    (0, 1)
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parts = urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}:// (there are {', '.join(sorted(_handlers))})")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1 and name not in query:
            query[name] = str(value)
    return _handlers[parts.scheme](parts, query, **kwargs)


def _number(method, what, text) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"Error initializing torch.distributed using {method} rendezvous: {what} must be a number, got {text!r}"
        ) from None


def _given(method, query):
    for name in ("rank", "world_size"):
        if name not in query:
            raise _missing(method, f"{name.replace('_', ' ')} parameter missing")
    return _number(method, "rank", query["rank"]), _number(method, "world_size", query["world_size"])


def _missing(method, what):
    return ValueError(f"Error initializing torch.distributed using {method} rendezvous: {what}")


def _file(parts, query, timeout=DEFAULT_TIMEOUT, **_):
    path = parts.netloc + parts.path
    if not path:
        raise _missing("file://", "path missing")
    rank, world_size = _given("file://", query)
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _serve_or_dial(host, port, rank, world_size, timeout, agent=False):
    if not 0 <= port < 65536:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    return TCPStore(host, port, world_size, rank == 0 and not agent, timeout, wait_for_workers=False, multi_tenant=True)


def _tcp(parts, query, timeout=DEFAULT_TIMEOUT, **_):
    if parts.port is None:
        raise _missing("tcp://", "port number missing")
    rank, world_size = _given("tcp://", query)
    yield _serve_or_dial(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size


def _environment(parts, query, timeout=DEFAULT_TIMEOUT, **_):
    known = _cluster.place()  # of a scheduler, where torchrun's variables are not set

    def variable(name):
        value = os.environ.get(name, known.get(name))
        if value is None:
            raise _missing("env://", f"environment variable {name} expected, but not set")
        return value

    rank = _number("env://", "rank", query["rank"] if "rank" in query else variable("RANK"))
    world_size = _number(
        "env://", "world_size", query["world_size"] if "world_size" in query else variable("WORLD_SIZE")
    )
    host, port = variable("MASTER_ADDR"), _number("env://", "MASTER_PORT", variable("MASTER_PORT"))
    # Under torchrun the agent serves the store, which outlives the ranks and their restarts.
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = _serve_or_dial(host, port, rank, world_size, timeout, agent)
    if agent:
        _end_with_parent()
        store = PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
    yield store, rank, world_size


def _end_with_parent():
    """Ask Linux to end this process when the agent that started it is killed."""
    import ctypes
    import signal

    PR_SET_PDEATHSIG = 1  # linux/prctl.h
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


register_rendezvous_handler("file", _file)
register_rendezvous_handler("tcp", _tcp)
register_rendezvous_handler("env", _environment)


# The module of 2018 had the name of its function.
rendezvous.rendezvous, rendezvous.register_rendezvous_handler = rendezvous, register_rendezvous_handler
