"""The collectives as calls of NCCL; what it has no call for is a round of sends and receives that go on at once."""

import ctypes as C

import torch

from ..collectives import scaled

# ncclDataType_t and ncclRedOp_t, whose numbers are part of NCCL's binary interface.
TYPES = {
    torch.int8: 0, torch.uint8: 1, torch.bool: 1, torch.int32: 2, torch.uint32: 3, torch.int64: 4, torch.uint64: 5,
    torch.float16: 6, torch.float32: 7, torch.float64: 8, torch.bfloat16: 9,
}  # fmt: skip
OPS = {"SUM": 0, "PREMUL_SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}
OF_BOOLS = {"SUM": 2, "MAX": 2, "BOR": 2, "PRODUCT": 3, "MIN": 3, "BAND": 3}  # or is the largest, and the smallest
HALVES = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def _numbers(line):
    """A line as one of a type that NCCL has; complex numbers are two real ones each."""
    if line.dtype in HALVES:
        return torch.view_as_real(line).view(-1)
    if line.dtype not in TYPES:
        raise TypeError(f"backend nccl: NCCL has no {line.dtype}")
    return line


def _bytes(line):
    """Pointer, count and type of a line that is moved and not computed with, whatever its dtype."""
    return C.c_void_p(line.data_ptr()), C.c_size_t(line.numel() * line.element_size()), TYPES[torch.uint8]


def _sum(line, op):
    """Pointer, count, type and reduction of a line."""
    table = OF_BOOLS if line.dtype == torch.bool else OPS
    if op.name not in table:
        raise ValueError(f"backend nccl: NCCL has no {op!r} for {line.dtype}; use backend 'gloo' on the CPU for it")
    if line.dtype in HALVES and table[op.name] not in (0, 4):
        raise ValueError(f"backend nccl: {op!r} of {line.dtype} is not done by parts; NCCL has no complex numbers")
    line = _numbers(line)
    return C.c_void_p(line.data_ptr()), C.c_size_t(line.numel()), TYPES[line.dtype], table[op.name]


def all_reduce(x, line, op):
    scaled(line, op)
    at, count, dtype, kind = _sum(line, op)
    if line.numel():
        x.nccl.call("all_reduce", at, at, count, dtype, kind, x.nccl.stream())
    yield from ()


def reduce(x, line, root, op):
    """The others keep their lines: NCCL writes on the root only."""
    if op.name == "PREMUL_SUM":
        line = line.mul_(op.factor) if x.rank == root else line * op.factor
    at, count, dtype, kind = _sum(line, op)
    if line.numel():
        x.nccl.call("reduce", at, at, count, dtype, kind, root, x.nccl.stream())
    yield from ()


def broadcast(x, line, root):
    at, count, dtype = _bytes(line)
    if line.numel():
        x.nccl.call("broadcast", at, at, count, dtype, root, x.nccl.stream())
    yield from ()


def all_gather(x, line, outputs):
    if any(out.numel() != line.numel() for out in outputs):
        yield from exchange(x, [line] * x.size, outputs)
        return
    if line.numel():
        whole = line.new_empty(x.size * line.numel())
        at, count, dtype = _bytes(line)
        x.nccl.call("all_gather", at, C.c_void_p(whole.data_ptr()), count, dtype, x.nccl.stream())
        for out, part in zip(outputs, whole.view(x.size, -1)):
            out.copy_(part)


def reduce_scatter(x, inputs, output, op):
    if op.name == "PREMUL_SUM":
        inputs = inputs * op.factor
    source, _, dtype, kind = _sum(inputs, op)
    into, count, _, _ = _sum(output, op)
    if output.numel():
        x.nccl.call("reduce_scatter", source, into, count, dtype, kind, x.nccl.stream())
    yield from ()


def exchange(x, outgoing, incoming):
    """``outgoing[r]`` goes to each rank r and ``incoming[r]`` comes from there; None where nothing does."""

    def post():
        for r in range(x.size):
            if r != x.rank and outgoing[r] is not None and outgoing[r].numel():
                x.nccl.call("send", *_bytes(outgoing[r]), r, x.nccl.stream())
            if r != x.rank and incoming[r] is not None and incoming[r].numel():
                x.nccl.call("receive", *_bytes(incoming[r]), r, x.nccl.stream())

    if outgoing[x.rank] is not None and incoming[x.rank] is not None:
        incoming[x.rank].copy_(outgoing[x.rank])
    x.nccl.together(post)
    yield from ()


def _only(x, place, value):
    """``value`` at a place, nothing at the others."""
    return [value if r == place else None for r in range(x.size)]


def gather(x, line, outputs, root):
    yield from exchange(x, _only(x, root, line), outputs if x.rank == root else [None] * x.size)


def scatter(x, line, inputs, root):
    yield from exchange(x, inputs if x.rank == root else [None] * x.size, _only(x, root, line))


def all_to_all(x, inputs, outputs):
    yield from exchange(x, inputs, outputs)


def send(x, line, place, tag):
    yield from exchange(x, _only(x, place, line), [None] * x.size)


def receive(x, line, place, tag, found):
    yield from exchange(x, [None] * x.size, _only(x, place, line))
    found.append(place)
