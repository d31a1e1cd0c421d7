"""Writing at places: scatter and the like, and what puts a part back."""

from __future__ import annotations

import torch

from .._program import Value
from . import rule
from .shapes import end_of

_REDUCTIONS = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}


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
    if a.reduce not in _REDUCTIONS or not a.include_self:
        raise NotImplementedError(f"scatter_reduce({a.reduce!r}, include_self={a.include_self}) cannot be written")
    if a.reduce in ("amax", "amin"):
        w.needs(18, "scatter_reduce with amax and amin")
    return w.op(
        "ScatterElements", a.self, a.index, _cut(w, a.src, a.index), axis=a.dim, reduction=_REDUCTIONS[a.reduce]
    )


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
