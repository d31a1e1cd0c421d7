"""Sums, means, extremes and what runs along a dim."""

from __future__ import annotations

import math

import torch

from . import dims, operands, rule
from .pointwise import extreme


@rule("sum", "nansum")
def sum_(w, a, out):
    x = w.cast(a.self, out[0].dtype)
    if w.step.name == "nansum" and a.self.is_float:
        x = w.op("Where", w.op("IsNaN", a.self), w.const(0, out[0].dtype), x)
    return w.reduce("ReduceSum", x, dims(a.dim, a.self.rank), a.keepdim)


@rule("mean")
def mean(w, a, out):
    return w.reduce("ReduceMean", w.cast(a.self, out[0].dtype), dims(a.dim, a.self.rank), a.keepdim)


@rule("nanmean")
def nanmean(w, a, out):
    dtype, axes = out[0].dtype, dims(a.dim, a.self.rank)
    hidden = w.op("IsNaN", a.self)
    total = w.reduce("ReduceSum", w.op("Where", hidden, w.const(0, dtype), a.self), axes, a.keepdim)
    return w.op("Div", total, w.reduce("ReduceSum", w.cast(w.op("Not", hidden), dtype), axes, a.keepdim))


@rule("prod")
def prod(w, a, out):
    axes = None if a.dim is None else [a.dim]
    return w.reduce("ReduceProd", w.cast(a.self, out[0].dtype), axes, a.keepdim)


def comparable(w, x):
    """A value in a type whose elements ONNX compares, and that type."""
    dtype = torch.int32 if x.dtype in (torch.bool, torch.int16) else x.dtype
    return w.cast(x, dtype), dtype


@rule("amax", "amin")
def amax(w, a, out):
    kind = "ReduceMax" if w.step.name == "amax" else "ReduceMin"
    name, dtype = comparable(w, a.self)
    return w.cast(w.reduce(kind, name, dims(a.dim, a.self.rank), a.keepdim), a.self.dtype, dtype)


@rule("max", "min")
def max_(w, a, out):
    kind = "Max" if w.step.name == "max" else "Min"
    if hasattr(a, "other"):
        return extreme(w, kind, out[0].dtype, *operands(w, out[0].dtype, a.self, a.other))
    name, dtype = comparable(w, a.self)
    if not hasattr(a, "dim"):
        return w.cast(w.reduce(f"Reduce{kind}", name, None, False), a.self.dtype, dtype)
    values = w.cast(w.reduce(f"Reduce{kind}", name, [a.dim], a.keepdim), a.self.dtype, dtype)
    return values, w.op(f"Arg{kind}", name, axis=a.dim, keepdims=int(a.keepdim))


@rule("aminmax")
def aminmax(w, a, out):
    axes = None if a.dim is None else [a.dim]
    name, dtype = comparable(w, a.self)
    found = (w.reduce(kind, name, axes, a.keepdim) for kind in ("ReduceMin", "ReduceMax"))
    return tuple(w.cast(x, a.self.dtype, dtype) for x in found)


@rule("argmax", "argmin")
def argmax(w, a, out):
    kind = "ArgMax" if w.step.name == "argmax" else "ArgMin"
    name, _ = comparable(w, a.self)
    if a.dim is not None:
        return w.op(kind, name, axis=a.dim, keepdims=int(a.keepdim))
    found = w.op(kind, w.reshape(name, [-1]), axis=0, keepdims=0)
    return w.reshape(found, [1] * a.self.rank) if a.keepdim else found


@rule("any", "all")
def any_(w, a, out):
    x = w.cast(w.cast(a.self, torch.bool), torch.int32, torch.bool)
    kind = "ReduceMax" if w.step.name == "any" else "ReduceMin"
    return w.cast(w.reduce(kind, x, dims(a.dim, a.self.rank), a.keepdim), out[0].dtype, torch.int32)


@rule("_holds")
def holds(w, a, out):
    return w.cast(
        w.reduce("ReduceMin", w.cast(w.cast(a.self, torch.bool), torch.int32, torch.bool), None, False), torch.bool
    )


@rule("count_nonzero")
def count_nonzero(w, a, out):
    x = w.cast(w.cast(a.self, torch.bool), torch.int64, torch.bool)
    return w.reduce("ReduceSum", x, dims(a.dim, a.self.rank), False)


# --- variances ---


@rule("var", "std", "var_mean", "std_mean")
def var(w, a, out):
    x, dtype = a.self, a.self.dtype
    axes, keepdim = dims(getattr(a, "dim", None), x.rank), getattr(a, "keepdim", False)
    correction = getattr(a, "correction", None)
    if correction is None:
        correction = int(getattr(a, "unbiased", True))
    centre = w.reduce("ReduceMean", x, axes, True)
    away = w.op("Sub", x, centre)
    total = w.reduce("ReduceSum", w.op("Mul", away, away), axes, keepdim)
    count = w.count(x, axes)
    if isinstance(count, int):
        found = w.op("Div", total, w.const(max(count - correction, 0), dtype))
    else:
        found = w.op("Div", total, w.op("Sub", w.cast(count, dtype), w.const(correction, dtype)))
    if w.step.name.startswith("std"):
        found = w.op("Sqrt", found)
    if not w.step.name.endswith("_mean"):
        return found
    return found, centre if keepdim else w.squeeze(centre, *axes)


# --- norms ---


def norm_of(w, name, order, axes, keepdim, dtype):
    """The norm of vectors."""
    if order == 2:
        return w.reduce("ReduceL2", name, axes, keepdim)
    if order == 1:
        return w.reduce("ReduceL1", name, axes, keepdim)
    size = w.op("Abs", name)
    if order in (math.inf, -math.inf):
        return w.reduce("ReduceMax" if order > 0 else "ReduceMin", size, axes, keepdim)
    if order == 0:
        return w.reduce("ReduceSum", w.cast(w.op("Greater", size, w.const(0, dtype)), dtype, torch.bool), axes, keepdim)
    powers = w.reduce("ReduceSum", w.op("Pow", size, w.const(order, dtype)), axes, keepdim)
    return w.op("Pow", powers, w.const(1 / order, dtype))


@rule("norm", "vector_norm", "frobenius_norm", "dist")
def norm(w, a, out):
    x = getattr(a, "self", None) or a.x
    dtype = out[0].dtype
    order = getattr(a, "ord", getattr(a, "p", 2))
    order = 2 if order is None or order == "fro" or w.step.name == "frobenius_norm" else order
    if isinstance(order, str):
        raise NotImplementedError(f"{w.step.name} of order {order!r} cannot be written")
    name = w.cast(x, dtype)
    if w.step.name == "dist":
        return norm_of(w, w.op("Sub", name, w.cast(a.other, dtype)), order, None, False, dtype)
    return norm_of(w, name, order, dims(getattr(a, "dim", None), x.rank), getattr(a, "keepdim", False), dtype)


@rule("matrix_norm", "linalg_norm")
def matrix_norm(w, a, out):
    x, dtype = getattr(a, "self", None) or a.A, out[0].dtype
    order, axes = a.ord, a.dim if a.dim is None or isinstance(a.dim, int) else list(a.dim)
    name, listed = w.cast(x, dtype), dims(axes, x.rank)
    if w.step.name == "linalg_norm" and (order is None or len(listed) == 1):
        return norm_of(w, name, 2 if order is None else order, listed, a.keepdim, dtype)
    if order is None or order == "fro":
        return norm_of(w, name, 2, listed, a.keepdim, dtype)
    if isinstance(order, str) or abs(order) not in (1, math.inf):
        raise NotImplementedError(f"{w.step.name} of order {order!r} needs singular values, which ONNX lacks")
    rows, columns = (d % x.rank for d in ((-2, -1) if axes is None else axes))
    summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = w.reduce("ReduceL1", name, [summed], True)
    found = w.reduce("ReduceMax" if order > 0 else "ReduceMin", sums, [compared], True)
    return found if a.keepdim else w.squeeze(found, rows, columns)


@rule("logsumexp")
def logsumexp(w, a, out):
    return w.reduce("ReduceLogSumExp", w.cast(a.self, out[0].dtype), dims(a.dim, a.self.rank), a.keepdim)


# --- along a dim ---


@rule("cumsum")
def cumsum(w, a, out):
    return w.op("CumSum", w.cast(a.self, out[0].dtype), w.const(a.dim, torch.int64))


@rule("diff")
def diff(w, a, out):
    rank = a.self.rank
    dim = a.dim % rank
    parts = [p for p in (a.prepend, a.self, a.append) if p is not None]
    x = w.op("Concat", *parts, axis=dim) if len(parts) > 1 else w.name(a.self)
    for _ in range(a.n):
        x = w.op("Sub", w.slice(x, dim, 1, 2**63 - 1), w.slice(x, dim, 0, -1))
    return x


# --- losses ---


def _reduced(w, x, reduction):
    return x if reduction == 0 else w.reduce("ReduceMean" if reduction == 1 else "ReduceSum", x, None, False)


@rule("mse_loss", "l1_loss")
def mse_loss(w, a, out):
    dtype = out[0].dtype
    away = w.op("Sub", w.cast(a.self, dtype), w.cast(a.target, dtype))
    return _reduced(w, w.op("Mul", away, away) if w.step.name == "mse_loss" else w.op("Abs", away), a.reduction)


@rule("nll_loss")
def nll_loss(w, a, out):
    reduction = ("none", "mean", "sum")[a.reduction]
    x, target = w.name(a.self), w.name(a.target)
    if a.self.rank == 1:
        x, target = w.unsqueeze(x, 0), w.reshape(target, [1])
    found = w.op("NegativeLogLikelihoodLoss", x, target, a.weight, reduction=reduction, ignore_index=a.ignore_index)
    return w.op("Reshape", found, w.const([], torch.int64)) if a.self.rank == 1 and a.reduction == 0 else found


def _classes(w, x, axis, dtype):
    """How many classes the scores tell apart."""
    return w.cast(w.op("Gather", w.op("Shape", x), w.const(axis, torch.int64), axis=0), dtype, torch.int64)


@rule("cross_entropy")
def cross_entropy(w, a, out):
    x, dtype = a.self, out[0].dtype
    scores = w.op("LogSoftmax", x, axis=1 if x.rank > 1 else 0)
    axis = 1 if x.rank > 1 else 0
    weight = a.weight and w.reshape(w.name(a.weight), [-1, *[1] * max(x.rank - 2, 0)])
    if a.target.is_float:
        target = w.name(a.target)
        if a.label_smoothing:
            kept = w.op("Mul", target, w.const(1 - a.label_smoothing, dtype))
            target = w.op("Add", kept, w.op("Div", w.const(a.label_smoothing, dtype), _classes(w, x, axis, dtype)))
        weighted = w.op("Mul", scores, target)
        weighted = weighted if weight is None else w.op("Mul", weighted, weight)
        found = w.op("Neg", w.reduce("ReduceSum", weighted, [axis], False))
        if a.reduction != 1 or x.rank == 1:
            return _reduced(w, found, a.reduction)
        return w.op("Div", w.reduce("ReduceSum", found, None, False), w.cast(w.op("Size", found), dtype, torch.int64))
    target = w.name(a.target)
    if x.rank == 1:
        scores, target = w.unsqueeze(scores, 0), w.reshape(target, [1])
    reduction = 0 if a.label_smoothing else a.reduction
    options = {"reduction": ("none", "mean", "sum")[reduction], "ignore_index": a.ignore_index}
    found = w.op("NegativeLogLikelihoodLoss", scores, target, a.weight, **options)
    if a.label_smoothing:
        counts = w.op("Not", w.op("Equal", target, w.const(a.ignore_index, torch.int64)))
        counted = w.cast(counts, dtype, torch.bool)
        weighted = scores if weight is None else w.op("Mul", scores, weight)
        smooth = w.op("Neg", w.reduce("ReduceSum", weighted, [1], False))
        smooth = w.op("Where", counts, w.op("Div", smooth, _classes(w, x, axis, dtype)), w.const(0, dtype))
        share = w.const(a.label_smoothing, dtype)
        found = w.op("Add", w.op("Mul", found, w.const(1 - a.label_smoothing, dtype)), w.op("Mul", smooth, share))
        if a.reduction:
            found = w.reduce("ReduceSum", found, None, False)
        if a.reduction == 1:
            if weight is not None:
                own = w.op("Gather", a.weight, w.op("Where", counts, target, w.const(0, torch.int64)), axis=0)
                counted = w.op("Mul", own, counted)
            found = w.op("Div", found, w.reduce("ReduceSum", counted, None, False))
    return w.op("Reshape", found, w.const([], torch.int64)) if x.rank == 1 and a.reduction == 0 else found


@rule("_cdist_forward")
def distances(w, a, out):
    """The norm of each difference of two rows, which are all in memory at once."""
    dtype, p = out[0].dtype, float(a.p)
    apart = w.op("Abs", w.op("Sub", w.unsqueeze(w.name(a.x1), a.x1.rank - 1), w.unsqueeze(w.name(a.x2), a.x2.rank - 2)))
    if p == 0:
        counts = w.cast(w.op("Not", w.op("Equal", apart, w.const(0, dtype))), dtype, torch.bool)
        is_number = w.op("Equal", apart, apart)
        return w.reduce("ReduceSum", w.op("Where", is_number, counts, apart), [-1], False)
    if p in (1, 2, math.inf):
        return w.reduce({1: "ReduceSum", 2: "ReduceL2"}.get(p, "ReduceMax"), apart, [-1], False)
    powers = w.reduce("ReduceSum", w.op("Pow", apart, w.const(p, dtype)), [-1], False)
    return w.op("Pow", powers, w.const(1 / p, dtype))
