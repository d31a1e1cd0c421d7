"""What runs along a dim and is no sum: each place beside all before it, as a dim more."""

from __future__ import annotations

import math

import torch

from . import rule


def before(w, x, name, dim, nothing, dtype, of=None):
    """``x`` with a dim more after ``dim``: at place i, what stands at and before i, and ``nothing`` beyond."""
    of = dim if of is None else of  # the dim of ``x`` that the name's dim is
    size = w.size(x, of)
    if isinstance(size, int):
        seen = w.const(torch.ones(size, size, dtype=torch.bool).tril())
    else:
        places = w.op("Range", w.const(0), size, w.const(1))
        seen = w.op("GreaterOrEqual", w.unsqueeze(places, 1), w.unsqueeze(places, 0))
    rest = x.rank - of - 1
    if rest:
        seen = w.unsqueeze(seen, *range(2, 2 + rest))
    return w.op("Where", seen, w.unsqueeze(name, dim), w.const(nothing, dtype))


def _limit(dtype, highest):
    if dtype.is_floating_point:
        return math.inf if highest else -math.inf
    info = torch.iinfo(dtype)
    return info.max if highest else info.min


@rule("cummax", "cummin")
def cummax(w, a, out):
    x, dtype = a.self, a.self.dtype
    dim, kind = a.dim % x.rank, w.step.name[3:].capitalize()
    name = w.cast(x, torch.int32) if dtype == torch.bool else w.name(x)
    counted = torch.int32 if dtype == torch.bool else dtype
    wide = before(w, x, name, dim, _limit(counted, kind == "Min"), counted)
    top = w.reduce(f"Reduce{kind}", wide, [dim + 1], True)
    found = w.op("Equal", wide, top)
    if x.is_float:
        found = w.op("Or", found, w.op("IsNaN", wide))
    # the last place that has it; beyond the place itself there is none
    size = w.size(x, dim)
    places = w.op("Range", w.const(0), w.name(size, torch.int64), w.const(1))
    places = w.unsqueeze(places, *range(1, x.rank - dim)) if x.rank - dim > 1 else places
    row = before(w, x, places, 0, -1, torch.int64, of=dim)
    at = w.reduce("ReduceMax", w.op("Where", found, row, w.const(-1)), [dim + 1], False)
    return w.cast(w.squeeze(top, dim + 1), dtype, counted), at


@rule("cumprod")
def cumprod(w, a, out):
    x, dtype = a.self, out[0].dtype
    dim = a.dim % x.rank
    return w.reduce("ReduceProd", before(w, x, w.cast(x, dtype), dim, 1, dtype), [dim + 1], False)


@rule("logcumsumexp")
def logcumsumexp(w, a, out):
    x, dtype = a.self, out[0].dtype
    dim = a.dim % x.rank
    wide = before(w, x, w.cast(x, dtype), dim, -math.inf, dtype)
    top = w.reduce("ReduceMax", wide, [dim + 1], True)
    finite = w.op("Where", w.is_inf(top, dtype), w.const(0, dtype), top)
    total = w.reduce("ReduceSum", w.op("Exp", w.op("Sub", wide, finite)), [dim + 1], False)
    return w.op("Add", w.op("Log", total), w.squeeze(finite, dim + 1))


def _steps(w, y, x, dx, dim, dtype):
    """The areas between neighbours."""
    name = w.cast(y, dtype)
    left, right = w.slice(name, dim, 0, -1), w.slice(name, dim, 1, 2**63 - 1)
    sides = w.op("Mul", w.op("Add", left, right), w.const(0.5, dtype))
    if x is None:
        return sides if dx == 1 else w.op("Mul", sides, w.const(dx, dtype))
    places = w.cast(x, dtype)
    axis = 0 if x.rank == 1 else dim
    width = w.op("Sub", w.slice(places, axis, 1, 2**63 - 1), w.slice(places, axis, 0, -1))
    if x.rank == 1 and y.rank - dim > 1:
        width = w.unsqueeze(width, *range(1, y.rank - dim))
    return w.op("Mul", sides, width)


@rule("trapezoid", "trapz", "cumulative_trapezoid")
def trapezoid(w, a, out):
    dtype, dim = out[0].dtype, a.dim % a.y.rank
    areas = _steps(w, a.y, a.x, getattr(a, "dx", 1), dim, dtype)
    if w.step.name == "cumulative_trapezoid":
        return w.op("CumSum", areas, w.const(dim, torch.int64))
    return w.reduce("ReduceSum", areas, [dim], False)
