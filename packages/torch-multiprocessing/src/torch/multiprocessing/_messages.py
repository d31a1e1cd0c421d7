"""What goes through the sockets of queues and loaders: a pickle, and ahead of it the handles of the blocks it needs.

The receiver takes over all blocks before it unpickles, so that one that is killed, or whose unpickling fails, leaves
none behind (csrc/packets.cpp). A message too long for a packet lies in shared memory itself, and the packet carries its
handle.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import struct
import threading
from multiprocessing import reduction
from typing import NamedTuple

from . import _arena, _segments
from ._arena import Block

LONGEST = 32 << 10  # of a packet; csrc/packets.cpp knows this and the layout, too
MOST = 128  # blocks of a packet, so that the record of a socket's readers has room for their handles
_PICKLE, _WITH_BLOCKS, _IN_BLOCK = range(3)
_HEAD = struct.Struct("=B3xIIII")  # kind, number of handles, length of the pickled paths to their segments, pid, number
_PLAIN = struct.Struct("=B3xII")  # kind, pid, number: no two packets are the same
_HANDLE = struct.Struct("=QIIQ")  # segment, index, generation, nbytes
_numbers = itertools.count()


class Packet(NamedTuple):
    """A message that has not been sent, and the blocks that it needs until then."""

    data: bytes
    blocks: tuple[Block, ...] = ()


class _Current(threading.local):
    """The message that this thread pickles or unpickles."""

    sent: dict[Block, int] | None = None
    received: list[Block] | None = None
    by_value = False


_current = _Current()


def packed(obj, by_value: bool = False) -> Packet:
    """The packet of an object; with `by_value` its tensors go within the pickle."""
    outer, _current.sent = _current.sent, {}
    how, _current.by_value = _current.by_value, by_value
    try:
        body = reduction.ForkingPickler.dumps(obj)
        blocks = tuple(_current.sent)
    finally:
        _current.sent, _current.by_value = outer, how
    if not blocks and _PLAIN.size + len(body) < LONGEST:
        return Packet(_PLAIN.pack(_PICKLE, os.getpid(), _next_number()) + body)
    data = _carrier(_WITH_BLOCKS, blocks, body)
    if len(data) < LONGEST and len(blocks) <= MOST:
        return Packet(data, blocks)
    block = _segments.allocate(len(data))
    memoryview(block)[:] = data
    return Packet(_carrier(_IN_BLOCK, (block,), b""), (*blocks, block))


def _next_number() -> int:
    return next(_numbers) & 0xFFFFFFFF


def _carrier(kind: int, blocks: tuple[Block, ...], body) -> bytes:
    handles = [_segments.handle(block) for block in blocks]
    paths = pickle.dumps({handle.segment: handle.paths for handle in handles})
    head = _HEAD.pack(kind, len(handles), len(paths), os.getpid(), _next_number())
    return b"".join([head, *(_HANDLE.pack(h.segment, *h[2:]) for h in handles), paths, body])


def give(end, packet: Packet) -> None:
    """Writes a packet to a socket; raises BlockingIOError when there is no room.

    It never waits: blocks count as under way while they are written, and a process killed then would seem to have sent
    them.
    """
    _arena.give(end, packet.data)


def take(end, record: Block | None = None, room: int = 0) -> tuple:
    """The next packet of a socket with its blocks, for `unpacked`; raises BlockingIOError when there is none.

    An empty packet says that the other end is closed. `record` is that of a socket which several processes read; `room` is
    the handle of a semaphore that is raised for each packet taken, by whomever.
    """
    if record is None:
        return _arena.take(end)
    return _arena.take(end, record, room, _attach_all, _let_go)


def mend(end, record: Block, room: int = 0) -> None:
    """Lets go what a killed reader took from a socket and did not live to hold."""
    _arena.mend(end, record, room, _let_go)


def _handles(packet) -> tuple[memoryview, list]:
    """The handles of a packet, and what follows the paths."""
    view = memoryview(packet)
    _, count, length, *_ = _HEAD.unpack_from(view)
    end = _HEAD.size + count * _HANDLE.size
    try:
        paths = pickle.loads(view[end : end + length])
    except (EOFError, pickle.UnpicklingError):  # there was no room for them in the record
        paths = {}
    handles = [_segments.Handle(h[0], paths.get(h[0], ()), *h[1:]) for h in _HANDLE.iter_unpack(view[_HEAD.size : end])]
    return view[end + length :], handles


def _attach_all(packet) -> bool:
    """Attaches the segments of a packet's blocks; False when one cannot be reached."""
    try:
        for handle in _handles(packet)[1]:
            _segments.arena_of(handle)
    except _segments.SharedMemoryError:
        return False
    return True


def _let_go(packet: bytes, taken: int) -> None:
    """Takes and drops the blocks of a packet after the first `taken`; those within a carrier come before it."""
    if packet[0] == _PICKLE:
        return
    carrier, handles = None, _handles(packet)[1]
    with contextlib.suppress(RuntimeError):
        if packet[0] == _IN_BLOCK:
            carrier = _segments.receive(handles[0])
            handles = _handles(carrier)[1]
        for handle in handles[taken:]:
            with contextlib.suppress(RuntimeError):
                _segments.receive(handle)


def unpacked(packet: bytes, blocks: list):
    """The object of a packet; both as `take` gave them."""
    blocks, body = _taken(packet, blocks)
    outer, _current.received = _current.received, blocks
    try:
        return reduction.ForkingPickler.loads(body)
    finally:
        _current.received = outer


def drop(packet: bytes, blocks: list) -> None:
    """Releases a packet that will not be read."""
    _taken(packet, blocks)


def _taken(packet: bytes, blocks: list) -> tuple[list[Block], memoryview]:
    """The blocks of a packet, all held by this process now, and its pickle."""
    if packet[0] == _PICKLE:
        return [], memoryview(packet)[_PLAIN.size :]
    if packet[0] == _IN_BLOCK:
        *blocks, carrier = blocks
        if carrier is None:
            carrier = _segments.receive(_handles(packet)[1][0])
            blocks = _arena.packet_blocks(carrier)
        packet = carrier
    body, handles = _handles(packet)
    for i, handle in enumerate(handles):
        if blocks[i] is None:
            blocks[i] = _segments.receive(handle)
    return blocks, body


def attach(block: Block) -> int | tuple:
    """What stands for a block in a pickle: its place in this thread's message, or a handle when there is none.

    Without a message, in a pipe or a queue of the standard library, the handle counts as under way at once.
    """
    if _current.sent is None:
        return tuple(_segments.send(block))
    return _current.sent.setdefault(block, len(_current.sent))


def attached(place: int | tuple) -> Block:
    """The block that `attach` gave the place or the handle for."""
    if isinstance(place, tuple):
        return _segments.receive(_segments.Handle(*place))
    if _current.received is None:
        raise RuntimeError("a tensor of a message can be unpickled only with its message")
    return _current.received[place]


def goes_by_value() -> bool:
    """Whether tensors of this thread's message go within its pickle."""
    return _current.by_value
