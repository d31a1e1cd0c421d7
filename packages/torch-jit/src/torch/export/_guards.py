"""What an exported program asks of sizes: conditions on their names that were so for its example, and have to be so in each call."""

from __future__ import annotations

import ast
import functools
import operator
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Guard"]

_FUNCTIONS: dict[Any, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.USub: operator.neg,
}  # fmt: skip


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
        _checked(_tree(self.text), self.text)

    @property
    def names(self) -> set[str]:
        """The sizes that it is about."""
        return {n.id for n in ast.walk(_tree(self.text)) if isinstance(n, ast.Name)}

    def value(self, sizes: dict[str, int]) -> bool:
        """What the comparison is for some sizes. ZeroDivisionError where it divides by a size of 0."""
        return bool(_value(_tree(self.text), sizes))

    def holds(self, sizes: dict[str, int]) -> bool:
        """Whether it is what it has to be; a division by 0 is not."""
        try:
            return self.value(sizes) is self.answer
        except ZeroDivisionError:
            return False

    def __str__(self) -> str:
        said = ast.unparse(_tree(self.text))
        return said if self.answer else f"not {said}"


@functools.lru_cache(1024)  # programs ask at each call
def _tree(text):
    return ast.parse(text, mode="eval").body


def _checked(node, text):
    """Guards are read from files: what is no comparison of sizes is refused."""
    if isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
        return
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _FUNCTIONS:
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, ast.BinOp) and type(node.op) in _FUNCTIONS:
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _FUNCTIONS:
        parts = [node.operand]
    else:
        raise ValueError(f"a guard is a comparison of sizes, got {text}")
    for part in parts:
        _checked(part, text)


def _value(node, sizes):
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Compare):
        return _FUNCTIONS[type(node.ops[0])](_value(node.left, sizes), _value(node.comparators[0], sizes))
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, sizes)
    return _FUNCTIONS[type(node.op)](_value(node.left, sizes), _value(node.right, sizes))
