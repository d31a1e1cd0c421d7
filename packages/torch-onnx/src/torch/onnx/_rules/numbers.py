"""Numbers that follow sizes: they are tensors without dims."""

from __future__ import annotations

import torch

from .._program import Value
from . import rule


def _number(w, value, dtype):
    return w.cast(value, dtype) if isinstance(value, Value) else w.const(value, dtype)


@rule("sym_size")
def sym_size(w, a, out):
    size = w.size(a.self, a.dim)
    return w.const(size, torch.int64) if isinstance(size, int) else size


def _arithmetic(kind):
    def write(w, a, out):
        dtype = out[0].dtype
        return w.op(kind, _number(w, a.left, dtype), _number(w, a.right, dtype))

    return write


@rule("item")
def item(w, a, out):
    return w.cast(w.op("Reshape", a.self, w.ints([])), out[0].dtype)


@rule("number.trunc")
def trunc(w, a, out):
    return w.cast(a.left, torch.int64)


@rule("number.float")
def as_float(w, a, out):
    return w.cast(a.left, out[0].dtype)


@rule("number.abs")
def absolute(w, a, out):
    return w.op("Abs", a.left)


def _rounded(kind):
    return lambda w, a, out: w.cast(w.op(kind, a.left), torch.int64)


for _name in ("ceil", "floor", "round"):
    rule(f"number.{_name}")(_rounded(_name.capitalize()))


def _bits(kind):
    return lambda w, a, out: w.op(kind, _number(w, a.left, torch.int64), _number(w, a.right, torch.int64))


for _name in ("and", "or", "xor"):
    rule(f"number.{_name}", since=18)(_bits(f"Bitwise{_name.capitalize()}"))


_KINDS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "pow": "Pow",
    "truediv": "Div",
    "mod": "Mod",
    "min": "Min",
    "max": "Max",
}
for _name, _kind in _KINDS.items():
    rule(f"number.{_name}")(_arithmetic(_kind))


@rule("number.floordiv")
def floordiv(w, a, out):
    if out[0].dtype == torch.float64:
        return w.op("Floor", _arithmetic("Div")(w, a, out))
    x, y = _number(w, a.left, torch.int64), _number(w, a.right, torch.int64)
    return w.op("Div", w.op("Sub", x, w.op("Mod", x, y)), y)
