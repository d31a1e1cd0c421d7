"""What the tape adds to `help()` of an operator: the formula of its derivative, as the build took it from the C++."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from torch.autograd import _C

FILE = Path(__file__).with_name("_formulas.txt")

#: What `torch.autograd._C._differentiability` says of a row, for a reader.
DIFFERENTIABILITY = {
    "composite": "written in other operators, whose derivatives the tape records",
    "zero": "zero everywhere: steps and constants",
    "not differentiable": "none: the result does not change continuously with the input, or has no gradient by its meaning",
    "refused": "refused, with an error that says why",
}


@cache
def formulas() -> dict[str, list[str]]:
    """The lines for each schema, or for each name where a macro makes the rows."""
    found: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines() if FILE.exists() else []:
        if line.startswith("  "):
            found[last].append(line[2:])  # noqa: F821
        else:
            last = line
            found[last] = []
    return found


@cache
def differentiability() -> dict[str, str]:
    return _C._differentiability()


def sections(rows: list[dict]) -> list[tuple[str, list[str]]]:
    """The paragraph on derivatives of an operator with these rows: its title and lines.

    >>> sections([{"schema": "exp(Tensor self) -> Tensor", "composite": False}])
    [('Derivative, with g the gradient of the result:', ['g * conj(result)'])]
    """
    found: dict[tuple[str, ...], str] = {}
    for row in rows:
        schema, name = row["schema"], row["schema"].partition("(")[0]
        how = differentiability().get(schema, "composite" if row["composite"] else "not differentiable")
        if how in DIFFERENTIABILITY:
            lines = [DIFFERENTIABILITY[how]]
        else:
            lines = formulas().get(schema) or formulas().get(name) or ["recorded, and differentiable again"]
        found.setdefault(tuple(lines), schema)
    written = [list(lines) for lines in found]
    if len(written) > 1:  # rows that differ: each with its schema in front
        written = [[f"{schema}:", *("    " + line for line in lines)] for lines, schema in found.items()]
    lines = [line for each in written for line in each]
    plain = len(found) == 1 and lines[0] in DIFFERENTIABILITY.values()
    return (
        [("Derivative: " + lines[0] + ".", [])]
        if plain
        else [("Derivative, with g the gradient of the result:", lines)]
    )
