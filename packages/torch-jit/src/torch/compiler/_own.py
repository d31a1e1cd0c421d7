"""Operators, comparisons and truth of objects whose classes say in Python what these mean: ``a + b``, ``a in b``, ``not a``."""

from __future__ import annotations

import dataclasses
import operator
import types

import torch

from ._guards import is_plain, of_class

BINARY = {
    "Add": ("add", operator.add), "Sub": ("sub", operator.sub), "Mult": ("mul", operator.mul), "Div": ("truediv", operator.truediv),
    "FloorDiv": ("floordiv", operator.floordiv), "Mod": ("mod", operator.mod), "Pow": ("pow", operator.pow),
    "LShift": ("lshift", operator.lshift), "RShift": ("rshift", operator.rshift), "BitOr": ("or", operator.or_),
    "BitXor": ("xor", operator.xor), "BitAnd": ("and", operator.and_), "MatMult": ("matmul", operator.matmul),
}  # fmt: skip
#: each comparison, what the other side is asked for in its place, and how Python compares
_COMPARED = {
    "Eq": ("__eq__", "__eq__", operator.eq), "NotEq": ("__ne__", "__ne__", operator.ne), "Lt": ("__lt__", "__gt__", operator.lt),
    "LtE": ("__le__", "__ge__", operator.le), "Gt": ("__gt__", "__lt__", operator.gt), "GtE": ("__ge__", "__le__", operator.ge),
}  # fmt: skip
_UNARY = {
    "USub": ("__neg__", operator.neg),
    "UAdd": ("__pos__", operator.pos),
    "Invert": ("__invert__", operator.invert),
}


def own(value, name):
    """The function of Python that the class of a value has under a name; None where it is one of C, or generated.

    >>> from fractions import Fraction
    >>> own(Fraction(1), "__add__") is Fraction.__add__, own(1, "__add__")
    (True, None)
    """
    kind = type(value)
    if issubclass(kind, torch.Tensor) or str(kind.__module__).startswith("torch.compiler"):
        return None
    found = of_class(kind, name)
    if not isinstance(found, types.FunctionType) or found.__module__ == "enum":  # those depend on their operands only
        return None
    return found if found.__code__.co_filename != "<string>" else None


def _by_fields(value):
    """Whether a value is compared by the method that ``@dataclass`` writes."""
    kind = type(value)
    found = of_class(kind, "__eq__") if of_class(kind, "__dataclass_fields__") is not None else None
    return isinstance(found, types.FunctionType) and found.__code__.co_filename == "<string>"


def _compares_itself(value):
    """Whether the class of a value says in Python what equality or an order means."""
    kind = type(value)
    if issubclass(kind, torch.Tensor) or str(kind.__module__).startswith("torch.compiler"):
        return False
    found = [of_class(kind, name) for name in ("__eq__", "__lt__")]
    return any(isinstance(each, types.FunctionType) and each.__module__ != "enum" for each in found)


class Operators:
    """The part of an observer that operators of the language are told to."""

    def binary(self, op, left, right):
        """``left + right``."""
        name, plain = BINARY[op]
        if self.reason is None:
            found = self._asked(left, right, f"__{name}__", f"__r{name}__", type(left) is type(right))
            if found is not NotImplemented:
                return found
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            left, right = self.beside(left, right)
        return plain(left, right)

    def in_place(self, op, left, right):
        """``left += right``: the new value of what is on the left."""
        name, _ = BINARY[op]
        if self.reason is None and own(left, f"__i{name}__"):
            found = self.apply(self.method(left, f"__i{name}__"), right)
            if found is not NotImplemented:
                return found
        if self.reason is None and of_class(type(left), f"__i{name}__") is None:
            return self.binary(op, left, right)
        if isinstance(left, torch.Tensor):
            right = self.numbers(right)
        elif id(left) in self.outside:
            self.changes(left)
        return getattr(operator, f"i{name}")(left, right)

    def comparison(self, op, left, right):
        """``left == right``."""
        if op in ("In", "NotIn"):
            return self._contained(right, left) is (op == "In")
        name, other, plain = _COMPARED[op]
        if self.reason is None:
            if op == "NotEq" and of_class(type(left), "__ne__") is object.__ne__ and own(left, "__eq__"):
                found = self.apply(self.method(left, "__eq__"), right)  # what object.__ne__ turns round
                if found is not NotImplemented:
                    return not self.truth(found)
            found = self._asked(left, right, name, other, False)
            if found is not NotImplemented:
                return found
            if op in ("Eq", "NotEq") and _by_fields(left) and type(left) is type(right):
                return self._fields_equal(left, right) is (op == "Eq")
            self._refuse_generated(left, right)
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            left, right = self.beside(left, right)
        return plain(left, right)

    def _fields_equal(self, left, right):
        """What the ``__eq__`` that ``@dataclass`` writes answers."""
        self.class_has(type(left), "__eq__")
        for each in of_class(type(left), "__dataclass_fields__").values():
            if each.compare and each._field_type is dataclasses._FIELD:
                mine, theirs = self.attr(left, each.name), self.attr(right, each.name)
                if mine is not theirs and not self.truth(self.comparison("Eq", mine, theirs)):
                    return False
        return True

    def _refuse_generated(self, *values):
        """Comparisons that are written by a program, and those within containers, are not followed."""
        for value in values:
            parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
            if any(_compares_itself(each) for each in (value, *parts)):
                self.stop(f"a comparison of {type(value).__qualname__} is not followed")

    def _contained(self, container, value):
        if self.reason is None and own(container, "__contains__"):
            return bool(self.apply(self.method(container, "__contains__"), value))
        if self.reason is None and own(container, "__iter__") and of_class(type(container), "__contains__") is None:
            return any(each is value or self.truth(self.comparison("Eq", each, value)) for each in self.iter(container))
        if self.reason is None:
            self._refuse_generated(
                list(container) if type(container) is dict else container, value
            )  # keys are compared
        return value in container

    def unary(self, op, value):
        """``-value``, or ``not value``."""
        if op == "Not":
            return not self.truth(value)
        name, plain = _UNARY[op]
        return self.apply(self.method(value, name)) if self.reason is None and own(value, name) else plain(value)

    def truth(self, value):
        """``if value:``."""
        if self.reason is None:
            if own(value, "__bool__"):
                found = self.apply(self.method(value, "__bool__"))
                if not isinstance(found, bool):
                    raise TypeError(f"__bool__ should return bool, returned {type(found).__name__}")
                return found
            if of_class(type(value), "__bool__") is None and own(value, "__len__"):
                return self.apply(self.method(value, "__len__"))
        return value

    def _asked(self, left, right, name, reflected, alike):
        """What the classes of two operands answer, in Python's order; NotImplemented where neither says it in Python."""
        mine, theirs = own(left, name), None if alike else own(right, reflected)
        if not mine and not theirs:
            return NotImplemented
        ways = [(mine, left, name, right)] + [(theirs, right, reflected, left)] * (not alike)
        kinds = type(left), type(right)
        if kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0]):
            if of_class(kinds[1], reflected) is not of_class(kinds[0], reflected):
                ways.reverse()
        for function, value, each, other in ways:
            if function:
                found = self.apply(self.method(value, each), other)
            elif is_plain(value) and of_class(type(value), each):
                found = getattr(value, each)(other)
            elif of_class(type(value), each) is not object.__dict__.get(each):
                return NotImplemented  # one of C, which Python asks; what that calls makes the observation void
            else:
                self.class_has(type(value), each)
                found = NotImplemented
            if found is not NotImplemented:
                return found
        return NotImplemented
