"""Packages that load names at first use."""

import sys
from types import ModuleType


class Package(ModuleType):
    """Its ``__dict__`` has every name that ``dir()`` shows: libraries go through that of torch.optim and of others, in
    search of classes, and would miss what nobody has asked for yet."""

    @property
    def __dict__(self):
        known = super().__dict__
        for name in set(known["__dir__"]()) - known.keys():
            known[name] = getattr(self, name)
        return known


def complete(name: str) -> None:
    """Make a module, which has a ``__getattr__`` and a ``__dir__``, such a package."""
    sys.modules[name].__class__ = Package
