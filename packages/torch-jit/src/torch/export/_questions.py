"""What a program asks about sizes that may change: the answers for the example have to hold for all sizes.

While the example is recorded, a size that may change is a number that knows what it is called, and keeps it through arithmetic.
Each comparison is noted. Afterwards they are asked again for other sizes within the bounds, and an answer that is another
one there is an error that names the line: the exported program would go the example's way.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import _pytree as pytree
from torch._seams import SizeExpression as Expression
from torch.jit import _native
from torch.jit._threads import here

from . import _formulas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NAMED", "Question", "Questions", "tried", "unnamed"]

_LONGEST = 2000  #: of a formula: what is longer (a number that doubles in a loop) is a number without a name


@dataclass(frozen=True)
class Question:
    """A comparison: its text over the names of sizes, the answer for the example, and the line that asks."""

    text: str
    answer: bool
    place: str


# --- numbers with names ---


def _plain(value):
    """A number without its name: Python asks the right one of two operands first where its class is the narrower."""
    if isinstance(value, int):
        return int.__add__(value, 0)
    return float.__add__(value, 0.0)


def _text(value):
    if isinstance(value, NAMED):
        return value.text if isinstance(value, float) or value.text.isidentifier() else f"({value.text})"
    return repr(_plain(value)) if value >= 0 else f"({_plain(value)!r})"


def _expression(value):
    return value.expression if isinstance(value, _Named) else Expression.of(_plain(value))


def _is_number(value):
    return isinstance(value, NAMED) or type(value) in (int, bool) or (type(value) is float and math.isfinite(value))


def _arithmetic(sign, function):
    def made(left, right, like):
        found = function(_plain(left), _plain(right))
        if isinstance(found, int) and isinstance(left, int) and isinstance(right, int):
            return _Named.of(found, _combined(function, sign, _expression(left), _expression(right)), like)
        return _NamedReal.of(found, f"({_text(left)} {sign} {_text(right)})", like) if type(found) is float else found

    def method(self, other):
        return made(self, other, self) if _is_number(other) else _unnamed(function, self, other)

    def swapped(self, other):
        return made(other, self, self) if _is_number(other) else _unnamed(lambda a, b: function(b, a), self, other)

    return method, swapped


def _unnamed(function, number, other):
    """With what is no number of this kind: ``inf`` makes a plain number, and tensors know what to do."""
    return function(_plain(number), other) if type(other) in (float, complex) else NotImplemented


def _combined(function, sign, left, right):
    return function(left, right) if sign in ("+", "-", "*", "//", "%") else left.apart(sign, right)


def _comparison(sign, function):
    def method(self, other):
        if not _is_number(other):
            return _unnamed(function, self, other)
        found = function(_plain(self), _plain(other))
        same = isinstance(self, _Named) and isinstance(other, int) and self.expression == _expression(other)
        if not same:
            self.asked(f"({self.text} {sign} {_text(other)})", found)
        return found

    return method


def _one(name, function=None):
    """A method that is a function of one number."""
    function = function or _formulas.FUNCTIONS[name]

    def method(self):
        found = function(_plain(self))
        if type(found) is float:
            return _NamedReal.of(found, f"{name}({self.text})", self)
        if isinstance(self, _Named):
            return _Named.of(found, self.expression.called(name), self)
        text = f"{name}({self.text})"
        return _Named.of(found, Expression.part(text, _formulas.names_in(text)), self)

    return method


class _Symbolic:
    """What sizes and numbers that follow them have."""

    questions: Questions
    text: str

    def asked(self, text: str, answer: bool) -> None:
        frame = sys._getframe(2)
        if frame.f_globals.get("__name__", "").split(".")[0] == "torch":
            return  # what torch itself does with sizes holds for any
        self.questions.ask(text, answer, _place(frame))

    def lost(self, name: str, value: Any) -> Any:
        """The number becomes one that knows no name."""
        text = f"{name}({self.text})" if name else self.text
        self.questions.lost.append((text, value, _place(sys._getframe(2))))
        return value

    __add__, __radd__ = _arithmetic("+", operator.add)
    __sub__, __rsub__ = _arithmetic("-", operator.sub)
    __mul__, __rmul__ = _arithmetic("*", operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic("//", operator.floordiv)
    __truediv__, __rtruediv__ = _arithmetic("/", operator.truediv)
    __mod__, __rmod__ = _arithmetic("%", operator.mod)
    __eq__, __ne__ = _comparison("==", operator.eq), _comparison("!=", operator.ne)
    __lt__, __le__ = _comparison("<", operator.lt), _comparison("<=", operator.le)
    __gt__, __ge__ = _comparison(">", operator.gt), _comparison(">=", operator.ge)
    __abs__ = _one("abs")

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _POWER[0](self, other) if modulo is None else pow(_plain(self), other, modulo)

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        return _POWER[1](self, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __bool__(self) -> bool:
        answer = _plain(self) != 0
        self.asked(f"({self.text} != 0)", answer)
        return answer

    def __float__(self) -> float:
        return self.lost("float" if isinstance(self, int) else "", float(_plain(self)))


_POWER = _arithmetic("**", operator.pow)


class _Named(_Symbolic, int):
    """A size that may change, or an int that follows from some."""

    expression: Expression

    @classmethod
    def of(cls, number: int, expression: Expression, like: Any) -> int:
        if expression.is_number or len(text := str(expression)) > _LONGEST:
            return number
        made = cls(number)
        made.expression, made.text, made.questions = expression, text, getattr(like, "questions", like)
        return made

    __and__, __rand__ = _arithmetic("&", operator.and_)
    __or__, __ror__ = _arithmetic("|", operator.or_)
    __xor__, __rxor__ = _arithmetic("^", operator.xor)
    __lshift__, __rlshift__ = _arithmetic("<<", operator.lshift)
    __rshift__, __rrshift__ = _arithmetic(">>", operator.rshift)

    def __hash__(self) -> int:
        """Caches of users would keep a size for longer than the export, and compare it with others: as in PyTorch they are
        refused (einops goes without its cache then). Those of torch are not.
        """
        if str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0] != "torch":
            raise TypeError(
                f"unhashable type: {self.text}, a size that may change, is no key of a dict, a set or a cache"
            )
        return int.__hash__(self)

    __ceil__ = __floor__ = __trunc__ = lambda self: self

    def __invert__(self) -> int:
        return -self - 1

    def __round__(self, digits: int | None = None) -> int:
        return self if digits is None or digits >= 0 else self.lost("", round(_plain(self), digits))

    def __int__(self) -> int:
        return self.lost("", _plain(self))


class _NamedReal(_Symbolic, float):
    """A float that follows from sizes that may change."""

    @classmethod
    def of(cls, number: float, text: str, like: Any) -> float:
        if len(text) > _LONGEST:
            return number
        made = cls(number)
        made.text, made.questions = text, like.questions
        return made

    __hash__ = float.__hash__
    __ceil__, __floor__, __trunc__ = _one("ceil"), _one("floor"), _one("trunc")

    def __round__(self, digits: int | None = None) -> Any:
        return _ROUND(self) if digits is None else round(_plain(self), digits)

    def __int__(self) -> int:
        return self.lost("trunc", int(_plain(self)))

    def is_integer(self) -> bool:
        answer = _plain(self).is_integer()
        self.asked(f"({self.text} % 1 == 0)", answer)
        return answer


_ROUND = _one("round")
NAMED = (_Named, _NamedReal)


def _place(frame):
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def unnamed(value: Any) -> Any:
    """A number as one that knows no name; what is none as it is."""
    return _plain(value) if isinstance(value, NAMED) else value


# --- questions ---


class Questions:
    """What was asked about the sizes of some tensors. ``names``: id of a tensor -> dim -> what its size is called."""

    def __init__(self) -> None:
        self.names: dict[int, dict[int, str]] = {}
        self._found: dict[tuple[str, bool], Question] = {}
        #: numbers that lost their names: (formula, what it was, the line)
        self.lost: list[tuple[str, Any, str]] = []

    def ask(self, text: str, answer: bool, place: str) -> None:
        """Note a question."""
        self._found.setdefault((text, answer), Question(text, answer, place))

    def forget(self) -> None:
        """Take no question from here on with those before."""
        self._found = {}

    def ask_of_constant(self, value: Any, place: str) -> None:
        """Ask of a number that was the same at all sizes of a program, if it follows from sizes, whether it is so at others."""
        if isinstance(value, NAMED):
            self.ask(f"({value.text} == {_plain(value)!r})", True, place)

    def number(self, number: int, text: str) -> int:
        """A size that may be another one, or an int among the arguments."""
        return _Named.of(number, Expression.of_text(text), self)

    def listening(self) -> Any:
        """A block in which the sizes of these tensors know their names."""
        before = {name: torch.Tensor.__dict__[name] for name in ("shape", "size", "numel", "nelement")}
        shape, size = before["shape"], before["size"]

        def named(tensor: Any) -> Any:
            sizes, names = shape.__get__(tensor), self.names.get(id(tensor))
            if not names:
                return sizes
            return torch.Size([self.number(n, names[i]) if i in names else n for i, n in enumerate(sizes)])

        def sized(tensor: Any, dim: int | None = None) -> Any:
            sizes = named(tensor)
            return sizes if dim is None else sizes[dim] if id(tensor) in self.names else size.__get__(tensor)(dim)

        def counted(tensor: Any) -> Any:
            return math.prod(named(tensor)) if id(tensor) in self.names else before["numel"].__get__(tensor)()

        stand_ins = {"size": sized, "numel": counted, "nelement": counted}
        replaced = {name: here(stand_in, before[name]) for name, stand_in in stand_ins.items()}
        replaced["shape"] = property(here(named, shape.__get__))
        made = [(torch, "tensor"), (torch, "as_tensor"), (torch, "asarray"), (torch.Tensor, "new_tensor")]
        return _native.Replaced(
            [
                *((torch.Tensor, name, method) for name, method in replaced.items()),
                *((owner, name, here(self._noting(vars(owner)[name]), vars(owner)[name])) for owner, name in made),
            ]
        )

    def _noting(self, function: Any) -> Any:
        """A function that makes a tensor of numbers, which lose their names there."""

        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            place = _place(sys._getframe(1))
            for each in pytree.tree_leaves((args, kwargs)):
                if isinstance(each, NAMED):
                    self.lost.append((each.text, _plain(each), place))
            return function(*args, **kwargs)

        return noted

    def other_answers(self, bounds: dict[str, tuple[int, int]]) -> Iterator[tuple[Question, dict[str, int]]]:
        """Each question whose answer is another one for some sizes within the bounds, and these sizes.

        Sizes of 0 and 1 are not tried unless the bounds leave no others: PyTorch takes them for programs of their own.
        """
        for question in list(self._found.values()):
            asked_of = _formulas.names_in(question.text)
            names = [name for name in bounds if name in asked_of]
            for values in _combinations([tried(*bounds[name]) for name in names]) if names else ():
                sizes = dict(zip(names, values, strict=True))
                try:
                    answer = bool(_formulas.evaluate(question.text, sizes))
                except _formulas.FAILURES:
                    continue
                if answer != question.answer:
                    yield question, sizes
                    break


def _combinations(each: list[list[int]]) -> Any:
    """Sizes of several names: all, or where these are too many the small ones, where sums and products of several meet other
    numbers, and some of all."""
    if math.prod(map(len, each)) <= 4000:
        return itertools.product(*each)
    draw = random.Random(0)
    few = int(2000 ** (1 / len(each)))
    small = itertools.product(*(sorted(some, key=abs)[:few] for some in each))
    return itertools.chain(small, ([draw.choice(some) for some in each] for _ in range(4000)))


def tried(low: int, high: int) -> list[int]:
    """Sizes within bounds for which questions are asked again."""
    if low < 0:  # an int among the arguments, which is no size
        return sorted({*tried(2, high), *(-n for n in tried(1, -low)), *range(max(low, -9), min(high, 9) + 1)})
    first = min(max(low, 2), high)
    found = set(range(first, min(high, first + 130) + 1)) | {high}
    for power in range(7, 31):
        found |= {n for n in (2**power - 1, 2**power, 2**power + 1, 3 * 2**power) if first <= n <= high}
    return sorted(found)
