"""What an exported program asks of sizes: conditions on their names that were so for its example, and have to be so in each call."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from . import _formulas

__all__ = ["Guard"]


@dataclass(frozen=True)
class Guard:
    """A comparison over names of sizes, and what it has to be.

    >>> even = Guard("((b % 2) == 0)", True)
    >>> even.holds({"b": 6}), even.holds({"b": 7}), str(even)
    (True, False, 'b % 2 == 0')
    >>> Guard("f(b)", True)
    Traceback (most recent call last):
        ...
    ValueError: a guard is a comparison of sizes, got f(b)
    """

    text: str
    answer: bool

    def __post_init__(self) -> None:
        _formulas.checked(_formulas.tree(self.text), self.text)

    @property
    def names(self) -> set[str]:
        """The sizes that it is about."""
        return _formulas.names_in(self.text)

    def value(self, sizes: dict[str, int]) -> bool:
        """What the comparison is for some sizes. ArithmeticError where it has none, as when it divides by a size of 0."""
        return bool(_formulas.evaluate(self.text, sizes))

    def holds(self, sizes: dict[str, int]) -> bool:
        """Whether it is what it has to be; what cannot be computed is not."""
        try:
            return self.value(sizes) is self.answer
        except _formulas.FAILURES:
            return False

    def __str__(self) -> str:
        said = ast.unparse(_formulas.tree(self.text))
        return said if self.answer else f"not {said}"
