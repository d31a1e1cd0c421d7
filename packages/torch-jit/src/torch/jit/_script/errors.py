"""What the compiler says when it cannot go on: what, where with the source line and a caret, and the way out."""

from __future__ import annotations

import difflib

__all__ = [
    "AnnotationError", "FrontendError", "NoFactoryError", "NotSupportedError", "ScriptError", "Where", "about", "nearest",
]  # fmt: skip


class Where:
    """A place in a source: a file, a line and the columns of an expression."""

    __slots__ = ("column", "end", "file", "function", "line", "text")

    def __init__(self, file, line, column, end, text, function):
        self.file, self.line, self.column, self.end, self.text, self.function = file, line, column, end, text, function

    def __str__(self):
        indent = len(self.text) - len(self.text.lstrip())
        width = max(1, min(self.end, len(self.text)) - self.column)
        return (
            f'  File "{self.file}", line {self.line}, in {self.function}\n'
            f"    {self.text.strip()}\n"
            f"    {' ' * max(0, self.column - indent)}{'~' * width} <--- HERE"
        )


class FrontendError(Exception):
    """A source that the compiler does not take."""


class ScriptError(RuntimeError):
    """A program that the compiler does not take; ``places`` are the lines that led there, the innermost first."""

    def __init__(self, message, where=None, way_out=""):
        super().__init__(message)
        self.message, self.way_out = message, way_out
        self.places = [] if where is None else [where]

    def __str__(self):
        text = self.message + (f": {self.way_out}" if self.way_out else "")
        if self.places:
            text += "\n" + str(self.places[0])
        for place in self.places[1:]:
            text += f"\ncalled from\n{place}"
        return text


class AnnotationError(ScriptError, ValueError):
    """An annotation that says no type of the script language."""


class NotSupportedError(ScriptError, FrontendError):
    """Python that the script language lacks."""


class NoFactoryError(NotSupportedError, NotImplementedError):
    """A field of a dataclass that a function makes anew each time."""


def about(message, argument):
    """The message of a wrong type, with the argument that is of it."""
    before, found, after = message.partition(" but got one of type ")
    return (
        f"{before} for argument '{argument}' but instead found type {after}"
        if found
        else f"argument '{argument}': {message}"
    )


def nearest(name, names):
    """``did you mean ...?`` for a name that is not among ``names``.

    >>> from torch.jit._script.errors import nearest
    >>> nearest("reluu", ["relu", "add"])
    "did you mean 'relu'?"
    """
    found = difflib.get_close_matches(name, [each for each in names if isinstance(each, str)], 2)
    return f"did you mean {' or '.join(map(repr, found))}?" if found else ""
