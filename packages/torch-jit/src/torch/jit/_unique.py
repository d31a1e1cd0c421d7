"""Qualified names of classes and functions: programs tell types apart by them, so each has its own in a process."""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["name_of_form", "unique_name"]

_names = set()
_begun = {}  # of a name, the numbers that were not tried yet
_forms = {}  # of a name of named tuples or enums, their fields or members


def unique_name(name: str) -> str:
    """A qualified name that no class or function has yet: PyTorch's way of telling equal names apart.

    >>> unique_name("doc.Net"), unique_name("doc.Net")
    ('doc.Net', 'doc.___torch_mangle_0.Net')
    """
    if name in _names:
        before, _, last = name.rpartition(".")
        numbers = _begun.setdefault(name, itertools.count())
        others = (f"{before}.___torch_mangle_{n}.{last}" for n in numbers)
        name = next(each for each in others if each not in _names)
    _names.add(name)
    return name


def name_of_form(name: str, form: Any) -> str:
    """The name of a named tuple or enum: its own, unless one of other fields or members has that.

    >>> [name_of_form("doc.Point", fields) for fields in ("xy", "xyz", "xy")]
    ['doc.Point', 'doc.___torch_mangle_form_1.Point', 'doc.Point']
    """
    before, _, last = name.rpartition(".")
    others = (f"{before}.___torch_mangle_form_{n}.{last}" for n in itertools.count(1))
    return next(each for each in itertools.chain([name], others) if _forms.setdefault(each, form) == form)
