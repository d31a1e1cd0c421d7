"""The collectives as exchanges of messages, each a generator that yields the transfers it has to wait for.

All of them are direct: with n ranks, a rank's share goes straight to whom it is for, n - 1 messages in one round.  Sums
are taken in the order of the ranks, so that every rank has the same bits and a run can be repeated.  Long messages go in
segments: one is reduced while the next is on its way.
"""

from . import memory

SHORT = 1 << 14  # bytes that each rank sends whole to all others rather than in shares
SEGMENT = 1 << 20  # bytes; fits the second-level cache together with what it is added to


def segments(line, start=0, end=None):
    """The (start, end) of pieces of a line between two elements."""
    end = line.numel() if end is None else end
    step = max(1, SEGMENT // line.element_size())
    return [(at, min(at + step, end)) for at in range(start, end, step)]


def shares(line, size):
    """Where each rank's share of a line begins and ends."""
    numel = line.numel()
    return [(numel * i // size, numel * (i + 1) // size) for i in range(size)]


def fold(contributions, out, op):
    """Reduce lines in their order; ``out`` is one of them and receives the result."""
    combine = memory.COMBINE[op.name]
    total = contributions[0]
    for i, other in enumerate(contributions[1:], 1):
        into = out if total is out or other is out or i == len(contributions) - 1 else total
        total = combine(total, other, out=into)
    if op.name == "AVG":
        out.div_(len(contributions))


def scaled(line, op):
    """For PREMUL_SUM: the line times the factor."""
    if op.name == "PREMUL_SUM":
        line.mul_(op.factor)


def all_reduce(x, line, op):
    """Reduce lines of equal length, in place."""
    scaled(line, op)
    if x.size == 1 or line.numel() == 0:
        return
    data = memory.octets(line)
    if data.nbytes <= SHORT:
        slots = [line if r == x.rank else line.new_empty(line.numel()) for r in range(x.size)]
        pending = [x.receive(r, memory.octets(slots[r])) for r in x.others()]
        pending += [x.send(r, data) for r in x.others()]
        yield pending
        fold(slots, line, op)
        return
    parts = shares(line, x.size)
    coming = [x.receive(r, octets(line, *piece), 1) for r in x.others() for piece in segments(line, *parts[r])]
    yield from _share(x, line, line, parts, op, onward=True)
    yield coming


def _share(x, line, into, parts, op, onward):
    """Send each rank its share of our line, reduce our share of theirs into ``into``; and on to all, if asked."""
    mine = segments(line, *parts[x.rank])
    sends, queue, at = [], [], 0

    def post(piece):
        slots = [line[slice(*piece)] if r == x.rank else line.new_empty(piece[1] - piece[0]) for r in range(x.size)]
        queue.append((piece, slots, [x.receive(r, memory.octets(slots[r])) for r in x.others()]))

    for piece in mine[:2]:
        post(piece)
    sends += [x.send(r, octets(line, *piece)) for r in x.others() for piece in segments(line, *parts[r])]
    while at < len(mine):
        piece, slots, receives = queue.pop(0)
        yield receives
        at += 1
        if at + 1 < len(mine):
            post(mine[at + 1])
        if into is line:
            target = slots[x.rank]
        else:
            base = parts[x.rank][0]
            target = into[piece[0] - base : piece[1] - base]
            target.copy_(slots[x.rank])
            slots[x.rank] = target
        fold(slots, target, op)
        if onward:
            sends += [x.send(r, memory.octets(target), 1) for r in x.others()]
    yield sends


def octets(line, start, end):
    return memory.octets(line[start:end])


def reduce_scatter(x, inputs, output, op):
    """``inputs`` holds a share for each rank; ``output`` becomes the reduction of all ranks' shares for us."""
    if op.name == "PREMUL_SUM":
        inputs = inputs * op.factor
    if x.size == 1:
        output.copy_(inputs)
        return
    length = output.numel()
    parts = [(r * length, (r + 1) * length) for r in range(x.size)]
    yield from _share(x, inputs, output, parts, op, onward=False)


def reduce(x, line, root, op):
    """Reduce into the line of ``root``; the others keep theirs."""
    if x.rank != root and op.name == "PREMUL_SUM":
        line = line * op.factor
    elif x.rank == root:
        scaled(line, op)
    if x.rank != root:
        yield [x.send(root, octets(line, *piece)) for piece in segments(line)]
        return
    if x.size == 1:
        return
    for start, end in segments(line):
        part = line[start:end]
        slots = [part if r == root else part.new_empty(end - start) for r in range(x.size)]
        yield [x.receive(r, memory.octets(slots[r])) for r in x.others()]
        fold(slots, part, op)


def broadcast(x, line, root):
    """Fill every line with that of ``root``: short ones down a binomial tree, long ones along a chain, piece by piece."""
    place = (x.rank - root) % x.size  # counted from the root
    if place:
        x.notify(root)
    if line.numel() * line.element_size() <= SEGMENT:
        bit = 1
        while bit < x.size and not place & bit:
            bit <<= 1
        parent = place ^ bit if place else None
        children = []
        bit >>= 1
        while bit:
            if place + bit < x.size:
                children.append(place + bit)
            bit >>= 1
    else:
        parent = place - 1 if place else None
        children = [place + 1] if place + 1 < x.size else []
    actual = [(child + root) % x.size for child in children]
    pieces = [octets(line, *piece) for piece in segments(line)]
    receives = [x.receive((parent + root) % x.size, piece) for piece in pieces] if place else []
    sends = []
    for i, piece in enumerate(pieces):
        if place:
            yield [receives[i]]
        sends += [x.send(child, piece) for child in actual]
    yield sends


def exchange(x, outgoing, incoming):
    """``outgoing[r]`` goes to each other rank r and ``incoming[r]`` comes from there; None where nothing does."""
    pending = []
    for r in x.others():
        if incoming[r] is not None:
            pending += [x.receive(r, octets(incoming[r], *piece)) for piece in segments(incoming[r])]
    for r in x.others():
        if outgoing[r] is not None:
            pending += [x.send(r, octets(outgoing[r], *piece)) for piece in segments(outgoing[r])]
    yield pending


def all_gather(x, line, outputs):
    outputs[x.rank].copy_(line)
    yield from exchange(x, [line] * x.size, outputs)


def gather(x, line, outputs, root):
    if x.rank == root:
        outputs[root].copy_(line)
        yield from exchange(x, [None] * x.size, outputs)
    else:
        yield [x.send(root, octets(line, *piece)) for piece in segments(line)]


def scatter(x, line, inputs, root):
    if x.rank == root:
        line.copy_(inputs[root])
        yield from exchange(x, inputs, [None] * x.size)
    else:
        x.notify(root)
        yield [x.receive(root, octets(line, *piece)) for piece in segments(line)]


def all_to_all(x, inputs, outputs):
    outputs[x.rank].copy_(inputs[x.rank])
    yield from exchange(x, inputs, outputs)


EMPTY = memoryview(b"")


def barrier(x):
    """Every rank hears, over others, of every other: in round k from the one 2^k places before it."""
    distance, step = 1, 0
    while distance < x.size:
        send = x.send((x.rank + distance) % x.size, EMPTY, step)
        yield [x.receive((x.rank - distance) % x.size, EMPTY, step), send]
        distance, step = distance * 2, step + 1


def send(x, line, place, tag):
    yield [x.send(place, memory.octets(line), tag=tag)]


def receive(x, line, place, tag, found):
    transfer = x.receive(place, memory.octets(line), tag=tag)
    yield [transfer]
    found.append(transfer.peer)
