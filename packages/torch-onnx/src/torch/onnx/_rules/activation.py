"""Activations, softmax and dropout."""

from __future__ import annotations

import math

import torch

from . import rule


def _number(w, out, number):
    return w.const(float(number), out[0].dtype)


@rule("relu")
def relu(w, a, out):
    return w.op("Relu", a.self) if a.self.is_float else w.op("Max", a.self, w.const(0, a.self.dtype))


@rule("relu6")
def relu6(w, a, out):
    return w.op("Clip", a.self, w.const(0, out[0].dtype), w.const(6, out[0].dtype))


@rule("hardtanh")
def hardtanh(w, a, out):
    return w.op("Clip", a.self, w.const(a.min_val, out[0].dtype), w.const(a.max_val, out[0].dtype))


@rule("threshold")
def threshold(w, a, out):
    over = w.op("Greater", a.self, w.const(a.threshold, a.self.dtype))
    return w.op("Where", over, a.self, w.const(a.value, a.self.dtype))


@rule("leaky_relu")
def leaky_relu(w, a, out):
    return w.op("LeakyRelu", a.self, alpha=float(a.negative_slope))


@rule("elu")
def elu(w, a, out):
    x = a.self if a.input_scale == 1 else w.op("Mul", a.self, _number(w, out, a.input_scale))
    found = w.op("Elu", x, alpha=float(a.alpha))
    if a.input_scale != 1:
        over = w.op("Greater", a.self, _number(w, out, 0))
        found = w.op("Where", over, a.self, found)
    return found if a.scale == 1 else w.op("Mul", found, _number(w, out, a.scale))


@rule("selu")
def selu(w, a, out):
    return w.op("Selu", a.self)


@rule("celu")
def celu(w, a, out):
    if a.self.dtype == torch.float32:
        return w.op("Celu", a.self, alpha=float(a.alpha))
    zero, alpha = _number(w, out, 0), _number(w, out, a.alpha)  # Celu has no other type
    below = w.op("Sub", w.op("Exp", w.op("Div", w.op("Min", a.self, zero), alpha)), _number(w, out, 1))
    return w.op("Add", w.op("Max", a.self, zero), w.op("Mul", alpha, below))


@rule("hardsigmoid")
def hardsigmoid(w, a, out):
    return w.op("HardSigmoid", a.self, alpha=1 / 6, beta=0.5)


@rule("hardswish")
def hardswish(w, a, out):
    if w.opset >= 14:
        return w.op("HardSwish", a.self)
    return w.op("Mul", a.self, hardsigmoid(w, a, out))


@rule("silu")
def silu(w, a, out):
    return w.op("Mul", a.self, w.op("Sigmoid", a.self))


@rule("mish")
def mish(w, a, out):
    return w.op("Mul", a.self, w.op("Tanh", w.op("Softplus", a.self)))


@rule("gelu")
def gelu(w, a, out):
    if w.opset >= 20:
        return w.op("Gelu", a.self, approximate=a.approximate)
    half, one, x = _number(w, out, 0.5), _number(w, out, 1), w.name(a.self)
    if a.approximate == "tanh":
        cube = w.op("Mul", w.op("Mul", x, x), x)
        inner = w.op("Add", x, w.op("Mul", _number(w, out, 0.044715), cube))
        part = w.op("Tanh", w.op("Mul", _number(w, out, math.sqrt(2 / math.pi)), inner))
    else:
        part = w.op("Erf", w.op("Mul", x, _number(w, out, math.sqrt(0.5))))
    return w.op("Mul", w.op("Mul", half, x), w.op("Add", one, part))


@rule("softplus")
def softplus(w, a, out):
    if a.beta == 1:
        smooth, scaled = w.op("Softplus", a.self), w.name(a.self)
    else:
        scaled = w.op("Mul", a.self, _number(w, out, a.beta))
        smooth = w.op("Div", w.op("Softplus", scaled), _number(w, out, a.beta))
    return w.op("Where", w.op("Greater", scaled, _number(w, out, a.threshold)), a.self, smooth)


@rule("log_sigmoid")
def log_sigmoid(w, a, out):
    return w.op("Neg", w.op("Softplus", w.op("Neg", a.self)))


@rule("hardshrink", "softshrink")
def shrink(w, a, out):
    """Not by Shrink, which makes NaN 0."""
    bound, x = _number(w, out, a.lambd), w.name(a.self)
    size = w.op("Abs", x)
    if w.step.name == "softshrink":
        x = w.op("Mul", w.op("Sign", x), w.op("Sub", size, bound))
    return w.op("Where", w.op("LessOrEqual", size, bound), _number(w, out, 0), x)


@rule("huber")
def huber(w, a, out):
    """m (|x| - m / 2) with the lesser of the two."""
    size = w.op("Abs", w.name(a.self))
    least = w.op("Min", size, _number(w, out, a.delta))
    return w.op("Mul", least, w.op("Sub", size, w.op("Mul", least, _number(w, out, 0.5))))


@rule("prelu", "_prelu_kernel")
def prelu(w, a, out):
    slope = a.weight
    if w.step.name == "prelu" and a.self.rank > 2 and a.weight.shape != (1,):
        slope = w.reshape(a.weight, [-1, *[1] * (a.self.rank - 2)])
    return w.op("PRelu", a.self, slope)


@rule("glu")
def glu(w, a, out):
    dim = a.dim % a.self.rank
    size = out[0].shape[dim]
    if isinstance(size, int):
        one, two = w.op("Split", a.self, w.const([size, size], torch.int64), axis=dim, outputs=2)
    else:
        w.needs(18, "glu along a size that may change")
        one, two = w.op("Split", a.self, axis=dim, num_outputs=2, outputs=2)
    return w.op("Mul", one, w.op("Sigmoid", two))


@rule("softmax", "log_softmax", "softmin", "_softmax", "_log_softmax", "_safe_softmax")
def softmax(w, a, out):
    x, is_log = w.cast(a.self, out[0].dtype), w.step.name.endswith("log_softmax")
    if w.step.name == "softmin":
        x = w.op("Neg", x)
    shares = w.op("LogSoftmax" if is_log else "Softmax", x, axis=a.dim)
    if w.step.name != "_safe_softmax":
        return shares
    most = w.reduce("ReduceMax", x, [a.dim], True)
    return w.op("Where", w.op("Equal", most, w.const(-math.inf, out[0].dtype)), w.const(0.0, out[0].dtype), shares)


@rule("dropout")
def dropout(w, a, out):
    if not a.train or a.p == 0:
        return w.name(a.input)
    return w.op("Dropout", a.input, w.const(float(a.p), torch.float32), w.const(True))


@rule("native_dropout")
def native_dropout(w, a, out):
    if not a.train:
        return w.name(a.input), w.op("Expand", w.const(True), w.shape(a.input))
    return w.op("Dropout", a.input, w.const(float(a.p), torch.float32), w.const(True), outputs=2)
