"""Shapes: views, joins and parts."""

from __future__ import annotations

import torch

from .._program import Value
from . import dims, operands, rule


def as_shape(w, x, to):
    """A value in the shape of another one, whose sizes may be known by name only."""
    wanted = to.shape
    unknown = [i for i, s in enumerate(wanted) if not isinstance(s, int)]
    if len(unknown) <= 1:
        return w.reshape(x, [s if isinstance(s, int) else -1 for s in wanted])
    return None


@rule("view", "reshape")
def reshape(w, a, out):
    if hasattr(a, "dtype"):
        raise NotImplementedError("view(dtype): ONNX has no bits in another type")
    shape = getattr(a, "size", None) if w.step.name == "view" else a.shape
    return w.reshape(a.self, shape)


@rule("view_as", "reshape_as")
def reshape_as(w, a, out):
    return w.op("Reshape", a.self, w.shape(a.other))


@rule("flatten", "ravel")
def flatten(w, a, out):
    rank = a.self.rank
    first, last = (
        (a.start_dim % max(rank, 1), a.end_dim % max(rank, 1)) if w.step.name == "flatten" else (0, max(rank - 1, 0))
    )
    if rank == 0:
        return w.reshape(a.self, [1])
    if first == last:
        return w.name(a.self)
    return w.reshape(a.self, [0] * first + [-1] + [w.size(a.self, d) for d in range(last + 1, rank)])


@rule("unflatten")
def unflatten(w, a, out):
    dim = a.dim % a.self.rank
    return w.reshape(a.self, [0] * dim + list(a.sizes) + [w.size(a.self, d) for d in range(dim + 1, a.self.rank)])


@rule("squeeze")
def squeeze(w, a, out):
    chosen = [d for d in dims(a.dim, a.self.rank) if a.self.shape[d] == 1]
    gone = a.self.rank - out[0].rank
    if len(chosen) != gone and a.dim is not None:
        chosen = [d for d in dims(a.dim, a.self.rank) if a.self.shape[d] == 1 or not isinstance(a.self.shape[d], int)]
    if len(chosen) != gone:
        raise NotImplementedError("squeeze of dims whose sizes are not known cannot be written: name them")
    return w.squeeze(a.self, *chosen) if chosen and gone else w.name(a.self)


@rule("unsqueeze")
def unsqueeze(w, a, out):
    return w.unsqueeze(a.self, a.dim)


@rule("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(w, a, out):
    return w.op("Reshape", a.self, w.shape(out[0])) if out[0].rank != a.self.rank else w.name(a.self)


@rule("transpose", "swapaxes", "swapdims", "t", "T", "mT", "permute", "movedim", "moveaxis")
def permute(w, a, out):
    rank, order, name = a.self.rank, list(range(a.self.rank)), w.step.name
    if rank < 2:
        return w.name(a.self)
    if name == "permute":
        order = [d % rank for d in a.dims]
    elif name == "T":
        order.reverse()
    elif name in ("t", "mT"):
        order[-2:] = [rank - 1, rank - 2]
    elif name in ("movedim", "moveaxis"):
        pair = [[v] if isinstance(v, int) else list(v) for v in (a.source, a.destination)]
        source, target = ([d % rank for d in part] for part in pair)
        rest = iter(d for d in order if d not in source)
        order = [source[target.index(d)] if d in target else next(rest) for d in order]
    else:
        one, two = (v % rank for v in list(vars(a).values())[1:3])
        order[one], order[two] = order[two], order[one]
    return w.permute(a.self, order)


@rule("expand", "broadcast_to")
def expand(w, a, out):
    # -1 keeps a size, which Expand says by 1
    sizes = [1 if isinstance(s, int) and s == -1 else s for s in a.size]
    return w.op("Expand", a.self, w.ints(sizes))


@rule("expand_as")
def expand_as(w, a, out):
    return w.op("Expand", a.self, w.shape(a.other))


@rule("broadcast_tensors")
def broadcast_tensors(w, a, out):
    total = w.name(a.tensors[0])
    for other in a.tensors[1:]:
        total = w.op("Add", w.cast(total, torch.float32, None), w.cast(other, torch.float32))
    return tuple(w.op("Expand", x, w.op("Shape", total)) for x in a.tensors)


@rule("repeat", "tile")
def repeat(w, a, out):
    repeats = list(a.repeats if w.step.name == "repeat" else a.dims)
    x, rank = w.name(a.self), a.self.rank
    if len(repeats) > rank:
        x = w.unsqueeze(x, *range(len(repeats) - rank))
    return w.op("Tile", x, w.ints([1] * (rank - len(repeats)) + repeats))


@rule("repeat_interleave")
def repeat_interleave(w, a, out):
    if not hasattr(a, "self"):
        raise NotImplementedError(
            "repeat_interleave of the repeats alone cannot be written: repeat torch.arange instead"
        )
    rank = a.self.rank
    if isinstance(a.repeats, Value):
        return _repeated_by(w, a, rank)
    if a.dim is None or rank == 0:
        flat = w.op("Reshape", a.self, w.const([-1, 1], torch.int64))
        return w.reshape(w.op("Tile", flat, w.const([1, a.repeats], torch.int64)), [-1])
    dim = a.dim % rank
    wide = w.op(
        "Tile",
        w.unsqueeze(a.self, dim + 1),
        w.const([1] * (dim + 1) + [a.repeats] + [1] * (rank - dim - 1), torch.int64),
    )
    return w.reshape(wide, [0] * dim + [-1] + [w.size(a.self, d) for d in range(dim + 1, rank)])


def _repeated_by(w, a, rank):
    """Each place as often as a tensor says: place i is the last whose repeats before it are at most i."""
    x, dim = (w.reshape(a.self, [-1]), 0) if a.dim is None else (w.name(a.self), a.dim % rank)
    repeats = w.cast(a.repeats, torch.int64)
    if a.repeats.rank == 0 or a.repeats.shape == (1,):
        size = w.op("Gather", w.op("Shape", x), w.const([dim], torch.int64), axis=0)
        repeats = w.op("Expand", repeats, size)
    ends = w.op("CumSum", repeats, w.const(0))
    count = w.reduce("ReduceSum", repeats, [0], False)
    places = w.op("Range", w.const(0), count, w.const(1))
    past = w.op("Cast", w.op("LessOrEqual", ends, w.unsqueeze(places, 1)), to=7)
    return w.op("Gather", x, w.reduce("ReduceSum", past, [1], False), axis=dim)


# --- parts ---


def end_of(value):
    return 2**63 - 1 if value is None else value


@rule("slice")
def slice_(w, a, out):
    return w.slice(a.self, a.dim, 0 if a.start is None else a.start, end_of(a.end), a.step)


@rule("narrow")
def narrow(w, a, out):
    if not isinstance(a.start, Value) and not isinstance(a.length, Value):
        stop = a.start + a.length
        return w.slice(a.self, a.dim, a.start, 2**63 - 1 if stop == 0 and a.start < 0 else stop)
    end = w.op("Add", w.ints(a.start), w.ints(a.length))
    return w.op("Slice", a.self, w.ints(a.start), end, w.const([a.dim], torch.int64))


@rule("select")
def select(w, a, out):
    return w.op("Gather", a.self, w.name(a.index, torch.int64), axis=a.dim)


def split_into(w, x, sizes, dim, out):
    if len(out) == 1:
        return (w.name(x),)
    return w.op("Split", x, w.ints(sizes), axis=dim, outputs=len(out))


@rule("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_chunk")
def split(w, a, out):
    dim = a.dim % a.self.rank
    unknown = not all(isinstance(value.shape[dim], int) for value in out)
    if unknown and w.step.name in ("chunk", "unsafe_chunk") and len(out) == a.chunks:
        return split_into(w, a.self, _chunks(w, w.size(a.self, dim), a.chunks), dim, out)
    return split_into(w, a.self, [_part(w, a, value, dim) for value in out], dim, out)


def _chunks(w, size, count):
    """The sizes of so many parts of what is as long as a run tells; where there are fewer, the last is negative, which is refused.

    Of 4 rows in 3 parts the last would be empty, and there are two: it is -1, too. Only nothing has empty parts.
    """
    each = w.op("Div", w.op("Add", size, w.const(count - 1)), w.const(count))
    last = w.op("Sub", size, w.op("Mul", each, w.const(count - 1)))
    empty = w.op("Neg", w.op("Min", size, w.const(1)))
    return [*[each] * (count - 1), w.op("Where", w.op("Equal", last, w.const(0)), empty, last)]


def _part(w, a, value, dim):
    size = value.shape[dim]
    if isinstance(size, int):
        return size
    raise NotImplementedError(f"{w.step.name} into parts whose sizes may change ({size}) cannot be written")


@rule("unbind")
def unbind(w, a, out):
    dim = a.dim % a.self.rank
    parts = split_into(w, a.self, [1] * len(out), dim, out)
    return tuple(w.squeeze(p, dim) for p in parts)


@rule("unfold")
def unfold(w, a, out):
    rank = a.self.rank
    dim = a.dimension % max(rank, 1)
    size = a.self.shape[dim]
    if not isinstance(size, int):
        start = w.op("Range", w.const(0), w.op("Add", w.size(a.self, dim), w.const(1 - a.size)), w.const(a.step))
        places = w.op("Add", w.unsqueeze(start, 1), w.const(torch.arange(a.size).unsqueeze(0)))
    else:
        places = w.const(torch.arange(0, size - a.size + 1, a.step).unsqueeze(1) + torch.arange(a.size))
    found = w.op("Gather", a.self, places, axis=dim)
    return w.op("Transpose", found, perm=[*range(dim + 1), *range(dim + 2, rank + 1), dim + 1])


@rule("diagonal", "linalg_diagonal")
def diagonal(w, a, out):
    x = getattr(a, "self", None) or a.A
    rank = x.rank
    one, two = a.dim1 % rank, a.dim2 % rank
    rest = [d for d in range(rank) if d not in (one, two)]
    turned = w.permute(x, [one, two, *rest])
    sizes = [w.ints([w.size(x, d)]) for d in (one, two)]
    # the places of the diagonal, as pairs
    count = w.op("Squeeze", w.op("Max", w.const([0]), w.op("Min", *(
        w.op("Sub", s, w.const([max(shift, 0)])) for s, shift in zip(sizes, (-a.offset, a.offset), strict=True)
    ))))  # fmt: skip
    steps = w.unsqueeze(w.op("Range", w.const(0), count, w.const(1)), 1)
    pairs = w.op(
        "Add", w.op("Concat", steps, steps, axis=1), w.const([max(-a.offset, 0), max(a.offset, 0)], torch.int64)
    )
    found = w.op("GatherND", turned, pairs)
    return w.op("Transpose", found, perm=[*range(1, rank - 1), 0]) if rank > 2 else found


@rule("trace")
def trace(w, a, out):
    a.offset, a.dim1, a.dim2 = 0, 0, 1
    return w.reduce("ReduceSum", w.cast(diagonal(w, a, out), out[0].dtype, a.self.dtype), None, False)


@rule("flip", "fliplr", "flipud")
def flip(w, a, out):
    axes = {"fliplr": [1], "flipud": [0]}.get(w.step.name) or dims(a.dims, a.self.rank)
    if not axes or not a.self.rank:
        return w.name(a.self)
    n = len(axes)
    bounds = [w.const([value] * n, torch.int64) for value in (-1, -(2**63) + 1)]
    return w.op("Slice", a.self, *bounds, w.const(axes, torch.int64), w.const([-1] * n, torch.int64))


@rule("roll")
def roll(w, a, out):
    shifts, axes = ([v] if isinstance(v, int) else list(v) for v in (a.shifts, a.dims))
    x = w.name(a.self)
    if not axes:
        x, axes = w.reshape(x, [-1]), [0]
        rank_size = None
    else:
        rank_size = a.self.shape
    for shift, dim in zip(shifts, axes, strict=True):
        size = rank_size[dim] if rank_size is not None else None
        if isinstance(size, int):
            shift %= max(size, 1)
        if shift == 0:
            continue
        head, tail = w.slice(x, dim, 0, -shift), w.slice(x, dim, -shift, 2**63 - 1)
        x = w.op("Concat", tail, head, axis=dim)
    return w.op("Reshape", x, w.shape(a.self)) if rank_size is None else x


@rule("rot90")
def rot90(w, a, out):
    one, two = (d % a.self.rank for d in a.dims)
    turns, name = a.k % 4, w.name(a.self)
    reversed_ = {0: [], 1: [two], 2: [one, two], 3: [one]}[turns]
    if reversed_:
        n = len(reversed_)
        bounds = [w.const([value] * n, torch.int64) for value in (-1, -(2**63) + 1)]
        name = w.op("Slice", name, *bounds, w.const(reversed_, torch.int64), w.const([-1] * n, torch.int64))
    order = list(range(a.self.rank))
    order[one], order[two] = two, one
    return w.op("Transpose", name, perm=order) if turns % 2 else name


@rule("hsplit", "vsplit", "dsplit")
def named_split(w, a, out):
    dim = {"v": 0, "h": min(1, a.self.rank - 1), "d": 2}[w.step.name[0]]
    return split_into(w, a.self, [_part(w, a, value, dim) for value in out], dim, out)


@rule("sum_to_size")
def sum_to_size(w, a, out):
    extra = a.self.rank - len(a.size)
    gone = list(range(extra))
    kept = [d for d, s in enumerate(a.size, extra) if s == 1 and a.self.shape[d] != 1]
    found = w.reduce("ReduceSum", a.self, kept, True) if kept else w.name(a.self)
    return w.reduce("ReduceSum", found, gone, False) if gone else found


# --- joins ---


@rule("cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack", "dstack", "column_stack")
def cat(w, a, out):
    name, dtype = w.step.name, out[0].dtype
    tensors = [t for t in a.tensors if name not in ("cat", "concat", "concatenate") or t.shape != (0,)]
    dim, names = getattr(a, "dim", 0), operands(w, dtype, *tensors)
    if name == "stack":
        dim %= out[0].rank
        names = [w.unsqueeze(x, dim) for x in names]
    elif name in ("hstack", "column_stack"):
        dim = 0 if name == "hstack" and out[0].rank == 1 else 1
        short = 2 if name == "column_stack" else 1
        names = [
            w.reshape(x, [-1, 1] if short == 2 else [-1]) if t.rank < short else x
            for x, t in zip(names, tensors, strict=True)
        ]
    elif name in ("vstack", "row_stack"):
        names = [w.reshape(x, [1, -1]) if t.rank < 2 else x for x, t in zip(names, tensors, strict=True)]
    elif name == "dstack":
        dim = 2
        names = [
            w.op("Reshape", x, w.ints(_deep(w, t))) if t.rank < 3 else x for x, t in zip(names, tensors, strict=True)
        ]
    return w.op("Concat", *names, axis=dim) if len(names) > 1 else w.op("Identity", names[0])


def _deep(w, value):
    return [1, -1, 1] if value.rank < 2 else [w.size(value, 0), w.size(value, 1), 1]


# --- the same tensor ---


@rule("alias", "detach", "clone", "contiguous", "resolve_conj", "resolve_neg", "conj", "conj_physical", "to_dense")
def same(w, a, out):
    return w.name(a.self)


@rule("_to_copy")
def to(w, a, out):
    return w.cast(a.self, out[0].dtype)


@rule("copy")
def copy(w, a, out):
    return w.op("Expand", w.cast(a.src, out[0].dtype), w.shape(a.self))


# --- padding ---

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_ROWS = {
    "constant_pad_nd": "constant",
    "reflection_pad": "reflect",
    "replication_pad": "replicate",
    "circular_pad": "circular",
}


@rule("pad", "constant_pad_nd", "reflection_pad", "replication_pad", "circular_pad")
def pad(w, a, out):
    mode, amounts = getattr(a, "mode", None) or _ROWS[w.step.name], list(getattr(a, "pad", None) or a.padding)
    rank, x = a.self.rank, w.name(a.self)
    count = len(amounts) // 2
    before = [0] * (rank - count) + [amounts[2 * i] for i in reversed(range(count))]
    after = [0] * (rank - count) + [amounts[2 * i + 1] for i in reversed(range(count))]
    if _MODES[mode] == "wrap" and w.opset < 19:
        for dim in range(rank):
            if before[dim] or after[dim]:
                parts = [w.slice(x, dim, -before[dim], 2**63 - 1)] if before[dim] else []
                parts += [x] + ([w.slice(x, dim, 0, after[dim])] if after[dim] else [])
                x = w.op("Concat", *parts, axis=dim)
        return x
    value = w.cast(getattr(a, "value", None) or 0, a.self.dtype) if mode == "constant" else None
    return w.op("Pad", x, w.ints([*before, *after]), value, mode=_MODES[mode])
