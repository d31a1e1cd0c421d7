"""Numbers of a script: constants of the file where the example settles them, else computed by it."""

from __future__ import annotations

import functools
import math
import operator

from ._known import Known

__all__ = ["Numbers"]


def _of_one_type(pick):
    """``min`` or ``max`` as scripts compute it: of an int and a float it is a float, whichever it is."""
    return lambda *numbers: pick(float(n) if any(isinstance(m, float) for m in numbers) else n for n in numbers)


_ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "lt": operator.lt, "gt": operator.gt,
    "le": operator.le, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "__not__": operator.not_, "neg": operator.neg,
    "__and__": operator.and_, "__or__": operator.or_, "__is__": operator.is_, "__isnot__": operator.is_not,
    "div": operator.truediv, "truediv": operator.truediv, "remainder": operator.mod, "len": len, "min": _of_one_type(min), "max": _of_one_type(max), "floor": math.floor, "ceil": math.ceil,
    "dim": lambda x: x.dim(), "Float": float, "Int": int, "abs": abs,
}  # fmt: skip
#: of these, what is computed in the file too
_OF_NUMBERS = {
    **{name: name for name in ("add", "sub", "mul", "floordiv", "min", "max", "abs")}, "remainder": "mod", "neg": "sub",
}  # fmt: skip
_COMPARISONS = ("lt", "gt", "le", "ge", "eq", "ne")


class Numbers:
    """The part of a walk that computes with numbers."""

    def _number(self, node, name, inputs, steps):
        if name not in _ARITHMETIC:
            raise self._refuse(node, f"aten::{name} of numbers cannot be written")
        concrete = _ARITHMETIC[name](*(i.concrete for i in inputs))
        if name in ("dim", "len", "__is__", "__isnot__") or all(i.value is None for i in inputs):
            return Known(concrete)
        if name in _OF_NUMBERS and (name != "remainder" or isinstance(concrete, int)):
            given = dict(zip(("left", "right"), [Known(0), *inputs] if name == "neg" else inputs, strict=False))
            return self._emit(node, f"number.{_OF_NUMBERS[name]}", given, concrete, steps)
        if name in _COMPARISONS:
            return self._emit(node, name, dict(zip(("self", "other"), inputs, strict=True)), concrete, steps)
        if name in ("__not__", "__and__", "__or__"):
            plain = {"__not__": "logical_not", "__and__": "logical_and", "__or__": "logical_or"}[name]
            return self._emit(node, plain, dict(zip(("self", "other"), inputs, strict=False)), concrete, steps)
        raise self._refuse(node, f"aten::{name} of numbers that are computed cannot be written")

    def _extreme(self, node, name, inputs, steps):
        """The extreme of two numbers, or of those of a list."""
        listed = inputs[0].concrete if len(inputs) == 1 else inputs
        numbers = [each if isinstance(each, Known) else Known(each) for each in listed]
        return functools.reduce(lambda one, two: self._number(node, name, [one, two], steps), numbers)
