"""The modules that a call uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["trace_dependencies"]


def trace_dependencies(callable: Callable[..., Any], inputs: Iterable[tuple[Any, ...]]) -> list[str]:
    """The names of the modules whose Python functions run while ``callable(*arguments)`` does, for each of the inputs.

    >>> import fractions
    >>> "fractions" in trace_dependencies(lambda text: fractions.Fraction(text), [("1/3",)])
    True
    """
    found: set[str] = set()

    def note(frame, event, argument):
        name = frame.f_globals.get("__name__")
        if event == "call" and name:
            found.add(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for arguments in inputs:
            callable(*arguments)
    finally:
        sys.setprofile(before)
    return sorted(found - {__name__})
