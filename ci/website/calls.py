"""An example of every operator: written in examples.txt, or made from the row where that says enough, and run here."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cache

import torch

from packages import ROOT

from .catalogue import Operator

FILE = ROOT / "ci" / "website" / "examples.txt"


@cache
def written() -> tuple[dict[str, str], dict[str, list[str]]]:
    """The names that examples share, and what is typed for each operator."""
    names: dict[str, str] = {}
    calls: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        if line.startswith("    "):
            calls[last].append(line.strip())  # noqa: F821
        elif match := re.match(r"(\w+) = ", line):
            names[match[1]] = line
        elif match := re.match(r"(\w+): (.*)", line):
            last = match[1]
            if last in calls:
                raise ValueError(f"examples.txt: {last} has two examples")
            calls[last] = [match[2]]
    return names, calls


def typed(operator: Operator) -> list[str]:
    """The lines that a reader would type, names first.

    Raises KeyError where nothing is written and the row says too little.
    """
    names, calls = written()
    lines = calls[operator.key] if operator.key in calls else [from_row(operator)]
    used = {node.id for line in lines for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)}
    return [line for name, line in names.items() if name in used] + lines


def from_row(operator: Operator) -> str:
    """A call of an element-wise operator on numbers from the domain that its row names.

    The values have few digits, for the eye; of several tensors no two are the same.
    """
    row = operator.rows[0]
    head = re.split(r"[(,] ?", row.schema.rpartition(") -> ")[0])[1:]
    required = [p for p in head if p and "=" not in p and p != "*"]
    if not row.info["pointwise"] or not all(re.match(r"(Tensor|Number) ", p) for p in required):
        raise KeyError(f"{operator.title} has no example: write one to ci/website/examples.txt")
    low, high = max(row.info["low"], -2.0), min(row.info["high"], 4.0)
    operands = [operand(row.dtypes, low, high, k) for k in range(len(required))]
    function = next(n for n in operator.names if not n.startswith("torch.Tensor.")) if row.info["function"] else None
    if function:
        return f"{function}({', '.join(operands)})"
    return f"{operands[0]}.{row.name}({', '.join(operands[1:])})"


def operand(dtypes: list[str], low: float, high: float, k: int) -> str:
    if "float32" not in dtypes:
        values = [[12, 5, 8], [3, 2, 6], [1, 7, 4]][k]
        return f"torch.tensor({values if dtypes != ['bool'] else [v > 4 for v in values]})"
    shares = [(0.25, 0.5, 0.75), (0.5, 0.25, 0.9), (0.75, 0.25, 0.5)][k]
    return f"torch.tensor({[round(low + (high - low) * share, 2) for share in shares]})"


def run(lines: list[str]) -> str:
    """The lines as a terminal shows them, with what they print."""
    space: dict = {"torch": torch}
    shown = []
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            shown.append(f">>> {line}")
            try:
                value = eval(line, space)
            except SyntaxError:
                exec(line, space)
            else:
                if value is not None:
                    shown.append(repr(value))
    return "\n".join(shown)
