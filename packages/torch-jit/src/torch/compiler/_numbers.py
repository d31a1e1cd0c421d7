"""Ints and floats that change from call to call: a schedule's rate, a counter of steps. At the second value of one the function is
watched twice more, with each of the two, and the number is then a :class:`Number`: an input of the graph, which operators take.

As with sizes, a comparison becomes a guard, arithmetic is that of the graph, and what else is done with it (a range, a text, a
place in a list) makes the attempt void: then each value has a program of its own.
"""

from __future__ import annotations

import math
import operator
import sys

import torch

from ._sizes import _VARIABLE, Size

__all__ = ["KNOWN", "MATH", "Number", "changed", "extreme"]

_MOST = 1 << 31  #: of ints: products of two are numbers of 64 bits
KNOWN = {**vars(math), "abs": abs, "float": float, "int": int, "round": round}  #: what texts of numbers call
_MOST_POWER = 8  #: of a number that changes


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


def _compares(name, symbol, function):
    def method(self, other):
        if type(other) not in (int, float, bool) and not isinstance(other, Size):
            return NotImplemented
        text, answer = _text(symbol, self, other), function(self.number, _number(other))
        if self.space.reads:
            return Number(self.space, answer, text, (name, symbol, *map(_of_ints, (self, other))))
        return self.space.ask(text, answer)

    return method


def _of_ints(value):
    """A truth as the int that it is in arithmetic."""
    if isinstance(value, Number) and type(value.number) is bool:
        return Number(value.space, int(value.number), None, ("Int", None, value))
    return int(value) if type(value) is bool else value


class Number(Size):
    """A number that changes. It is no ``int`` and no ``float``, so that its uses are seen."""

    __slots__ = ()

    @classmethod
    def made_of(cls, space, number, value, name=None):
        """A number that is read of a tensor: a value of the graph, under a name where guards may ask for it."""
        made = cls(space, number, name, ("read", None, None))
        made.made = value
        return made

    def converted(self, kind):
        """What ``int``, ``float`` or ``bool`` of it is."""
        if type(self.number) is kind:
            return self
        if kind is bool:
            return self != 0
        if kind is int and not self.space.reads:
            return self._in_words("int", int, "Int")
        said = f"float({self.text})" if kind is float and self.text else None
        return Number(self.space, kind(self.number), said, (kind.__name__.capitalize(), None, self))

    def _in_words(self, said, function, name, least=-(_MOST**2), most=_MOST**2):
        """What a function makes of it, which guards call as well: for numbers from ``least`` to ``most``, where it raises nothing."""
        text = self.text
        if text is None or not self.space.ask(f"({least} <= {text} <= {most})", least <= self.number <= most):
            self.space.escape(f"is beyond what {said}() takes")
        return Number(self.space, function(self.number), f"{said}({text})", (name, None, self))

    def __torch_check__(self, message):
        """``torch._check`` of a truth that only values tell: the program raises where it is none."""
        if self.text is not None:
            self.space.ask(self.text, self.number)
            return
        graph = self.space.observer.graph
        node = graph.create("prim::If", [self.value()], 0)
        graph.insertNode(node)
        node.addBlock()
        with graph.insert_point_guard(node.addBlock()):
            text = graph.insertConstant(message or "torch._check: it does not hold")
            graph.insertNode(graph.create("prim::RaiseException", [text], 0))

    def made_by(self, name, symbol, function, a, b):
        """The result of an operator of Python on two numbers."""
        a, b = map(_of_ints, (a, b))
        if self.space.reads:
            return self._made_of_values(name, symbol, function, a, b)
        if symbol in ("/", "//", "%"):
            divisor = b if isinstance(b, Size) else None
            if divisor is not None:
                self.space.ask(divisor.text and f"({divisor.text} != 0)", divisor.number != 0)
            if symbol != "/" and not all(type(_number(x)) is int for x in (a, b)):
                self.space.escape("of a float is divided without a rest")
        if symbol == "**":
            name = "prim::exact_pow"
            if not self._is_moderate_power(a, b):
                self.space.escape("is a power")  # others may be too great for a float, which Python says
        made = Number(self.space, function(_number(a), _number(b)), None, (name, symbol, a, b))
        if type(made.number) is int and symbol in ("*", "+", "-"):  # which wrap in the program
            if not self.space.ask(
                made.text and f"(-{_MOST**2} < {made.text} < {_MOST**2})", abs(made.number) < _MOST**2
            ):
                self.space.escape("is greater than a program's")
        return made

    def _is_moderate_power(self, a, b):
        """Whether a power is an int of 63 bits or a float, whatever the number is that guards let through."""
        asks = self.space.ask
        if isinstance(b, Size):
            if isinstance(a, Size) or b.text is None or not asks(f"({b.text} >= 0)", b.number >= 0):
                return False
            if type(a) is float:
                return 0 < a <= 1
            most = 62 // max(1, a.bit_length())
            return a > 0 and type(b.number) is int and asks(f"({b.text} <= {most})", b.number <= most)
        if a.text is None or abs(b) > _MOST_POWER:
            return False
        most = 1 << 62 // max(1, b if type(b) is int else 2)
        return asks(f"(0 < {a.text} < {most})", 0 < a.number < most) and (
            type(a.number) is int or asks(f"({a.text} > {1 / most})", a.number > 1 / most)
        )

    def _made_of_values(self, name, symbol, function, a, b):
        """The same in a program that reads numbers: what goes wrong there is left to Python, since nothing asks before."""
        found = function(_number(a), _number(b))
        ints = type(_number(a)) is type(_number(b)) is int
        if type(found) is complex or (symbol == "**" and ints and type(found) is float):
            self.space.escape("is a power of another kind than it may be")
        exact = symbol == "**" or (ints and symbol in ("*", "+", "-"))
        return Number(self.space, found, _text(symbol, a, b), (f"prim::exact_{name}" if exact else name, None, a, b))

    @property
    def text(self):
        """What it is, over the variables; None where that is not known."""
        if self.said is None:
            name, symbol, *parts = self.source
            if symbol is not None:
                self.said = _text(symbol, *parts)
        return self.said

    def or_escape(self, why):
        """The number, where it cannot change, or where a guard can ask whether it has."""
        text = self.text
        if text is not None and self.space.read.issuperset(_VARIABLE.findall(text)) and (said := _said(self.number)):
            self.space.ask(f"({text} == {said})", True)
            if self.number == 0 and type(self.number) is float:  # of which there are two
                self.space.ask(f"(copysign(1, {text}) == {math.copysign(1, self.number)})", True)
            self.space.pinned.update(_VARIABLE.findall(text))
            return self.number
        return super().or_escape(why)

    def value(self):
        """The value of the graph."""
        if self.made is None:
            graph = self.space.observer.graph
            name, _, *parts = self.source
            values = [p.value() if isinstance(p, Size) else graph.insertConstant(p) for p in parts]
            self.made = graph.call(name, values)
        return self.made

    def noted(self, place=None):
        """The number, which the next operator takes."""
        tracer = self.space.observer.tracer
        tracer.note_number(self.number, self.value(), place)
        return self.number

    def __index__(self):
        if type(self.number) is int:
            self.space.pend(sys._getframe(1))
            return Size.noted(self)
        return operator.index(self.or_escape("becomes a number of the program"))

    def __bool__(self):
        return self.space.ask(self.text, self.number) if type(self.number) is bool else super().__bool__()

    __add__, __radd__ = _both("add", "+", operator.add), _both("add", "+", operator.add, True)
    __sub__, __rsub__ = _both("sub", "-", operator.sub), _both("sub", "-", operator.sub, True)
    __mul__, __rmul__ = _both("mul", "*", operator.mul), _both("mul", "*", operator.mul, True)
    __truediv__, __rtruediv__ = _both("div", "/", operator.truediv), _both("div", "/", operator.truediv, True)
    __floordiv__ = _both("floordiv", "//", operator.floordiv)
    __rfloordiv__ = _both("floordiv", "//", operator.floordiv, True)
    __mod__, __rmod__ = _both("remainder", "%", operator.mod), _both("remainder", "%", operator.mod, True)
    __pow__, __rpow__ = _both("pow", "**", operator.pow), _both("pow", "**", operator.pow, True)
    __lt__, __le__ = _compares("lt", "<", operator.lt), _compares("le", "<=", operator.le)
    __gt__, __ge__ = _compares("gt", ">", operator.gt), _compares("ge", ">=", operator.ge)
    __eq__, __ne__ = _compares("eq", "==", operator.eq), _compares("ne", "!=", operator.ne)
    __hash__ = Size.__hash__

    def __abs__(self):
        if not self.space.reads:
            return self._in_words("abs", abs, "prim::abs")
        return (
            self if type(self.number) is bool else Number(self.space, abs(self.number), None, ("prim::abs", None, self))
        )

    def __floor__(self):
        return self._to_int("floor", math.floor)

    def __ceil__(self):
        return self._to_int("ceil", math.ceil)

    def __round__(self, digits=None):
        if digits is not None:
            return round(self.or_escape("is rounded"), digits)
        if type(self.number) is not float:
            return self
        if not self.space.reads:
            return self._in_words("round", lambda number: float(round(number)), "round").converted(int)
        return Number(self.space, float(round(self.number)), None, ("round", None, self)).converted(int)

    def _to_int(self, name, function):
        """What a function of ``math`` makes of it."""
        if type(self.number) is not float:
            return self
        if not self.space.reads:
            return self._in_words(name, function, name)
        return Number(self.space, function(self.number), None, (name, None, self))

    def __neg__(self):
        return self.made_by("sub", "-", operator.sub, 0, self) if type(self.number) is int else self * -1.0


def extreme(function, args):
    """``max`` or ``min`` of two numbers of one type, of which one is read of a tensor; None of others, which are compared."""
    read = [each for each in args if isinstance(each, Number) and each.space.reads]
    kinds = {type(_number(each)) for each in args}
    if len(args) != 2 or not read or kinds not in ({int}, {float}):
        return None
    return Number(read[0].space, function(map(_number, args)), None, (f"prim::{function.__name__}", None, *args))


#: functions of ``math`` of one number that programs have as well; what goes wrong in those of the first is said there
_RAISING = ("sqrt", "log", "log2", "log10")
_TOTAL = ("atan", "tanh", "asinh", "erf", "erfc", "fabs", "degrees", "radians")
#: whose result of a finite number is finite, or Python raises
_FINITE = ("exp", "expm1", "log1p", "sin", "cos", "tan", "asin", "acos", "sinh", "cosh", "acosh", "atanh", "lgamma")

#: of each, from where to where it has a finite value
_BETWEEN = {
    **dict.fromkeys((*_TOTAL, "sin", "cos", "tan"), (-_MOST, _MOST)), "acosh": (1, _MOST), "sqrt": (0, _MOST**2),
    **dict.fromkeys(("log", "log2", "log10"), (math.ulp(0), _MOST**2)), "log1p": (math.nextafter(-1, 0), _MOST),
    **dict.fromkeys(("exp", "expm1", "sinh", "cosh"), (-700, 700)), **dict.fromkeys(("asin", "acos"), (-1, 1)),
    "atanh": (math.nextafter(-1, 0), math.nextafter(1, 0)),
}  # fmt: skip


def of_math(function):
    """How a function of ``math`` is called, also with a number that changes."""
    name = function.__name__

    def called(observer, args, kwargs):
        if kwargs or len(args) != 1 or not isinstance(args[0], Number):
            return function(*args, **kwargs)
        (value,) = args
        if not value.space.reads:
            if name not in _BETWEEN:
                return function(value.or_escape("becomes a float"))
            return value._in_words(name, function, name, *_BETWEEN[name])
        made = Number(value.space, function(value.number), None, (name, None, value))
        if name in _FINITE:
            # Python raises where something finite has no finite result, and where what is no NaN has NaN for one.
            taken = (abs(value) == math.inf) * (made == made)
            holds = (abs(made) < math.inf) + (value != value) + taken > 0
            holds.__torch_check__(f"math.{name}: domain or range error")
        return made

    return called


MATH = {(found := getattr(math, name)): of_math(found) for name in (*_RAISING, *_TOTAL, *_FINITE)}
