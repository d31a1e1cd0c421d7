"""Reading at places that tensors say: ``x[i, j]``, gather, masks, embeddings."""

from __future__ import annotations

import torch

from .._program import Value
from . import common, operands, rule


def coordinates(w, x, indices):
    """The dims that tensors index, and the tensors as ints broadcast against each other, with their rank."""
    axes, names, ranks = [], [], []
    dim = 0
    for index in indices:
        if index is None:
            dim += 1
            continue
        if index.dtype in (torch.bool, torch.uint8):
            places = w.op("NonZero", w.cast(index, torch.bool))
            for i in range(index.rank):
                axes.append(dim)
                names.append(w.op("Gather", places, w.const(i, torch.int64), axis=0))
                ranks.append(1)
                dim += 1
            continue
        axes.append(dim)
        names.append(w.cast(index, torch.int64))
        ranks.append(index.rank)
        dim += 1
    return axes, names, max(ranks)


def pairs(w, names, rank):
    """Index tensors as one, with a last dim for the coordinates."""
    if len(names) > 1:
        total = names[0]
        for other in names[1:]:
            total = w.op("Add", total, other)
        shape = w.op("Shape", total)
        names = [w.op("Expand", n, shape) for n in names]
    return (
        w.op("Concat", *(w.unsqueeze(n, rank) for n in names), axis=-1)
        if len(names) > 1
        else w.unsqueeze(names[0], rank)
    )


@rule("index")
def index(w, a, out):
    rank = a.self.rank
    axes, names, width = coordinates(w, a.self, a.indices)
    if len(axes) == 1:
        return w.op("Gather", a.self, names[0], axis=axes[0])
    rest = [d for d in range(rank) if d not in axes]
    turned = w.permute(a.self, [*axes, *rest])
    found = w.op("GatherND", turned, pairs(w, names, width))
    beside = axes == list(range(axes[0], axes[0] + len(axes)))
    first = axes[0] if beside else 0
    if first == 0:
        return found
    # what was indexed stands where the first indexed dim was
    order = [*range(width, width + first), *range(width), *range(width + first, width + len(rest))]
    return w.op("Transpose", found, perm=order)


@rule("index_put")
def index_put(w, a, out):
    rank, dtype = a.self.rank, a.self.dtype
    axes, names, width = coordinates(w, a.self, a.indices)
    rest = [d for d in range(rank) if d not in axes]
    turned = w.permute(a.self, [*axes, *rest])
    places = pairs(w, names, width)
    beside = axes == list(range(axes[0], axes[0] + len(axes)))
    first = axes[0] if beside else 0
    values = w.cast(a.values, dtype)
    heads = w.op("Slice", w.op("Shape", places), w.const([0]), w.const([width]), w.const([0]))
    tails = [w.ints([w.size(a.self, d)]) for d in rest]
    if first == 0:
        shape = w.op("Concat", heads, *tails, axis=0) if tails else heads
        values = w.op("Expand", values, shape)
    else:
        shape = w.op("Concat", *tails[:first], heads, *tails[first:], axis=0)
        order = [*range(first, first + width), *range(first), *range(first + width, width + len(rest))]
        values = w.op("Transpose", w.op("Expand", values, shape), perm=order)
    if a.accumulate:
        w.needs(16, "index_put with accumulate")
    found = w.op("ScatterND", turned, places, values, reduction="add" if a.accumulate else None)
    order = [*axes, *rest]
    return w.permute(found, [order.index(d) for d in range(rank)])


@rule("embedding")
def embedding(w, a, out):
    return w.op("Gather", a.weight, a.indices, axis=0)


@rule("index_select")
def index_select(w, a, out):
    places = w.reshape(a.index, [1]) if a.index.rank == 0 else a.index
    return w.op("Gather", a.self, places, axis=a.dim)


@rule("gather")
def gather(w, a, out):
    return w.op("GatherElements", a.self, a.index, axis=a.dim)


@rule("take_along_dim")
def take_along_dim(w, a, out):
    if a.dim is None:
        return w.op("GatherElements", w.reshape(a.self, [-1]), w.reshape(a.indices, [-1]), axis=0)
    rank, dim = a.self.rank, a.dim % a.self.rank
    shapes = []
    for x, y in ((a.indices, a.self), (a.self, a.indices)):
        shapes.append(w.ints([w.size(x, d) if d == dim else _wider(w, x, y, d) for d in range(rank)]))
    return w.op("GatherElements", w.op("Expand", a.self, shapes[1]), w.op("Expand", a.indices, shapes[0]), axis=dim)


def _wider(w, x, y, d):
    return w.size(y, d) if x.shape[d] == 1 else w.size(x, d)


@rule("take")
def take(w, a, out):
    return w.op("Gather", w.reshape(a.self, [-1]), a.index, axis=0)


@rule("masked_select")
def masked_select(w, a, out):
    shape = w.op("Shape", w.op("And", w.cast(a.mask, torch.bool), w.op("Equal", a.self, a.self)))
    x, mask = (w.reshape(w.op("Expand", v, shape), [-1]) for v in (w.name(a.self), w.cast(a.mask, torch.bool)))
    return w.op("Compress", x, mask)


@rule("nonzero", "argwhere")
def nonzero(w, a, out):
    found = nonzero_of(w, a.self)
    if a.self.rank == 0:  # a row for each dim, of which there is none: onnxruntime gives one
        found = w.slice(found, 0, 0, 0)
    return w.op("Transpose", found, perm=[1, 0])


def nonzero_of(w, x):
    """NonZero; runtimes have it for few types."""
    return w.op("NonZero", x if x.dtype in (torch.float32, torch.int64, torch.int32) else w.cast(x, torch.bool))


@rule("nonzero_tuple")
def nonzero_tuple(w, a, out):
    found = nonzero_of(w, a.self)
    return tuple(w.op("Gather", found, w.const(i, torch.int64), axis=0) for i in range(len(out)))


@rule("one_hot")
def one_hot(w, a, out):
    if a.num_classes < 0:
        raise NotImplementedError("one_hot without num_classes asks for values")
    x = a.tensor if hasattr(a, "tensor") else a.self
    found = w.op(
        "OneHot",
        w.reshape(x, [1]) if x.rank == 0 else x,
        w.const([a.num_classes], torch.int64),
        w.const([0, 1], torch.int64),
        axis=-1,
    )
    return w.reshape(found, [a.num_classes]) if x.rank == 0 else found


@rule("embedding_bag")
def embedding_bag(w, a, out):
    if a.max_norm is not None:
        raise NotImplementedError("embedding_bag with max_norm writes to its weight, which a file keeps as it is")
    vectors = w.op("Gather", a.weight, a.input, axis=0)
    dtype = out[0].dtype
    if a.offsets is not None:
        return _bags(w, a, vectors, dtype)
    seen = None
    if a.padding_idx is not None:
        padding = a.padding_idx % a.weight.shape[0]
        seen = w.unsqueeze(w.op("Not", w.op("Equal", a.input, w.const(padding, a.input.dtype))), 2)
    if a.per_sample_weights is not None:
        vectors = w.op("Mul", vectors, w.unsqueeze(a.per_sample_weights, 2))
    if a.mode == "max":
        if seen is not None:
            raise NotImplementedError("embedding_bag(mode='max') with padding_idx cannot be written")
        return w.reduce("ReduceMax", vectors, [1], False)
    if seen is None:
        return w.reduce("ReduceSum" if a.mode == "sum" else "ReduceMean", vectors, [1], False)
    vectors = w.op("Where", seen, vectors, w.const(0, dtype))
    total = w.reduce("ReduceSum", vectors, [1], False)
    if a.mode == "sum":
        return total
    count = w.reduce("ReduceSum", w.op("Cast", seen, to=1), [1], False)
    return w.op("Div", total, w.op("Max", count, w.const(1.0, dtype)))


def _bags(w, a, vectors, dtype):
    """Bags that begin at offsets: each row is added to its bag; for maxima and before opset 16, bags choose their rows.

    No product with zeros and ones: a row that is not finite stays in its bag.
    """
    count = w.op("Squeeze", w.ints([w.size(a.input, 0)]))
    places = w.op("Range", w.const(0, torch.int64), count, w.const(1, torch.int64))
    starts = w.cast(a.offsets, torch.int64)
    if a.include_last_offset:
        starts = w.op("Slice", starts, w.const([0]), w.const([-1]), w.const([0]))
    later = w.op("Slice", starts, w.const([1]), w.const([torch.iinfo(torch.int64).max]), w.const([0]))
    ends = w.op("Concat", later, w.op("Reshape", count, w.const([1])), axis=0)
    begun = w.op("LessOrEqual", w.unsqueeze(starts, 1), places)
    held = w.op("And", begun, w.op("Less", places, w.unsqueeze(ends, 1)))
    seen = None
    if a.padding_idx is not None:
        padding = a.padding_idx % a.weight.shape[0]
        seen = w.op("Not", w.op("Equal", a.input, w.const(padding, a.input.dtype)))
        held = w.op("And", held, seen)
    if a.per_sample_weights is not None:
        vectors = w.op("Mul", vectors, w.unsqueeze(a.per_sample_weights, 1))
    ones = w.cast(held, dtype, torch.bool)
    sizes = w.reduce("ReduceSum", ones, [1], True)
    nothing = w.const(-float("inf") if a.mode == "max" else 0, dtype)
    if a.mode == "max" or w.opset < 16:
        chosen = w.op("Where", w.unsqueeze(held, 2), w.unsqueeze(vectors, 0), nothing)
    if a.mode == "max":
        most = w.reduce("ReduceMax", chosen, [1], False)
        return w.op("Where", w.op("Greater", sizes, w.const(0, dtype)), most, w.const(0, dtype))
    if w.opset < 16:
        total = w.reduce("ReduceSum", chosen, [1], False)
    else:
        vectors = vectors if seen is None else w.op("Where", w.unsqueeze(seen, 1), vectors, nothing)
        bag = w.op("Sub", w.reduce("ReduceSum", w.op("Cast", begun, to=7), [0], False), w.const(1))
        shape = w.op("Concat", w.op("Shape", starts), w.ints([w.size(a.weight, 1)]), axis=0)
        bag = w.op("Expand", w.unsqueeze(bag, 1), w.op("Shape", vectors))
        total = w.op("ScatterElements", w.op("Expand", nothing, shape), bag, vectors, axis=0, reduction="add")
    return total if a.mode == "sum" else w.op("Div", total, w.op("Max", sizes, w.const(1, dtype)))


@rule("bucketize", "searchsorted")
def bucketize(w, a, out):
    values, row = a.self, a.boundaries if w.step.name == "bucketize" else a.sorted_sequence
    right = a.right or getattr(a, "side", None) == "right"
    dtype = common(values, row)
    x, y = operands(w, dtype, values, row)
    if getattr(a, "sorter", None) is not None:
        y = w.op("GatherElements", y, a.sorter, axis=-1)
    rank = values.rank if isinstance(values, Value) else 0
    if row.rank > 1:
        y = w.unsqueeze(y, row.rank - 1)
    below = w.op("LessOrEqual" if right else "Less", y, w.unsqueeze(x, rank))
    return w.cast(w.reduce("ReduceSum", w.op("Cast", below, to=7), [-1], False), out[0].dtype, torch.int64)


@rule("isin")
def isin(w, a, out):
    x, y = operands(w, common(a.elements, a.test_elements), a.elements, a.test_elements)
    rank = a.elements.rank if isinstance(a.elements, Value) else 0
    same = w.op("Cast", w.op("Equal", w.unsqueeze(x, rank), w.reshape(y, [-1])), to=6)
    found = w.op("Cast", w.reduce("ReduceMax", same, [rank], False), to=9)
    return w.op("Not", found) if a.invert else found
