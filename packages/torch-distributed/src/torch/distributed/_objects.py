"""Collectives of Python objects, which travel pickled.

Unpickling runs what the sender wants: the ranks of one job trust each other as one program does.  They are reached only
through the job's store, and each connection proves that it was read there.
"""

import io
import pickle

import torch

from . import _collectives as collectives
from . import _world as world

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def _pickle(obj):
    buffer = io.BytesIO()
    pickle.Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    data = torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)
    return data, torch.tensor([data.numel()])


def _unpickle(tensor):
    return pickle.loads(bytes(memoryview(tensor)))


def _lengths(size, pg):
    lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(pg.size())]
    collectives.all_gather(lengths, size, pg)
    return [int(one) for one in lengths]


def _group(what, group):
    if not world.is_member(group):
        world.warn_not_member(what)
        return None
    return world.resolve(group)


def all_gather_object(object_list, obj, group=None) -> None:
    """Fill every rank's ``object_list`` with the objects of all ranks."""
    if (pg := _group("all_gather_object", group)) is None:
        return
    if len(object_list) != pg.size():
        raise ValueError(f"all_gather_object: object_list must have {pg.size()} places, got {len(object_list)}")
    data, size = _pickle(obj)
    outputs = [torch.empty(n, dtype=torch.uint8) for n in _lengths(size, pg)]
    collectives.all_to_all(outputs, [data] * pg.size(), pg)
    object_list[:] = map(_unpickle, outputs)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None) -> None:
    """Fill the list of rank ``dst`` (0 unless given) with the objects of all ranks."""
    if (pg := _group("gather_object", group)) is None:
        return
    dst = 0 if dst is None and group_dst is None else dst
    place = collectives._place("gather_object", "dst", pg, dst, group_dst)
    if (object_gather_list is not None) != (pg.rank() == place):
        raise ValueError("gather_object: object_gather_list must be given on the destination rank, and only there")
    data, size = _pickle(obj)
    lengths = _lengths(size, pg)
    nothing = torch.empty(0, dtype=torch.uint8)
    ours = pg.rank() == place
    outputs = [torch.empty(n, dtype=torch.uint8) if ours else nothing for n in lengths]
    collectives.all_to_all(outputs, [data if r == place else nothing for r in range(pg.size())], pg)
    if ours:
        object_gather_list[:] = map(_unpickle, outputs)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None) -> None:
    """Fill every rank's list with the objects in that of rank ``src`` (0 unless given); all have one length."""
    if (pg := _group("broadcast_object_list", group)) is None:
        return
    src = 0 if src is None and group_src is None else src
    place = collectives._place("broadcast_object_list", "src", pg, src, group_src)
    count = len(object_list)
    sizes = torch.zeros(count, dtype=torch.int64)
    if pg.rank() == place:
        packed = [_pickle(obj) for obj in object_list]
        sizes = torch.cat([size for _, size in packed]) if packed else sizes
    collectives.broadcast(sizes, group=pg, group_src=place)
    line = torch.empty(int(sizes.sum()), dtype=torch.uint8)
    if pg.rank() == place and count:
        line = torch.cat([data for data, _ in packed])
    collectives.broadcast(line, group=pg, group_src=place)
    if pg.rank() != place:
        object_list[:] = map(_unpickle, line.split(sizes.tolist()))


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
) -> None:
    """Put the object at our place of the list of rank ``src`` (0 unless given) into place 0 of the output list."""
    if (pg := _group("scatter_object_list", group)) is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    src = 0 if src is None and group_src is None else src
    place = collectives._place("scatter_object_list", "src", pg, src, group_src)
    packed = None
    sizes = None
    if pg.rank() == place:
        if scatter_object_input_list is None or len(scatter_object_input_list) != pg.size():
            raise ValueError(f"scatter_object_list: the source must give a list of {pg.size()} objects")
        packed = [_pickle(obj) for obj in scatter_object_input_list]
        sizes = [size for _, size in packed]
    size = torch.zeros(1, dtype=torch.int64)
    collectives.scatter(size, sizes, group=pg, group_src=place)
    nothing = torch.empty(0, dtype=torch.uint8)
    outputs = [torch.empty(int(size) if r == place else 0, dtype=torch.uint8) for r in range(pg.size())]
    inputs = [data for data, _ in packed] if packed is not None else [nothing] * pg.size()
    collectives.all_to_all(outputs, inputs, pg)
    scatter_object_output_list[0] = _unpickle(outputs[place])


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False) -> None:
    """Send the objects of a list to rank ``dst``."""
    if (pg := _group("send_object_list", group)) is None:
        return
    packed = [_pickle(obj) for obj in object_list]
    if packed:
        collectives.send(torch.cat([size for _, size in packed]), dst, pg, group_dst=group_dst)
        collectives.send(torch.cat([data for data, _ in packed]), dst, pg, group_dst=group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False) -> int:
    """Fill a list with as many objects as were sent, of rank ``src`` or any; returns the sender's rank."""
    if (pg := _group("recv_object_list", group)) is None:
        return -1
    if not object_list:
        return -1
    sizes = torch.zeros(len(object_list), dtype=torch.int64)
    found = collectives.recv(sizes, src, pg, group_src=group_src)
    line = torch.empty(int(sizes.sum()), dtype=torch.uint8)
    collectives.recv(line, found, pg)
    object_list[:] = map(_unpickle, line.split(sizes.tolist()))
    return found
