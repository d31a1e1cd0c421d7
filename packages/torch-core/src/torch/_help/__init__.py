"""`help()` of an operator: what its rows say, what other parts add, and an example. Loaded at first use.

`examples.txt` beside this file has an example for every operator; `python ci/examples.py` writes what they print. A part
that knows more of operators has a module `_help` with a function `sections(rows)`: torch.autograd tells the derivative.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import torch

FILE = Path(__file__).with_name("examples.txt")

#: The dtypes that a row accepts, by the order of the enumeration DTypes in core/include/torch/core/row.h.
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
HALVES, REALS, COMPLEX = ["float16", "bfloat16"], ["float32", "float64"], ["complex64", "complex128"]
ACCEPTED = [
    ["bool", *INTEGERS, *HALVES, *REALS, *COMPLEX],
    [*INTEGERS, *HALVES, *REALS, *COMPLEX],
    [*HALVES, *REALS],
    [*HALVES, *REALS, *COMPLEX],
    ["bool", *INTEGERS, *HALVES, *REALS],
    INTEGERS,
    ["bool", *INTEGERS],
    ["bool"],
    [*INTEGERS, *HALVES, *REALS],
]


def operator(op: Any) -> str:
    """The whole text for one operator.

    >>> print(operator(torch.exp).partition("Dtypes")[0])
    exp(input, *, out=None)
    <BLANKLINE>
    ``e`` to the power of each element.
    <BLANKLINE>
    Schema:
        exp(Tensor self) -> Tensor
    <BLANKLINE>
    Shape: that of the input.
    """
    by_schema = rows()
    found = [by_schema[schema] for schema in op.schemas if schema in by_schema]
    paragraphs = [op._text, paragraph("Schema:", list(op.schemas))]
    if found:
        paragraphs += [f"Shape: {shape(found, op.__name__)}.", dtypes(found[0])]
    for sections in others():
        paragraphs += [paragraph(title, lines) for title, lines in sections(found)]
    if lines := examples().get(op.__name__):
        paragraphs.append(paragraph("Example:", lines))
    return "\n\n".join(p for p in paragraphs if p)


def paragraph(title: str, lines: list[str]) -> str:
    return "\n".join([title, *("    " + line for line in lines)])


@cache
def rows() -> dict[str, dict]:
    """What is known of each row, by its schema."""
    return {row["schema"]: row for row in torch._C._rows()}


def dtypes(row: dict) -> str:
    """The dtypes that a row accepts, and what it makes of integers."""
    text = "Dtypes: " + ", ".join(ACCEPTED[row["dtypes"]])
    return text + (";\nintegers and bools give the default floating dtype." if row["floats"] else ".")


def shape(found: list[dict], name: str) -> str:
    """The shape of the result, in words where a row tells it, else those of the example."""
    schema, inputs = found[0]["schema"], found[0]["schema"].partition(") ->")[0]
    tensors = len(re.findall(r"(?:Tensor|Number)\S* \w", inputs))
    if found[0]["pointwise"]:
        if name.endswith("_") and not name.endswith("__"):
            return "that of the tensor, to which the others are broadcast" if tensors > 1 else "that of the tensor"
        return "that to which the inputs are broadcast" if tensors > 1 else "that of the input"
    if "keepdim" in inputs:
        return "that of the input without the dims that are reduced, or with 1 in their place where keepdim is True"
    if schema.endswith("-> bool"):
        return "none: a bool of Python"
    if name.endswith("_like"):
        return "that of the input"
    if "int[] size" in inputs and name not in ("as_strided", "as_strided_scatter"):
        return "size"
    shapes = examples().get(f"shapes of {name}")
    return f"{shapes[0]} in the example" if shapes else "as the example shows"


@cache
def others() -> list[Any]:
    """The functions of installed parts that know more of operators, by the files that are there."""
    found = []
    for part in torch._parts.PARTS:
        spec = importlib.util.find_spec(f"torch.{part}")
        folders = spec.submodule_search_locations if spec else None
        if any(Path(folder, "_help.py").exists() for folder in folders or ()):
            found.append(importlib.import_module(f"torch.{part}._help").sections)
    return found


@cache
def examples() -> dict[str, list[str]]:
    """The lines of each example as a terminal shows them, by the name of the operator.

    >>> examples()["tril"][:2]
    ['>>> i = torch.arange(6).view(2, 3)', '>>> torch.tril(i)']
    """
    found: dict[str, list[str]] = {}
    for line in FILE.read_text().splitlines():
        if match := re.match(r"# (\w+)(?:: (.*))?$", line):
            lines = found.setdefault(match[1], [])
            if match[2]:
                found[f"shapes of {match[1]}"] = [match[2]]
        elif line and not line.startswith("#"):
            lines.append(line)
    return found
