"""Element by element."""

from __future__ import annotations

import math

import torch

from . import common, operands, rule

# --- of one tensor ---

_SAME = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log", "neg": "Neg",
    "reciprocal": "Reciprocal", "sigmoid": "Sigmoid", "sign": "Sign", "sgn": "Sign", "sin": "Sin", "sinh": "Sinh",
    "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip


def _same(kind):
    def write(w, a, out):
        if out[0].dtype == torch.bool:  # abs and sign, which change nothing there
            return w.name(a.self)
        return w.op(kind, w.cast(a.self, out[0].dtype))

    return write


for _name, _kind in _SAME.items():
    rule(_name)(_same(_kind))


def _integers_as_they_are(kind):
    def write(w, a, out):
        return w.op(kind, a.self) if a.self.is_float else w.name(a.self)

    return write


for _name, _kind in {"ceil": "Ceil", "floor": "Floor"}.items():
    rule(_name)(_integers_as_they_are(_kind))


def _near_zero(w, x, c, near, far):
    """Two formulas: one for what is smaller than 1/2, where sums with 1 lose digits."""
    return w.op("Where", w.op("Less", w.op("Abs", x), c(0.5)), near, far)


def _expm1_near_zero(w, x, c):
    """exp(x) - 1 = 2 t / (1 - t) for t = tanh(x / 2)."""
    t = w.op("Tanh", w.op("Mul", x, c(0.5)))
    return w.op("Div", w.op("Add", t, t), w.op("Sub", c(1), t))


def _log1p_near_zero(w, x, c):
    """Kahan's: what 1 + x lost cancels in log(1 + x) / ((1 + x) - 1)."""
    sum_ = w.op("Add", x, c(1))
    kept = w.op("Sub", sum_, c(1))
    is_lost = w.op("Equal", kept, c(0))
    ratio = w.op("Div", w.op("Log", sum_), w.op("Where", is_lost, c(1), kept))
    return w.op("Where", is_lost, x, w.op("Mul", x, ratio))


#: f(writer, x, constant): x is of the result's dtype, constant(number) too
_FORMULAS = {
    "rsqrt": lambda w, x, c: w.op("Reciprocal", w.op("Sqrt", x)),
    "exp2": lambda w, x, c: w.op("Exp", w.op("Mul", x, c(math.log(2)))),
    "expm1": lambda w, x, c: _near_zero(w, x, c, _expm1_near_zero(w, x, c), w.op("Sub", w.op("Exp", x), c(1))),
    "log1p": lambda w, x, c: _near_zero(w, x, c, _log1p_near_zero(w, x, c), w.op("Log", w.op("Add", x, c(1)))),
    "log2": lambda w, x, c: w.op("Div", w.op("Log", x), c(math.log(2))),
    "log10": lambda w, x, c: w.op("Div", w.op("Log", x), c(math.log(10))),
    "square": lambda w, x, c: w.op("Mul", x, x),
    "erfc": lambda w, x, c: w.op("Sub", c(1), w.op("Erf", x)),
    "deg2rad": lambda w, x, c: w.op("Mul", x, c(math.pi / 180)),
    "rad2deg": lambda w, x, c: w.op("Mul", x, c(180 / math.pi)),
    "positive": lambda w, x, c: x,
    "logit": lambda w, x, c: w.op("Log", w.op("Div", x, w.op("Sub", c(1), x))),
}


def _formula(formula):
    def write(w, a, out):
        dtype = out[0].dtype
        x = w.cast(a.self, dtype)
        if getattr(a, "eps", None) is not None:
            x = w.op("Clip", x, w.const(a.eps, dtype), w.const(1 - a.eps, dtype))
        return formula(w, x, lambda number: w.const(number, dtype))

    return write


for _name, _function in _FORMULAS.items():
    rule(_name)(_formula(_function))


@rule("trunc")
def trunc(w, a, out):
    if not a.self.is_float:
        return w.name(a.self)
    return w.op("Mul", w.op("Sign", a.self), w.op("Floor", w.op("Abs", a.self)))


@rule("frac")
def frac(w, a, out):
    return w.op("Sub", a.self, trunc(w, a, out))


@rule("round")
def round_(w, a, out):
    if not a.decimals:
        return w.op("Round", a.self) if a.self.is_float else w.name(a.self)
    unit = w.const(10.0**a.decimals, a.self.dtype)
    return w.op("Div", w.op("Round", w.op("Mul", a.self, unit)), unit)


@rule("sinc")
def sinc(w, a, out):
    dtype = out[0].dtype
    x = w.op("Mul", w.cast(a.self, dtype), w.const(math.pi, dtype))
    zero, one = w.const(0, dtype), w.const(1, dtype)
    is_zero = w.op("Equal", x, zero)
    x = w.op("Where", is_zero, one, x)
    return w.op("Where", is_zero, one, w.op("Div", w.op("Sin", x), x))


@rule("nan_to_num")
def nan_to_num(w, a, out):
    dtype = a.self.dtype
    if not a.self.is_float:
        return w.name(a.self)
    limits = torch.finfo(dtype)
    x = w.op("Where", w.op("IsNaN", a.self), w.const(a.nan or 0.0, dtype), a.self)
    high, low = limits.max if a.posinf is None else a.posinf, limits.min if a.neginf is None else a.neginf
    x = w.op("Where", w.is_inf(x, dtype, negative=0), w.const(high, dtype), x)
    return w.op("Where", w.is_inf(x, dtype, positive=0), w.const(low, dtype), x)


# --- questions ---


@rule("isnan")
def isnan(w, a, out):
    return w.op("IsNaN", a.self) if a.self.is_float else w.op("Expand", w.const(False), w.shape(a.self))


@rule("isinf", "isposinf", "isneginf")
def isinf(w, a, out):
    positive, negative = {"isposinf": (1, 0), "isneginf": (0, 1)}.get(w.step.name, (1, 1))
    if not a.self.is_float:
        return w.op("Expand", w.const(False), w.shape(a.self))
    return w.is_inf(a.self, a.self.dtype, positive, negative)


@rule("isfinite")
def isfinite(w, a, out):
    if not a.self.is_float:
        return w.op("Expand", w.const(True), w.shape(a.self))
    return w.op("Not", w.op("Or", w.is_inf(a.self, a.self.dtype), w.op("IsNaN", a.self)))


@rule("signbit")
def signbit(w, a, out):
    dtype = a.self.dtype
    if dtype == torch.bool:
        return w.op("Expand", w.const(False), w.shape(a.self))
    zero = w.const(0, dtype)
    below = w.op("Less", a.self, zero)
    if not a.self.is_float:
        return below
    # -0.0 is told by its reciprocal
    return w.op("Or", below, w.op("Less", w.op("Reciprocal", a.self), zero))


@rule("logical_not", "bitwise_not")
def logical_not(w, a, out):
    if w.step.name == "bitwise_not" and a.self.dtype != torch.bool:
        if w.opset >= 18:
            return w.op("BitwiseNot", a.self)
        if not a.self.dtype.is_signed:
            return w.op("Sub", w.const(torch.iinfo(a.self.dtype).max, a.self.dtype), a.self)
        return w.op("Sub", w.op("Neg", a.self), w.const(1, a.self.dtype))
    return w.op("Not", w.cast(a.self, torch.bool))


def _comparison(kind, inverted=False):
    def write(w, a, out):
        x, y = operands(w, common(a.self, a.other), a.self, a.other)
        found = w.op(kind, x, y)
        return w.op("Not", found) if inverted else found

    return write


for _name, _kind in {"eq": "Equal", "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual"}.items():
    rule(_name)(_comparison(_kind))
rule("ne")(_comparison("Equal", inverted=True))


def _logical(kind):
    return lambda w, a, out: w.op(kind, w.cast(a.self, torch.bool), w.cast(a.other, torch.bool))


for _name, _kind in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}.items():
    rule(_name)(_logical(_kind))


@rule("bitwise_and", "bitwise_or", "bitwise_xor")
def bitwise(w, a, out):
    kind = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}[w.step.name]
    dtype = out[0].dtype
    if dtype != torch.bool:
        w.needs(18, "operators on the bits of ints")
        kind = f"Bitwise{kind}"
    return w.op(kind, *operands(w, dtype, a.self, a.other))


@rule("isclose")
def isclose(w, a, out):
    dtype = common(a.self, a.other)
    x, y = operands(w, dtype, a.self, a.other)
    bound = w.op("Add", w.const(a.atol, dtype), w.op("Mul", w.const(a.rtol, dtype), w.op("Abs", y)))
    away = w.op("Abs", w.op("Sub", x, y))
    near = w.op("LessOrEqual", away, bound)
    if dtype.is_floating_point:  # nothing is close to infinity but itself
        near = w.op("And", near, w.op("Less", away, w.const(math.inf, dtype)))
    near = w.op("Or", near, w.op("Equal", x, y))
    return w.op("Or", near, w.op("And", w.op("IsNaN", x), w.op("IsNaN", y))) if a.equal_nan else near


# --- of two ---


@rule("add", "sub", "rsub")
def add(w, a, out):
    dtype = out[0].dtype
    if dtype == torch.bool:
        return w.op("Or", *operands(w, dtype, a.self, a.other))
    first, second = operands(w, dtype, a.self, a.other)
    if w.step.name == "rsub":
        first, second = second, first
    if a.alpha != 1:
        if w.step.name == "rsub":
            second = w.op("Mul", second, w.const(a.alpha, dtype))
        else:
            second = w.op("Mul", second, w.const(a.alpha, dtype))
    return w.op("Add" if w.step.name == "add" else "Sub", first, second)


@rule("mul")
def mul(w, a, out):
    return w.op("And" if out[0].dtype == torch.bool else "Mul", *operands(w, out[0].dtype, a.self, a.other))


@rule("div", "true_divide", "floor_divide")
def div(w, a, out):
    dtype = out[0].dtype
    mode = "floor" if w.step.name == "floor_divide" else getattr(a, "rounding_mode", None)
    x, y = operands(w, dtype, a.self, a.other)
    if mode is None or (mode == "trunc" and not dtype.is_floating_point):
        return w.op("Div", x, y)
    if dtype.is_floating_point:
        quotient = w.op("Div", x, y)
        if mode == "floor":
            return w.op("Floor", quotient)
        return w.op("Mul", w.op("Sign", quotient), w.op("Floor", w.op("Abs", quotient)))
    return w.op("Div", w.op("Sub", x, w.op("Mod", x, y)), y)


@rule("remainder")
def remainder(w, a, out):
    dtype = out[0].dtype
    x, y = operands(w, dtype, a.self, a.other)
    if dtype.is_floating_point:
        return w.op("Sub", x, w.op("Mul", y, w.op("Floor", w.op("Div", x, y))))
    return w.op("Mod", x, y)


@rule("fmod")
def fmod(w, a, out):
    return w.op("Mod", *operands(w, out[0].dtype, a.self, a.other), fmod=1)


@rule("pow", "float_power")
def pow_(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.exponent)
    if a.exponent == 2:
        return w.op("Mul", x, x)
    return w.op("Sqrt", x) if a.exponent == 0.5 else w.op("Pow", x, y)


#: Max and Min of two bools, which ONNX does not compare
_OF_BOOLS = {"Max": "Or", "Min": "And"}


def extreme(w, kind, dtype, x, y):
    """The larger or smaller one of two names."""
    return w.op(_OF_BOOLS[kind] if dtype == torch.bool else kind, x, y)


def _extreme(kind):
    return lambda w, a, out: extreme(w, kind, out[0].dtype, *operands(w, out[0].dtype, a.self, a.other))


rule("maximum")(_extreme("Max"))
rule("minimum")(_extreme("Min"))


@rule("fmax", "fmin")
def fmax(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.other)
    found = extreme(w, "Max" if w.step.name == "fmax" else "Min", out[0].dtype, x, y)
    if not out[0].dtype.is_floating_point:
        return found
    return w.op("Where", w.op("IsNaN", x), y, w.op("Where", w.op("IsNaN", y), x, found))


@rule("atan2")
def atan2(w, a, out):
    return atan2_of(w, *operands(w, out[0].dtype, a.self, a.other), out[0].dtype)


def atan2_of(w, y, x, dtype):
    """The angle of names ``y`` over ``x``."""
    zero, pi = w.const(0, dtype), w.const(math.pi, dtype)
    slope = w.op("Atan", w.op("Div", y, x))
    up = w.op("Where", w.op("Less", y, zero), w.op("Neg", pi), pi)
    found = w.op("Where", w.op("Less", x, zero), w.op("Add", slope, up), slope)
    at_zero = w.op("Mul", w.op("Sign", y), w.const(math.pi / 2, dtype))
    return w.op("Where", w.op("Equal", x, zero), at_zero, found)


@rule("hypot")
def hypot(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.other)
    return w.op("Sqrt", w.op("Add", w.op("Mul", x, x), w.op("Mul", y, y)))


@rule("logaddexp")
def logaddexp(w, a, out):
    x, y = operands(w, out[0].dtype, a.self, a.other)
    away = w.op("Neg", w.op("Abs", w.op("Sub", x, y)))
    return w.op("Add", w.op("Max", x, y), w.op("Log", w.op("Add", w.op("Exp", away), w.const(1, out[0].dtype))))


@rule("xlogy")
def xlogy(w, a, out):
    dtype = out[0].dtype
    x, y = operands(w, dtype, a.self, a.other)
    zero = w.const(0, dtype)
    return w.op("Where", w.op("Equal", x, zero), zero, w.op("Mul", x, w.op("Log", y)))


@rule("logaddexp2")
def logaddexp2(w, a, out):
    dtype = out[0].dtype
    x, y = operands(w, dtype, a.self, a.other)
    two = w.const(math.log(2), dtype)
    away = w.op("Exp", w.op("Mul", w.op("Neg", w.op("Abs", w.op("Sub", x, y))), two))
    return w.op("Add", w.op("Max", x, y), w.op("Div", w.op("Log", w.op("Add", away, w.const(1, dtype))), two))


@rule("heaviside")
def heaviside(w, a, out):
    dtype = out[0].dtype
    x, y = operands(w, dtype, a.self, a.other)
    zero = w.const(0, dtype)
    return w.op("Where", w.op("Equal", x, zero), y, w.cast(w.op("Greater", x, zero), dtype))


@rule("ldexp")
def ldexp(w, a, out):
    dtype = out[0].dtype
    return w.op("Mul", w.cast(a.self, dtype), w.op("Pow", w.const(2, dtype), w.cast(a.other, dtype)))


@rule("bitwise_left_shift", "bitwise_right_shift")
def shift(w, a, out):
    """Products and quotients by powers of two: BitShift takes unsigned ints only."""
    dtype = out[0].dtype
    x, y = operands(w, torch.int64, a.self, a.other)
    power = w.op("Pow", w.const(2, torch.int64), y)
    if w.step.name == "bitwise_left_shift":
        found = w.op("Mul", x, power)
    else:
        found = w.op("Div", w.op("Sub", x, w.op("Mod", x, power)), power)
    return w.cast(found, dtype, torch.int64)


@rule("isreal")
def isreal(w, a, out):
    return w.op("Expand", w.const(True), w.shape(a.self))


@rule("copysign")
def copysign(w, a, out):
    dtype = out[0].dtype
    x, y = operands(w, dtype, a.self, a.other)
    size = w.op("Abs", x)
    return w.op("Where", w.op("Less", y, w.const(0, dtype)), w.op("Neg", size), size)


# --- of three ---


@rule("where")
def where(w, a, out):
    if not hasattr(a, "self"):
        return tuple(
            w.squeeze(p, 0) for p in _split_rows(w, w.op("NonZero", w.cast(a.condition, torch.bool)), a.condition.rank)
        )
    return w.op("Where", w.cast(a.condition, torch.bool), *operands(w, out[0].dtype, a.self, a.other))


def _split_rows(w, x, count):
    if count == 1:
        return [x]
    return w.op("Split", x, w.const([1] * count, torch.int64), axis=0, outputs=count)


@rule("masked_fill")
def masked_fill(w, a, out):
    return w.op("Where", w.cast(a.mask, torch.bool), w.cast(a.value, out[0].dtype), w.cast(a.self, out[0].dtype))


@rule("clamp", "clip", "clamp_min", "clamp_max")
def clamp(w, a, out):
    dtype, x = out[0].dtype, w.cast(a.self, out[0].dtype)
    for kind, bound in (("Max", getattr(a, "min", None)), ("Min", getattr(a, "max", None))):
        if bound is not None:
            x = extreme(w, kind, dtype, x, w.cast(bound, dtype))
    return x


@rule("lerp")
def lerp(w, a, out):
    start, end, weight = operands(w, out[0].dtype, a.self, a.end, a.weight)
    away = w.op("Sub", end, start)
    near = w.op("Add", start, w.op("Mul", weight, away))
    far = w.op("Sub", end, w.op("Mul", away, w.op("Sub", w.const(1, out[0].dtype), weight)))
    if isinstance(a.weight, (int, float)):
        return near if abs(a.weight) < 0.5 else far
    return w.op("Where", w.op("Less", w.op("Abs", weight), w.const(0.5, out[0].dtype)), near, far)


@rule("addcmul", "addcdiv")
def addcmul(w, a, out):
    dtype = out[0].dtype
    x, one, two = operands(w, dtype, a.self, a.tensor1, a.tensor2)
    part = w.op("Mul" if w.step.name == "addcmul" else "Div", one, two)
    return w.op("Add", x, part if a.value == 1 else w.op("Mul", part, w.const(a.value, dtype)))
