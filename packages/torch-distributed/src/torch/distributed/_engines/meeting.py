"""How the ranks of a job find each other: each listens, says where in the store, and dials those before it."""

import json
import os
import secrets
import select
import socket
import time

from .._errors import DistNetworkError, DistStoreError
from .._stores.tcp import TCPStore
from .._stores.wire import dial, receive, send
from . import board

GREETING = "torch.distributed rank 1"
LOOK_EVERY = 0.5  # seconds between two looks for what another rank says has gone wrong


def meet(store, rank: int, size: int, timeout: float) -> tuple:
    """A connected socket to each other rank (None at our own place), and memory shared with those near, or None.

    What goes wrong is an error that every waiting rank gets.
    """
    deadline = time.monotonic() + timeout
    size_before = store.compare_set("size", "", str(size)).decode()
    if size_before != str(size):
        fail(store, f"rank {rank} was started with world_size {size}, another rank with world_size {size_before}")
    hosts = addresses(store)
    token = secrets.token_hex(16)
    listening = listen(hosts)
    near = listen_near(token)
    memory = board.offer() if near and size > 1 else None
    met = False
    try:
        card = {
            "hosts": hosts,
            "port": listening.getsockname()[1],
            "near": near and neighbourhood(),
            "pid": os.getpid(),
            "machine": socket.gethostname(),
            "token": token,
        }
        mine = json.dumps(card)
        held = store.compare_set(f"rank/{rank}", "", mine).decode()
        if held != mine:
            fail(store, f"two processes call themselves rank {rank}: {_who(json.loads(held))} and {_who(card)}")
        sockets: list = [None] * size
        for other in range(rank):
            sockets[other] = _dial(store, rank, other, timeout, deadline)
            _swap(sockets[other], other, memory, deadline)
        for _ in range(rank + 1, size):
            missing = [r for r in range(rank + 1, size) if sockets[r] is None]
            other, connection = _accept(
                store, [listening, *([near] if near else [])], token, missing, rank, timeout, deadline
            )
            sockets[other] = connection
            _swap(connection, other, memory, deadline)
        _introduce(sockets, memory, deadline)
        met = True
        return sockets, memory
    finally:
        if memory is not None and not met:
            memory.close()
            os.close(memory.bell)
        listening.close()
        if near:
            near.close()


def _swap(connection, other, memory, deadline):
    """Give a rank of this machine our memory, and the bell that wakes us; and take its own."""
    if connection.family != socket.AF_UNIX:
        return
    connection.settimeout(max(0.0, deadline - time.monotonic()))
    try:
        ours = [] if memory is None else [memory.fd, memory.bell]
        socket.send_fds(connection, [b"m"], ours)
        said, fds, _, _ = socket.recv_fds(connection, 1, 2, socket.MSG_CMSG_CLOEXEC)
    except OSError as error:
        raise DistNetworkError(f"init_process_group: rank {other} was lost while the ranks met ({error})") from None
    if not said:
        raise DistNetworkError(f"init_process_group: rank {other} left while the ranks met")
    if memory is not None and len(fds) == 2:
        memory.look_at(other, *fds)
    else:
        for fd in fds:
            os.close(fd)


def _introduce(sockets, memory, deadline):
    """Tell the ranks of this machine whose memory we see, so that all know which groups share theirs."""
    seen = 0 if memory is None else sum(1 << rank for rank in memory.seen)
    near = [rank for rank, one in enumerate(sockets) if one is not None and one.family == socket.AF_UNIX]
    rank = None
    try:
        for rank in near:
            send(sockets[rank], b"%x" % seen, deadline)
        for rank in near:
            said = int(receive(sockets[rank], deadline, 1 << 16), 16)
            if memory is not None:
                memory.sees[rank] = said
    except OSError as error:
        raise DistNetworkError(f"init_process_group: rank {rank} was lost while the ranks met ({error})") from None


def fail(store, reason: str):
    """Say why the job cannot start, here and to every rank that waits."""
    store.compare_set("failed", "", reason)
    raise DistStoreError(f"init_process_group: {reason}")


def _look_for_failure(store):
    if store.check(["failed"]):
        raise DistStoreError(f"init_process_group: {store.get('failed').decode()}")


def _who(card) -> str:
    return f"process {card['pid']} on {card['machine']}"


def addresses(store) -> list:
    """Addresses of this machine under which others may reach it, the likeliest first."""
    if name := os.environ.get("GLOO_SOCKET_IFNAME"):
        return [_of_interface(one.strip()) for one in name.split(",") if one.strip()][:1]
    while not isinstance(store, TCPStore) and hasattr(store, "underlying_store"):
        store = store.underlying_store
    if isinstance(store, TCPStore):
        found = [store.local_address()]
        if found[0] in ("127.0.0.1", "::1") and store.host in ("127.0.0.1", "localhost", "::1"):
            return found
    else:
        found = []
    try:
        found += [address[0] for *_, address in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)]
    except socket.gaierror:
        pass  # a machine that does not know its own name is reached by the other addresses
    return list(dict.fromkeys([*found, "127.0.0.1"]))


def _of_interface(name: str) -> str:
    import fcntl
    import struct

    SIOCGIFADDR = 0x8915  # linux/sockios.h
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError as error:
            raise DistNetworkError(f"GLOO_SOCKET_IFNAME: no IPv4 address of interface {name!r}: {error}") from None
    return socket.inet_ntoa(answer[20:24])


def listen(hosts) -> socket.socket:
    """A listening socket that only the loopback hears when only that is told to others."""
    family = socket.AF_INET6 if any(":" in host for host in hosts) else socket.AF_INET
    only = hosts[0] if len(hosts) == 1 else ""
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.bind((only, 0))
    listening.listen(4096)
    return listening


def neighbourhood() -> str:
    """Equal in processes that reach each other by Unix sockets: the machine since it was started, and the network."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}/{os.stat('/proc/self/ns/net').st_ino}"


def _near_address(token) -> str:
    return f"\0torch.distributed {token}"


def listen_near(token):
    """A Unix socket for ranks of this machine, which is faster than the loopback; None where an interface was chosen."""
    if os.environ.get("GLOO_SOCKET_IFNAME"):
        return None
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(_near_address(token))
    listening.listen(4096)
    return listening


def _dial_near(card):
    if card["near"] is None or os.environ.get("GLOO_SOCKET_IFNAME") or card["near"] != neighbourhood():
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(5)
        connection.connect(_near_address(card["token"]))
    except OSError:  # it may have ended, or be kept from it: the network will tell
        connection.close()
        return None
    return connection


def _card(store, other, rank, timeout, deadline):
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DistStoreError(
                f"init_process_group: rank {rank} waited {timeout:g} s for rank {other}, which has not come"
            )
        try:
            store.wait([f"rank/{other}"], min(LOOK_EVERY, left))
            return json.loads(store.get(f"rank/{other}"))
        except DistStoreError:
            _look_for_failure(store)


def _dial(store, rank, other, timeout, deadline):
    card = _card(store, other, rank, timeout, deadline)
    errors = []
    hello = json.dumps([GREETING, rank, card["token"]]).encode()
    while time.monotonic() < deadline:
        for host in [None, *card["hosts"]]:
            left = deadline - time.monotonic()
            try:
                if host is None:
                    connection = _dial_near(card)
                    if connection is None:
                        continue
                else:
                    connection = dial(host, card["port"], time.monotonic() + min(left, 5))
                send(connection, hello, deadline)
                if receive(connection, deadline, 4096) == b"welcome":
                    return connection
                connection.close()
            except OSError as error:
                errors.append(f"{host}:{card['port']}: {str(error) or 'timed out'}")
        _look_for_failure(store)
    raise DistNetworkError(
        f"init_process_group: rank {rank} cannot reach rank {other} ({_who(card)}): {'; '.join(dict.fromkeys(errors))}; "
        "GLOO_SOCKET_IFNAME names the network interface to use"
    )


def _accept(store, listening, token, missing, rank, timeout, deadline):
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DistStoreError(
                f"init_process_group: rank {rank} waited {timeout:g} s for rank {', '.join(map(str, missing))}, which "
                f"{'have' if len(missing) > 1 else 'has'} not come"
            )
        ready, _, _ = select.select(listening, [], [], min(LOOK_EVERY, left))
        if not ready:
            _look_for_failure(store)
            continue
        connection, _ = ready[0].accept()
        try:
            hello = json.loads(receive(connection, min(deadline, time.monotonic() + 5), 4096))
            if isinstance(hello, list) and hello[0] == GREETING and hello[2] == token and hello[1] in missing:
                send(connection, b"welcome", deadline)
                if connection.family != socket.AF_UNIX:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return hello[1], connection
        except (OSError, ValueError, LookupError, RecursionError):
            pass  # a stranger at our port
        connection.close()
