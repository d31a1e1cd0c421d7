"""Pooling."""

from __future__ import annotations

import math

import torch

from ..errors import SymbolicValueError
from . import rule
from .convolution import _row


def _batched(w, x, n):
    alone = x.rank == n + 1
    return alone, w.unsqueeze(x, 0) if alone else x


@rule(
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
)
def max_pool(w, a, out):
    n = int(w.step.name[8])
    kernel = _row(a.kernel_size, n)
    alone, x = _batched(w, a.self if hasattr(a, "self") else a.input, n)
    count = len(out)
    found = w.op(
        "MaxPool", x, kernel_shape=kernel, strides=_row(a.stride, n) if a.stride else kernel, pads=_row(a.padding, n) * 2,
        dilations=_row(a.dilation, n), ceil_mode=int(a.ceil_mode), outputs=count,
    )  # fmt: skip
    parts = [found] if count == 1 else list(found)
    if count == 2:  # places within a plane, and not within the whole tensor
        sizes = a.self if hasattr(a, "self") else a.input
        plane = w.count(sizes, list(range(sizes.rank - n, sizes.rank)))
        parts[1] = w.op("Mod", parts[1], w.name(plane, torch.int64))
    if alone:
        parts = [w.squeeze(p, 0) for p in parts]
    return tuple(parts) if count == 2 else parts[0]


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(w, a, out):
    n = int(w.step.name[8])
    kernel = _row(a.kernel_size, n)
    alone, x = _batched(w, a.input, n)
    divisor = getattr(a, "divisor_override", None)
    found = w.op(
        "AveragePool", x, kernel_shape=kernel, strides=_row(a.stride, n) if a.stride else kernel, pads=_row(a.padding, n) * 2,
        ceil_mode=int(a.ceil_mode), count_include_pad=int(a.count_include_pad or divisor is not None),
    )  # fmt: skip
    if divisor is not None:
        found = w.op("Mul", found, w.const(math.prod(kernel) / divisor, out[0].dtype))
    return w.squeeze(found, 0) if alone else found


@rule(
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"
)
def adaptive_avg_pool(w, a, out):
    x, n = a.self if hasattr(a, "self") else a.input, int(w.step.name[-2])
    sizes, wanted = x.shape[-n:], _row(a.output_size, n)
    if all(s == 1 for s in wanted):
        return w.reduce("ReduceMean", x, list(range(x.rank - n, x.rank)), True)
    if any(not isinstance(s, int) for s in (*sizes, *wanted)):
        raise SymbolicValueError(f"{w.step.name} to {wanted} of sizes that may change ({sizes}) cannot be written")
    found = w.name(x)
    for i, (size, to) in enumerate(zip(sizes, wanted, strict=True)):
        if size != to:
            found = _averages(w, found, x.rank, x.rank - n + i, size, to, out[0].dtype)
    return found


def _averages(w, x, rank, dim, size, to, dtype):
    """One dim, by a matrix whose rows average the parts."""
    matrix = torch.zeros(size, to, dtype=dtype)
    for i in range(to):
        start, end = i * size // to, -(-(i + 1) * size // to)
        matrix[start:end, i] = 1 / (end - start)
    order = [d for d in range(rank) if d != dim] + [dim]
    turned = w.op("MatMul", w.op("Transpose", x, perm=order), w.const(matrix))
    back = sorted(range(rank), key=lambda d: order[d])
    return w.op("Transpose", turned, perm=back)


def _cells(w, x, sizes, wanted):
    """The greatest of each cell and its place, where cells overlap: dim by dim from the last one, as slices."""
    name, n = w.name(x), len(sizes)
    here = w.const(torch.arange(math.prod(sizes)).view(sizes))
    places = w.op("Expand", here, w.shape(x))
    for dim, size, cells in reversed(list(zip(range(x.rank - n, x.rank), sizes, wanted, strict=True))):
        values, found = [], []
        for i in range(cells):
            start, end = i * size // cells, -(-(i + 1) * size // cells)
            part = w.slice(name, dim, start, end)
            first = w.op("ArgMax", part, axis=dim, keepdims=1)
            values.append(w.op("GatherElements", part, first, axis=dim))
            found.append(w.op("GatherElements", w.slice(places, dim, start, end), first, axis=dim))
        name, places = w.op("Concat", *values, axis=dim), w.op("Concat", *found, axis=dim)
    return name, places


@rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(w, a, out):
    x, n = a.input, int(w.step.name[17])
    sizes, wanted = x.shape[-n:], _row(a.output_size, n)
    if any(not isinstance(s, int) for s in sizes):
        raise SymbolicValueError(f"{w.step.name}: {sizes} may change, and MaxPool needs multiples of {wanted}")
    if any(s % t for s, t in zip(sizes, wanted, strict=True)):
        return _cells(w, x, sizes, wanted)
    kernel = [s // t for s, t in zip(sizes, wanted, strict=True)]
    alone, x = _batched(w, x, n)
    values, indices = w.op("MaxPool", x, kernel_shape=kernel, strides=kernel, outputs=2)
    indices = w.op("Mod", indices, w.const(math.prod(sizes), torch.int64))
    return tuple(w.squeeze(p, 0) if alone else p for p in (values, indices))
