"""Tables of two columns of code in docs/coming-from: each line is run, and both sides must give the same."""

from __future__ import annotations

import re
from pathlib import Path

from packages import ROOT

PAGES = sorted((ROOT / "docs" / "coming-from").glob("*.md"))


def lines(page: Path) -> list[tuple[int, str, str]]:
    """The rows of a page's tables that hold code on both sides: number of the line, left, right."""
    found = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if match := re.fullmatch(r"\| `([^`]+)` \| `([^`]+)` \|", line):
            found.append((number, match[1], match[2]))
    return found


def same(left: object, right: object) -> bool:
    """Whether two results mean the same numbers: tensors, arrays, numbers, and sequences of them.

    >>> same((1, 2.0), [1.0, 2]), same([1, 2], [1, 3]), same(3, 3.0)
    (True, False, True)
    """
    left, right = plain(left), plain(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (int, float, complex)) and isinstance(right, (int, float, complex)):
        return abs(left - right) <= 1e-5 * max(abs(left), abs(right), 1)
    return left == right


def plain(value: object) -> object:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, tuple) else value
