"""Numbers with names: sizes of a program that other calls may have others of, as ``torch.SymInt``.

A number of this kind knows a formula over names, and its *hint*: what it was in the example that the program was recorded with.
Arithmetic keeps both; where Python needs a number (``int(s)``, ``range(s)``, ``if s > 2``) the hint answers.

>>> batch = named("batch", 8)
>>> batch * 4 + 1, int(batch * 4 + 1), batch > 2
(4*batch + 1, 33, batch > 2)
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
import threading
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Expression", "SymBool", "SymFloat", "SymInt", "SymNode", "Symbol", "named", "numbers_read", "of_text"]


_MOST_FACTORS = 16  #: of a power, which is written out


class Symbol(str):
    """The name of a number."""

    __slots__ = ()
    name = property(str)


class Expression:
    """A sum of products of names, with whole factors. What is neither (``a // b``, ``a % b``) is a name of its own in it.

    >>> of = Expression.of_text
    >>> of("2*(a + b) - a"), of("a*b + a*3"), of("(4*a) // 4"), of("a // 2 + 1")
    (a + 2*b, a*b + 3*a, a, a//2 + 1)
    >>> sorted(of("2*a + b//c").free_symbols)
    ['a', 'b', 'c']
    """

    __slots__ = ("_parts", "_terms")

    def __init__(self, terms: dict[tuple[str, ...], int], parts: dict[str, set[Symbol]]) -> None:
        self._terms = {key: factor for key, factor in terms.items() if factor}
        self._parts = parts  # names that are no symbols, and the symbols within

    @staticmethod
    def of(value: Any) -> Expression:
        """The formula of a number, or of a number with a name."""
        if isinstance(value, Expression):
            return value
        if isinstance(value, (SymInt, SymFloat)):
            return value.node.expr
        if isinstance(value, str):
            return Expression({(str(value),): 1}, {})
        return Expression({(): value}, {})

    @staticmethod
    def of_text(text: str) -> Expression:
        """The formula that a text says. ValueError for other texts than sums, products, ``//`` and ``%`` of names and numbers."""
        try:
            return _of_tree(ast.parse(text, mode="eval").body, text)
        except (SyntaxError, ArithmeticError, TypeError, RecursionError, MemoryError) as error:
            raise ValueError(f"a size is a sum or product of names and numbers, got {text[:200]!r}: {error}") from None

    @property
    def free_symbols(self) -> set[Symbol]:
        """The names in it."""
        found: set[Symbol] = set()
        for key in self._terms:
            for name in key:
                found |= self._parts.get(name) or {Symbol(name)}
        return found

    @property
    def is_number(self) -> bool:
        """Whether it has no names."""
        return not any(self._terms)

    def number(self) -> Any:
        """The number that it is, if it has no names."""
        return self._terms.get((), 0)

    def linear(self) -> tuple[str, Any, Any] | None:
        """Name, factor and rest of a multiple of one name plus a number; None for others.

        >>> Expression.of_text("4*b + 1").linear(), Expression.of_text("a*b").linear()
        (('b', 4, 1), None)
        """
        names = [key for key in self._terms if key]
        if len(names) != 1 or len(names[0]) != 1 or names[0][0] in self._parts:
            return None
        return names[0][0], self._terms[names[0]], self.number()

    def __add__(self, other: Any) -> Expression:
        terms, other = dict(self._terms), Expression.of(other)
        for key, factor in other._terms.items():
            terms[key] = terms.get(key, 0) + factor
        return Expression(terms, self._parts | other._parts)

    def __mul__(self, other: Any) -> Expression:
        terms: dict[tuple[str, ...], Any] = {}
        other = Expression.of(other)
        for one, a in self._terms.items():
            for two, b in other._terms.items():
                key = tuple(sorted(one + two))
                terms[key] = terms.get(key, 0) + a * b
        return Expression(terms, self._parts | other._parts)

    def __neg__(self) -> Expression:
        return self * -1

    def __sub__(self, other: Any) -> Expression:
        return self + -Expression.of(other)

    def __floordiv__(self, other: Any) -> Expression:
        other = Expression.of(other)
        if other.is_number and other.number() and all(f % other.number() == 0 for f in self._terms.values()):
            return Expression({key: f // other.number() for key, f in self._terms.items()}, self._parts)
        return self.apart("//", other)

    def __mod__(self, other: Any) -> Expression:
        other = Expression.of(other)
        if other.is_number and other.number() and all(f % other.number() == 0 for f in self._terms.values()):
            return Expression.of(0)
        return self.apart("%", other)

    def apart(self, sign: str, other: Any) -> Expression:
        """Another operator on two, as a name of its own."""
        other = Expression.of(other)
        if self.is_number and other.is_number:
            return Expression.of(_OPERATORS[sign](self.number(), other.number()))
        text = f"{self._in_brackets()}{sign}{other._in_brackets()}"
        if sign not in ("//", "%", "/", "**"):  # sums bind stronger
            text = f"({text})"
        return Expression.part(text, self.free_symbols | other.free_symbols)

    def called(self, name: str) -> Expression:
        """A function of it, as a name of its own.

        >>> Expression.of_text("2*a").called("abs")
        abs(2*a)
        """
        return (
            Expression.of(_FUNCTIONS[name](self.number()))
            if self.is_number
            else Expression.part(f"{name}({self})", self.free_symbols)
        )

    @staticmethod
    def part(text: str, symbols: Iterable[str]) -> Expression:
        """A formula of another kind, as a name of its own: its text, and the names in it."""
        return Expression({(text,): 1}, {text: set(map(Symbol, symbols))})

    def _in_brackets(self) -> str:
        return str(self) if str(self).isidentifier() or str(self).isdigit() else f"({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Expression, int, float, str)) and Expression.of(other)._terms == self._terms

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        text = ""
        for key, factor in sorted(self._terms.items(), key=lambda item: (-len(item[0]), item[0])):
            several = len(key) > 1 or factor != 1  # -(a//b) is not -a//b
            names = {n: f"({n})" if n in self._parts and several else n for n in key}
            powers = [f"{said}**{key.count(n)}" if key.count(n) > 1 else said for n, said in names.items()]
            product = "*".join([str(abs(factor))] * (abs(factor) != 1 or not key) + powers)
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {product}" if text else product if factor > 0 else f"-{product}"
        return text or "0"

    __repr__ = __str__

    def _sympy_(self) -> Any:
        """The same for sympy, which asks for it."""
        import sympy

        return sympy.sympify(str(self), locals={s: sympy.Symbol(s, integer=True) for s in self.free_symbols})


_OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod, "/": operator.truediv,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_TREES = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_APART = {
    ast.Div: "/", ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "abs": abs, "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc, "round": round, "float": float,
}  # fmt: skip


def _of_tree(node, text):
    if isinstance(node, ast.Name):
        return Expression.of(node.id)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Expression.of(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_of_tree(node.operand, text)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _FUNCTIONS
        and len(node.args) == 1
    ):
        return _of_tree(node.args[0], text).called(node.func.id)
    if isinstance(node, ast.BinOp):
        left, right = _of_tree(node.left, text), _of_tree(node.right, text)
        if type(node.op) in _TREES:
            return _OPERATORS[_TREES[type(node.op)]](left, right)
        if isinstance(node.op, ast.LShift) and left.is_number:
            raise ValueError(
                f"a size is a sum or product of names and numbers, and shifts none to the left, got {text!r}"
            )
        if type(node.op) in _APART:
            return (
                _power(left, right, text) if isinstance(node.op, ast.Pow) else left.apart(_APART[type(node.op)], right)
            )
    raise ValueError(f"a size is a sum or product of names and numbers, got {text!r}")


def _power(left, right, text):
    """A whole power is written out, a higher or other one is a name of its own."""
    number = right.number() if right.is_number else None
    if type(number) is int and 0 <= number <= _MOST_FACTORS:
        return math.prod([left] * number, start=Expression.of(1))
    if left.is_number and right.is_number:
        raise ValueError(f"a size has whole powers of numbers up to {_MOST_FACTORS}, got {text!r}")
    return left.apart("**", right)


class SymNode:
    """What a number with a name is: its formula, and the number that it was."""

    def __init__(self, expr: Any, hint: Any, pytype: type, shape_env: Any = None) -> None:
        self.expr, self.hint, self.pytype, self.shape_env = expr, hint, pytype, shape_env

    def has_hint(self) -> bool:
        """Whether it is known what it was: always."""
        return True

    def require_hint(self, fallback: Any = None) -> Any:
        """What it was."""
        return self.hint

    def maybe_as_int(self) -> int | None:
        """The number, if no name is in it."""
        return self.expr.number() if isinstance(self.expr, Expression) and self.expr.is_number else None

    def is_symbolic(self) -> bool:
        """True: it has a name."""
        return True

    def __str__(self) -> str:
        return str(self.expr)

    __repr__ = __str__


def named(name: str, hint: int) -> SymInt:
    """A number with a name.

    >>> named("s0", 3) - 1
    s0 - 1
    """
    return SymInt(SymNode(Expression.of(str(name)), hint, int))


def of_text(text: str, hint: int) -> SymInt:
    """The number that a formula says.

    >>> of_text("2*s0 + 1", 7).node.hint
    7
    """
    return SymInt(SymNode(Expression.of_text(text), hint, int))


_thread = threading.local()


@contextlib.contextmanager
def numbers_read() -> Iterator[list[str]]:
    """A block that gives the formulas of which this thread asks for the number: what it makes holds for that only.

    >>> size = named("s0", 3)
    >>> with numbers_read() as read:
    ...     twice, four = size * 2, int(size) + 1
    >>> read
    ['s0']
    """
    before, _thread.read = getattr(_thread, "read", None), []
    try:
        yield _thread.read
    finally:
        _thread.read = before


def _number(symbolic):
    """What a symbolic number was in the example, for who goes on with that."""
    if (read := getattr(_thread, "read", None)) is not None:
        read.append(str(symbolic.node))
    return symbolic.node.hint


def _hint(value):
    return value.node.hint if isinstance(value, _Symbolic) else value


def _made(expr, hint):
    if isinstance(expr, Expression) and expr.is_number:
        return hint
    return (SymInt if isinstance(hint, int) else SymFloat)(SymNode(expr, hint, type(hint)))


def _arithmetic(sign):
    function = _OPERATORS[sign]

    def made(a, b):
        hint, one, two = function(_hint(a), _hint(b)), Expression.of(a), Expression.of(b)
        whole = all(isinstance(_hint(x), int) for x in (a, b))
        joined = sign in ("+", "-", "*") or (whole and sign in ("//", "%"))
        return _made(function(one, two) if joined else one.apart(sign, two), hint)

    def method(self, other):
        return made(self, other) if isinstance(other, (int, float, _Symbolic)) else NotImplemented

    def swapped(self, other):
        return made(other, self) if isinstance(other, (int, float, _Symbolic)) else NotImplemented

    return method, swapped


def _comparison(sign):
    function = _OPERATORS[sign]

    def method(self, other):
        if not isinstance(other, (int, float, _Symbolic)) or isinstance(other, SymBool):
            return NotImplemented
        answer = function(_hint(self), _hint(other))
        if sign in ("==", "!=") and Expression.of(self) == Expression.of(other):
            return answer
        _number(self)  # the answer goes on, whenever it is asked for
        return SymBool(SymNode(f"{Expression.of(self)} {sign} {Expression.of(other)}", answer, bool))

    return method


def _one(name):
    """A method that is a function of one number."""

    def method(self):
        return _made(self.node.expr.called(name), _FUNCTIONS[name](self.node.hint))

    return method


class _Symbolic:
    __torch_symbolic__ = True  # operators take it where they take numbers, torch.Size as it is

    def __init__(self, node: SymNode) -> None:
        if not isinstance(node, SymNode):
            raise TypeError(
                f"torch.{type(self).__name__}: such numbers are sizes of exported programs; for a number of your own take "
                f"{'int, float or bool' if not isinstance(node, (int, float)) else repr(node)}"
            )
        self.node = node

    def __repr__(self) -> str:
        return str(self.node)

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(_number(self))

    def __hash__(self) -> int:
        return hash(str(self.node))

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class _Number(_Symbolic):
    __add__, __radd__ = _arithmetic("+")
    __sub__, __rsub__ = _arithmetic("-")
    __mul__, __rmul__ = _arithmetic("*")
    __floordiv__, __rfloordiv__ = _arithmetic("//")
    __mod__, __rmod__ = _arithmetic("%")
    __truediv__, __rtruediv__ = _arithmetic("/")
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("<", "<=", ">", ">="))
    __eq__, __ne__ = _comparison("=="), _comparison("!=")  # type: ignore[assignment]
    __hash__ = _Symbolic.__hash__

    __abs__ = _one("abs")

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __format__(self, spec: str) -> str:
        return format(_number(self), spec) if spec else str(self)

    def __int__(self) -> int:
        return int(_number(self))

    def __float__(self) -> float:
        return float(_number(self))

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 0 <= other <= _MOST_FACTORS:
            return math.prod([self] * other)
        return _POWER[0](self, other)

    def __rpow__(self, other: Any) -> Any:
        return _POWER[1](self, other)


_POWER = _arithmetic("**")


class SymInt(_Number):
    """A size that may be another one in another call: a formula over names, and what it was in the example.

    >>> import torch
    >>> from torch._symbols import named
    >>> size = named("batch", 3)
    >>> size, isinstance(size, torch.SymInt), isinstance(size, int), int(size), size * 2
    (batch, True, False, 3, 2*batch)
    """

    def __index__(self) -> int:
        return int(_number(self))

    __and__, __rand__ = _arithmetic("&")
    __or__, __ror__ = _arithmetic("|")
    __xor__, __rxor__ = _arithmetic("^")
    __lshift__, __rlshift__ = _arithmetic("<<")
    __rshift__, __rrshift__ = _arithmetic(">>")
    __round__ = __trunc__ = __floor__ = __ceil__ = lambda self, *digits: self

    def is_integer(self) -> bool:
        """True."""
        return True


class SymFloat(_Number):
    """A float that follows from sizes that may change."""

    __trunc__, __ceil__, __floor__ = _one("trunc"), _one("ceil"), _one("floor")

    def __round__(self, digits: int | None = None) -> Any:
        return _ROUND(self) if digits is None else round(self.node.hint, digits)

    def is_integer(self) -> bool:
        """Whether it was a whole number."""
        return float(self.node.hint).is_integer()


_ROUND = _one("round")


class SymBool(_Symbolic):
    """An answer about sizes that may change: what it was for the example, and the question.

    >>> from torch._symbols import named
    >>> answer = named("s0", 3) > 2
    >>> answer, bool(answer), ~answer
    (s0 > 2, True, Not(s0 > 2))
    """

    def __invert__(self) -> SymBool:
        return SymBool(SymNode(f"Not({self.node})", not self.node.hint, bool))

    def _joined(self, other, name, function):
        if not isinstance(other, (bool, SymBool)):
            return NotImplemented
        return SymBool(SymNode(f"{name}({self}, {other})", function(bool(self), bool(other)), bool))

    def __and__(self, other: Any) -> SymBool:
        return self._joined(other, "And", operator.and_)

    def __or__(self, other: Any) -> SymBool:
        return self._joined(other, "Or", operator.or_)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (bool, SymBool)) and bool(self) is bool(other)

    __hash__ = _Symbolic.__hash__
    __rand__, __ror__ = __and__, __or__
    __int__ = __index__ = lambda self: int(self.node.hint)
