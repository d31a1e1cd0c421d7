"""Packages that load names at first use."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def later(
    namespace: dict[str, Any], modules: Iterable[str] = (), names: Mapping[str, str] | None = None, base: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for the module of these globals: its submodules ``modules`` are imported when they are
    asked for, as are names out of submodules (``{name: submodule}``, or ``"submodule:name"`` where it has another name
    there; of ``base``, where that is given), which are kept.

    >>> box = ModuleType("box")
    >>> box.__getattr__, box.__dir__ = later(vars(box), modules=["parser"], names={"HTMLParser": "parser"}, base="html")
    >>> "HTMLParser" in dir(box), box.HTMLParser.__module__, hasattr(box, "parse")
    (True, 'html.parser', False)
    """
    module, table = namespace["__name__"], {**dict.fromkeys(modules), **(names or {})}
    base = base or module

    def __getattr__(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module))
        place, _, there = (table[name] or "").partition(":")
        found = import_module(f"{base}.{place or name}")
        if not place:
            return found
        value = namespace[name] = getattr(found, there or name)
        return value

    def __dir__() -> list[str]:
        return sorted({*namespace, *table})

    return __getattr__, __dir__


class Package(ModuleType):
    """Its ``__dict__`` has every name that ``dir()`` shows: libraries go through that of torch.optim and of others, in
    search of classes, and would miss what has not been asked for yet."""

    @property
    def __dict__(self):
        known = super().__dict__
        for name in set(known["__dir__"]()) - known.keys():
            known[name] = getattr(self, name)
        return known


def complete(name: str) -> None:
    """Make a module, which has a ``__getattr__`` and a ``__dir__``, such a package."""
    sys.modules[name].__class__ = Package
