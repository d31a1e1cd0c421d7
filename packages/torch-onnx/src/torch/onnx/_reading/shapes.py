"""Shapes, parts, joins, places and new tensors."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from .._types import dtype_of
from . import reader


def ints(x):
    """Numbers of Python from a tensor, or a list as it is."""
    return x.reshape(-1).tolist() if isinstance(x, torch.Tensor) else list(x)


@reader("Reshape")
def reshape(x, shape, allowzero=0):
    sizes = ints(shape)
    return x.reshape([x.shape[i] if s == 0 and not allowzero else s for i, s in enumerate(sizes)])


@reader("Flatten")
def flatten(x, axis=1):
    axis = axis + x.dim() if axis < 0 else axis
    return x.reshape(x.shape[:axis].numel(), -1)


@reader("Squeeze")
def squeeze(x, axes=None):
    return x.squeeze() if axes is None else x.squeeze(ints(axes))


@reader("Unsqueeze")
def unsqueeze(x, axes):
    axes = ints(axes)
    for axis in sorted(a % (x.dim() + len(axes)) for a in axes):
        x = x.unsqueeze(axis)
    return x


@reader("Transpose")
def transpose(x, perm=None):
    return x.permute(perm if perm is not None else list(reversed(range(x.dim()))))


@reader("Expand")
def expand(x, shape):
    return x.expand(torch.broadcast_shapes(tuple(x.shape), tuple(ints(shape))))


@reader("Tile")
def tile(x, repeats):
    return x.repeat(ints(repeats))


@reader("Concat")
def concat(*tensors, axis):
    return torch.cat(tensors, axis)


@reader("Split")
def split(x, sizes=None, axis=0, num_outputs=None, *, outputs):
    if sizes is not None:
        return torch.split(x, ints(sizes), axis)
    return torch.split(x, -(-x.shape[axis] // (num_outputs or outputs)), axis)


@reader("Shape")
def shape(x, start=0, end=None):
    return torch.tensor(x.shape[start:end], dtype=torch.int64)


@reader("Size")
def size(x):
    return torch.tensor(x.numel(), dtype=torch.int64)


@reader("Slice")
def slice_(x, starts, ends, axes=None, steps=None):
    starts, ends = ints(starts), ints(ends)
    axes = list(range(len(starts))) if axes is None else ints(axes)
    steps = [1] * len(starts) if steps is None else ints(steps)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step > 0:
            x = torch.ops.aten.slice(x, axis, start, end, step)
        else:
            places = range(*slice(start, None if end < -x.shape[axis] else end, step).indices(x.shape[axis]))
            x = x.index_select(axis, torch.tensor(list(places), dtype=torch.int64))
    return x


@reader("Gather")
def gather(x, indices, axis=0):
    axis %= x.dim()
    places = torch.where(indices < 0, indices + x.shape[axis], indices)
    found = x.index_select(axis, places.reshape(-1).to(torch.int64))
    return found.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@reader("GatherElements")
def gather_elements(x, indices, axis=0):
    return torch.gather(x, axis, torch.where(indices < 0, indices + x.shape[axis], indices))


@reader("GatherND")
def gather_nd(x, indices, batch_dims=0):
    outer = [
        torch.arange(size).reshape([-1 if i == d else 1 for i in range(indices.dim() - 1)])
        for d, size in enumerate(x.shape[:batch_dims])
    ]
    return x[(*outer, *indices.unbind(-1))]


@reader("ScatterElements", "Scatter")
def scatter_elements(x, indices, updates, axis=0, reduction="none"):
    indices = torch.where(indices < 0, indices + x.shape[axis], indices)
    if reduction == "none":
        return torch.scatter(x, axis, indices, updates)
    kind = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return torch.scatter_reduce(x, axis, indices, updates, kind)


@reader("ScatterND")
def scatter_nd(x, indices, updates, reduction="none"):
    if reduction in ("none", "add"):
        return torch.index_put(x, tuple(indices.unbind(-1)), updates, accumulate=reduction == "add")
    depth = indices.shape[-1]
    rows, place = x.reshape(-1, x.shape[depth:].numel()), torch.zeros_like(indices[..., 0])
    for d in range(depth):
        place = place * x.shape[d] + torch.remainder(indices[..., d], x.shape[d])
    place = place.reshape(-1, 1).expand(-1, rows.shape[1])
    kind = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return torch.scatter_reduce(rows, 0, place, updates.reshape(place.shape), kind).reshape(x.shape)


@reader("Compress")
def compress(x, condition, axis=None):
    places = condition.nonzero().reshape(-1)
    return x.reshape(-1).index_select(0, places) if axis is None else x.index_select(axis, places)


@reader("NonZero")
def nonzero(x):
    return x.nonzero().t()


@reader("OneHot")
def one_hot(indices, depth, values, axis=-1):
    depth = int(depth)
    where = torch.where(indices < 0, indices + depth, indices).to(torch.int64).unsqueeze(axis)
    line = [1] * where.dim()
    line[axis] = depth
    return torch.where(where == torch.arange(depth).reshape(line), values[1], values[0])


@reader("Trilu")
def trilu(x, k=None, upper=1):
    return (torch.triu if upper else torch.tril)(x, 0 if k is None else int(k))


@reader("CenterCropPad")
def center_crop_pad(x, shape, axes=None):
    for axis, size in zip(range(x.dim()) if axes is None else axes, ints(shape), strict=True):
        more = size - x.shape[axis]
        if more < 0:
            x = x.narrow(axis, -more // 2, size)
        elif more:
            row = [0, 0] * (x.dim() - 1 - axis % x.dim()) + [more // 2, more - more // 2]
            x = F.pad(x, row)
    return x


@reader("ReverseSequence")
def reverse_sequence(x, lengths, batch_axis=1, time_axis=0):
    time = torch.arange(x.shape[time_axis])
    where = [1, 1]
    where[time_axis] = -1
    time, ends = time.reshape(where), lengths.reshape([-1 if a == batch_axis else 1 for a in range(2)])
    places = torch.where(time < ends, ends - 1 - time, time)
    places = places.reshape(*places.shape, *[1] * (x.dim() - 2)).expand(x.shape)
    return torch.gather(x, time_axis, places)


@reader("Pad")
def pad(x, pads=None, value=None, axes=None, mode="constant", paddings=None):
    pads = ints(paddings if pads is None else pads)
    value = (
        value if value is None or isinstance(value, torch.Tensor) else torch.tensor(value)
    )  # an attribute before opset 11
    n = len(pads) // 2
    chosen = list(range(n)) if axes is None else [a % x.dim() for a in ints(axes)]
    amounts = {axis: (pads[i], pads[n + i]) for i, axis in enumerate(chosen)}
    last = min((a for a, both in amounts.items() if any(both)), default=x.dim())
    row = [amount for axis in range(x.dim() - 1, last - 1, -1) for amount in amounts.get(axis, (0, 0))]
    if not row:
        return x
    mode = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return (
        F.pad(x, row, mode=mode, value=0 if value is None else value.item())
        if mode == "constant"
        else F.pad(x, row, mode=mode)
    )


@reader("Range")
def arange(start, limit, delta):
    return torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


@reader("ConstantOfShape")
def constant_of_shape(shape, value=None):
    return torch.zeros(ints(shape)) if value is None else value.reshape(()).expand(ints(shape)).clone()


@reader("EyeLike")
def eye_like(x, dtype=None, k=0):
    line = torch.arange(x.shape[1]) - torch.arange(x.shape[0]).unsqueeze(1)
    return (line == k).to(x.dtype if dtype is None else dtype_of(dtype))


@reader("Unique")
def unique(x, axis=None, sorted=1):
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=axis)
    flat = inverse.reshape(-1)
    first = torch.full((len(counts),), len(flat)).scatter_reduce(0, flat, torch.arange(len(flat)), "amin")
    if not sorted:  # in the order of appearance
        order = first.argsort()
        values = values.index_select(0 if axis is None else axis, order)
        first, counts, flat = first[order], counts[order], order.argsort()[flat]
    return values, first, flat, counts
