"""Expressions of the language as expressions of Halide.

A value is a Halide expression and its type; a written number stays a number until it meets a type. Reads that ranges prove to lie
within a tensor are plain. Those that only a condition around them makes valid, and those whose index is itself an element of a tensor,
are held within the tensor, and where nothing proves them a check is noted that runs along.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch.tc import _functions, _types
from torch.tc._halide import type_of
from torch.tc._index import Sizes, interval
from torch.tc._ranges import Ranges, conditions, proven
from torch.tc._source import Source
from torch.tc._syntax import Binary, Call, Choice, Expr, Name, Number, Size, Unary

Value = tuple[Any, str]


@dataclass(frozen=True)
class Check:
    """A subscript whose place within a tensor only the data can tell."""

    index: Expr
    given: tuple[tuple[Expr, bool], ...]  #: conditions that surround it, and whether they hold
    extent: int
    tensor: str
    dim: int


class Values:
    """Lowers the expressions of one statement."""

    def __init__(self, hl: Any, source: Source, sizes: Sizes, funcs: Mapping[str, Value], ranges: Ranges):
        self.hl, self.source, self.sizes, self.funcs, self.ranges = hl, source, sizes, funcs, ranges
        self.env: dict[str, Any] = {}
        self.checks: list[Check] = []
        self.given: tuple[tuple[Expr, bool], ...] = ()

    def to(self, value: Value, dtype: str) -> Any:
        """The expression in a type."""
        e, own = value
        if own in (_types.NUMBER, _types.FRACTION):
            if dtype == "float64":
                return self.hl.f64(float(e))
            if _types.is_float(dtype):
                return self.hl.cast(type_of(self.hl, dtype), self.hl.f32(float(e)))
            return self.hl.cast(type_of(self.hl, dtype), self.hl.i64(int(e)))
        if own == dtype:
            return e
        if dtype == "bool":
            return e != self.hl.cast(type_of(self.hl, own), self.hl.i32(0))
        return self.hl.cast(type_of(self.hl, dtype), e)

    def __call__(self, e: Expr) -> Value:
        match e:
            case Number(value=value):
                return value, _types.NUMBER if isinstance(value, int) else _types.FRACTION
            case Size():
                return self.hl.i32(self.sizes.value(e)), "int32"
            case Name(id=id):
                if id in self.env:
                    return self.env[id], "int32"
                if id in self.sizes.names:
                    return self.hl.i32(self.sizes.names[id]), "int32"
                return self.element(Call(id, (), e.at))
            case Unary(op=op, value=below):
                return self.unary(op, self(below))
            case Binary(op="&&" | "||" as op, left=left, right=right):
                a = self.to(self(left), "bool")
                b = self.to(self.under(right, left, op == "&&"), "bool")
                return (a & b if op == "&&" else a | b), "bool"
            case Binary(op=op, left=left, right=right):
                return self.binary(op, self(left), self(right), e.at)
            case Choice(condition=condition, yes=yes, no=no):
                test = self.to(self(condition), "bool")
                a, b = self.under(yes, condition, True), self.under(no, condition, False)
                dtype = _types.settled(_types.common(a[1], b[1]))
                return self.hl.select(test, self.to(a, dtype), self.to(b, dtype)), dtype
            case Call(name=name) if name in self.funcs:
                return self.element(e)
            case Call(name=name, arguments=(below,)) if name in _types.NAMES:
                return self.to(self(below), _types.NAMES[name]), _types.NAMES[name]
        return self.function(e)

    def under(self, e: Expr, condition: Expr, holds: bool) -> Value:
        """A value that counts only where a condition holds, or only where it does not."""
        before, self.given = self.given, (*self.given, (condition, holds))
        value = self(e)
        self.given = before
        return value

    def unary(self, op: str, value: Value) -> Value:
        if op == "!":
            return self.hl.logical_not(self.to(value, "bool")), "bool"
        dtype = "int32" if value[1] == "bool" else _types.settled(value[1])
        return -self.to(value, dtype), dtype

    def binary(self, op: str, a: Value, b: Value, at: int) -> Value:
        dtype = _types.settled(_types.common(a[1], b[1]))
        arithmetic = op in "+-*/%"
        if arithmetic and dtype == "bool":
            dtype = "int32"
        if op in "/%" and not _types.is_float(dtype) and b[1] == _types.NUMBER and b[0] == 0:
            raise self.source.error(at, "a division of whole numbers by zero")
        x, y = self.to(a, dtype), self.to(b, dtype)
        match op:
            case "+":
                return x + y, dtype
            case "-":
                return x - y, dtype
            case "*":
                return x * y, dtype
            case "/":
                return x / y, dtype
            case "%":
                return x % y, dtype
            case "==":
                return x == y, "bool"
            case "!=":
                return x != y, "bool"
            case "<":
                return x < y, "bool"
            case "<=":
                return x <= y, "bool"
            case ">":
                return x > y, "bool"
        return x >= y, "bool"

    def element(self, e: Call) -> Value:
        func, dtype = self.funcs[e.name]
        shape = self.sizes.shapes[e.name]
        places = [self.subscript(e, d, x, n) for d, (x, n) in enumerate(zip(e.arguments, shape, strict=True))]
        return func[tuple(reversed(places))], dtype

    def subscript(self, access: Call, dim: int, e: Expr, extent: int) -> Any:
        value = self(e)
        if _types.is_float(value[1]):
            raise self.source.error(e.at, f"an index is a whole number, got {_types.settled(value[1])}")
        given = [form for c, holds in self.given for form in conditions(c, self.sizes, holds)]
        if proven(e, extent, [], self.ranges, self.sizes):
            return self.to(value, "int32")
        if not extent:
            raise self.source.error(e.at, f"dim {dim} of {access.name} is empty: it has no elements to read")
        if not proven(e, extent, given, self.ranges, self.sizes):
            reach = interval(e, self.ranges, self.sizes)
            if reach is not None and not self.given:
                raise self.source.error(
                    e.at,
                    f"the index runs from {reach[0]} to {reach[1]}, outside of dim {dim} of {access.name}: 0 to {extent - 1}",
                )
            self.checks.append(Check(e, self.given, extent, access.name, dim))
        dtype = value[1] if value[1] in ("int64", "uint64", "uint32") else "int32"
        index, zero = self.to(value, dtype), self.to((0, _types.NUMBER), dtype)
        return self.hl.cast(self.hl.Int(32), self.hl.clamp(index, zero, self.to((extent - 1, _types.NUMBER), dtype)))

    def function(self, e: Call) -> Value:
        hl, name, values = self.hl, _functions.canonical(e.name), [self(a) for a in e.arguments]
        dtype = values[0][1]
        for v in values[1:]:
            dtype = _types.common(dtype, v[1])
        dtype = _types.settled(dtype)
        keeps = name in _functions.KEEPS_INTEGERS or name in ("isnan", "isinf", "isfinite")
        if not keeps and not _types.is_float(dtype):
            dtype = "float32"
        x = [self.to(v, dtype) for v in values]
        one, two = self.to((1, _types.NUMBER), dtype), self.to((2, _types.NUMBER), dtype)
        match name:
            case "isnan" | "isinf" | "isfinite":
                if not _types.is_float(dtype):
                    return (hl.cast(hl.Bool(), hl.i32(name == "isfinite"))), "bool"
                return getattr(hl, {"isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite"}[name])(x[0]), "bool"
            case "erf" if dtype != "float32":
                if dtype == "float64":
                    raise self.source.error(e.at, "erf of float64 is not supported")
                return self.to((hl.erf(self.to((x[0], dtype), "float32")), "float32"), dtype), dtype
            case "fabs" | "abs":
                return (x[0] if dtype.startswith(("u", "b")) else hl.select(x[0] < 0 * one, -x[0], x[0])), dtype
            case "min" | "fmin":
                return hl.min(*x), dtype
            case "max" | "fmax":
                return hl.max(*x), dtype
            case "rsqrt":
                return one / hl.sqrt(x[0]), dtype
            case "sigmoid":
                return one / (one + hl.exp(-x[0])), dtype
            case "exp2":
                return hl.pow(two, x[0]), dtype
            case "log2" | "log10":
                base = self.to((math.log(2 if name == "log2" else 10), _types.FRACTION), dtype)
                return hl.log(x[0]) / base, dtype
            case "fma":
                return x[0] * x[1] + x[2], dtype
            case "fmod":
                return x[0] - x[1] * hl.trunc(x[0] / x[1]), dtype
            case "hypot":
                return hl.sqrt(x[0] * x[0] + x[1] * x[1]), dtype
            case "fdim":
                return hl.max(x[0] - x[1], 0 * one), dtype
        return getattr(hl, {"rint": "round"}.get(name, name))(*x), dtype
