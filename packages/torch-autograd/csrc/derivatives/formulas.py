"""Reads the derivatives of this folder as text: for `help()` of an operator, and for the pages of the site.

    python formulas.py FOLDER_OF_ROWS _formulas.txt

writes one paragraph for each operator that has a struct here: its schema (its name, where a macro makes its rows), then
the gradient of each input, or the statements that compute them where they are more than an expression each.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
LONGEST = 24  # statements of one gradient that a reader of help() is shown


class Derivative(NamedTuple):
    """One struct that saves what is needed and returns the gradients."""

    name: str
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
            derivative = Derivative(name, _block(texts[place], begin), place, line, shared)
            for symbol in re.findall(r"op::(\w+)", match[3]):
                found.setdefault(symbol, derivative)
    return found


def inputs(schema: str) -> list[str]:
    """The names of the tensors that a schema takes; none where it takes a list of them, which counts for many.

    >>> inputs("lerp(Tensor self, Tensor end, Number weight) -> Tensor"), inputs("cat(Tensor[] tensors, int dim=0) -> Tensor")
    (['self', 'end', 'weight'], [])
    """
    head = schema.partition("(")[2].rpartition(") -> ")[0]
    return [] if "Tensor[]" in head else re.findall(r"(?:Tensor|Number)(?:\([^)]*\))?\?? (\w+)", head)


def formulas(source: str, names: list[str]) -> list[str]:
    """The gradient of each input where the struct states it in one expression, without the words of C++.

    >>> formulas("struct Exp : FromResult { Tensor grad(const Tensor& g) const { return g * conj(result); } };", ["self"])
    ['g * conj(result)']
    >>> formulas("void grad(...) const { if (b.needs(1)) b[1] = g * torch::conj(self); }", ["self", "other"])
    ['other: g * conj(self)']
    >>> formulas("Tensor grad(const Tensor& g) const { Tensor y = torch::exp(x); return g * y; }", ["self"])
    []
    """
    if whole := re.search(r"Tensor grad\([^)]*\) const \{\s*return ([^;{}?]*);\s*\}", source):
        found = [whole[1]]
    else:
        stated = re.findall(r"\bb\[(\d)\] = ([^;{}]*);", source)
        found = [f"{names[int(n)]}: {text}" for n, text in stated if int(n) < len(names)]
        if len({n for n, _ in stated}) != len(found):  # a branch, or an input without a name
            found = []
    made = set(re.findall(r"\b(?:Tensor&?|auto|double|bool|int64_t) (\w+)(?:, (\w+))* =", source))
    local = {name for group in made for name in group if name} - {"g"}
    if any(word in local for text in found for word in re.findall(r"\w+", text.partition(": ")[2] or text)):
        return []
    return [" ".join(plain(text).split()) for text in found]


def statements(source: str, names: list[str]) -> list[str]:
    """The lines that compute the gradients, where no expression does, with the comment above the struct.

    >>> s = "// Why.\\nstruct S {\\n  void grad(const Tensor& g, Backward& b) const {\\n    b[0] = torch::exp(g);\\n  }\\n};"
    >>> statements(s, ["x"])
    ['# Why.', 'grad_x = exp(g);']
    """
    head = re.search(r"\b(?:Tensor|void) grad\([^)]*\) const \{\n?", source)
    if head is None:
        return []
    depth, end = 1, head.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(source[end], 0)
        end += 1
    lines = [line for line in source[head.end() : end - 1].splitlines() if line.strip()]
    if len(lines) > LONGEST:
        return []
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)

    def named(match: re.Match[str]) -> str:
        n = int(match[1])
        return f"grad_{names[n]}" if n < len(names) else match[0]

    body = [re.sub(r"\bb\[(\d)\]", named, plain(line[indent:])) for line in lines]
    comment = re.match(r"((?://[^\n]*\n)*)", source)[1].splitlines()
    return ["#" + line[2:] for line in comment] + body


def plain(text: str) -> str:
    """Without the namespaces."""
    return re.sub(r"\btorch::|\bstd::", "", text)


def write(rows: Path, into: Path) -> None:
    """All formulas as one text; `rows` is the folder of the operators' .def files."""
    schemas: dict[str, list[str]] = {}
    for file in sorted(rows.glob("*.def")):
        for symbol, literals in re.findall(r'^TORCH_\w+\(\s*(\w+)\s*,\s*((?:"[^"]*"\s*)+)', file.read_text(), re.M):
            if "(" in (schema := "".join(re.findall(r'"([^"]*)"', literals))):
                schemas.setdefault(symbol, []).append(schema)
    paragraphs = []
    for symbol, derivative in sorted(recorded().items()):
        for schema in schemas.get(symbol, [symbol]):
            names = inputs(schema) if "(" in schema else ["self", "other", "third"]
            found = formulas(derivative.source, names) or statements(derivative.source, names)
            if not found:
                comment = re.match(r"((?://[^\n]*\n)*)", derivative.source)[1].splitlines()
                found = ["#" + line[2:] for line in comment]
                found += [f"in several steps: struct {derivative.name} of csrc/derivatives/{derivative.file.name}"]
            paragraphs.append("\n".join([schema, *("  " + line for line in found)]))
    into.write_text("\n".join(paragraphs) + "\n")


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


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
