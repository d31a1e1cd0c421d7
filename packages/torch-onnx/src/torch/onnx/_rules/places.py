"""Writing at places: scatter and the like, and what puts a part back."""

from __future__ import annotations

import math

import torch

from .._program import Value
from . import rule
from .shapes import end_of

_REDUCTIONS = {
    "add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min",
    "mean": "mean",
}  # fmt: skip


@rule("scatter")
def scatter(w, a, out):
    dtype = a.self.dtype
    source = getattr(a, "src", None)
    if not isinstance(source, Value):
        number = a.value if source is None else source
        source = w.op("Expand", w.cast(number, dtype), w.shape(a.index))
    else:
        source = _cut(w, source, a.index)
    reduction = _REDUCTIONS[a.reduce] if getattr(a, "reduce", None) else None
    if reduction:
        w.needs(16, "scatter with reduce")
    return w.op("ScatterElements", a.self, a.index, source, axis=a.dim, reduction=reduction)


def _cut(w, source, index):
    """The part of the source that the index speaks of: ONNX wants them of one shape."""
    if source.shape == index.shape:
        return w.name(source)
    axes = list(range(index.rank))
    return w.op("Slice", source, w.const([0] * index.rank, torch.int64), w.shape(index), w.const(axes, torch.int64))


@rule("scatter_add", since=16)
def scatter_add(w, a, out):
    return w.op("ScatterElements", a.self, a.index, _cut(w, a.src, a.index), axis=a.dim, reduction="add")


@rule("scatter_reduce", since=16)
def scatter_reduce(w, a, out):
    source = _cut(w, a.src, a.index)
    return _reduced_at(w, a, w.name(a.index), source, a.dim)


@rule("index_reduce", since=16)
def index_reduce(w, a, out):
    dim = a.dim % a.self.rank
    wide = w.reshape(a.index, [-1 if d == dim else 1 for d in range(a.self.rank)])
    return _reduced_at(w, a, w.op("Expand", wide, w.shape(a.source)), w.name(a.source), dim)


def _reduced_at(w, a, places, source, dim):
    """``self`` with what a source has for its places; without ``include_self`` these begin as if nothing were there."""
    dtype, reduction = a.self.dtype, _REDUCTIONS[a.reduce]
    if reduction in ("max", "min"):
        w.needs(18, f"{w.step.name} with {a.reduce}")

    def at(x, values, how=None):
        return w.op("ScatterElements", x, places, values, axis=dim, reduction=how)

    shape = w.op("Shape", source)
    x = w.name(a.self)
    if not a.include_self:
        x = at(x, w.op("Expand", w.const(_nothing(reduction, dtype), dtype), shape))
    found = at(x, source, "add" if reduction == "mean" else reduction)
    if reduction != "mean":
        return found
    ones = w.op("Expand", w.const(1, dtype), w.shape(a.self))
    counts = ones if a.include_self else at(ones, w.op("Expand", w.const(0, dtype), shape))
    counts = at(counts, w.op("Expand", w.const(1, dtype), shape), "add")
    if dtype.is_floating_point:
        return w.op("Div", found, counts)
    return w.op("Div", w.op("Sub", found, w.op("Mod", found, counts)), counts)


def _nothing(reduction, dtype):
    """What changes nothing."""
    if reduction in ("add", "mean", "mul"):
        return int(reduction == "mul")
    if dtype.is_floating_point:
        return -math.inf if reduction == "max" else math.inf
    info = torch.iinfo(dtype)
    return info.min if reduction == "max" else info.max


def at_places(w, x, dim, places, source, reduction=None):
    """``x`` with ``source`` at the places (a tensor of one dim) along a dim."""
    rank = x.rank
    wide = w.reshape(places, [-1 if d == dim else 1 for d in range(rank)])
    return w.op(
        "ScatterElements", x, w.op("Expand", wide, w.op("Shape", source)), source, axis=dim, reduction=reduction
    )


@rule("index_add", since=16)
def index_add(w, a, out):
    source = a.source if a.alpha == 1 else w.op("Mul", a.source, w.const(a.alpha, a.self.dtype))
    return at_places(w, a.self, a.dim % a.self.rank, a.index, w.name(source), "add")


@rule("index_copy")
def index_copy(w, a, out):
    return at_places(w, a.self, a.dim % a.self.rank, a.index, w.name(a.source))


@rule("index_fill")
def index_fill(w, a, out):
    dim = a.dim % a.self.rank
    shape = [w.op("Size", a.index) if d == dim else w.size(a.self, d) for d in range(a.self.rank)]
    return at_places(w, a.self, dim, a.index, w.op("Expand", w.cast(a.value, a.self.dtype), w.ints(shape)))


@rule("select_scatter")
def select_scatter(w, a, out):
    dim = a.dim % a.self.rank
    return at_places(w, a.self, dim, w.ints([a.index]), w.unsqueeze(w.cast(a.src, a.self.dtype), dim))


@rule("slice_scatter")
def slice_scatter(w, a, out):
    dim = a.dim % a.self.rank
    every = w.op("Range", w.const(0), w.op("Squeeze", w.ints([w.size(a.self, dim)])), w.const(1))
    places = w.slice(every, 0, 0 if a.start is None else a.start, end_of(a.end), a.step)
    return at_places(w, a.self, dim, places, w.cast(a.src, a.self.dtype))


@rule("masked_scatter")
def masked_scatter(w, a, out):
    mask = w.op("Expand", w.cast(a.mask, torch.bool), w.shape(a.self))
    places = w.op("Transpose", w.op("NonZero", mask), perm=[1, 0])
    count = w.op("Slice", w.op("Shape", places), w.const([0]), w.const([1]), w.const([0]))
    source = w.op("Slice", w.reshape(a.source, [-1]), w.const([0]), count, w.const([0]))
    return w.op("ScatterND", a.self, places, source)


@rule("put", since=16)
def put(w, a, out):
    places = w.reshape(a.index, [-1])
    flat, source = w.reshape(a.self, [-1]), w.reshape(w.cast(a.source, a.self.dtype), [-1])
    found = w.op("ScatterElements", flat, places, source, axis=0, reduction="add" if a.accumulate else None)
    return w.op("Reshape", found, w.shape(a.self))


@rule("diagonal_scatter")
def diagonal_scatter(w, a, out):
    rank = a.self.rank
    one, two = a.dim1 % rank, a.dim2 % rank
    sizes = [w.size(a.self, d) for d in (one, two)]
    rows, columns = (w.op("Range", w.const(0), w.name(s, torch.int64), w.const(1)) for s in sizes)
    on = w.op("Equal", w.op("Add", w.unsqueeze(rows, 1), w.const(a.offset, torch.int64)), w.unsqueeze(columns, 0))
    length = w.op("Gather", w.op("Shape", a.src), w.const(-1, torch.int64), axis=0)
    at = w.op("Max", w.op("Add", rows, w.const(min(a.offset, 0), torch.int64)), w.const(0))
    at = w.op("Min", at, w.op("Sub", length, w.const(1)))
    order = [*(d for d in range(rank) if d not in (one, two)), one, two]
    turned = w.permute(a.self, order)
    found = w.op("Where", on, w.unsqueeze(w.op("Gather", w.cast(a.src, a.self.dtype), at, axis=-1), rank - 1), turned)
    return w.op("Transpose", found, perm=[order.index(d) for d in range(rank)])


@rule("max_unpool1d", "max_unpool2d", "max_unpool3d")
def max_unpool(w, a, out):
    n = int(w.step.name[-2])
    heads = [w.size(a.input, d) for d in range(a.input.rank - n)]
    zeros = w.op("Expand", w.const(0, out[0].dtype), w.ints([*heads, math.prod(a.output_size)]))
    places, values = (w.reshape(v, [*heads, -1]) for v in (a.indices, a.input))
    return w.reshape(w.op("ScatterElements", zeros, places, values, axis=-1), [*heads, *a.output_size])
