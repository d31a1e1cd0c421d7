"""Sorting and choosing."""

from __future__ import annotations

import math

import torch

from .._program import Value
from . import rule


def _ordered(w, x, dim, descending, count=None):
    """All of a dim, or ``count`` of it, in order: values and places. Equal ones keep their order."""
    size = w.ints([w.size(x, dim)]) if count is None else w.ints([count])
    name = w.name(x)
    if x.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16):
        name = w.op("Cast", x, to=7)
    values, places = w.op("TopK", name, size, axis=dim, largest=int(descending), sorted=1, outputs=2)
    return w.cast(values, x.dtype, torch.int64 if name != w.name(x) else x.dtype), places


@rule("topk")
def topk(w, a, out):
    return _ordered(w, a.self, a.dim, a.largest, a.k)


@rule("sort", "argsort", "msort")
def sort(w, a, out):
    dim, descending = (0, False) if w.step.name == "msort" else (a.dim, a.descending)
    if a.self.rank == 0:  # of msort, which names no dim
        return w.name(a.self)
    values, places = _ordered(w, a.self, dim, descending)
    return {"argsort": places, "msort": values}.get(w.step.name, (values, places))


@rule("kthvalue")
def kthvalue(w, a, out):
    values, places = _ordered(w, a.self, a.dim, False, a.k)
    found = []
    for part in (values, places):
        part = w.op("Gather", part, w.const([a.k - 1], torch.int64), axis=a.dim)
        found.append(part if a.keepdim else w.squeeze(part, a.dim))
    return tuple(found)


@rule("median")
def median(w, a, out):
    x, dim = a.self, getattr(a, "dim", None)
    if dim is None:
        flat = w.reshape(x, [-1])
        count = w.op("Size", x)
        middle = w.op("Add", w.op("Div", w.op("Sub", count, w.const(1)), w.const(2)), w.const(1))
        values, _ = w.op("TopK", flat, w.ints(middle), axis=0, largest=0, sorted=1, outputs=2)
        found = w.op("Squeeze", w.slice(values, 0, -1, 2**63 - 1))
        return w.op("Where", _broken(w, flat, 0, False)[0], w.const(math.nan, x.dtype), found) if x.is_float else found
    size = w.size(x, dim)
    if not isinstance(size, int):
        raise NotImplementedError("median along a size that may change cannot be written")
    a.k = (size - 1) // 2 + 1
    values, places = kthvalue(w, a, out)
    if not x.is_float:
        return values, places
    broken, first = _broken(w, x, dim, a.keepdim)
    return w.op("Where", broken, w.const(math.nan, x.dtype), values), w.op("Where", broken, first, places)


def _broken(w, x, dim, keepdim):
    """Whether a row has NaN, and where the first one is."""
    nan = w.op("Cast", w.op("IsNaN", x), to=6)
    most = w.op("Cast", w.reduce("ReduceMax", nan, [dim], keepdim), to=9)
    return most, w.op("ArgMax", nan, axis=dim, keepdims=int(keepdim))


@rule("quantile")
def quantile(w, a, out):
    x, dtype = a.self, out[0].dtype
    if a.interpolation != "linear":
        raise NotImplementedError(f"quantile with interpolation={a.interpolation!r} cannot be written")
    if a.dim is None:
        flat = Value("flat", x.dtype, (w.count(x, list(range(x.rank))),))
        w.names[flat], dim = w.reshape(x, [-1]), 0
        row = flat
    else:
        row, dim = x, a.dim % x.rank
    values, _ = _ordered(w, row, dim, False)
    last = w.op("Sub", w.cast(w.name(w.size(row, dim), torch.int64), dtype, torch.int64), w.const(1, dtype))
    many = isinstance(a.q, Value) and a.q.rank == 1
    place = w.op("Mul", w.reshape(w.cast(a.q, dtype), [-1]), last)
    floor = w.op("Floor", place)
    low, high = (
        w.op("Gather", values, w.cast(w.op(kind, place), torch.int64, dtype), axis=dim) for kind in ("Floor", "Ceil")
    )
    weight = w.reshape(w.op("Sub", place, floor), [-1 if d == dim else 1 for d in range(row.rank)])
    found = w.op("Add", low, w.op("Mul", weight, w.op("Sub", high, low)))
    broken = w.reduce("ReduceMax", w.op("Cast", w.op("IsNaN", row), to=1), [dim], True)
    found = w.op("Where", w.op("Cast", broken, to=9), w.const(math.nan, dtype), found)
    if a.dim is None:
        return w.reshape(found, [-1] * many + [1] * (x.rank if a.keepdim else 0))
    if not many:
        return found if a.keepdim else w.squeeze(found, dim)
    first = w.op("Transpose", found, perm=[dim, *(d for d in range(row.rank) if d != dim)])
    return w.unsqueeze(first, dim + 1) if a.keepdim else first


@rule("_unique")
def unique(w, a, out):
    values, _, inverse, counts = w.op("Unique", w.reshape(a.self, [-1]), sorted=1, outputs=4)
    return values, w.op("Reshape", inverse, w.shape(a.self)) if a.return_inverse else inverse, counts


@rule("_unique_dim")
def unique_dim(w, a, out):
    values, _, inverse, counts = w.op("Unique", a.self, sorted=1, axis=a.dim, outputs=4)
    return values, inverse, counts
