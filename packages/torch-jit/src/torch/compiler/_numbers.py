"""Ints and floats that change from call to call: a schedule's rate, a counter of steps. At the second value of one the function is
watched twice more, with each of the two, and the number is then a :class:`Number`: an input of the graph, which operators take.

As with sizes, a comparison becomes a guard, arithmetic is that of the graph, and what else is done with it (a range, a text, a
place in a list) makes the attempt void: then each value has a program of its own.
"""

from __future__ import annotations

import math
import operator

import torch

from ._sizes import Size

__all__ = ["Number", "changed", "square_root"]

_MOST = 1 << 31  #: of ints: products of two are numbers of 64 bits


def changed(before, now):
    """Where the numbers stand that two observations differ in; None where they differ in more."""
    if before.keys() != now.keys() or any(type(now[at][0]) is not type(value) for at, (value, _) in before.items()):
        return None
    return [at for at, (value, source) in before.items() if value != now[at][0] and _may_change(source)]


def _may_change(source):
    """Whether a number is read where another one can be put in its place: as an argument, an attribute or a variable."""
    kind, *rest = source
    if kind in ("index", "key") and rest[0] in (("args",), ("kwargs",)):
        return True
    return kind in ("attr", "cell") or (kind == "key" and rest[0][0] == "const")


def _number(value):
    return value.number if isinstance(value, Size) else value


def _said(value):
    return value.text if isinstance(value, Size) else repr(value) if math.isfinite(value) else None


def _text(symbol, a, b):
    parts = _said(a), _said(b)
    return None if None in parts else f"({parts[0]} {symbol} {parts[1]})"


def _both(name, symbol, function, swapped=False):
    def method(self, other):
        if isinstance(other, torch.Tensor):
            number = self.noted()
            return function(number, other) if not swapped else function(other, number)
        if type(other) not in (int, float) and not isinstance(other, Size):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return self.made_by(name, symbol, function, a, b)

    return method


def _compares(symbol, function):
    def method(self, other):
        if type(other) not in (int, float) and not isinstance(other, Size):
            return NotImplemented
        return self.space.ask(_text(symbol, self, other), function(self.number, _number(other)))

    return method


class Number(Size):
    """A number that changes. It is no ``int`` and no ``float``, so that its uses are seen."""

    __slots__ = ()

    def made_by(self, name, symbol, function, a, b):
        """The result of an operator of Python on two numbers."""
        if symbol in ("/", "//", "%"):
            divisor = b if isinstance(b, Size) else None
            if divisor is not None:
                self.space.ask(divisor.text and f"({divisor.text} != 0)", divisor.number != 0)
            if symbol != "/" and not all(type(_number(x)) is int for x in (a, b)):
                self.space.escape("of a float is divided without a rest")
        if symbol == "**" and (
            type(a) is not float or not 0 < a <= 1 or not self.space.ask(f"({b.text} >= 0)", b.number >= 0)
        ):
            self.space.escape("is a power")  # others may be too great for a float, which Python says
        made = Number(self.space, function(_number(a), _number(b)), None, (name, symbol, a, b))
        if type(made.number) is int and symbol in ("*", "+", "-"):  # which wrap in the program
            if not self.space.ask(
                made.text and f"(-{_MOST**2} < {made.text} < {_MOST**2})", abs(made.number) < _MOST**2
            ):
                self.space.escape("is greater than a program's")
        return made

    @property
    def text(self):
        """What it is, over the variables; None where that is not known."""
        if self.said is None:
            self.said = f"sqrt({self.source[2].text})" if self.source[0] == "sqrt" else _text(*self.source[1:])
        return self.said

    def value(self):
        """The value of the graph."""
        if self.made is None:
            graph = self.space.observer.graph
            name, _, *parts = self.source
            values = [p.value() if isinstance(p, Size) else graph.insertConstant(p) for p in parts]
            self.made = graph.call(name, values)
        return self.made

    def noted(self):
        """The number, which the next operator takes."""
        tracer = self.space.observer.tracer
        tracer.note_number(self.number, self.value())
        return self.number

    def __index__(self):
        return operator.index(self.or_escape("becomes a number of the program"))

    __add__, __radd__ = _both("add", "+", operator.add), _both("add", "+", operator.add, True)
    __sub__, __rsub__ = _both("sub", "-", operator.sub), _both("sub", "-", operator.sub, True)
    __mul__, __rmul__ = _both("mul", "*", operator.mul), _both("mul", "*", operator.mul, True)
    __truediv__, __rtruediv__ = _both("div", "/", operator.truediv), _both("div", "/", operator.truediv, True)
    __floordiv__ = _both("floordiv", "//", operator.floordiv)
    __rfloordiv__ = _both("floordiv", "//", operator.floordiv, True)
    __mod__, __rmod__ = _both("remainder", "%", operator.mod), _both("remainder", "%", operator.mod, True)
    __pow__, __rpow__ = _both("pow", "**", operator.pow), _both("pow", "**", operator.pow, True)
    __lt__, __le__ = _compares("<", operator.lt), _compares("<=", operator.le)
    __gt__, __ge__ = _compares(">", operator.gt), _compares(">=", operator.ge)
    __eq__, __ne__ = _compares("==", operator.eq), _compares("!=", operator.ne)
    __hash__ = Size.__hash__

    def __neg__(self):
        return self.made_by("sub", "-", operator.sub, 0, self) if type(self.number) is int else self * -1.0


def square_root(observer, args, kwargs):
    """``math.sqrt``, also of a number that changes."""
    if kwargs or len(args) != 1 or not isinstance(args[0], Number):
        return math.sqrt(*args, **kwargs)
    (value,) = args
    value.space.ask(value.text and f"({value.text} >= 0)", value.number >= 0)
    return Number(value.space, math.sqrt(value.number), None, ("sqrt", None, value))
