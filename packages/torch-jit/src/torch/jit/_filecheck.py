"""Checks of a text by what follows what in it: ``torch.testing.FileCheck``, as tests of graphs use it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["FileCheck"]


class _Check(NamedTuple):
    kind: str
    text: str
    count: int = 1
    exactly: bool = False


class FileCheck:
    """A list of checks, each made after where the one before it has matched; RuntimeError for the first that fails.

    >>> from torch.testing import FileCheck
    >>> FileCheck().check("def").check_same("(x)").check_next("return").check_not("yield").run("def f(x):\\n    return x")
    >>> FileCheck().check_count("a", 2, exactly=True).run("a b a b a")
    Traceback (most recent call last):
    ...
    RuntimeError: Expected to not find "a" but found it
    ...
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _with(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append(_Check(kind, text, count, exactly))
        return self

    def check(self, test_string: str) -> FileCheck:
        """The text comes next, anywhere."""
        return self._with("CHECK", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """The text does not come before what is checked next."""
        return self._with("CHECK-NOT", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """The text comes next, in the same line."""
        return self._with("CHECK-SAME", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """The text comes next, in the line that follows."""
        return self._with("CHECK-NEXT", test_string)

    def check_dag(self, test_string: str) -> FileCheck:
        """The text comes next, in any order with neighbouring checks of this kind."""
        return self._with("CHECK-DAG", test_string)

    def check_regex(self, test_string: str) -> FileCheck:
        """What the regular expression matches comes next."""
        return self._with("CHECK-REGEX", test_string)

    def check_count(self, str: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes so many times; with ``exactly``, no more before what is checked next."""
        return self._with("CHECK-COUNT", str, count, exactly)

    def check_source_highlighted(self, test_string: str) -> FileCheck:
        """The text comes next, with ``~`` or ``^`` under all of it in the line that follows."""
        return self._with("CHECK-SOURCE-HIGHLIGHTED", test_string)

    def run(self, *args: Any) -> None:
        """Check a text or graph: ``run(test)``, or ``run(checks, test)`` with the checks in lines such as ``# CHECK: text``."""
        if len(args) not in (1, 2):
            raise TypeError(f"FileCheck.run takes a text, or checks and a text, got {len(args)} arguments")
        checks = self._checks if len(args) == 1 else _read(str(args[0]))
        if not checks:
            raise RuntimeError("FileCheck: there is nothing to check")
        _run(checks, str(args[-1]))


_LINE = re.compile(
    r"#?\s*CHECK(-NOT|-SAME|-NEXT|-DAG|-REGEX|-SOURCE-HIGHLIGHTED|-COUNT-(EXACTLY-)?(\d+))?:\s*(.*?)\s*$"
)


def _read(text: str) -> list[_Check]:
    checks = []
    for line in text.splitlines():
        if found := _LINE.match(line.strip()):
            word, exactly, count, what = found.groups()
            kind = "CHECK-COUNT" if count else "CHECK" + (word or "")
            checks.append(_Check(kind, what, int(count or 1), bool(exactly)))
    return checks


def _run(checks: list[_Check], text: str) -> None:
    at, absent, i = 0, [], 0
    while i < len(checks):
        check = checks[i]
        if check.kind == "CHECK-NOT":
            absent.append(check)
            i += 1
            continue
        group = [check]
        while check.kind == "CHECK-DAG" and i + len(group) < len(checks) and checks[i + len(group)].kind == "CHECK-DAG":
            group.append(checks[i + len(group)])
        spans = [_find(each, text, at) for each in group]
        for each in absent:
            _must_lack(each, text, at, min(start for start, _ in spans))
        at = max(end for _, end in spans)
        absent = [check] if check.exactly else []
        i += len(group)
    for each in absent:
        _must_lack(each, text, at, len(text))


def _find(check: _Check, text: str, at: int) -> tuple[int, int]:
    """Where a check matches after ``at``: begin and end."""
    if check.kind == "CHECK-REGEX":
        found = re.compile(check.text).search(text, at)
        if found is None:
            raise _failed(f'Expected to find regex "{check.text}" but did not find it', check, text, at)
        return found.span()
    start = _search(check, text, at)
    first, end = start, start + len(check.text)
    for _ in range(check.count - 1):
        start = _search(check, text, end)
        end = start + len(check.text)
    line = text[at:first].count("\n")
    if check.kind == "CHECK-SAME" and line:
        raise _failed(f'Expected to find "{check.text}" in the same line', check, text, at)
    if check.kind == "CHECK-NEXT" and line != 1:
        raise _failed(f'Expected to find "{check.text}" in the next line', check, text, at)
    return first, end


def _search(check: _Check, text: str, at: int) -> int:
    start = text.find(check.text, at)
    while start >= 0 and check.kind == "CHECK-SOURCE-HIGHLIGHTED" and not _underlined(text, start, len(check.text)):
        start = text.find(check.text, start + 1)
    if start < 0:
        how = " highlighted" if check.kind == "CHECK-SOURCE-HIGHLIGHTED" else ""
        raise _failed(f'Expected to find "{check.text}"{how} but did not find it', check, text, at)
    return start


def _underlined(text: str, start: int, length: int) -> bool:
    begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
    if end < 0:
        return False
    below = text[end + 1 :].split("\n", 1)[0]
    part = below[start - begin : start - begin + length]
    return len(part) == length and set(part) <= {"~", "^"}


def _must_lack(check: _Check, text: str, at: int, end: int) -> None:
    if check.text in text[at:end]:
        raise _failed(f'Expected to not find "{check.text}" but found it', check, text, at)


def _failed(message: str, check: _Check, text: str, at: int) -> RuntimeError:
    line = text.count("\n", 0, at)
    shown = "\n".join(text.split("\n")[line : line + 20])
    return RuntimeError(f"{message}\nSearched from line {line + 1} on:\n{shown}\nFrom {check.kind}: {check.text}")
