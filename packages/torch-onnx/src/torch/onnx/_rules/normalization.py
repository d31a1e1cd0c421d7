"""Normalisation."""

from __future__ import annotations

import torch

from . import rule


def _scale(w, a):
    """The weight and bias of each channel."""
    return (_each(w, a, 1) if a.weight is None else a.weight), (_each(w, a, 0) if a.bias is None else a.bias)


def _each(w, a, number):
    """A number for each channel."""
    channels, dtype = w.size(a.input, 1), a.input.dtype
    if isinstance(channels, int):
        return w.const(torch.full((channels,), number, dtype=dtype))
    return w.op("Expand", w.const(number, dtype), w.ints([channels]))


def _by_running(w, a):
    return w.op("BatchNormalization", a.input, *_scale(w, a), a.running_mean, a.running_var, epsilon=float(a.eps))


@rule("_native_batch_norm_legit_no_training")
def native_batch_norm(w, a, out):
    none = w.const(torch.zeros(0, dtype=a.running_mean.dtype))
    return _by_running(w, a), none, none


@rule("batch_norm")
def batch_norm(w, a, out):
    if not a.training:
        return _by_running(w, a)
    x, (weight, bias) = a.input, _scale(w, a)
    dims = [d for d in range(x.rank) if d != 1]
    return _normalised(w, x, dims, a.eps, [1, -1, *[1] * (x.rank - 2)], weight, bias)


def _normalised(w, x, dims, eps, shape, weight, bias):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, step by step."""
    dtype = x.dtype
    mean = w.reduce("ReduceMean", x, dims, True)
    away = w.op("Sub", x, mean)
    variance = w.reduce("ReduceMean", w.op("Mul", away, away), dims, True)
    found = w.op("Div", away, w.op("Sqrt", w.op("Add", variance, w.const(eps, dtype))))
    for kind, part in (("Mul", weight), ("Add", bias)):
        if part is not None:
            found = w.op(kind, found, w.reshape(part, shape) if shape is not None else part)
    return found


@rule("layer_norm")
def layer_norm(w, a, out):
    n = len(a.normalized_shape)
    if w.opset < 17:
        return _normalised(w, a.input, list(range(a.input.rank - n, a.input.rank)), a.eps, None, a.weight, a.bias)
    weight = a.weight
    if weight is None:
        sizes, dtype = list(a.normalized_shape), a.input.dtype
        if all(isinstance(size, int) for size in sizes):
            weight = w.const(torch.ones(sizes, dtype=dtype))
        else:
            weight = w.op("Expand", w.const(1, dtype), w.ints(sizes))
    return w.op("LayerNormalization", a.input, weight, a.bias, axis=-n, epsilon=float(a.eps))


@rule("native_layer_norm", "_native_layer_norm")
def native_layer_norm(w, a, out):
    n, x, dtype = len(a.normalized_shape), a.input, a.input.dtype
    dims = list(range(x.rank - n, x.rank))
    mean = w.reduce("ReduceMean", x, dims, True)
    away = w.op("Sub", x, mean)
    variance = w.reduce("ReduceMean", w.op("Mul", away, away), dims, True)
    scale = w.op("Reciprocal", w.op("Sqrt", w.op("Add", variance, w.const(a.eps, dtype))))
    found = w.op("Mul", away, scale)
    for kind, part in (("Mul", a.weight), ("Add", a.bias)):
        found = w.op(kind, found, part) if part is not None else found
    return found, mean, scale


@rule("native_group_norm")
def native_group_norm(w, a, out):
    rows = w.op("Reshape", a.input, w.const([0, a.group, -1], torch.int64))
    mean = w.reduce("ReduceMean", rows, [2], True)
    away = w.op("Sub", rows, mean)
    variance = w.reduce("ReduceMean", w.op("Mul", away, away), [2], True)
    scale = w.op("Reciprocal", w.op("Sqrt", w.op("Add", variance, w.const(a.eps, a.input.dtype))))
    return _grouped(w, a, a.group), w.squeeze(mean, 2), w.squeeze(scale, 2)


@rule("group_norm")
def group_norm(w, a, out):
    return _grouped(w, a, a.num_groups)


def _grouped(w, a, groups):
    x, dtype = a.input, a.input.dtype
    rows = w.op("Reshape", x, w.const([0, groups, -1], torch.int64))
    ones, zeros = (w.const(f(groups, dtype=dtype)) for f in (torch.ones, torch.zeros))
    found = w.op("InstanceNormalization", rows, ones, zeros, epsilon=float(a.eps))
    found = w.op("Reshape", found, w.shape(x))
    for kind, part in (("Mul", a.weight), ("Add", a.bias)):
        if part is not None:
            found = w.op(kind, found, w.reshape(part, [-1, *[1] * (x.rank - 2)]))
    return found


@rule("instance_norm")
def instance_norm(w, a, out):
    x, (weight, bias) = a.input, _scale(w, a)
    if not a.use_input_stats:
        return w.op("BatchNormalization", x, weight, bias, a.running_mean, a.running_var, epsilon=float(a.eps))
    return w.op("InstanceNormalization", x, weight, bias, epsilon=float(a.eps))
