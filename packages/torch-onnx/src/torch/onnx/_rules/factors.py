"""Factors of matrices, and the exponential function of one."""

from __future__ import annotations

import math

import torch

from . import rule
from .matrices import _eye, _places, _size, _turned


def _least(w, one, two):
    if isinstance(one, int) and isinstance(two, int):
        return min(one, two)
    return w.op("Min", w.name(one, torch.int64), w.name(two, torch.int64))


def _columns(w, x, start, end):
    return w.slice(x, -1, *(w.name(each, torch.int64) if isinstance(each, int) else each for each in (start, end)))


def _beside_identity(w, x, dtype):
    """A matrix with as many columns of the identity behind it as it has rows."""
    rows = w.size(x, -2)
    if isinstance(rows, int):
        unit = w.const(torch.eye(rows, dtype=dtype))
    else:
        places = _places(w, rows)
        across = w.op("Transpose", places, perm=[1, 0])
        unit = w.cast(w.op("Equal", places, across), dtype, torch.bool)
    heads = w.op("Slice", w.shape(x), w.const([0]), w.const([-2]), w.const([0]))
    unit = w.op("Expand", unit, w.op("Concat", heads, w.op("Shape", unit), axis=0))
    return w.op("Concat", w.name(x), unit, axis=-1)


@rule("qr", "linalg_qr")
def qr(w, a, out):
    """Householder's reflections, one for each column; beside the matrix they turn the identity into the first factor."""
    x = next(iter(vars(a).values()))
    dtype, zero = out[0].dtype, w.const(0, out[0].dtype)
    mode = getattr(a, "mode", None) or ("reduced" if getattr(a, "some", True) else "complete")
    rows, columns = w.size(x, -2), w.size(x, -1)
    places, count = _places(w, rows), _least(w, rows, columns)

    def turn(k, m):
        column = w.op("Gather", m, w.ints(k), axis=-1)
        first = w.op("Gather", column, w.ints(k), axis=-2)
        tail = w.op("Where", w.op("Greater", places, k), column, zero)
        rest = w.reduce("ReduceSum", w.op("Mul", tail, tail), [-2], True)
        norm = w.op("Sqrt", w.op("Add", w.op("Mul", first, first), rest))
        away = w.op("Add", first, w.op("Where", w.op("Less", first, zero), w.op("Neg", norm), norm))
        v = w.op("Where", w.op("Equal", places, k), away, tail)
        square = w.op("Add", w.op("Mul", away, away), rest)
        has_rest = w.op("Greater", rest, zero)
        scale = w.op("Div", w.const(2, dtype), w.op("Where", has_rest, square, w.const(1, dtype)))
        scale = w.op("Where", has_rest, scale, zero)
        return w.op("Sub", m, w.op("Mul", scale, w.op("MatMul", v, w.op("MatMul", _turned(w, v, x.rank), m))))

    whole = w.loop(w.name(count, torch.int64), turn, _beside_identity(w, x, dtype), dtype)
    r = w.op("Trilu", _columns(w, whole, 0, columns), upper=1)
    q = _turned(w, _columns(w, whole, columns, w.const(2**63 - 1)), x.rank)
    if mode != "complete":
        r = w.slice(r, -2, 0, w.name(count, torch.int64))
    if mode == "reduced":
        q = _columns(w, q, 0, count)
    return (w.const(torch.empty(0, dtype=dtype)) if mode == "r" else q), r


@rule("lu", "linalg_lu")
def lu(w, a, out):
    """Elimination with the largest element of a column as pivot; beside the matrix the identity takes its changes of rows."""
    x, dtype = a.A, out[0].dtype
    if not getattr(a, "pivot", True):
        raise NotImplementedError("lu without pivots is for CUDA alone in torch")
    zero, one = w.const(0, dtype), w.const(1, dtype)
    rows, columns = w.size(x, -2), w.size(x, -1)
    places, count = _places(w, rows), _least(w, rows, columns)
    first = _beside_identity(w, x, dtype)
    shape = w.op("Shape", first)
    width = w.op("Gather", shape, w.const(-1), axis=0)
    across = w.unsqueeze(w.op("Range", w.const(0), width, w.const(1)), 0)

    def turn(k, m):
        column = w.op("Gather", m, w.ints(k), axis=-1)
        size = w.op("Where", w.op("Less", places, k), w.const(-1, dtype), w.op("Abs", column))
        pivot = w.op("ArgMax", size, axis=-2, keepdims=1)
        order = w.op("Where", w.op("Equal", places, pivot), k, places)
        order = w.op("Where", w.op("Equal", places, k), pivot, order)
        m = w.op("GatherElements", m, w.op("Expand", order, shape), axis=-2)
        row = w.op("Gather", m, w.ints(k), axis=-2)
        head = w.op("Gather", row, w.ints(k), axis=-1)
        safe = w.op("Where", w.op("Equal", head, zero), one, head)
        below = w.op("Greater", places, k)
        factor = w.op("Where", below, w.op("Div", w.op("Gather", m, w.ints(k), axis=-1), safe), zero)
        inside = w.op("And", w.op("Greater", across, k), w.op("Less", across, w.name(columns, torch.int64)))
        less = w.op("Sub", m, w.op("Mul", factor, w.op("Where", inside, row, zero)))
        return w.op("Where", w.op("And", below, w.op("Equal", across, k)), factor, less)

    whole = w.loop(w.name(count, torch.int64), turn, first, dtype)
    order = _turned(w, _columns(w, whole, columns, w.const(2**63 - 1)), x.rank)
    packed = _columns(w, whole, 0, columns)
    lower = _columns(w, packed, 0, count)
    diagonal = w.op("Equal", places, w.unsqueeze(w.op("Range", w.const(0), w.name(count, torch.int64), w.const(1)), 0))
    lower = w.op("Where", diagonal, one, w.op("Trilu", lower, upper=0))
    return order, lower, w.op("Trilu", w.slice(packed, -2, 0, w.name(count, torch.int64)), upper=1)


@rule("matrix_exp", "linalg_matrix_exp")
def matrix_exp(w, a, out):
    """Taylor's series of the matrix halved until its norm is below 1/2, and as many squares."""
    x, dtype = next(iter(vars(a).values())), out[0].dtype
    size = _size(w, x)
    if size == 0:
        return w.name(x)
    unit, one = _eye(w, x, dtype), w.const(1, dtype)
    norm = w.reduce("ReduceMax", w.reduce("ReduceSum", w.op("Abs", x), [-2], True), [-1], True)
    halvings = w.op(
        "Ceil",
        w.op("Div", w.op("Log", w.op("Max", w.op("Mul", norm, w.const(2, dtype)), one)), w.const(math.log(2), dtype)),
    )
    small = w.op("Div", x, w.op("Pow", w.const(2, dtype), halvings))
    found = unit
    for k in range(14 if dtype == torch.float64 else 8, 0, -1):
        found = w.op("Add", unit, w.op("Div", w.op("MatMul", small, found), w.const(k, dtype)))

    def turn(k, m):
        more = w.op("Less", w.cast(k, dtype, torch.int64), halvings)
        return w.op("Where", more, w.op("MatMul", m, m), m)

    most = w.op("ReduceMax", w.op("Concat", w.reshape(halvings, [-1]), w.const([0], dtype), axis=0), keepdims=0)
    most = w.op("Cast", w.op("Min", most, w.const(1100, dtype)), to=7)
    return w.loop(most, turn, found, dtype)
