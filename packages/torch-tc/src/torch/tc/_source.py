"""The text of a comprehension, with the file and line that it stands in: errors show them, and a caret."""

from __future__ import annotations

import linecache
import sys


class CompilationError(SyntaxError):
    """A comprehension that cannot be compiled; its text names file, line and column, and shows them.

    >>> import torch.tc
    >>> try:
    ...     torch.tc.parse("def f(float(N) A) -> (o) { o(i) = A(j) }", file="example.tc")
    ... except torch.tc.CompilationError as error:
    ...     print(error)
    example.tc:1: o is written at (i), but the right side also runs over j: several values for one place. Sum them (+=!), or another reduction
        def f(float(N) A) -> (o) { o(i) = A(j) }
                                            ^
    """

    def __str__(self) -> str:
        return f"{self.filename}:{self.lineno}: {self.msg}\n{caret(self.text or '', self.offset or 1)}"


def caret(line: str, column: int) -> str:
    """The line, indented by four, and a caret below its column (from 1)."""
    stripped = line.strip()
    indent = len(line) - len(line.lstrip())
    return f"    {stripped}\n    {' ' * (column - 1 - indent)}^"


class Source:
    """A text and where it stands."""

    def __init__(self, text: str, file: str = "<tc>", line: int = 1):
        self.text, self.file, self.line = text, file, line

    def place(self, at: int) -> tuple[int, int, str]:
        """Line, column (from 1) and text of the line of an offset."""
        at = min(at, len(self.text.rstrip()))
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        return self.line + self.text.count("\n", 0, at), at - start + 1, self.text[start : end if end >= 0 else None]

    def error(self, at: int, message: str) -> CompilationError:
        line, column, text = self.place(at)
        return CompilationError(message, (self.file, line, column, text))

    def shown(self, at: int, message: str) -> str:
        """The message for errors of other classes than CompilationError."""
        line, column, text = self.place(at)
        return f"{self.file}:{line}: {message}\n{caret(text, column)}"


def of_caller(text: str, formatted: str | None = None) -> Source:
    """The source with the file and line of the first frame outside this package, where its literal is found there."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("torch.tc", "tensor_comprehensions")
    ):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    found = "".join(linecache.getlines(file, frame.f_globals))
    at = found.find(text)
    if at < 0:
        return Source(formatted or text, "<tc>", 1)
    return Source(formatted or text, file, found.count("\n", 0, at) + 1 if line else 1)
