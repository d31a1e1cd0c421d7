"""Functions of torch that are compiled by themselves: programs that call them, as one of a user's would."""

from __future__ import annotations

import ast
import inspect
import re

from .. import _ir as ir
from . import types
from .source import Source

__all__ = ["as_users", "calling"]


def calling(public, fn):
    """The source of a function that has the parameters of ``fn`` and calls ``public``, which is ``fn`` with its decorators."""
    parameters = inspect.signature(fn).parameters.values()
    plain = [each.name for each in parameters if each.kind != each.KEYWORD_ONLY]
    named = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY]
    given = ", ".join([*plain, *(f"{name}={name}" for name in named)])
    text = (
        f"def {fn.__name__}({', '.join([*plain, *(['*', *named] if named else [])])}):\n    return _called({given})\n"
    )
    names = [{"_called": public}, *([fn.__globals__] if hasattr(fn, "__globals__") else [])]
    return Source(ast.parse(text).body[0], f"<call of {fn.__name__}>", text.splitlines(keepends=True), 1, names)


def as_users(type, name):
    """What a user's function would declare for a type of the library's: a list in the place of one number or several; and how
    many numbers one stands for, in a function of this name.
    """
    parts = type.containedTypes() if type.kind() == "UnionType" else []
    lists = [each for each in parts if each.kind() == "ListType"]
    is_optional = any(map(types.is_none, parts))
    if len(lists) != 1 or len(parts) != 2 + is_optional:
        return type, 0
    element = lists[0].getElementType()
    found = ir.ListType(element.getElementType() if types.is_optional(element) else element)
    dims = re.search(r"(\d)d(_|$)", name)
    return ir.OptionalType(found) if is_optional else found, int(dims[1]) if dims else 0
