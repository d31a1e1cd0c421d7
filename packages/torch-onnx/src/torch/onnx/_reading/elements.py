"""Element by element, and reductions."""

from __future__ import annotations

import functools
import math

import torch
from torch.nn import functional as F

from .._types import NARROW, dtype_of
from . import READERS, reader

_SAME = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh, "Atan": torch.atan,
    "Atanh": torch.atanh, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh, "Erf": torch.erf, "Exp": torch.exp,
    "Floor": torch.floor, "Log": torch.log, "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Relu": torch.relu,
    "Round": torch.round, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh,
    "Softplus": F.softplus, "Softsign": F.softsign, "Sqrt": torch.sqrt, "Tan": torch.tan, "Tanh": torch.tanh,
    "Not": torch.logical_not, "IsNaN": torch.isnan, "HardSwish": F.hardswish, "Mish": F.mish, "Add": torch.add,
    "Sub": torch.sub, "Mul": torch.mul, "Equal": torch.eq, "Greater": torch.gt, "GreaterOrEqual": torch.ge,
    "Less": torch.lt, "LessOrEqual": torch.le, "And": torch.logical_and, "Or": torch.logical_or, "Xor": torch.logical_xor,
    "Where": torch.where, "MatMul": torch.matmul, "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor, "BitwiseNot": torch.bitwise_not,
}  # fmt: skip
READERS.update(_SAME)


@reader("Identity")
def identity(x):
    return x


@reader("Pow")
def power(x, y):
    return torch.pow(x, y).to(x.dtype)


@reader("Div")
def div(x, y):
    return torch.div(x, y) if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


@reader("Mod")
def mod(x, y, fmod=0):
    return torch.fmod(x, y) if fmod else torch.remainder(x, y)


@reader("Max", "Min")
def extreme(first, *others, kind):
    return functools.reduce(torch.maximum if kind == "Max" else torch.minimum, others, first)


@reader("Sum", "Mean")
def total(first, *others, kind):
    found = functools.reduce(torch.add, others, first)
    return found / (1 + len(others)) if kind == "Mean" else found


@reader("IsInf")
def isinf(x, detect_negative=1, detect_positive=1):
    found = torch.isinf(x)
    return found if detect_negative and detect_positive else found & ((x > 0) if detect_positive else (x < 0))


@reader("Cast")
def cast(x, to, saturate=1, round_mode="up"):
    return in_few_bits(x, to) if to in NARROW else in_dtype(x, dtype_of(to), saturate)


@reader("CastLike")
def cast_like(x, like, saturate=1, to=None):
    return in_dtype(x, like.dtype, saturate) if to is None else in_few_bits(x, to)


def in_few_bits(x, kind):
    """Integers of 2 or 4 bits in bytes: the last bits of each number."""
    dtype, low, high = NARROW[kind]
    return ((x.to(torch.int64) - low) % (high - low + 1) + low).to(dtype)


def in_dtype(x, dtype, saturate):
    """In a dtype; what lies beyond the floats of 8 bits becomes the last of them, or with ``saturate=0`` NaN or infinity."""
    if dtype.itemsize == 1 and dtype.is_floating_point and x.is_floating_point():
        info = torch.finfo(dtype)
        x = x if x.dtype.itemsize > 1 else x.float()
        if saturate:
            x = x.clamp(-info.max, info.max)
        elif dtype == torch.float8_e4m3fn:  # which torch ends at its last number
            half_a_step = 2.0 ** math.floor(math.log2(info.max)) * info.eps / 2
            x = torch.where(x.abs() > info.max + half_a_step, torch.full_like(x, torch.nan), x)
    return x.to(dtype)


@reader("BitCast")
def bit_cast(x, to):
    return x.view(dtype_of(to))


@reader("Clip")
def clip(x, low=None, high=None, *, min=None, max=None):
    if min is not None or max is not None:  # numbers before opset 11
        return torch.clamp(x, min, max)
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


# --- activations ---


@reader("LeakyRelu")
def leaky_relu(x, alpha=0.01):
    return F.leaky_relu(x, alpha)


@reader("Elu")
def elu(x, alpha=1.0):
    return F.elu(x, alpha)


@reader("Celu")
def celu(x, alpha=1.0):
    return F.celu(x, alpha)


@reader("Selu")
def selu(x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return gamma * F.elu(x, alpha)


@reader("PRelu")
def prelu(x, slope):
    return torch.where(x < 0, x * slope, x)


@reader("HardSigmoid")
def hard_sigmoid(x, alpha=0.2, beta=0.5):
    return torch.clamp(alpha * x + beta, 0, 1)


@reader("Gelu")
def gelu(x, approximate="none"):
    return F.gelu(x, approximate=approximate)


@reader("Shrink")
def shrink(x, lambd=0.5, bias=0.0):
    zero = torch.zeros_like(x)
    return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, zero))


@reader("ThresholdedRelu")
def thresholded_relu(x, alpha=1.0):
    return torch.where(x > alpha, x, torch.zeros_like(x))


@reader("Swish")
def swish(x, alpha=1.0):
    return x * torch.sigmoid(alpha * x)


@reader("BitShift")
def bit_shift(x, by, direction):
    return (torch.bitwise_left_shift if direction == "LEFT" else torch.bitwise_right_shift)(x, by)


@reader("Hardmax")
def hardmax(x, axis=None, *, opset):
    axis = axis if axis is not None else -1 if opset >= 13 else 1
    lines = x if opset >= 13 else x.flatten(axis)  # before, all dims from this one on were one
    dim = axis if opset >= 13 else -1
    found = torch.zeros_like(lines).scatter(dim, lines.argmax(dim, keepdim=True), 1)
    return found.reshape(x.shape)


@reader("Softmax", "LogSoftmax")
def softmax(x, axis=None, *, kind, opset):
    function = torch.softmax if kind == "Softmax" else torch.log_softmax
    if opset >= 13:
        return function(x, -1 if axis is None else axis)
    axis = 1 if axis is None else axis  # before, all dims from this one on were one
    return (
        function(x.flatten(axis), -1).reshape(x.shape) if axis % max(x.dim(), 1) != x.dim() - 1 else function(x, axis)
    )


# --- reductions ---


def _dims(x, axes, noop):
    if axes is None or not len(axes):
        return None if noop else list(range(x.dim()))
    return axes.tolist() if isinstance(axes, torch.Tensor) else list(axes)


def _extreme(find, x, dims, keepdim, least):
    """The greatest or least of each line; of one without elements the other end of the dtype."""
    if x.numel() or 0 not in [x.shape[d] for d in dims]:
        return find(x, dims, keepdim)
    shape = [1 if d in [e % x.dim() for e in dims] else size for d, size in enumerate(x.shape)]
    if x.dtype == torch.bool:
        end = not least
    elif x.is_floating_point():
        end = -torch.inf if least else torch.inf
    else:
        end = torch.iinfo(x.dtype).min if least else torch.iinfo(x.dtype).max
    found = x.new_full(shape, end)
    return found if keepdim else found.squeeze([d % x.dim() for d in dims])


_REDUCTIONS = {
    "ReduceSum": torch.sum, "ReduceMean": torch.mean, "ReduceMax": lambda x, d, k: _extreme(torch.amax, x, d, k, least=True),
    "ReduceMin": lambda x, d, k: _extreme(torch.amin, x, d, k, least=False),
    "ReduceLogSumExp": torch.logsumexp,
    "ReduceL1": lambda x, d, k: torch.sum(x.abs(), d, k), "ReduceL2": lambda x, d, k: torch.sum(x * x, d, k).sqrt(),
    "ReduceSumSquare": lambda x, d, k: torch.sum(x * x, d, k), "ReduceLogSum": lambda x, d, k: torch.sum(x, d, k).log(),
}  # fmt: skip


@reader(*_REDUCTIONS)
def reduce(x, axes=None, keepdims=1, noop_with_empty_axes=0, *, kind):
    dims = _dims(x, axes, noop_with_empty_axes)
    return x if dims is None or not x.dim() else _REDUCTIONS[kind](x, dims, bool(keepdims)).to(x.dtype)


@reader("ReduceProd")
def prod(x, axes=None, keepdims=1, noop_with_empty_axes=0):
    for dim in sorted((d % x.dim() for d in _dims(x, axes, noop_with_empty_axes) or ()), reverse=True):
        x = torch.prod(x, dim, bool(keepdims))
    return x


@reader("ArgMax", "ArgMin")
def argmax(x, axis=0, keepdims=1, select_last_index=0, *, kind):
    find = torch.argmax if kind == "ArgMax" else torch.argmin
    if select_last_index:
        return x.shape[axis] - 1 - find(x.flip(axis), axis, bool(keepdims))
    return find(x, axis, bool(keepdims))


@reader("CumSum")
def cumsum(x, axis, exclusive=0, reverse=0):
    dim = int(axis)
    x = x.flip(dim) if reverse else x
    found = torch.cumsum(x, dim, dtype=x.dtype)
    found = found - x if exclusive else found
    return found.flip(dim) if reverse else found


@reader("CumProd")
def cumprod(x, axis, exclusive=0, reverse=0):
    dim = int(axis)
    x = x.flip(dim) if reverse else x
    if exclusive:
        x = torch.cat([torch.ones_like(x.narrow(dim, 0, 1)), x.narrow(dim, 0, x.shape[dim] - 1)], dim)
    found = torch.cumprod(x, dim, dtype=x.dtype)
    return found.flip(dim) if reverse else found


@reader("TopK")
def topk(x, k, axis=-1, largest=1, sorted=1):  # k is an attribute before opset 10
    return tuple(torch.topk(x, int(k), axis, bool(largest), bool(sorted)))


@reader("Einsum")
def einsum(*operands, equation):
    return torch.einsum(equation, *operands)
