"""The pages of operators: schema, example with its output, dtypes, derivative, and the files where each is written."""

from __future__ import annotations

import textwrap
from pathlib import Path

from . import derivatives
from .catalogue import Operator, Row, operators
from .sources import Sources
from .words import escaped

#: The families, as the files in core/include/torch/core/ops are called, in the order of the index.
FAMILIES = {
    "create": "Creation",
    "copy": "Copies",
    "view": "Views and shapes",
    "join": "Joining",
    "index": "Indexing",
    "embedding": "Embedding",
    "unary": "Element-wise, of one tensor",
    "binary": "Element-wise, of two tensors",
    "pointwise": "Element-wise, with parameters",
    "activation": "Activations",
    "softmax": "Softmax",
    "attention": "Attention",
    "special": "Special functions",
    "reduce": "Reductions",
    "norm": "Normalisation",
    "sort": "Sorting and searching",
    "matmul": "Products",
    "contraction": "Products of vectors and batches",
    "linalg": "Linear algebra",
    "distance": "Distances",
    "fft": "Fourier transforms",
    "recurrent": "Recurrent layers",
    "conv": "Convolution",
    "pooling": "Pooling",
    "random": "Random numbers",
    "sparse": "Sparse tensors",
    "predicate": "Predicates",
    "quantized": "Bytes with a scale",
    "loss": "Losses",
}

FORMS = {
    "view": "The result shares memory with the input.",
    "random": "Draws from a generator: :func:`torch.manual_seed` makes it repeatable.",
    "floats": "Integers and bools give the default floating dtype.",
    "composite": "",
}


def heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def block(language: str, text: str) -> list[str]:
    return [f".. code-block:: {language}", "", *textwrap.indent(text, "   ").splitlines(), ""]


def link(sources: Sources, file: Path, line: int, up: str = "/") -> str:
    name = sources.page(file)
    return f":doc:`{file.name} <{up}{name}>`, line {line}"


def page(operator: Operator, sources: Sources) -> str:
    """The text of one operator's page, with the output of its example as it runs now."""
    lines = [
        ":orphan:",
        "",
        *heading(operator.title, "="),
        f":ref:`{FAMILIES[operator.family]} <family-{operator.family}>`",
        "",
    ]
    module, _, name = operator.title.rpartition(".")
    kind = "method" if module == "torch.Tensor" else "function"
    calls_of = [f"{module}.{name}({s.partition('(')[2]}" for s in operator.signatures]
    lines += [f".. py:{kind}:: {calls_of[0]}", *(f"                 {c}" for c in calls_of[1:]), ""]
    lines += [*textwrap.indent(escaped(operator.doc), "   ").splitlines(), ""]
    if others := operator.names[1:]:
        lines += ["Also " + ", ".join(f"``{n}``" for n in others) + ".", ""]

    lines += heading("Example", "-") + block("pycon", "\n".join(operator.example))

    lines += heading("Schema", "-") + block("text", "\n".join(row.schema for row in operator.rows))
    said = [text for key, text in FORMS.items() if text and any(row.info[key] for row in operator.rows)]
    lines += [" ".join(said), ""] if said else []

    lines += heading("Dtypes", "-")
    lines += [", ".join(f"``{d}``" for d in operator.rows[0].dtypes) + ".", ""]

    lines += heading("Derivative", "-") + derivative(operator.rows, sources)

    lines += heading("Where it is written", "-")
    rows = {(row.file, row.line): row for row in operator.rows if row.file}
    for file, line in rows:
        lines.append(f"* the row: {link(sources, file, line)}")
    kernel = Path(operator.rows[0].file).parents[4] / "src" / "kernels" / f"{operator.family}.h"
    if kernel.exists() and not operator.rows[0].info["composite"]:
        lines.append(f"* the formula: :doc:`{kernel.name} </{sources.page(kernel)}>`")
    return "\n".join(lines) + "\n"


def derivative(rows: list[Row], sources: Sources) -> list[str]:
    """What the tape does for these rows, each formula once."""
    lines: list[str] = []
    seen: set[str] = set()
    for row in rows:
        sentence, found = derivatives.of(row)
        key = found.source + found.registered if found else sentence
        if key in seen:
            continue
        seen.add(key)
        lines += [sentence if len(rows) == 1 else f"``{row.name}``: {sentence[0].lower()}{sentence[1:]}", ""]
        if found:
            if said := derivatives.formulas(found.source, derivatives.inputs(row.schema)):
                lines += ["With ``g`` the gradient of the result:", "", *block("text", "\n".join(said))]
            lines += block("cpp", found.source + ("\n\n" + found.registered if found.registered else ""))
            lines += [f"In {link(sources, found.file, found.line)}.", ""]
    return lines


def index(found: list[Operator]) -> str:
    """All operators by family, each with its sentence."""
    lines = heading("Operators", "=")
    lines += [
        f"The {len(found)} operators that have a row, by family. A page holds the schema, an example that ran when this",
        "site was built, the dtypes, the derivative as the tape computes it, and the files where each is written.",
        "Functions that are composed of them in Python stand with their :doc:`modules </modules/index>`.",
        "",
    ]
    for family in FAMILIES:
        members = [o for o in found if o.family == family]
        if not members:
            continue
        lines += [f".. _family-{family}:", "", *heading(FAMILIES[family], "-")]
        lines += [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
        for operator in members:
            sentence = escaped(" ".join(operator.doc.partition("\n\n")[0].split()))
            lines += [f"   * - :doc:`{operator.title} <{operator.key}>`", f"     - {sentence}"]
        lines.append("")
    return "\n".join(lines) + "\n"


def write(folder: Path, sources: Sources) -> list[Operator]:
    """All pages into folder/operators."""
    found = operators()
    into = folder / "operators"
    into.mkdir(parents=True, exist_ok=True)
    for operator in found:
        (into / f"{operator.key}.rst").write_text(page(operator, sources))
    (into / "index.rst").write_text(index(found))
    return found
