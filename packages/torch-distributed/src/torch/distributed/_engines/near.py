"""The collectives of ranks of one machine, through memory that all of them see.

Each is a generator that yields what it waits for, as those of ``collectives.py`` are, and sums in the order of the
ranks as they do.  What every rank can do for itself (short sums) it does; long sums are shared out: each rank adds up
one share, from where the others have put it, and all fetch the result.
"""

from . import collectives, memory
from .board import Gathering
from .collectives import all_to_all, receive, scaled, send, shares  # noqa: F401 - lines of any lengths: messages

SHORT = 1 << 15  # bytes of a line that every rank adds up whole
CHUNK = 1 << 19  # bytes of a share that are under way at once; stays in the second-level cache with what it is added to


def _wait(x, whom=None, round=None, compare=False):
    """Wait until ``whom`` (all others unless given) have published a round: our latest unless given."""
    board = x.board
    round = board.count - 1 if round is None else round
    if board.missing(round, whom):
        yield [x.gathering(Gathering(board, round, whom, x.task.request))]
    if compare:
        x.compare(round, whom)


def _open(x, first):
    """Before we write to a half: all have read what was in it, if they have published the round after."""
    board = x.board
    if board.count:
        yield from _wait(x, round=board.count - 1, compare=board.unread)
    if first:
        board.head(x.task.number, x.task.request)


def _fold(lines, out, op):
    """Reduce lines in their order into ``out``, which is none of them, but may be the first."""
    combine = memory.COMBINE[op.name]
    total = lines[0]
    for line in lines[1:]:
        total = combine(total, line, out=out)
    if op.name == "AVG":
        out.div_(len(lines))


def _pieces(numel, step):
    return [(at, min(at + step, numel)) for at in range(0, numel, step)]


def _step(x, line, most):
    """Elements of a line that are under way at once, for each rank."""
    return max(1, min(x.board.room, most) // line.element_size())


def all_reduce(x, line, op):
    scaled(line, op)
    numel, dtype, board = line.numel(), line.dtype, x.board
    if numel * line.element_size() <= min(SHORT, board.room):
        yield from _open(x, True)
        board.line(board.place, 0, numel, dtype).copy_(line)
        board.publish()
        yield from _wait(x, compare=True)
        if numel:
            _fold([board.line(p, 0, numel, dtype, board.count - 1) for p in range(x.size)], line, op)
        return
    # One round hands over the shares of a chunk and the sums of the chunk before.
    me, before = board.place, None
    chunks = _pieces(numel, x.size * _step(x, line, CHUNK))
    for i in range(len(chunks) + 1):
        chunk, parts = None, None
        if i < len(chunks):
            chunk = line[slice(*chunks[i])]
            parts = [chunk[a:b] for a, b in shares(chunk, x.size)]
        yield from _open(x, i == 0)
        if before is not None:
            n = before[me].numel()
            lines = [before[me] if p == me else board.line(p, me, n, dtype, board.count - 1) for p in range(x.size)]
            total = board.line(me, me, n, dtype)
            _fold(lines, total, op)
            before[me].copy_(total)
        if parts is not None:
            for p in board.others:
                board.line(me, p, parts[p].numel(), dtype).copy_(parts[p])
        board.publish()
        yield from _wait(x, compare=i == 0)
        if before is not None:
            for p in board.others:
                before[p].copy_(board.line(p, p, before[p].numel(), dtype, board.count - 1))
        before = parts


def reduce_scatter(x, inputs, output, op):
    if op.name == "PREMUL_SUM":
        inputs = inputs * op.factor
    board, dtype = x.board, inputs.dtype
    rows = inputs.view(x.size, -1) if inputs.numel() else inputs.view(x.size, 0)
    for i, (start, end) in enumerate(_pieces(output.numel(), _step(x, inputs, CHUNK)) or [(0, 0)]):
        yield from _open(x, i == 0)
        for p in range(x.size):
            board.line(board.place, p, end - start, dtype).copy_(rows[p, start:end])
        board.publish()
        yield from _wait(x, compare=i == 0)
        lines = [board.line(p, board.place, end - start, dtype, board.count - 1) for p in range(x.size)]
        if end > start:
            _fold(lines, output[start:end], op)


def reduce(x, line, root, op):
    board, dtype, me = x.board, line.dtype, x.board.place
    if me != root and op.name == "PREMUL_SUM":
        line = line * op.factor
    elif me == root:
        scaled(line, op)
    for i, (start, end) in enumerate(_pieces(line.numel(), _step(x, line, CHUNK)) or [(0, 0)]):
        yield from _open(x, i == 0)
        part = line[start:end]
        board.line(me, 0, end - start, dtype).copy_(part)
        board.publish()
        if me != root:
            continue
        yield from _wait(x, compare=i == 0)
        if end > start:
            _fold([board.line(p, 0, end - start, dtype, board.count - 1) for p in range(x.size)], part, op)


def broadcast(x, line, root):
    board, dtype, me = x.board, line.dtype, x.board.place
    for i, (start, end) in enumerate(_pieces(line.numel(), _step(x, line, CHUNK)) or [(0, 0)]):
        yield from _open(x, i == 0)
        if me == root:
            board.line(me, 0, end - start, dtype).copy_(line[start:end])
        board.publish()
        if me != root:
            yield from _wait(x, root, compare=i == 0)
            line[start:end].copy_(board.line(root, 0, end - start, dtype, board.count - 1))


def all_gather(x, line, outputs):
    if not x.task.request.numel:  # nothing, or lines of several lengths
        yield from collectives.all_gather(x, line, outputs)
        return
    board, dtype, me = x.board, line.dtype, x.board.place
    outputs[me].copy_(line)
    for i, (start, end) in enumerate(_pieces(line.numel(), _step(x, line, CHUNK)) or [(0, 0)]):
        yield from _open(x, i == 0)
        board.line(me, 0, end - start, dtype).copy_(line[start:end])
        board.publish()
        yield from _wait(x, compare=i == 0)
        for p in board.others:
            outputs[p][start:end].copy_(board.line(p, 0, end - start, dtype, board.count - 1))


def gather(x, line, outputs, root):
    board, dtype, me = x.board, line.dtype, x.board.place
    if me == root:
        outputs[root].copy_(line)
    for i, (start, end) in enumerate(_pieces(line.numel(), _step(x, line, CHUNK)) or [(0, 0)]):
        yield from _open(x, i == 0)
        if me != root:
            board.line(me, 0, end - start, dtype).copy_(line[start:end])
        board.publish()
        if me != root:
            continue
        yield from _wait(x, compare=i == 0)
        for p in board.others:
            outputs[p][start:end].copy_(board.line(p, 0, end - start, dtype, board.count - 1))


def scatter(x, line, inputs, root):
    board, dtype, me = x.board, line.dtype, x.board.place
    if me == root:
        line.copy_(inputs[root])
    for i, (start, end) in enumerate(_pieces(line.numel(), _step(x, line, CHUNK)) or [(0, 0)]):
        yield from _open(x, i == 0)
        if me == root:
            for p in board.others:
                board.line(me, p, end - start, dtype).copy_(inputs[p][start:end])
        board.publish()
        if me != root:
            yield from _wait(x, root, compare=i == 0)
            line[start:end].copy_(board.line(root, me, end - start, dtype, board.count - 1))


def barrier(x):
    yield from _open(x, True)
    x.board.publish()
    yield from _wait(x, compare=True)
