"""The collectives of MPI on lines of elements, as generators of the requests that they have to wait for."""

import torch

from . import memory
from .collectives import EMPTY, scaled  # noqa: F401


def _typed(line, kind):
    return [memory.octets(line), line.numel(), kind]


def _octets(line):
    from mpi4py import MPI

    return [memory.octets(line), MPI.BYTE]


def _reduction(op, dtype):
    from .mpi import reduction

    return reduction(op, dtype)


def all_reduce(x, line, op):
    from mpi4py import MPI

    scaled(line, op)
    kind, operation = _reduction(op, line.dtype)
    if line.numel():
        yield [x.comm.Iallreduce(MPI.IN_PLACE, _typed(line, kind), operation)]
    if op.name == "AVG":
        line.div_(x.size)


def reduce(x, line, root, op):
    from mpi4py import MPI

    if op.name == "PREMUL_SUM":
        line = line.mul_(op.factor) if x.rank == root else line * op.factor
    kind, operation = _reduction(op, line.dtype)
    if line.numel():
        if x.rank == root:
            yield [x.comm.Ireduce(MPI.IN_PLACE, _typed(line, kind), operation, root)]
        else:
            yield [x.comm.Ireduce(_typed(line, kind), None, operation, root)]
    if op.name == "AVG" and x.rank == root:
        line.div_(x.size)


def reduce_scatter(x, inputs, output, op):
    if op.name == "PREMUL_SUM":
        inputs = inputs * op.factor
    kind, operation = _reduction(op, output.dtype)
    if output.numel():
        counts = [output.numel()] * x.size
        yield [x.comm.Ireduce_scatter(_typed(inputs, kind), _typed(output, kind), counts, operation)]
    if op.name == "AVG":
        output.div_(x.size)


def broadcast(x, line, root):
    yield [x.comm.Ibcast(_octets(line), root)]


def _joined(lines):
    """One line for several, and their places in it in bytes."""
    counts = [line.numel() * line.element_size() for line in lines]
    return torch.cat(lines) if lines else torch.empty(0), counts


def _spread(joined, lines):
    for line, piece in zip(lines, joined.split([line.numel() for line in lines]), strict=True):
        line.copy_(piece)


def _pieces(joined, counts):
    from mpi4py import MPI

    return [memory.octets(joined), counts, MPI.BYTE]


def all_gather(x, line, outputs):
    joined, counts = _joined(outputs)
    yield [x.comm.Iallgatherv(_octets(line), _pieces(joined, counts))]
    _spread(joined, outputs)


def gather(x, line, outputs, root):
    if x.rank != root:
        yield [x.comm.Igatherv(_octets(line), None, root)]
        return
    joined, counts = _joined(outputs)
    yield [x.comm.Igatherv(_octets(line), _pieces(joined, counts), root)]
    _spread(joined, outputs)


def scatter(x, line, inputs, root):
    send = None
    if x.rank == root:
        send = _pieces(*_joined(inputs))
    yield [x.comm.Iscatterv(send, _octets(line), root)]


def all_to_all(x, inputs, outputs):
    joined, counts = _joined(outputs)
    yield [x.comm.Ialltoallv(_pieces(*_joined(inputs)), _pieces(joined, counts))]
    _spread(joined, outputs)


def barrier(x):
    yield [x.comm.Ibarrier()]


def send(x, line, place, tag):
    yield [x.comm.Isend(_octets(line), place, tag)]


def receive(x, line, place, tag, found):
    from mpi4py import MPI

    if place is not None:
        yield [x.comm.Irecv(_octets(line), place, tag)]
        found.append(place)
        return
    # Whose message it is must be known before it is taken.
    status = MPI.Status()
    while not x.comm.Iprobe(MPI.ANY_SOURCE, tag, status):
        yield [_Never()]
    found.append(status.Get_source())
    yield [x.comm.Irecv(_octets(line), found[0], tag)]


class _Never:
    """A request that is done at the next look, when the message is looked for again."""

    def __init__(self):
        self.looked = False

    def Test(self):
        before, self.looked = self.looked, True
        return before
