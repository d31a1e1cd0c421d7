"""Numbers of a script: constants of the file where the example settles them, else computed by it."""

from __future__ import annotations

import functools
import math
import operator

import torch

from ._known import Known, deep, leaves

__all__ = ["TEXT", "Numbers"]


def _of_one_type(pick):
    """``min`` or ``max`` as scripts compute it: of an int and a float it is a float, whichever it is."""
    return lambda *numbers: pick(float(n) if any(isinstance(m, float) for m in numbers) else n for n in numbers)


_ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "lt": operator.lt, "gt": operator.gt,
    "le": operator.le, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "__not__": operator.not_, "neg": operator.neg,
    "__and__": operator.and_, "__or__": operator.or_, "__is__": operator.is_, "__isnot__": operator.is_not,
    "div": operator.truediv, "truediv": operator.truediv, "remainder": operator.mod, "len": len, "min": _of_one_type(min), "max": _of_one_type(max), "floor": math.floor, "ceil": math.ceil,
    "dim": lambda x: x.dim(), "sqrt": math.sqrt, "pow": operator.pow, "Float": float, "Int": int, "Bool": bool, "abs": abs, "__range_length": lambda *ends: len(range(*ends)),
    "__derive_index": lambda turn, start, step: start + turn * step,
}  # fmt: skip
#: of these, what is computed in the file too
_OF_NUMBERS = {
    **{name: name for name in ("add", "sub", "mul", "floordiv", "min", "max", "abs", "floor", "ceil")}, "remainder": "mod", "neg": "sub",
    "div": "truediv", "truediv": "truediv", "Float": "float", "Int": "trunc", "sqrt": "pow", "pow": "pow",
}  # fmt: skip
_OF_PYTHON = {int: torch.int64, float: torch.float64}
TEXT = "a text that is put together when it runs"
_COMPARISONS = ("lt", "gt", "le", "ge", "eq", "ne")


class Numbers:
    """The part of a walk that computes with numbers."""

    def _fixed(self, node, known, what):
        """A number that the file itself chooses by; SymbolicValueError where only a run tells it."""
        if known.value is not None:
            raise self._refuse(node, f"{what} that is computed cannot be written")
        return known.fixed

    def _item(self, node, items, at, steps):
        """What stands at a place of a list, or under a key; of a list of numbers the file may compute the place."""
        numbers = (
            [each.fixed for each in items.example if each.value is None] if isinstance(items.example, list) else []
        )
        kind = type(numbers[0]) if numbers else None
        is_table = kind in (int, float) and len(numbers) == len(items.example) and all(type(n) is kind for n in numbers)
        place = at.example if is_table else self._fixed(node, at, "an element of a list or dict at a place")
        try:
            found = items.fixed[place]
        except LookupError:
            raise self._refuse(node, f"the example asks for what is not there: {place!r}") from None
        if at.value is None:
            return found
        table = self.hold(None, f"constant_{len(self._held)}", torch.tensor(numbers, dtype=_OF_PYTHON[kind]))
        given = {"self": table, "dim": Known(0), "index": at}
        return self._emit(node, "select", given, found.example, steps)

    def _of_lists(self, node, name, inputs):
        """Lists one after the other, or a list several times."""
        if name == "mul":
            times = self._fixed(node, inputs[1], "a list as often as a number")
            return Known(list(inputs[0].fixed) * times, depth=self._depth)
        return Known([*inputs[0].fixed, *inputs[1].fixed], depth=self._depth)

    def _alike(self, node, inputs, steps):
        """Whether two lists are equal, element by element."""
        one, two = (each.fixed for each in inputs)
        if len(one) != len(two):
            return Known(False)
        lists = lambda pair: all(isinstance(each.example, list) for each in pair)
        parts = [
            self._alike(node, p, steps) if lists(p) else self._number(node, "eq", p, steps)
            for p in map(list, zip(one, two))
        ]
        return self._joined(node, "all", parts, steps)

    def _joined(self, node, name, parts, steps):
        """Whether any or all of some bools hold."""
        settles = name == "any"
        if any(each.value is None and each.fixed == settles for each in parts):
            return Known(settles)
        computed = [each for each in parts if each.value is not None]
        if not computed:
            return Known(not settles)
        kind = "__or__" if settles else "__and__"
        return functools.reduce(lambda a, b: self._number(node, kind, [a, b], steps), computed)

    def _number(self, node, name, inputs, steps):
        lists = [isinstance(i.example, list) for i in inputs]
        if name in ("any", "all") and lists == [True]:
            return self._joined(
                node, name, [self._number(node, "Bool", [each], steps) for each in inputs[0].fixed], steps
            )
        if any(i.example is TEXT for i in inputs):
            raise self._refuse(node, f"aten::{name} of {TEXT} cannot be written")
        if name in ("eq", "ne") and all(lists):
            alike = self._alike(node, inputs, steps)
            return alike if name == "eq" else self._number(node, "__not__", [alike], steps)
        if any(lists) and name != "len":
            for each in inputs:
                self._fixed(node, each, f"aten::{name} of a list and a number")
        if name == "len" and isinstance(inputs[0].example, torch.Tensor):
            return self._size([inputs[0], Known(0)], steps, node)
        if name not in _ARITHMETIC:
            return self._settled(node, name, inputs)
        concrete = _ARITHMETIC[name](*(i.example for i in inputs))
        if name in ("dim", "len", "__is__", "__isnot__") or all(i.value is None for i in inputs):
            return Known(concrete)
        if name in ("Int", "floor", "ceil") and type(inputs[0].example) is int:
            return inputs[0]
        if (
            name in _OF_NUMBERS
            and (name != "remainder" or isinstance(concrete, int))
            and not isinstance(concrete, complex)
        ):
            operands = [Known(0), *inputs] if name == "neg" else [*inputs, Known(0.5)] if name == "sqrt" else inputs
            given = dict(zip(("left", "right"), operands, strict=False))
            return self._emit(node, f"number.{_OF_NUMBERS[name]}", given, concrete, steps)
        if name in _COMPARISONS:
            return self._emit(node, name, dict(zip(("self", "other"), inputs, strict=True)), concrete, steps)
        if name in ("__not__", "__and__", "__or__"):
            plain = {"__not__": "logical_not", "__and__": "logical_and", "__or__": "logical_or"}[name]
            return self._emit(node, plain, dict(zip(("self", "other"), inputs, strict=False)), concrete, steps)
        if name == "Bool":
            return (
                inputs[0]
                if isinstance(inputs[0].example, bool)
                else self._number(node, "ne", [*inputs, Known(0)], steps)
            )
        if name in ("__range_length", "__derive_index") and inputs[2].value is None:
            return self._of_range(node, name, inputs, steps)
        raise self._refuse(node, f"aten::{name} of numbers that are computed cannot be written")

    def _of_range(self, node, name, inputs, steps):
        """How many turns a range has, or its number at a turn."""
        number = lambda name, *of: self._number(
            node, name, [i if isinstance(i, Known) else Known(i) for i in of], steps
        )
        if name == "__derive_index":
            turn, start, step = inputs
            return number("add", start, number("mul", turn, step))
        start, stop, step = inputs
        low, high = (start, stop) if step.fixed > 0 else (stop, start)
        far = number("add", number("sub", high, low), abs(step.fixed) - 1)
        return number("max", number("floordiv", far, abs(step.fixed)), 0)

    def _settled(self, node, name, inputs):
        """What an operator gives for constants, by running it."""
        if any(each.value is not None for i in inputs for each in leaves(i)):
            raise self._refuse(node, f"aten::{name} of numbers that are computed cannot be written")
        from torch.jit import _ir as ir

        given = [deep(each) for each in inputs]
        if any(isinstance(each, (torch.Tensor, dict)) for each in given) or len(list(node.outputs())) != 1:
            raise self._refuse(node, f"aten::{name} cannot be written")
        graph = ir.Graph()
        values = [graph.addInput("", each.type()) for each in node.inputs()]
        made = graph.insertNode(graph.create(node.kind(), values, 1))
        made.output().setType(node.output().type())
        graph.registerOutput(made.output())
        return Known.of(ir.Function("settled", graph)(*given))

    def _extreme(self, node, name, inputs, steps):
        """The extreme of two numbers, or of those of a list."""
        listed = inputs[0].fixed if len(inputs) == 1 else inputs
        numbers = [each if isinstance(each, Known) else Known(each) for each in listed]
        return functools.reduce(lambda one, two: self._number(node, name, [one, two], steps), numbers)
