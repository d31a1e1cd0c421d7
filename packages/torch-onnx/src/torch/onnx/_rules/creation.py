"""New tensors."""

from __future__ import annotations

import torch

from .. import _types
from . import common, rule
from .shapes import diagonal


@rule("zeros", "ones", "empty", "full", "new_zeros", "new_ones", "new_empty", "new_full")
def full(w, a, out):
    value = 1 if w.step.name.endswith("ones") else getattr(a, "fill_value", 0)
    return w.op("Expand", w.cast(value, out[0].dtype), w.ints(a.size))


@rule("zeros_like", "ones_like", "empty_like", "full_like")
def full_like(w, a, out):
    value = 1 if w.step.name.startswith("ones") else getattr(a, "fill_value", 0)
    return w.op("Expand", w.cast(value, out[0].dtype), w.shape(a.self))


@rule("fill")
def fill(w, a, out):
    return w.op("Expand", w.cast(a.value, out[0].dtype), w.shape(a.self))


@rule("scalar_tensor")
def scalar_tensor(w, a, out):
    return w.cast(a.s, out[0].dtype)


@rule("arange")
def arange(w, a, out):
    dtype = out[0].dtype
    start, step = getattr(a, "start", 0), getattr(a, "step", 1)
    counted = dtype if dtype in (torch.int64, torch.int32, torch.float32, torch.float64) else torch.float32
    bounds = common(start, a.end, step)
    if dtype == torch.int64 and bounds.is_floating_point:
        counted = bounds
    found = w.op("Range", w.cast(start, counted), w.cast(a.end, counted), w.cast(step, counted))
    return w.cast(found, dtype, counted)


@rule("linspace")
def linspace(w, a, out):
    dtype = out[0].dtype
    count = w.name(a.steps, torch.int64)
    places = w.cast(w.op("Range", w.const(0), w.op("Squeeze", w.ints(a.steps)), w.const(1)), dtype, torch.int64)
    last = w.op("Max", w.op("Sub", count, w.const(1)), w.const(1))
    start, end = w.cast(a.start, dtype), w.cast(a.end, dtype)
    step = w.op("Div", w.op("Sub", end, start), w.cast(last, dtype, torch.int64))
    return w.op("Add", start, w.op("Mul", places, step))


@rule("eye")
def eye(w, a, out):
    shape = w.ints([a.n, a.n if a.m is None else a.m])
    return w.op("EyeLike", w.op("Expand", w.const(0, out[0].dtype), shape), dtype=_types.number(out[0].dtype))


@rule("rand_like", "randn_like")
def rand_like(w, a, out):
    return w.op(
        "RandomUniformLike" if w.step.name == "rand_like" else "RandomNormalLike",
        a.self,
        dtype=_types.number(out[0].dtype),
    )


@rule("rand", "randn")
def rand(w, a, out):
    kind = "RandomUniformLike" if w.step.name == "rand" else "RandomNormalLike"
    return w.op(kind, w.op("Expand", w.const(0, out[0].dtype), w.ints(a.size)), dtype=_types.number(out[0].dtype))


@rule("uniform")
def uniform(w, a, out):
    low, high = float(vars(a).get("from", 0.0)), float(getattr(a, "to", 1.0))
    return w.op("RandomUniformLike", a.self, low=low, high=high, dtype=_types.number(out[0].dtype))


@rule("normal_functional")
def normal_functional(w, a, out):
    mean, scale = float(getattr(a, "mean", 0.0)), float(getattr(a, "std", 1.0))
    return w.op("RandomNormalLike", a.self, mean=mean, scale=scale, dtype=_types.number(out[0].dtype))


@rule("exponential")
def exponential(w, a, out):
    dtype = out[0].dtype
    left = w.op("Sub", w.const(1.0, dtype), w.op("RandomUniformLike", a.self, dtype=_types.number(dtype)))
    return w.op("Div", w.op("Log", left), w.const(-float(getattr(a, "lambd", 1.0)), dtype))


@rule("bernoulli", since=15)
def bernoulli(w, a, out):
    chances = a.self if not hasattr(a, "p") else w.op("Expand", w.const(float(a.p), torch.float32), w.shape(a.self))
    return w.op("Bernoulli", chances, dtype=_types.number(out[0].dtype))


@rule("tril", "triu")
def tril(w, a, out):
    x, small = a.self, a.self.dtype in (torch.bool, torch.uint8, torch.int8, torch.int16)
    dtype = torch.int64 if small else x.dtype
    wide = w.cast(x, torch.int64) if small else x
    found = (_triangle if w.opset < 14 else _trilu)(w, a, wide, dtype)
    return w.cast(found, x.dtype, dtype) if small else found


def _trilu(w, a, x, dtype):
    return w.op("Trilu", x, w.name(a.diagonal, torch.int64), upper=int(w.step.name == "triu"))


def _triangle(w, a, x, dtype):
    """Trilu before opset 14, by comparing places."""
    count = lambda d: w.op("Squeeze", w.ints([w.size(a.self, d)]))
    rows, columns = (w.op("Range", w.const(0), count(d), w.const(1)) for d in (-2, -1))
    edge = w.op("Add", w.unsqueeze(rows, 1), w.name(a.diagonal, torch.int64))
    outside = w.op("Less" if w.step.name == "triu" else "Greater", w.unsqueeze(columns, 0), edge)
    return w.op("Where", outside, w.const(0, dtype), x)


@rule("meshgrid")
def meshgrid(w, a, out):
    order = list(range(len(a.tensors)))
    if a.indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = w.op("Concat", *(w.op("Reshape", w.op("Size", a.tensors[i]), w.const([1])) for i in order), axis=0)
    found = []
    for i, x in enumerate(a.tensors):
        row = [1] * len(order)
        row[order.index(i)] = -1
        found.append(w.op("Expand", w.reshape(x, row), shape))
    return tuple(found)


def embedded(w, x, name, rank, offset):
    """Rows as the diagonals of matrices, in two dims more at the end, and where those diagonals are."""
    size = w.size(x, -1)
    whole = size + abs(offset) if isinstance(size, int) else w.op("Add", size, w.const(abs(offset), torch.int64))
    places = w.op("Range", w.const(0), w.name(whole, torch.int64), w.const(1))
    rows, columns = w.unsqueeze(places, 1), w.unsqueeze(places, 0)
    on = w.op("Equal", w.op("Add", rows, w.const(offset, torch.int64)), columns)
    at = w.op("Max", w.op("Add", places, w.const(min(offset, 0), torch.int64)), w.const(0))
    at = w.op("Min", at, w.op("Sub", w.name(size, torch.int64), w.const(1)))
    return w.unsqueeze(w.op("Gather", name, at, axis=-1), rank), on


@rule("diag_embed", "diagflat", "diag")
def diag_embed(w, a, out):
    x, dtype = a.self, out[0].dtype
    if w.step.name == "diag" and x.rank == 2:
        a.offset, a.dim1, a.dim2 = a.diagonal, 0, 1
        return diagonal(w, a, out)
    offset = getattr(a, "offset", getattr(a, "diagonal", 0))
    if w.step.name == "diagflat" and x.rank != 1:
        from .._program import Value

        count = w.count(x, list(range(x.rank)))
        flat = Value("flat", x.dtype, (count if isinstance(count, int) else "count",))
        w.names[flat] = w.reshape(x, [-1])
        x = flat
    name, on = embedded(w, x, w.name(x), x.rank, offset)
    found = w.op("And", on, name) if dtype == torch.bool else w.op("Where", on, name, w.const(0, dtype))
    rank = x.rank + 1
    one, two = getattr(a, "dim1", -2) % rank, getattr(a, "dim2", -1) % rank
    order = iter(range(rank - 2))
    return w.permute(
        found, [{one: rank - 2, two: rank - 1}[d] if d in (one, two) else next(order) for d in range(rank)]
    )


@rule("block_diag")
def block_diag(w, a, out):
    dtype, rows = out[0].dtype, []
    parts = [w.reshape(w.cast(t, dtype), [1] * (2 - t.rank) + [w.size(t, d) for d in range(t.rank)]) for t in a.tensors]
    total = sum(_columns(t) for t in a.tensors)
    start = 0
    for part, t in zip(parts, a.tensors, strict=True):
        rows.append(w.op("Pad", part, w.const([0, start, 0, total - start - _columns(t)], torch.int64)))
        start += _columns(t)
    return w.op("Concat", *rows, axis=0)


def _columns(value):
    size = value.shape[-1] if value.rank else 1
    if not isinstance(size, int):
        raise NotImplementedError(f"block_diag of a matrix whose columns may change ({size}) cannot be written")
    return size


@rule("cartesian_prod")
def cartesian_prod(w, a, out):
    if len(a.tensors) == 1:
        return w.name(a.tensors[0])
    a.indexing = "ij"
    return w.op("Concat", *(w.reshape(x, [-1, 1]) for x in meshgrid(w, a, out)), axis=1)


@rule("randint")
def randint(w, a, out):
    low = getattr(a, "low", 0)
    shares = w.op("RandomUniformLike", w.op("Expand", w.const(0, torch.float32), w.ints(a.size)), dtype=1)
    whole = w.op("Floor", w.op("Mul", shares, w.const(float(a.high - low), torch.float32)))
    return w.op("Add", w.cast(whole, out[0].dtype, torch.float32), w.const(low, out[0].dtype))


@rule("normal")
def normal(w, a, out):
    dtype = out[0].dtype
    a.std = 1.0 if getattr(a, "std", None) is None else a.std
    if hasattr(a, "size"):
        shape = w.ints(a.size)
    else:
        total = w.op("Add", w.cast(a.mean, dtype), w.cast(a.std, dtype))
        shape = w.op("Shape", total)
    drawn = w.op("RandomNormalLike", w.op("Expand", w.const(0, dtype), shape), dtype=_types.number(dtype))
    return w.op("Add", w.op("Mul", drawn, w.cast(a.std, dtype)), w.cast(a.mean, dtype))


@rule("tril_indices", "triu_indices")
def places_of_triangle(w, a, out):
    if not all(isinstance(each, int) for each in (a.row, a.col, a.offset)):
        raise NotImplementedError(f"{w.step.name} of sizes that a run tells cannot be written")
    return w.const(getattr(torch, w.step.name)(a.row, a.col, a.offset, dtype=out[0].dtype))
