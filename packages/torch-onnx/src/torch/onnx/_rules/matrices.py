"""Linear algebra beyond products: elimination in a Loop, whose turns are the columns."""

from __future__ import annotations

import torch

from . import operands, rule


def _places(w, count):
    """0, 1, ... as a column; ``count`` is an int or a name."""
    if isinstance(count, int):
        return w.const(torch.arange(count).unsqueeze(1))
    return w.unsqueeze(w.op("Range", w.const(0), count, w.const(1)), 1)


def solved(w, a, b, count, dtype):
    """``inverse(a) @ b`` for names, by Gauss-Jordan elimination with the largest element of a column as pivot."""
    places = _places(w, count)
    first = w.op("Concat", a, b, axis=-1)
    shape = w.op("Shape", first)

    def turn(k, m):
        column = w.op("Gather", m, w.ints(k), axis=-1)
        size = w.op("Where", w.op("Less", places, k), w.const(-1, dtype), w.op("Abs", column))
        pivot = w.op("ArgMax", size, axis=-2, keepdims=1)
        order = w.op("Where", w.op("Equal", places, pivot), k, places)
        order = w.op("Where", w.op("Equal", places, k), pivot, order)
        m = w.op("GatherElements", m, w.op("Expand", order, shape), axis=-2)
        row = w.op("Gather", m, w.ints(k), axis=-2)
        row = w.op("Div", row, w.op("Gather", row, w.ints(k), axis=-1))
        less = w.op("Sub", m, w.op("Mul", w.op("Gather", m, w.ints(k), axis=-1), row))
        return w.op("Where", w.op("Equal", places, k), row, less)

    whole = w.loop(w.name(count, torch.int64), turn, first, dtype)
    return w.slice(whole, -1, w.name(count, torch.int64), 2**63 - 1)


def _size(w, value):
    return w.size(value, -1)


def _eye(w, value, dtype):
    """The identity for each matrix of a batch."""
    size = _size(w, value)
    if isinstance(size, int):
        unit = w.const(torch.eye(size, dtype=dtype))
    else:
        places = w.op("Range", w.const(0), size, w.const(1))
        unit = w.op("Cast", w.op("Equal", w.unsqueeze(places, 0), w.unsqueeze(places, 1)), to=_number(dtype))
    return w.op("Expand", unit, w.shape(value))


def _number(dtype):
    from .._types import number

    return number(dtype)


def _info(w, value, dtype):
    """Zeros, one for each matrix: nothing went wrong."""
    shape = w.shape(value)
    heads = w.op("Slice", shape, w.const([0]), w.const([-2]), w.const([0]))
    return w.op("Expand", w.const(0, dtype), heads)


@rule("inv", "inverse", "inv_ex")
def inv(w, a, out):
    x, dtype = next(iter(vars(a).values())), out[0].dtype
    found = solved(w, w.name(x), _eye(w, x, dtype), _size(w, x), dtype)
    return (found, _info(w, x, out[1].dtype)) if len(out) > 1 else found


@rule("solve", "solve_ex", "_linalg_solve")
def solve(w, a, out):
    one, two, dtype = a.A, a.B, out[0].dtype
    vector = two.rank == 1 or (one.rank - 1 == two.rank and tuple(one.shape[:-1]) == tuple(two.shape))
    left = getattr(a, "left", True)
    if len(out) > 2:
        raise NotImplementedError("the factors of a solution cannot be written: solve gives the solution alone")
    right = w.unsqueeze(two, two.rank) if vector else w.name(two)
    matrix = w.name(one)
    rank = two.rank + 1 if vector else two.rank
    if not left:
        matrix, right = _turned(w, matrix, one.rank), _turned(w, right, rank)
    matrix, right = _batched(w, matrix, one.rank, right, rank)
    found = solved(w, matrix, right, _size(w, one), dtype)
    rank = max(rank, one.rank)
    found = found if left else _turned(w, found, rank)
    found = w.squeeze(found, -1) if vector else found
    return (found, _info(w, one, out[1].dtype)) if len(out) > 1 else found


def _turned(w, name, rank):
    return w.op("Transpose", name, perm=[*range(rank - 2), rank - 1, rank - 2])


def _batched(w, one, rank, two, other):
    """Two stacks of matrices with the same batch dims."""
    if rank == other == 2:
        return one, two
    heads, found = [], []
    for name in (one, two):
        shape = w.op("Shape", name)
        heads.append(w.op("Slice", shape, w.const([0]), w.const([-2]), w.const([0])))
    total = w.op("Shape", w.op("Add", *(w.op("Expand", w.const(0), h) for h in heads)))
    for name in (one, two):
        shape = w.op("Shape", name)
        tail = w.op("Slice", shape, w.const([-2]), w.const([2**63 - 1]), w.const([0]))
        found.append(w.op("Expand", name, w.op("Concat", total, tail, axis=0)))
    return found


def _triangle(w, value, upper, unit):
    """A triangle of a matrix, with ones on the diagonal if it is so meant."""
    name = w.op("Trilu", value, upper=int(upper))
    if not unit:
        return name
    eye = _eye(w, value, value.dtype)
    return w.op("Where", w.cast(eye, torch.bool, value.dtype), eye, name)


@rule("solve_triangular", since=14)
def solve_triangular(w, a, out):
    one, rank = _triangle(w, a.A, a.upper, a.unitriangular), a.B.rank
    two = w.name(a.B)
    if not a.left:
        one, two = _turned(w, one, a.A.rank), _turned(w, two, rank)
    one, two = _batched(w, one, a.A.rank, two, rank)
    found = solved(w, one, two, _size(w, a.A), out[0].dtype)
    return found if a.left else _turned(w, found, max(rank, a.A.rank))


@rule("cholesky", "linalg_cholesky", "cholesky_ex")
def cholesky(w, a, out):
    x, dtype = next(iter(vars(a).values())), out[0].dtype
    size = _size(w, x)
    places = _places(w, size)
    across = w.op("Transpose", places, perm=[1, 0])
    upper = bool(a.upper)
    first = w.name(x)  # the left half holds what is left, the right half the factor
    start = w.op("Concat", first, w.op("Mul", first, w.const(0, dtype)), axis=-1)

    def turn(k, m):
        rest, factor = (
            w.slice(m, -1, *ends) for ends in ((0, w.name(size, torch.int64)), (w.name(size, torch.int64), 2**63 - 1))
        )
        column = w.op("Gather", rest, w.ints(k), axis=-1)
        pivot = w.op("Sqrt", w.op("Gather", column, w.ints(k), axis=-2))
        column = w.op("Where", w.op("Less", places, k), w.const(0, dtype), w.op("Div", column, pivot))
        rest = w.op("Sub", rest, w.op("MatMul", column, _turned(w, column, x.rank)))
        factor = w.op("Where", w.op("Equal", across, k), column, factor)
        return w.op("Concat", rest, factor, axis=-1)

    count = w.name(size, torch.int64)
    found = w.slice(w.loop(count, turn, start, dtype), -1, count, 2**63 - 1)
    found = _turned(w, found, x.rank) if upper else found
    return (found, _info(w, x, out[1].dtype)) if len(out) > 1 else found


@rule("cholesky_solve", since=14)
def cholesky_solve(w, a, out):
    x, names = a.input2, w.name(a.self)
    factor = _triangle(w, x, a.upper, False)
    other = _turned(w, factor, x.rank)
    product = w.op("MatMul", *((other, factor) if a.upper else (factor, other)))
    product, names = _batched(w, product, x.rank, names, a.self.rank)
    return solved(w, product, names, _size(w, x), out[0].dtype)


@rule("det", "linalg_det")
def det(w, a, out):
    return w.op("Det", next(iter(vars(a).values())))


@rule("slogdet", "linalg_slogdet")
def slogdet(w, a, out):
    found = w.op("Det", next(iter(vars(a).values())))
    return w.op("Sign", found), w.op("Log", w.op("Abs", found))


@rule("logdet")
def logdet(w, a, out):
    return w.op("Log", w.op("Det", a.self))


@rule("matrix_power", "linalg_matrix_power")
def matrix_power(w, a, out):
    x, dtype = next(iter(vars(a).values())), out[0].dtype
    base = w.name(x) if a.n >= 0 else solved(w, w.name(x), _eye(w, x, dtype), _size(w, x), dtype)
    found, left = None, abs(a.n)
    while left:
        if left % 2:
            found = base if found is None else w.op("MatMul", found, base)
        left //= 2
        base = w.op("MatMul", base, base) if left else base
    return _eye(w, x, dtype) if found is None else found


@rule("multi_dot")
def multi_dot(w, a, out):
    found, *rest = operands(w, out[0].dtype, *a.tensors)
    for other in rest:
        found = w.op("MatMul", found, other)
    return found


@rule("cross", "linalg_cross")
def cross(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.other)
    rank = out[0].rank
    dim = a.dim
    if dim is None:
        dim = next(d for d, s in enumerate(a.self.shape) if s == 3)
    dim %= rank
    if a.self.shape != a.other.shape:
        total = w.op("Shape", w.op("Add", x, y))
        x, y = w.op("Expand", x, total), w.op("Expand", y, total)
    (xb, yb), (xc, yc) = (
        [w.op("Gather", name, w.const(order, torch.int64), axis=dim) for name in (x, y)]
        for order in ([1, 2, 0], [2, 0, 1])
    )
    return w.op("Sub", w.op("Mul", xb, yc), w.op("Mul", xc, yb))


@rule("vdot")
def vdot(w, a, out):
    return w.op("MatMul", a.self, a.other)


@rule("kron")
def kron(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.other)
    rank = max(a.self.rank, a.other.rank)
    shapes = []
    for value in (a.self, a.other):
        shapes.append([1] * (rank - value.rank) + [w.size(value, d) for d in range(value.rank)])
    wide = [[s for size in shapes[0] for s in (size, 1)], [s for size in shapes[1] for s in (1, size)]]
    found = w.op("Mul", w.reshape(x, wide[0]), w.reshape(y, wide[1]))
    sizes = [
        one * two if isinstance(one, int) and isinstance(two, int)
        else w.op("Mul", w.name(one, torch.int64), w.name(two, torch.int64))
        for one, two in zip(*shapes, strict=True)
    ]  # fmt: skip
    return w.reshape(found, sizes)
