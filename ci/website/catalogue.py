"""What the operator pages are made of: rows, the public names under which they stand, and the files that hold them."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from torch import _help

from packages import ROOT

#: Modules in which operators have public names, the one that users write first in front.
OWNERS = ["torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.Tensor"]
DEFINITIONS = ROOT / "core" / "include" / "torch" / "core" / "ops"


@dataclass
class Row:
    """One row: its schema and attributes as `torch._C._rows` gives them, and the line that defines it."""

    info: dict
    symbol: str = ""  # the name in C++, op::symbol
    file: Path | None = None
    line: int = 0

    @property
    def schema(self) -> str:
        return self.info["schema"]

    @property
    def name(self) -> str:
        return self.schema.partition("(")[0]

    @property
    def dtypes(self) -> list[str]:
        return _help.ACCEPTED[self.info["dtypes"]]


@dataclass
class Operator:
    """An operator as users meet it: all its names, and the rows behind them."""

    key: str  # the name of its page
    rows: list[Row]
    names: list[str] = field(default_factory=list)  # torch.erf, torch.special.erf, torch.Tensor.erf, torch.Tensor.erf_
    callables: dict[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.names[0]

    @cached_property
    def signatures(self) -> list[str]:
        """The lines of Python that call it, without a module in front."""
        return self._text.partition("\n\n")[0].splitlines()

    @property
    def doc(self) -> str:
        return self._text.partition("\n\n")[2].strip()

    @property
    def _text(self) -> str:
        return self.callables[self.title]._text

    @property
    def example(self) -> list[str]:
        """What a terminal shows, the names that it uses first."""
        return _help.examples()[self.callables[self.title].__name__]

    @property
    def family(self) -> str:
        """The file of its first row, which collects what belongs together."""
        return self.rows[0].file.stem if self.rows[0].file else "other"


def rows() -> list[Row]:
    """All rows with the place of their definition. Rows that a macro makes are where the macro is used."""
    found = [Row(info) for info in torch._C._rows()]
    by_schema = {row.schema: row for row in found}
    by_name: dict[str, list[Row]] = {}
    for row in found:
        by_name.setdefault(row.name, []).append(row)
    # Files of names come last: what they mention is defined elsewhere.
    for file in sorted(
        DEFINITIONS.glob("*.def"), key=lambda f: (f.stem in ("aliases", "overloads", "deprecated"), f.stem)
    ):
        text = re.sub(r"^\s*#.*(\\\n.*)*", lambda m: "\n" * m[0].count("\n"), file.read_text(), flags=re.M)
        for match in re.finditer(r'^TORCH_\w+\(\s*(\w+)\s*,\s*("[^"]*")?', text, re.M):
            symbol, schema = match[1], (match[2] or "").strip('"')
            line = text.count("\n", 0, match.start()) + 1
            if schema in by_schema:
                named = [by_schema[schema]]
            else:  # a macro: NAME, NAME_, and for linear algebra linalg_NAME
                named = [r for n in (symbol, symbol + "_", "linalg_" + symbol) for r in by_name.get(n, [])]
            for row in named:
                if row.file is None:
                    row.symbol = symbol if schema else row.name
                    row.file, row.line = file, line
    return found


def is_operator(value: object) -> bool:
    """Whether a name stands for rows. (Namespaces such as ``torch.ops`` answer to every attribute.)"""
    return isinstance(getattr(value, "schemas", None), tuple)


def operators() -> list[Operator]:
    """Every operator that has a public name, sorted by it; in-place forms stand with the plain ones."""
    by_schema = {row.schema: row for row in rows()}
    found: dict[str, Operator] = {}
    for owner in OWNERS:
        module = torch.Tensor if owner == "torch.Tensor" else importlib.import_module(owner)
        for name in vars(module).keys() | set(dir(module)):  # some names are filled in when asked for
            value = getattr(module, name, None)
            if not is_operator(value) or name.startswith("_"):
                continue
            of_value = [by_schema[s] for s in value.schemas if s in by_schema]
            if not of_value:
                continue
            key = of_value[0].name.rstrip("_")
            operator = found.setdefault(key, Operator(key, []))
            operator.rows += [row for row in of_value if row not in operator.rows]
            operator.names.append(f"{owner}.{name}")
            operator.callables[f"{owner}.{name}"] = value
    for operator in found.values():  # its own name before its other names
        operator.names.sort(key=lambda n: (n.startswith("torch.Tensor."), n.endswith("_"), own(n, operator.key), n))
    return sorted(found.values(), key=lambda o: o.title.lower())


def own(name: str, key: str) -> int:
    """0 where a public name is the row's: torch.linalg.svd of linalg_svd, torch.erf of erf."""
    module, _, last = name.rpartition(".")
    return 0 if key in (last, f"{module.rpartition('.')[2]}_{last}") else 1
