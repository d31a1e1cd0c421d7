"""What goes through the sockets of queues and loaders: a pickle, and ahead of it the handles of the blocks it needs.

The receiver takes over all blocks before it unpickles, so that one that is killed, or whose unpickling fails, leaves
none behind. A message too long for a packet lies in shared memory itself, and the packet carries its handle.
"""

from __future__ import annotations

import pickle
import struct
import threading
from multiprocessing import reduction

from . import _arena, _segments
from ._arena import Block

LONGEST = 32 << 10  # of a packet; csrc/module.cpp knows this and the layout, too
_PICKLE, _WITH_BLOCKS, _IN_BLOCK = range(3)
_HEAD = struct.Struct("=B3xII")  # kind, number of handles, length of the pickled paths to their segments
_HANDLE = struct.Struct("=QIIQ")  # segment, index, generation, nbytes


class _Current(threading.local):
    """The message that this thread pickles or unpickles."""

    sent: dict[Block, int] | None = None
    received: list[Block] | None = None


_current = _Current()


def packed(obj) -> bytes:
    """The packet of an object. Its blocks count as under way from here on; `drop` takes that back."""
    outer, _current.sent = _current.sent, {}
    packet = None
    try:
        body = reduction.ForkingPickler.dumps(obj)
        if not _current.sent and len(body) < LONGEST:
            return b"\0" + bytes(body)
        packet = _carrier(_WITH_BLOCKS, list(_current.sent), body)
        if len(packet) >= LONGEST:
            block = _segments.allocate(len(packet))
            memoryview(block)[:] = packet
            packet = _carrier(_IN_BLOCK, [block], b"")
        return packet
    except BaseException:
        if packet is not None:
            drop(packet)
        raise
    finally:
        _current.sent = outer


def _carrier(kind: int, blocks: list[Block], body) -> bytes:
    handles = [_segments.send(block) for block in blocks]
    paths = pickle.dumps({handle.segment: handle.paths for handle in handles})
    head = _HEAD.pack(kind, len(handles), len(paths))
    return b"".join([head, *(_HANDLE.pack(h.segment, *h[2:]) for h in handles), paths, body])


def take(end) -> tuple:
    """The next packet of a socket with its blocks, for `unpacked`; raises BlockingIOError when there is none.

    An empty packet says that the other end is closed.
    """
    return _arena.take(end)


def unpacked(packet, blocks: list | None = None):
    """The object of a packet; `blocks` as `take` gave them."""
    blocks, body = _taken(packet, blocks)
    outer, _current.received = _current.received, blocks
    try:
        return reduction.ForkingPickler.loads(body)
    finally:
        _current.received = outer


def drop(packet, blocks: list | None = None) -> None:
    """Lets a packet go that nobody will read."""
    _taken(packet, blocks)


def _taken(packet, blocks: list | None) -> tuple[list[Block], memoryview]:
    """The blocks of a packet, held by this process now, and its pickle."""
    view = memoryview(packet)
    if view[0] == _PICKLE:
        return [], view[1:]
    if blocks is None:
        blocks = _arena.packet_blocks(packet)
    kind, count, length = _HEAD.unpack_from(view)
    end = _HEAD.size + count * _HANDLE.size
    if None in blocks:
        paths = pickle.loads(view[end : end + length])
        for i, handle in enumerate(_HANDLE.iter_unpack(view[_HEAD.size : end])):
            if blocks[i] is None:
                blocks[i] = _segments.receive(_segments.Handle(handle[0], paths[handle[0]], *handle[1:]))
    return _taken(blocks[0], None) if kind == _IN_BLOCK else (blocks, view[end + length :])


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
