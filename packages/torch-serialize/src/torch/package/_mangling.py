"""The names of modules that live in a package: ``<torch_package_0>.shop``, apart from the ``shop`` of ``sys.modules``."""

from __future__ import annotations

import itertools
import re
import types
from typing import Any

_numbers = itertools.count()
_PREFIX = re.compile(r"<torch_package_\d+>")


def new_prefix() -> str:
    """What stands before the names of one importer's modules."""
    return f"<torch_package_{next(_numbers)}>"


def is_mangled(name: str) -> bool:
    """Whether a name says that its module is of a package.

    >>> is_mangled("<torch_package_0>.shop"), is_mangled("shop")
    (True, False)
    """
    return _PREFIX.match(name) is not None


def demangle(name: str) -> str:
    """The name within the package; other names as they are.

    >>> demangle("<torch_package_0>.shop.prices"), demangle("shop")
    ('shop.prices', 'shop')
    """
    prefix = _PREFIX.match(name)
    return name[prefix.end() + 1 :] if prefix else name


def is_from_package(obj: Any) -> bool:
    """Whether a module, or the class of an object, was imported from a package.

    >>> is_from_package(5)
    False
    """
    if isinstance(obj, types.ModuleType):
        return is_mangled(obj.__name__)
    return is_mangled(type(obj).__module__)
