"""The examples of operators, which `help()` and the site show: what is typed is written by hand, what it prints here.

    python ci/examples.py            # adds those that rows imply, and writes anew what examples print
    python ci/examples.py --check    # says what is missing or prints something else, and changes nothing

The file is packages/torch-core/src/torch/_help/examples.txt: below `# name: shapes` the lines as a terminal shows them.
An element-wise operator needs no line: its example is made from the domain that its row names.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import re
import sys
import warnings

import torch
from torch import _help
from website import catalogue


def operators() -> dict[str, object]:
    """Every operator that has a public name, by its own."""
    found = {}
    for operator in catalogue.operators():
        for value in operator.callables.values():
            found[value.__name__] = value
    for name in ("_indices", "_values", "_nnz"):  # of sparse tensors; programs of 2018 have no others
        found[name] = getattr(torch.Tensor, name)
    return dict(sorted(found.items()))


def typed(name: str) -> list[str]:
    """The statements of an example."""
    text = "\n".join(_help.examples().get(name, []))
    return [e.source.rstrip("\n") for e in doctest.DocTestParser().get_examples(text)]


def implied(name: str, operator: object) -> list[str]:
    """The statements that a row implies; of an in-place form, those of the plain one turned around."""
    if name.endswith("_") and (plain := typed(name[:-1]) or made(name[:-1])):
        return in_place(name, plain)
    return from_row(name, operator)


def made(name: str) -> list[str]:
    operator = operators().get(name)
    return from_row(name, operator) if operator else []


def in_place(name: str, plain: list[str]) -> list[str]:
    """``torch.add(v, w)`` as ``v.add_(w)``.

    >>> in_place("exp_", ["torch.exp(torch.tensor([1.0]))"]), in_place("tril_", ["i = torch.eye(2)", "torch.tril(i, 1)"])
    (['torch.tensor([1.0]).exp_()'], ['i = torch.eye(2)', 'i.tril_(1)'])
    """
    *before, last = plain
    call = ast.parse(last).body[-1].value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return []
    if call.func.attr == name:
        return plain
    if ast.unparse(call.func.value).startswith("torch") and isinstance(call.func.value, (ast.Name, ast.Attribute)):
        first, *rest = map(ast.unparse, call.args)
    else:
        first, rest = ast.unparse(call.func.value), list(map(ast.unparse, call.args))
    rest += [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords]
    if hasattr(torch.Tensor, name):
        shown = f"{first}.{name}({', '.join(rest)})"
    else:
        shown = f"torch{'' if name in vars(torch) else '.nn.functional'}.{name}({', '.join([first, *rest])})"
    return [*before, shown.replace("'", '"')]


def from_row(name: str, operator: object) -> list[str]:
    """A call of an element-wise operator on numbers from the domain that its row names.

    The values have few digits, for the eye; of several tensors no two are the same.
    """
    row = _help.rows()[operator.schemas[0]]
    head = re.split(r"[(,] ?", row["schema"].rpartition(") -> ")[0])[1:]
    required = [p for p in head if p and "=" not in p and p != "*"]
    if not row["pointwise"] or not all(re.match(r"(Tensor|Number)\S* ", p) for p in required):
        return []
    low, high = max(row["low"], -2.0), min(row["high"], 4.0)
    operands = [operand(_help.ACCEPTED[row["dtypes"]], low, high, k) for k in range(len(required))]
    if row["function"]:
        module = f"torch.{row['module']}" if row["module"] else "torch"
        short = name.removeprefix(f"{row['module']}_") if row["module"] else name
        return [f"{module}.{short}({', '.join(operands)})"]
    return [f"{operands[0]}.{name}({', '.join(operands[1:])})"]


def operand(dtypes: list[str], low: float, high: float, k: int) -> str:
    if "float32" not in dtypes:
        values = [[12, 5, 8], [3, 2, 6], [1, 7, 4]][k]
        return f"torch.tensor({values if dtypes != ['bool'] else [v > 4 for v in values]})"
    shares = [(0.25, 0.5, 0.75), (0.5, 0.25, 0.9), (0.75, 0.25, 0.5)][k]
    return f"torch.tensor({[round(low + (high - low) * share, 2) for share in shares]})"


def run(lines: list[str], seed: int = 0) -> list[str]:
    """The lines as a terminal shows them, with what they print."""
    space: dict = {"torch": torch}
    shown = []
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            first, *more = line.splitlines()
            shown += [f">>> {first}", *(f"... {m}" for m in more)]
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(line, "<example>", "single"), space)
            # doctest ends what is expected at an empty line
            shown += [text or "<BLANKLINE>" for text in printed.getvalue().rstrip("\n").splitlines()]
    return shown


def shapes(lines: list[str]) -> str:
    """The shapes of the tensors that the last call takes and gives: ``(2, 3), (3,) -> (2,)``."""
    *before, last = lines
    call = ast.parse(last).body[-1]
    if not isinstance(call, ast.Expr) or not isinstance(call.value, ast.Call):
        return ""
    call = call.value
    space: dict = {"torch": torch}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in before:
            exec(line, space)
        values = [eval(ast.unparse(a), space) for a in call.args if not isinstance(a, ast.Starred)]
        if isinstance(call.func, ast.Attribute) and not ast.unparse(call.func.value).startswith("torch."):
            values.insert(0, eval(ast.unparse(call.func.value), space))
        result = eval(last, space)
    taken, given = [s for v in values if (s := sizes(v))], sizes(result)
    return f"{', '.join(taken)} -> {given}" if taken and given else ""


def sizes(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return str(tuple(value.shape))
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        found = [sizes(v) for v in value]
        return ", ".join(found) if all(found) else ""
    return ""


def text() -> tuple[str, list[str]]:
    """The whole file as it is to be, and what stands in the way."""
    header = [line for line in _help.FILE.read_text().splitlines() if line.startswith("#!")]
    lines, wrong = header, []
    for name, operator in operators().items():
        example = typed(name) or implied(name, operator)
        if not example:
            wrong.append(f"{name}: no example")
            continue
        try:
            shown, again = run(example), run(example, 1)
            tells = shapes(example)
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}: {example}")
            continue
        if shown != again:
            wrong.append(f"{name}: prints what is drawn: {example}")
        elif len(shown) == len(example) and shown[-1].startswith(">>>"):
            wrong.append(f"{name}: prints nothing: {example}")
        lines += ["", f"# {name}: {tells}" if tells else f"# {name}", *shown]
    return "\n".join(lines) + "\n", wrong


def main() -> None:
    found, wrong = text()
    if "--check" not in sys.argv[1:]:
        _help.FILE.write_text(found)
    elif found != _help.FILE.read_text():
        wrong.append(f"{_help.FILE} is not what examples print now: python ci/examples.py")
    print(f"{found.count(chr(10) + '# ')} examples")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
