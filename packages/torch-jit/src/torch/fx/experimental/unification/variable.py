"""Variables of terms."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

__all__ = ["Var", "isvar", "var", "variables", "vars"]

_numbers = itertools.count(1)
_values: set = set()


class Var:
    """A variable; two of the same token are the same one.

    >>> Var("x") == Var("x"), Var("x")
    (True, ~x)
    """

    def __init__(self, *token: Any) -> None:
        self.token = token[0] if token else f"_{next(_numbers)}"

    def __str__(self) -> str:
        return f"~{self.token}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.token == other.token  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.token))


def var(*token: Any) -> Var:
    """A variable, of a token of its own where none is given."""
    return Var(*token)


def vars(n: int) -> list[Var]:
    """Several variables."""
    return [Var() for _ in range(n)]


def isvar(value: Any) -> bool:
    """Whether a value is a variable, or stands for one within a block of :func:`variables`."""
    if isinstance(value, Var):
        return True
    try:
        return value in _values
    except TypeError:
        return False


@contextlib.contextmanager
def variables(*values: Any) -> Iterator[None]:
    """A block in which these values are variables.

    >>> from torch.fx.experimental.unification import unify
    >>> with variables("?"):
    ...     unify(("?", 2), (1, 2))
    {'?': 1}
    """
    before = set(_values)
    _values.update(values)
    try:
        yield
    finally:
        _values.clear()
        _values.update(before)
