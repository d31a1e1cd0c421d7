"""New tensors."""

from __future__ import annotations

import torch

from .. import _types
from . import common, rule


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


@rule("bernoulli", since=15)
def bernoulli(w, a, out):
    chances = a.self if not hasattr(a, "p") else w.op("Expand", w.const(float(a.p), torch.float32), w.shape(a.self))
    return w.op("Bernoulli", chances, dtype=_types.number(out[0].dtype))


@rule("tril", "triu", since=14)
def tril(w, a, out):
    upper, x = int(w.step.name == "triu"), a.self
    if x.dtype == torch.bool:
        return w.op("Cast", w.op("Trilu", w.cast(x, torch.int64), w.name(a.diagonal, torch.int64), upper=upper), to=9)
    return w.op("Trilu", x, w.name(a.diagonal, torch.int64), upper=upper)


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


@rule("diag_embed")
def diag_embed(w, a, out):
    if a.offset or a.dim1 % (a.self.rank + 1) != a.self.rank - 1 or a.dim2 % (a.self.rank + 1) != a.self.rank:
        from ..errors import SymbolicValueError

        raise SymbolicValueError("diag_embed with an offset, or into dims that are not the last two, cannot be written")
    size = w.op("Squeeze", w.ints([w.size(a.self, -1)]))
    places = w.op("Range", w.const(0), size, w.const(1))
    on = w.op("Equal", w.unsqueeze(places, 0), w.unsqueeze(places, 1))
    return w.op("Where", on, w.unsqueeze(a.self, a.self.rank), w.const(0, out[0].dtype))
