"""What the columns of a table hold: types, missing values, and the reading of one row."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MISSING = ("", "NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None", "?")
TRUTHS = {"true": True, "yes": True, "1": True, "t": True, "false": False, "no": False, "0": False, "f": False}
NO_DEFAULT: Any = object()
Kind = type | Sequence[str] | Callable[[str], Any]


@dataclass
class Column:
    """The type of a column, and what stands for a missing value.

    Args:
        kind: ``float``, ``int``, ``bool``, ``str``; a list of words, which are replaced by their numbers; or a function
            of the text
        default: for a missing value; without one it is nan where the type is float, and an error elsewhere

    Example:
        >>> Column(["no", "yes"]).read("yes"), Column(int, default=-1).read("NA"), Column(float).read("")
        (1, -1, nan)
    """

    kind: Kind = str
    default: Any = NO_DEFAULT

    def __post_init__(self) -> None:
        if isinstance(self.kind, (list, tuple)):
            self._numbers = {word: i for i, word in enumerate(self.kind)}
        elif not callable(self.kind):
            raise TypeError(f"Column: kind must be a type, a list of words or a function, got {self.kind!r}")

    def read(self, text: str, missing: Sequence[str] = MISSING) -> Any:
        """The value of a field; ValueError says why there is none."""
        text = text.strip()
        if text in missing and not (isinstance(self.kind, (list, tuple)) and text in self._numbers):
            if self.default is not NO_DEFAULT:
                return self.default
            if self.kind is float:
                return math.nan
            if self.kind is str:
                return text
            raise ValueError(f"a missing value ({text!r}), and this column has no default: Column({self}, default=...)")
        if self.kind is bool:
            if text.lower() not in TRUTHS:
                raise ValueError(f"{text!r} is not one of {', '.join(TRUTHS)}")
            return TRUTHS[text.lower()]
        if isinstance(self.kind, (list, tuple)):
            if text not in self._numbers:
                raise ValueError(f"{text!r} is not one of {', '.join(map(repr, self.kind))}")
            return self._numbers[text]
        if self.kind in (int, float):
            try:
                return self.kind(text)
            except ValueError:
                raise ValueError(f"{text!r} is no {self}") from None
        return self.kind(text)

    def __str__(self) -> str:
        return getattr(self.kind, "__name__", None) or str(list(self.kind))  # type: ignore[call-overload]


class Layout:
    """The columns of a table, by name and in order, and how a row of text becomes a sample."""

    def __init__(
        self, names: Sequence[str], columns: Mapping[str, Kind | Column], missing: Any, target: str | None
    ) -> None:
        self.names = list(names)
        unknown = [name for name in (*columns, *([target] if target is not None else [])) if name not in self.names]
        if unknown:
            raise ValueError(f"there is no column {unknown[0]!r}; columns are {', '.join(map(repr, self.names))}")
        self.missing = frozenset(missing)
        self.target = target
        chosen = [*columns, *([target] if target is not None and target not in columns else [])]
        self.columns = {name: as_column(columns.get(name, str)) for name in chosen}
        self._read = [(self.names.index(name), name, column) for name, column in self.columns.items()]

    def values(self, fields: Sequence[str], row: int) -> dict[str, Any]:
        """Values by name; ValueError names row and column of one that cannot be read."""
        if len(fields) != len(self.names):
            raise ValueError(f"row {row} has {len(fields)} fields, and the table has {len(self.names)} columns")
        values = {}
        for at, name, column in self._read:
            try:
                values[name] = column.read(fields[at], self.missing)
            except (ValueError, TypeError) as error:
                raise ValueError(f"row {row}, column {name!r}: {error}") from None
        return values


def as_column(kind: Kind | Column) -> Column:
    return kind if isinstance(kind, Column) else Column(kind)


def guess(rows: Sequence[Sequence[str]], count: int, missing: Sequence[str]) -> list[Column]:
    """int where all fields are whole numbers, float where they are numbers or some are missing, str elsewhere."""
    return [Column(_guess([row[at].strip() for row in rows if len(row) == count], missing)) for at in range(count)]


def _guess(fields: Sequence[str], missing: Sequence[str]) -> type:
    known = [field for field in fields if field not in missing]
    for kind in (int, float) if len(known) == len(fields) else (float,):
        try:
            for field in known:
                kind(field)
        except ValueError:
            continue
        return kind if known else str
    return str


def split(text: str, delimiter: str, quote: str | None) -> list[str]:
    """The fields of one row."""
    if quote is None:
        return text.split(delimiter)
    return next(csv.reader([text], delimiter=delimiter, quotechar=quote, strict=True), [])
