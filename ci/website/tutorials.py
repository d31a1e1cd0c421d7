"""Tutorials: Python files of cells, run here and turned into a page with their output and into a notebook.

A cell begins with ``# %%``. One that begins with ``# %% [markdown]`` is text, in comments. Editors open such a file as a
notebook, and Python runs it as a program.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Cell:
    text: str
    markdown: bool
    output: str = ""
    pictures: list[str] = field(default_factory=list)


def cells(source: str) -> list[Cell]:
    """The cells of a file.

    >>> [(c.markdown, c.text) for c in cells("# %% [markdown]\\n# # Title\\n# %%\\nx = 1\\n")]
    [(True, '# Title'), (False, 'x = 1')]
    """
    found = []
    for part in re.split(r"^# %%", source, flags=re.M)[1:]:
        mark, _, body = part.partition("\n")
        if "[markdown]" in mark:
            found.append(Cell(re.sub(r"^# ?", "", body.strip(), flags=re.M), True))
        else:
            found.append(Cell(body.strip(), False))
    return found


def run(file: Path, pictures: Path | None = None) -> list[Cell]:
    """Run the cells of a file in order, in one namespace; figures that are open after a cell are kept as pictures.

    A cell that ends in an expression shows its value, as in a notebook. An exception names the file and its line.
    """
    source = file.read_text()
    found, space = cells(source), {"__name__": "__main__", "__file__": str(file)}
    for number, cell in enumerate(found):
        if cell.markdown:
            continue
        tree = ast.parse(cell.text)
        ast.increment_lineno(tree, source[: source.index(cell.text)].count("\n"))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, str(file), "exec"), space)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), str(file), "eval"), space)
                if value is not None:
                    print(repr(value))
        cell.output = printed.getvalue().rstrip()
        cell.pictures = drawn(pictures, f"{file.stem}-{number}")
    return found


def drawn(folder: Path | None, name: str) -> list[str]:
    """Save and close the open figures; their file names."""
    import sys

    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return []
    names = []
    for number in plt.get_fignums():
        names.append(f"{name}-{number}.png")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            plt.figure(number).savefig(folder / names[-1], dpi=100, bbox_inches="tight")
    plt.close("all")
    return names


def page(found: list[Cell], name: str) -> str:
    """The cells as Markdown, with output and pictures under the code."""
    lines = []
    for cell in found:
        if cell.markdown:
            lines += [cell.text, ""]
            continue
        lines += ["```python", cell.text, "```", ""]
        if cell.output:
            lines += ["```{code-block} text", ":class: output", "", cell.output, "```", ""]
        lines += [f"![What the code above draws](pictures/{p})" for p in cell.pictures] + [""]
    lines += [f"Run it yourself: [as a notebook](notebooks/{name}.ipynb), [as a program](notebooks/{name}.py).", ""]
    return "\n".join(lines)


def notebook(found: list[Cell]) -> str:
    """The cells in Jupyter's format 4.5, without output."""

    def written(number: int, cell: Cell) -> dict:
        kind = (
            {"cell_type": "markdown"}
            if cell.markdown
            else {"cell_type": "code", "execution_count": None, "outputs": []}
        )
        return {**kind, "id": f"cell-{number}", "metadata": {}, "source": cell.text.splitlines(keepends=True)}

    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {
        "cells": [written(n, c) for n, c in enumerate(found)],
        "metadata": kernel,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1) + "\n"


def write(folder: Path, files: list[Path], sources) -> None:
    """Run every tutorial, and write its page, its notebook and its program into folder/tutorials."""
    into = folder / "tutorials"
    (into / "notebooks").mkdir(parents=True, exist_ok=True)
    for file in files:
        name = f"tutorials/{file.stem}"
        found = run(file, into / "pictures")
        for cell in found:
            if cell.markdown:
                cell.text = sources.markdown(cell.text, file, name)
        (into / f"{file.stem}.md").write_text(page(found, file.stem))
        (into / "notebooks" / f"{file.stem}.ipynb").write_text(notebook(cells(file.read_text())))
        (into / "notebooks" / f"{file.stem}.py").write_text(file.read_text())
