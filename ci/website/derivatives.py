"""The derivative of each row, as the C++ in packages/torch-autograd/csrc/derivatives states it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torch.autograd import _C

from packages import ROOT

from .catalogue import Row

FOLDER = ROOT / "packages" / "torch-autograd" / "csrc" / "derivatives"

#: What `torch.autograd._C._treatments` says of a row, for a reader.
TREATMENTS = {
    "composite": "It is written in other operators, whose derivatives the tape records.",
    "zero": "Steps and constants: the gradient is zero everywhere.",
    "not differentiable": "None: the result does not change continuously with the input, or has no gradient by its meaning.",
    "refused": "Refused, with an error that says why.",
}


@dataclass(frozen=True)
class Derivative:
    """One struct that saves what is needed and returns the gradients."""

    source: str
    file: Path
    line: int
    registered: str = ""  # the line that gives a template its function


@cache
def recorded() -> dict[str, Derivative]:
    """The struct by the name in C++ of each operator that is registered with one."""
    found: dict[str, Derivative] = {}
    texts = {file: file.read_text() for file in sorted(FOLDER.glob("*.cpp")) + sorted(FOLDER.glob("*.h"))}
    for file, text in texts.items():
        for match in re.finditer(r"\brecord<\s*([\w:]+)(<[^;()]*?>)?\s*((?:,\s*op::\w+\s*)+)>\(\)", text):
            name = match[1].rpartition("::")[2]
            place = next((f for f in (file, *texts) if _begin(texts[f], name) is not None), None)
            if place is None:
                continue
            begin = _begin(texts[place], name)
            line = texts[place].count("\n", 0, begin) + 1
            shared = " ".join(match[0].split()) + ";" if match[2] else ""
            derivative = Derivative(_block(texts[place], begin), place, line, shared)
            for symbol in re.findall(r"op::(\w+)", match[3]):
                found.setdefault(symbol, derivative)
    return found


def of(row: Row) -> tuple[str, Derivative | None]:
    """How the tape treats a row: a sentence, and the struct where it has a formula of its own."""
    treatment = _C._treatments().get(row.schema, "composite" if row.info["composite"] else "not differentiable")
    if treatment in TREATMENTS:
        return TREATMENTS[treatment], None
    derivative = recorded().get(row.symbol) or recorded().get(row.name)
    return "Recorded on the tape, and differentiable again.", derivative


def _begin(text: str, name: str) -> int | None:
    """Where the struct of this name begins, with its template line and the comment above it."""
    match = re.search(rf"^((?://[^\n]*\n)*)(template <[^\n]*>\n?\s*)?struct {name}\b[^;{{]*\{{", text, re.M)
    if match is None:
        return None
    return match.start() if not match[1].startswith(("// ---", "// clang")) else match.start() + len(match[1])


def _block(text: str, begin: int) -> str:
    """The text from there to the brace that closes what opens first."""
    depth, end = 0, text.index("{", begin)
    while True:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if depth == 0:
            break
    source = text[begin:end] + ";"
    # One line of a struct is unfolded, so that the formula has a line for itself.
    if "\n" not in source and len(source) > 100:
        source = re.sub(r" \{ (Tensor|void) (.*) \};$", r" {\n  \1 \2\n};", source)
    return source
