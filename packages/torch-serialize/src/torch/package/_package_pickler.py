"""Pickles whose names are those that an importer gives, and whose tensors lie beside them in the archive."""

from __future__ import annotations

import functools
import pickletools
from pickle import PicklingError
from typing import Any

import torch
from torch.serialize._arrays.adapters import TorchAdapter
from torch.serialize._pickles.pickler import Pickler

from .importer import Importer, ObjMismatchError, ObjNotFoundError


class Storages:
    """The storages of an archive, numbered over all its pickles."""

    def __init__(self) -> None:
        self._storages: list[Any] = []
        self._rows: list[Any] = []
        self._known: dict[int, Any] = {}
        self._written = 0

    def adapter(self) -> TorchAdapter:
        """What writes the tensors of one pickle."""
        adapter = TorchAdapter(torch)
        adapter.storages, adapter.rows, adapter._known = self._storages, self._rows, self._known
        return adapter

    def new(self, adapter: TorchAdapter):
        """Pairs of number and contents of the storages that were met since the last time."""
        first, self._written = self._written, len(self._storages)
        return [(n, adapter.payload(self._storages[n])) for n in range(first, self._written)]


class PackagePickler(Pickler):
    """A pickler that asks an importer under which name an object is found."""

    def __init__(self, importer: Importer, adapter: TorchAdapter, protocol: int):
        super().__init__(adapter, protocol)
        self._importer = importer

    def _save_global(self, obj, name=None):
        try:
            module, name = self._importer.get_name(obj, name)
        except (ObjNotFoundError, ObjMismatchError) as error:
            raise PicklingError(f"Can't pickle {obj}: {error}") from None
        if "." not in name:
            self.write(self.name(f"{module}.{name}"))
        elif self._protocol >= 4:
            self.write(self.text(module) + self.text(name) + b"\x93" + self.memoize(obj))
        else:
            outer, _, inner = name.rpartition(".")
            owner = functools.reduce(getattr, outer.split("."), self._importer.import_module(module))
            self.write(b"cbuiltins\ngetattr\n")
            self.save((owner, inner))
            self.write(b"R" + self.memoize(obj))


def globals_of(data: bytes) -> list[tuple[str, str]]:
    """The pairs of module and name that a pickle asks for, in their order.

    >>> import fractions, pickle
    >>> globals_of(pickle.dumps([fractions.Fraction(1, 2), fractions.Fraction], protocol=4))
    [('fractions', 'Fraction')]
    """
    found: dict[tuple[str, str], None] = {}
    texts: list[str] = []  # STACK_GLOBAL takes the last two, which may come from the memo
    memo: dict[int, str] = {}
    last = None
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            module, _, name = argument.partition(" ")
            found[module, name] = None
        elif opcode.name == "STACK_GLOBAL":
            found[texts[-2], texts[-1]] = None
        elif opcode.name.endswith(("UNICODE", "UNICODE8")):
            texts.append(argument)
            last = argument
        elif opcode.name in ("BINPUT", "LONG_BINPUT"):
            if last is not None:
                memo[argument] = last
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = last if last is not None else ""
        elif opcode.name in ("BINGET", "LONG_BINGET") and argument in memo:
            texts.append(memo[argument])
        if not opcode.name.endswith(("UNICODE", "UNICODE8")):
            last = None
    return list(found)
