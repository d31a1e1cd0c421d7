"""Counting: runs of equal elements, how often each number is there, and which one most often."""

from __future__ import annotations

import math

import torch

from . import rule


@rule("_unique_consecutive")
def unique_consecutive(w, a, out):
    """The first element of each run of equal ones; which run each element is in; how long each is."""
    if a.dim is not None and a.self.rank != 1:
        raise NotImplementedError("unique_consecutive along a dim of several cannot be written")
    x = w.reshape(a.self, [-1])
    count = w.op("Size", x)
    dtype = torch.uint8 if a.self.dtype == torch.bool else a.self.dtype
    numbers = w.cast(x, dtype, a.self.dtype)
    same = w.op("Equal", w.slice(numbers, 0, 1, 2**63 - 1), w.slice(numbers, 0, 0, -1))
    begins = w.op(
        "Concat", w.op("Expand", w.const([True]), w.ints(w.op("Min", count, w.const(1)))), w.op("Not", same), axis=0
    )
    first = w.reshape(w.op("NonZero", begins), [-1])
    runs = w.op("CumSum", w.op("Cast", begins, to=7), w.const(0))
    inverse = w.op("Reshape", w.op("Sub", runs, w.const(1)), w.shape(a.self))
    ends = w.op("Concat", w.slice(first, 0, 1, 2**63 - 1), w.ints(count), axis=0)
    ends = w.slice(ends, 0, 0, w.op("Shape", first))
    return w.op("Gather", x, first), inverse, w.op("Sub", ends, first)


def _places(w, index, depth, weights, dtype):
    """The sum of weights, or the number of elements, for each of the places 0 to ``depth``; others fall away."""
    off_on = w.const(torch.tensor([0, 1]), dtype)
    ones = w.op("OneHot", index, depth, off_on, axis=-1)
    if weights is not None:
        ones = w.op("Mul", ones, w.unsqueeze(w.cast(weights, dtype), -1))
    return w.reduce("ReduceSum", ones, [0], False)


@rule("bincount")
def bincount(w, a, out):
    index = w.cast(a.self, torch.int64)
    all_of_it = w.op("Concat", index, w.ints([a.minlength - 1]), axis=0)
    depth = w.op("Add", w.reduce("ReduceMax", all_of_it, None, False), w.const(1))
    return _places(w, index, depth, a.weights, out[0].dtype)


@rule("histc")
def histc(w, a, out):
    x, dtype = w.reshape(a.self, [-1]), a.self.dtype
    if a.min == a.max:
        low, high = (w.reduce(kind, x, None, False) for kind in ("ReduceMin", "ReduceMax"))
        alone = w.op("Cast", w.op("Equal", low, high), to=9)
        half = w.op("Where", alone, w.const(1.0, dtype), w.const(0.0, dtype))
        low, high = w.op("Sub", low, half), w.op("Add", high, half)
    else:
        low, high = w.const(float(a.min), dtype), w.const(float(a.max), dtype)
    width = w.op("Sub", high, low)
    place = w.op("Floor", w.op("Div", w.op("Mul", w.op("Sub", x, low), w.const(float(a.bins), dtype)), width))
    place = w.op("Min", place, w.const(float(a.bins - 1), dtype))
    inside = w.op("And", w.op("Not", w.op("Less", x, low)), w.op("Not", w.op("Greater", x, high)))
    place = w.op("Where", inside, place, w.const(float(a.bins), dtype))
    counts = _places(w, w.op("Cast", place, to=7), w.const(a.bins + 1), None, dtype)
    return w.slice(counts, 0, 0, a.bins)


@rule("mode")
def mode(w, a, out):
    """The most frequent element along a dim, the least of several, and its last place."""
    x = a.self
    dim = a.dim % x.rank
    dtype = x.dtype if x.is_float else torch.int64
    numbers = w.cast(x, dtype)
    order = [d for d in range(x.rank) if d != dim] + [dim]
    last = w.op("Transpose", numbers, perm=order)
    same = w.op("Equal", w.unsqueeze(last, x.rank), w.unsqueeze(last, x.rank - 1))
    counts = w.reduce("ReduceSum", w.op("Cast", same, to=7), [x.rank], False)
    most = w.op("Equal", counts, w.reduce("ReduceMax", counts, [x.rank - 1], True))
    beyond = math.inf if x.is_float else torch.iinfo(torch.int64).max
    value = w.reduce("ReduceMin", w.op("Where", most, last, w.const(beyond, dtype)), [x.rank - 1], True)
    there = w.op("Cast", w.op("Equal", last, value), to=6)
    place = w.op("ArgMax", there, axis=x.rank - 1, keepdims=0, select_last_index=1)
    found = w.cast(w.squeeze(value, x.rank - 1), x.dtype, dtype)
    return tuple(w.unsqueeze(part, dim) if a.keepdim else part for part in (found, place))


@rule("erfinv")
def erfinv(w, a, out):
    """Winitzki's approximation (2008), then three steps of Newton's method on erf."""
    dtype = out[0].dtype
    x = w.cast(a.self, dtype)
    one, scale = w.const(1.0, dtype), 0.147
    log = w.op("Log", w.op("Sub", one, w.op("Mul", x, x)))
    half = w.op("Add", w.op("Mul", log, w.const(0.5, dtype)), w.const(2 / (math.pi * scale), dtype))
    root = w.op("Sqrt", w.op("Sub", w.op("Mul", half, half), w.op("Div", log, w.const(scale, dtype))))
    y = w.op("Mul", w.op("Sign", x), w.op("Sqrt", w.op("Sub", root, half)))
    for _ in range(3):
        slope = w.op("Mul", w.op("Exp", w.op("Neg", w.op("Mul", y, y))), w.const(2 / math.sqrt(math.pi), dtype))
        y = w.op("Sub", y, w.op("Div", w.op("Sub", w.op("Erf", y), x), slope))
    edge = w.op("Equal", w.op("Abs", x), one)
    return w.op("Where", edge, w.op("Mul", w.op("Sign", x), w.const(math.inf, dtype)), y)
