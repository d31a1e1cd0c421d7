"""Numbers that a program takes from values of tensors: ``.item()``, and how many elements ``nonzero`` finds.

While a program is recorded such a number is an int or a float that knows what it was computed from. What is asked about it is
known only when the exported program runs: ``torch._check`` states it, and a branch on it is refused unless it follows from that.
"""

from __future__ import annotations

import operator
import sys

from ._sizes import Formula

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Facts", "Integer", "Real", "Truth"]

_SIGNS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.mod: "%", operator.truediv: "/",
    operator.pow: "**",
}  # fmt: skip
_OPPOSITE = {
    operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le, operator.ge: operator.lt,
    operator.eq: operator.ne, operator.ne: operator.eq,
}  # fmt: skip
_SWAPPED = {operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le}


class Facts:
    """What is known about such numbers: their bounds, and the conditions that the program states.

    >>> facts = Facts(lambda text: ValueError(text))
    >>> k = facts.integer(3, "rule", "u0")
    >>> facts.state(k >= 2)
    >>> bool(k > 1), k * 2 == 0
    (True, u0*2 == 0)
    """

    def __init__(self, refuse: Callable[[str], Exception], check: Callable[[Truth, Any], None] | None = None) -> None:
        self.refuse, self.check = refuse, check or (lambda truth, message: self.state(truth))
        self.bounds: dict[str, list[float]] = {}
        self._stated: set[tuple] = set()

    def integer(self, value: int, rule: Any, text: str) -> Integer:
        """A number of a tensor of ints, without bounds."""
        self.bounds.setdefault(text, [float("-inf"), float("inf")])
        return Integer.of(value, rule, text, self)

    def real(self, value: float, rule: Any, text: str) -> Real:
        """A number of a tensor of floats."""
        return Real.of(value, rule, text, self)

    def state(self, truth: Truth) -> None:
        """The program says that this holds."""
        self._stated.add(truth.key)
        left, right, function = str(truth.left), truth.right, truth.function
        if isinstance(truth.right, (Integer, Real)) and not isinstance(truth.left, (Integer, Real)):
            left, right, function = str(truth.right.text), truth.left, _SWAPPED.get(function, function)
        elif isinstance(truth.left, (Integer, Real)):
            left = truth.left.text
        if left not in self.bounds or not isinstance(right, (int, float)):
            return
        low, high = self.bounds[left]
        number = right + 0
        if function in (operator.ge, operator.gt, operator.eq):
            low = max(low, number + (function is operator.gt))
        if function in (operator.le, operator.lt, operator.eq):
            high = min(high, number - (function is operator.lt))
        self.bounds[left] = [low, high]

    def decide(self, truth: Truth) -> bool | None:
        """Whether a condition holds, where that follows from what is known."""
        function, left, right = truth.key
        if truth.key in self._stated or (_SWAPPED.get(function, function), right, left) in self._stated:
            return True
        if (_OPPOSITE.get(function), left, right) in self._stated:
            return False
        if left not in self.bounds or not isinstance(right, (int, float)):
            return None
        low, high = self.bounds[left]
        if function in (operator.eq, operator.ne):
            return function is operator.ne if right < low or right > high else None
        ends = {function(low, right), function(high, right)}
        return ends.pop() if len(ends) == 1 else None


class Truth:
    """A condition on numbers that are known only when the exported program runs."""

    def __init__(self, function: Any, left: Any, right: Any, facts: Facts) -> None:
        self.function, self.left, self.right, self.facts = function, left, right, facts
        self.value = bool(function(_plain(left), _plain(right)))
        self.key = function, _text(left), _text(right)

    def __str__(self) -> str:
        return f"{self.key[1]} {_SIGNS[self.function]} {self.key[2]}"

    __repr__ = __str__

    def __bool__(self) -> bool:
        return self.holds(sys._getframe(1))

    def holds(self, asked_in: Any) -> bool:
        """Whether it does, asked in a frame. Raises what ``refuse`` gives where that is not known."""
        if (known := self.facts.decide(self)) is not None:
            return known
        if asked_in.f_globals.get("__name__", "").split(".")[0] == "torch":
            return self.value  # checks of torch, which are made again when the program runs
        raise self._refused()

    def __torch_check__(self, message: Any) -> None:
        """``torch._check`` of the condition states it."""
        self.facts.check(self, message)

    def _refused(self) -> Exception:
        return self.facts.refuse(f"goes on by whether {self}, which only the values of tensors tell")

    def __add__(self, other: Any = None) -> Any:
        raise self._refused()

    __radd__ = __mul__ = __rmul__ = __index__ = __int__ = __float__ = __add__  # type: ignore[assignment]


def _plain(value):
    if isinstance(value, Integer):
        return int.__add__(value, 0)
    return float.__add__(value, 0.0) if isinstance(value, Real) else value


def _text(value):
    return value.text if isinstance(value, (Integer, Real)) else value


def _rule(value):
    if isinstance(value, (Integer, Real)):
        return value.rule
    return value if type(value) in (int, float) else None


def _arithmetic(function):
    def made(left, right, self):
        found = function(_plain(left), _plain(right))
        one, two = _rule(left), _rule(right)
        rule = None if one is None or two is None else Formula(function, one, two)
        text = f"{_in_brackets(left)}{_SIGNS[function]}{_in_brackets(right)}"
        kind = {int: Integer, float: Real}.get(type(found))
        return found if kind is None else kind.of(found, rule, text, self.facts)

    def method(self, other):
        return made(self, other, self) if isinstance(other, (int, float)) else NotImplemented

    def swapped(self, other):
        return made(other, self, self) if isinstance(other, (int, float)) else NotImplemented

    return method, swapped


def _in_brackets(value):
    text = str(_text(value))
    return text if text.replace(".", "").replace("_", "").isalnum() else f"({text})"


def _comparison(function):
    def method(self, other):
        return Truth(function, self, other, self.facts) if isinstance(other, (int, float)) else NotImplemented

    return method


class _Known:
    """What numbers of both kinds have."""

    rule: Any
    text: str
    facts: Facts

    @classmethod
    def of(cls, value, rule, text, facts):
        made = cls(value)
        made.rule, made.text, made.facts = rule, text, facts
        return made

    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv)
    __mod__, __rmod__ = _arithmetic(operator.mod)
    __pow__, __rpow__ = _arithmetic(operator.pow)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __bool__(self):
        return Truth(operator.ne, self, 0, self.facts).holds(sys._getframe(1))


class Integer(_Known, int):
    """An int that comes from values."""

    __hash__ = int.__hash__


class Real(_Known, float):
    """A float that comes from values."""

    __hash__ = float.__hash__
