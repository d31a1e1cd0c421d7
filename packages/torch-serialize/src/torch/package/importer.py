"""Where modules come from: this process, a package, or several of them in order."""

from __future__ import annotations

import importlib
import pickle
import sys
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

from ._mangling import demangle, is_mangled

__all__ = ["Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter", "sys_importer"]


class ObjNotFoundError(Exception):
    """An object is not where its module and name say."""


class ObjMismatchError(Exception):
    """Another object is where the module and name of this one say."""


class Importer(ABC):
    """Finds modules by name, and the name under which an object is found again."""

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """The module of a name; ModuleNotFoundError where there is none."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Module and name under which this importer finds the object.

        >>> import fractions
        >>> sys_importer.get_name(fractions.Fraction)
        ('fractions', 'Fraction')
        """
        if name is None:
            name = getattr(obj, "__qualname__", None) or obj.__name__
        written = self.whichmodule(obj, name)
        module_name = demangle(written)
        try:
            found: Any = self.import_module(module_name)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module_name}.{name}") from None
        if found is obj:
            return module_name, name
        raise ObjMismatchError(
            f"{obj} is not the same object as {module_name}.{name} of {self!r}: it comes from {_place(written)}, "
            f"and that is {found} from {_place(getattr(found, '__module__', module_name))}"
        )

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module that holds the object, as the object says it or as a search finds it."""
        module = getattr(obj, "__module__", None)
        return module if module is not None else pickle.whichmodule(obj, name)


def _place(module: str) -> str:
    return f"the package {module.partition('.')[0]}" if is_mangled(module) else "this process"


class _SysImporter(Importer):
    """The modules of this process."""

    @property
    def modules(self) -> dict[str, ModuleType]:  # type: ignore[override]
        return sys.modules

    def import_module(self, module_name: str) -> ModuleType:
        return importlib.import_module(module_name)


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Asks several importers, the first one first.

    >>> OrderedImporter(sys_importer).import_module("math").__name__
    'math'
    """

    def __init__(self, *args: Importer):
        self._importers = list(args)

    def import_module(self, module_name: str) -> ModuleType:
        missing = None
        for importer in self._importers:
            try:
                return importer.import_module(module_name)
            except ModuleNotFoundError as error:
                # An import within a module that is there has failed: that is what the user is to hear.
                if missing is None or not _names(error, module_name):
                    missing = error
                if not _names(error, module_name):
                    raise
        raise ModuleNotFoundError(f"No module named {module_name!r}", name=module_name) from missing

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as error:
                missing = error
        raise missing

    def whichmodule(self, obj: Any, name: str) -> str:
        for importer in self._importers:
            module = importer.whichmodule(obj, name)
            if module != "__main__":
                return module
        return "__main__"


def _names(error: ModuleNotFoundError, module: str) -> bool:
    """Whether the error is about this module or one above it."""
    return error.name is None or f"{module}.".startswith(f"{demangle(error.name)}.")
