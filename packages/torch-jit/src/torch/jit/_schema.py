"""What a function takes and gives, as an object with names: ``torch.jit.script(f).schema``, ``torch._C.parse_schema(text)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _ir as ir

__all__ = ["Argument", "FunctionSchema", "parse_schema", "schema_of"]


@dataclass(frozen=True)
class Argument:
    """One argument or result; results have no default."""

    name: str
    type: Any
    kwarg_only: bool = False
    default_value: Any = None
    has_default: bool = False
    N: int | None = None  # how many numbers a list has, for which one may stand

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.has_default

    def __str__(self) -> str:
        type = self.type.str()
        text = " ".join(filter(None, (f"{type[:-2]}[{self.N}]" if self.N else type, self.name)))
        return f"{text}={_literal(self.default_value)}" if self.has_default else text


def _literal(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class FunctionSchema:
    """The signature of a compiled function or operator.

    >>> schema = torch._C.parse_schema("scale(Tensor x, float by=2.0) -> Tensor")
    >>> schema.name, [each.name for each in schema.arguments], schema.arguments[1].default_value
    ('scale', ['x', 'by'], 2.0)
    >>> print(schema)
    scale(Tensor x, float by=2.0) -> Tensor
    """

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]

    def __str__(self) -> str:
        parts, starred = [], False
        for each in self.arguments:
            if each.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(each))
        results = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or results.startswith("("):
            results = f"({results})"
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        return f"{name}({', '.join(parts)}) -> {results}"

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash(str(self))


def of_signature(found: Any) -> FunctionSchema:
    """The schema of a row or primitive."""
    arguments = [Argument(name, *rest[:2], rest[3], rest[2]) for name, *rest in found.arguments]
    returns = [Argument(name, type) for name, type in found.results]
    return FunctionSchema(found.kind, found.overload, arguments, returns)


def parse_schema(text: str) -> FunctionSchema:
    """The schema that a text says; ValueError where it says none."""
    return of_signature(ir.parse_signature(text))


def schema_of(program: Any, function: Any = None) -> FunctionSchema:
    """The schema of a compiled function; ``program`` knows which of its parameters go by name only."""
    function = function or program.function
    by_name = {each.name for each in program.parameters if each.keyword} if program is not None else set()
    counts = {each.name: each.count or None for each in program.parameters} if program is not None else {}
    defaults = function.defaults()
    arguments = []
    for value in function.graph.inputs():
        name = value.debugName()
        type, default = value.type().unshaped(), defaults.get(name)
        arguments.append(Argument(name, type, name in by_name, default, name in defaults, counts.get(name)))
    return FunctionSchema(
        function.name, "", arguments, [Argument("", each.type().unshaped()) for each in function.graph.outputs()]
    )
