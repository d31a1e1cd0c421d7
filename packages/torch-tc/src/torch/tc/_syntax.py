"""What a comprehension consists of: definitions, statements, expressions. Every node knows its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Number:
    value: int | float
    at: int = field(compare=False)


@dataclass(frozen=True)
class Name:
    """An index variable, a size, or a tensor without dims."""

    id: str
    at: int = field(compare=False)


@dataclass(frozen=True)
class Size:
    """``A.0``: the extent of a dim."""

    tensor: str
    dim: int
    at: int = field(compare=False)


@dataclass(frozen=True)
class Unary:
    op: str
    value: Expr
    at: int = field(compare=False)


@dataclass(frozen=True)
class Binary:
    op: str
    left: Expr
    right: Expr
    at: int = field(compare=False)


@dataclass(frozen=True)
class Choice:
    """``condition ? yes : no``"""

    condition: Expr
    yes: Expr
    no: Expr
    at: int = field(compare=False)


@dataclass(frozen=True)
class Call:
    """An element of a tensor, a function, or a type as a conversion."""

    name: str
    arguments: tuple[Expr, ...]
    at: int = field(compare=False)


Expr = Number | Name | Size | Unary | Binary | Choice | Call


@dataclass(frozen=True)
class Range:
    """``variable in low:high``"""

    variable: str
    low: Expr
    high: Expr
    at: int


@dataclass(frozen=True)
class Statement:
    target: str
    indices: tuple[str, ...]
    places: tuple[int, ...]  #: of the indices
    op: str  #: "=", "+=", "+=!", ...
    value: Expr
    ranges: tuple[Range, ...]
    exists: tuple[Expr, ...]  #: elements that only bound variables
    at: int

    @property
    def reduction(self) -> str:
        """The reduction without its mark: "+", "*", "min", "max", or "" for an assignment."""
        return self.op.rstrip("!").rstrip("=")


@dataclass(frozen=True)
class Parameter:
    name: str
    dtype: str
    dims: tuple[Expr, ...]  #: names of sizes, or numbers
    at: int


@dataclass(frozen=True)
class Definition:
    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[tuple[str, int], ...]  #: names and places
    statements: tuple[Statement, ...]
    at: int


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions right below one.

    >>> len(children(Binary("+", Name("i", 0), Number(1, 4), 2)))
    2
    """
    match e:
        case Unary(value=value):
            return (value,)
        case Binary(left=left, right=right):
            return (left, right)
        case Choice(condition=condition, yes=yes, no=no):
            return (condition, yes, no)
        case Call(arguments=arguments):
            return arguments
    return ()


def walk(e: Expr) -> Iterator[Expr]:
    """The expression and everything below it, in the order of the text."""
    yield e
    for below in children(e):
        yield from walk(below)


def substitute(e: Expr, names: dict[str, Expr]) -> Expr:
    """The expression with names replaced, as ``let`` asks for."""
    match e:
        case Name(id=id) if id in names:
            return names[id]
        case Unary(op, value, at):
            return Unary(op, substitute(value, names), at)
        case Binary(op, left, right, at):
            return Binary(op, substitute(left, names), substitute(right, names), at)
        case Choice(condition, yes, no, at):
            return Choice(substitute(condition, names), substitute(yes, names), substitute(no, names), at)
        case Call(name, arguments, at):
            return Call(name, tuple(substitute(a, names) for a in arguments), at)
    return e
