"""What a program asks about sizes that may change: the answers for the example have to hold for all sizes.

While the example is recorded, a size that may change is an int that knows what it is called, and keeps it through arithmetic.
Each comparison is noted. Afterwards they are asked again for other sizes within the bounds, and an answer that is another
one there is an error that names the line: the exported program would go the example's way.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import random
import sys
from dataclasses import dataclass
from typing import Any

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Question", "Questions", "ask_of_constant", "number_named", "tried"]


@dataclass(frozen=True)
class Question:
    """A comparison: its text over the names of sizes, the answer for the example, and the line that asks."""

    text: str
    answer: bool
    place: str


def _arithmetic(symbol, function):
    def method(self, other):
        found = function(int(self), _plain(other))
        text = _text(other)
        return (
            found
            if text is None or type(found) is not int
            else _Named.of(found, f"({self.text} {symbol} {text})", self)
        )

    def swapped(self, other):
        found = function(_plain(other), int(self))
        text = _text(other)
        return (
            found
            if text is None or type(found) is not int
            else _Named.of(found, f"({text} {symbol} {self.text})", self)
        )

    return method, swapped


def _comparison(symbol, function):
    def method(self, other):
        found = function(int(self), _plain(other))
        if (text := _text(other)) is not None and isinstance(found, bool):
            self.asked(f"({self.text} {symbol} {text})", found)
        return found

    return method


def _plain(value):
    """A number without its name: Python asks the right one of two operands first where its class is the narrower."""
    return int(value) if isinstance(value, _Named) else value


def _text(value):
    if isinstance(value, _Named):
        return value.text
    return repr(value) if type(value) in (int, float) else None


class _Named(int):
    """A size that may change."""

    text: str
    questions: Questions

    @classmethod
    def of(cls, number: int, text: str, like: Any) -> _Named:
        made = cls(number)
        made.text, made.questions = text, getattr(like, "questions", like)
        return made

    def asked(self, text: str, answer: bool) -> None:
        frame = sys._getframe(2)
        if frame.f_globals.get("__name__", "").split(".")[0] == "torch":
            return  # what torch itself does with sizes holds for any
        place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        self.questions.found.append(Question(text, answer, place))

    __add__, __radd__ = _arithmetic("+", operator.add)
    __sub__, __rsub__ = _arithmetic("-", operator.sub)
    __mul__, __rmul__ = _arithmetic("*", operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic("//", operator.floordiv)
    __mod__, __rmod__ = _arithmetic("%", operator.mod)
    __eq__, __ne__ = _comparison("==", operator.eq), _comparison("!=", operator.ne)
    __lt__, __le__ = _comparison("<", operator.lt), _comparison("<=", operator.le)
    __gt__, __ge__ = _comparison(">", operator.gt), _comparison(">=", operator.ge)
    __hash__ = int.__hash__

    def __neg__(self) -> int:
        return _Named.of(-int(self), f"(-{self.text})", self)

    def __bool__(self) -> bool:
        self.asked(f"({self.text} != 0)", int(self) != 0)
        return int(self) != 0


def number_named(number: int, text: str, questions: Any) -> int:
    """An int among the arguments that may be another one."""
    return _Named.of(number, text, questions)


def ask_of_constant(value: Any, place: str) -> None:
    """Ask of a number that was the same at all sizes of a program, if it follows from sizes, whether it is so at others."""
    if isinstance(value, _Named):
        value.questions.found.append(Question(f"({value.text} == {int(value)})", True, place))


class Questions:
    """What was asked about the sizes of some tensors. ``names``: id of a tensor -> dim -> what its size is called."""

    def __init__(self, names: dict[int, dict[int, str]]) -> None:
        self.names, self.found = names, []  # type: ignore[var-annotated]

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """A block in which the sizes of these tensors know their names."""
        shape, size = torch.Tensor.__dict__["shape"], torch.Tensor.__dict__["size"]

        def named(tensor: Any) -> Any:
            sizes, names = shape.__get__(tensor), self.names.get(id(tensor))
            if not names:
                return sizes
            return torch.Size([_Named.of(n, names[i], self) if i in names else n for i, n in enumerate(sizes)])

        def sized(tensor: Any, dim: int | None = None) -> Any:
            sizes = named(tensor)
            return sizes if dim is None else sizes[dim] if id(tensor) in self.names else size.__get__(tensor)(dim)

        torch.Tensor.shape, torch.Tensor.size = property(named), sized  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            torch.Tensor.shape, torch.Tensor.size = shape, size  # type: ignore[method-assign]

    def other_answers(self, bounds: dict[str, tuple[int, int]]) -> Iterator[tuple[Question, dict[str, int]]]:
        """Each question whose answer is another one for some sizes within the bounds, and these sizes.

        Sizes of 0 and 1 are not tried unless the bounds leave no others: PyTorch takes them for programs of their own.
        """
        draw = random.Random(0)
        for question in dict.fromkeys(self.found):
            names = [name for name in bounds if name in _names(question.text)]
            if not names:
                continue
            each = {name: tried(*bounds[name]) for name in names}
            count = 1
            for sizes_of_one in each.values():
                count *= len(sizes_of_one)
            combinations: Any = itertools.product(*each.values())
            if count > 4000:  # the small ones, where sums and products of several meet other numbers, and some of all
                few = int(2000 ** (1 / len(names)))
                small = itertools.product(*(sorted(some, key=abs)[:few] for some in each.values()))
                combinations = itertools.chain(
                    small, ([draw.choice(some) for some in each.values()] for _ in range(4000))
                )
            code = compile(question.text, "<sizes>", "eval")
            for values in combinations:
                sizes = dict(zip(names, values, strict=True))
                try:
                    answer = eval(code, {"__builtins__": {}}, sizes)
                except ZeroDivisionError:
                    continue
                if bool(answer) != question.answer:
                    yield question, sizes
                    break


def _names(text: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


def tried(low: int, high: int) -> list[int]:
    """Sizes within bounds for which questions are asked again."""
    if low < 0:  # an int among the arguments, which is no size
        return sorted({*tried(2, high), *(-n for n in tried(1, -low)), *range(max(low, -9), min(high, 9) + 1)})
    first = min(max(low, 2), high)
    found = set(range(first, min(high, first + 130) + 1)) | {high}
    for power in range(7, 31):
        found |= {n for n in (2**power - 1, 2**power, 2**power + 1, 3 * 2**power) if first <= n <= high}
    return sorted(found)
