"""Writes an object graph as a pickle of protocol 2 to 5 in which tensors and storages are persistent ids.

Python's own pickler insists that every name it writes can be imported under that name; this one writes PyTorch's names
for our functions, and the steps of a tensor in one piece, at 1.3 us a tensor against 5 us through reduce tuples.

Opcodes: CPython `Lib/pickletools.py`.
"""

from __future__ import annotations

import collections
import copyreg
import functools
import importlib
import struct
import sys
import types
from pickle import PicklingError, whichmodule
from typing import Any

_BATCH = 1000
_CLASS_OF = {type(constant): (constant,) for constant in (None, ..., NotImplemented)}  # classes that have no name


class Pickler:
    """Collects the pickle of one object; `adapter` writes tensors and storages and numbers the storages it meets.

    Args:
        adapter: an object of `_arrays.adapters` with ``write(pickler, obj) -> bool``; False when `obj` is not its business
        protocol: what objects are asked to reduce themselves for; bytes take one opcode from 3 on, nested names from 4 on
    """

    def __init__(self, adapter, protocol: int = 2):
        self._protocol = protocol
        self._out: list[bytes] = [b"\x80%c" % protocol]
        self.write = self._out.append
        self._memo: dict[int, tuple[int, Any]] = {}
        self._names: dict[str, bytes] = {}
        self._texts: dict[str, bytes] = {}
        self._count = 0
        self._adapter = adapter

    def dumps(self, obj) -> bytes:
        """The pickle of `obj`."""
        self.save(obj)
        self.write(b".")
        return b"".join(self._out)

    def save(self, obj) -> None:
        kind = type(obj)
        if kind is str:
            self.write(self.text(obj))
        elif (writer := _EXACT.get(kind)) is not None:
            writer(self, obj)
        elif not self._recall(obj) and not self._adapter.write(self, obj):
            self._save_other(kind, obj)

    def _recall(self, obj) -> bool:
        """Writes a reference to an object that was written before."""
        known = self._memo.get(id(obj))
        if known is None:
            return False
        self.write(get(known[0]))
        return True

    def _save_other(self, kind: type, obj) -> None:
        if kind in (set, frozenset):
            self.save_reduce(kind, (list(obj),), obj=obj)
        elif isinstance(obj, type) and (constant := _CLASS_OF.get(obj)) is not None:
            self.save_reduce(type, constant, obj=obj)
        elif (
            isinstance(obj, type)
            or kind is types.FunctionType
            or (kind is types.BuiltinFunctionType and _is_global(obj))
        ):
            self._save_global(obj)
        else:
            self.save_reduced(obj)

    def memoize(self, obj) -> bytes:
        """The opcode that stores the object just written; later `save`s of it refer to it."""
        index = self._count
        self._count = index + 1
        self._memo[id(obj)] = (index, obj)  # the object stays alive, so its id stays its own
        return put(index)

    def number_once(self) -> int:
        """A memo number for something that is written as bytes."""
        self._count += 1
        return self._count - 1

    def text(self, value: str) -> bytes:
        """A string: in full the first time, by its number afterwards."""
        known = self._texts.get(value)
        if known is not None:
            return known
        raw = value.encode("utf-8", "surrogatepass")
        index = self.number_once()
        self._texts[value] = get(index)
        return b"X%b%b%b" % (len(raw).to_bytes(4, "little"), raw, put(index))

    def name(self, full: str) -> bytes:
        """A global by the name that stands in the file, such as ``torch._utils._rebuild_tensor_v2``."""
        known = self._names.get(full)
        if known is not None:
            return known
        module, _, attribute = full.rpartition(".")
        index = self.number_once()
        self._names[full] = get(index)
        return b"c%b\n%b\n%b" % (module.encode(), attribute.encode(), put(index))

    def _save_global(self, obj, name: str | None = None) -> None:
        name = name or getattr(obj, "__qualname__", None) or obj.__name__
        module = whichmodule(obj, name)
        if module == "__main__":
            found = sys.modules["__main__"]
        else:
            try:
                found = importlib.import_module(module)
            except ImportError as e:
                raise PicklingError(f"save: {obj!r} cannot be found again: no module {module!r} ({e})") from None
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not obj:
            raise PicklingError(
                f"save: {obj!r} cannot be found again as {module}.{name}; "
                "only classes and functions at the top level of a module can be saved"
            )
        module = {"builtins": "__builtin__"}.get(module, module)
        if "." in name:  # protocol 2 has no dotted names: getattr(outer, inner)
            outer, _, inner = name.rpartition(".")
            if self._protocol >= 4:
                self.write(self.text(module) + self.text(name) + b"\x93" + self.memoize(obj))
                return
            owner = functools.reduce(getattr, outer.split("."), sys.modules[whichmodule(obj, name)])
            self.write(b"c__builtin__\ngetattr\n")
            self.save((owner, inner))
            self.write(b"R" + self.memoize(obj))
            return
        self.write(self.name(f"{module}.{name}"))

    def save_reduced(self, obj) -> None:
        """Writes an object as its ``__reduce_ex__`` describes it."""
        reduce = copyreg.dispatch_table.get(type(obj))
        result = reduce(obj) if reduce is not None else obj.__reduce_ex__(min(self._protocol, 4))
        if isinstance(result, str):
            self._save_global(obj, result)
            return
        if not isinstance(result, tuple) or not 2 <= len(result) <= 6:
            raise PicklingError(f"save: __reduce_ex__ of {type(obj).__name__} gave {result!r}")
        self.save_reduce(*result, obj=obj)

    def save_reduce(self, function, args, state=None, items=None, pairs=None, setter=None, obj=None) -> None:
        """The calls that make `obj` again, as `object.__reduce_ex__` describes them."""
        name = getattr(function, "__name__", "")
        if name == "__newobj__":
            self.save(args[0])
            self.save(tuple(args[1:]))
            self.write(b"\x81")
        elif name == "__newobj_ex__":
            cls, positional, keywords = args
            if self._protocol >= 4:
                self.save(cls)
                self.save(tuple(positional))
                self.save(dict(keywords))
                self.write(b"\x92")
            else:
                self._save_partial(cls, positional, keywords)
        else:
            self.save(function)
            self.save(tuple(args))
            self.write(b"R")
        if obj is not None:
            if id(obj) in self._memo:  # its own arguments held it
                self.write(b"0" + get(self._memo[id(obj)][0]))
                return
            self.write(self.memoize(obj))
        if items is not None:
            self._items(list(items))
        if pairs is not None:
            self._pairs(pairs)
        if state is not None:
            if setter is None:
                self.save(state)
                self.write(b"b")
            else:
                self.save(setter)
                self.save((obj, state))
                self.write(b"R0")

    def _save_partial(self, cls, positional, keywords) -> None:
        self.save(functools.partial(cls.__new__, cls, *positional, **keywords))
        self.write(b")R")

    def _items(self, items: list) -> None:
        for begin in range(0, len(items), _BATCH):
            self.write(b"(")
            for item in items[begin : begin + _BATCH]:
                self.save(item)
            self.write(b"e")

    def _pairs(self, pairs) -> None:
        write, save, text = self.write, self.save, self.text
        write(b"(")
        for i, (key, value) in enumerate(pairs):
            if i and i % _BATCH == 0:
                write(b"u(")
            if type(key) is str:
                write(text(key))
            else:
                save(key)
            save(value)
        write(b"u")

    # Exact types; the caller has not looked into the memo yet.

    def _none(self, obj):
        self.write(b"N")

    def _bool(self, obj):
        self.write(b"\x88" if obj else b"\x89")

    def _int(self, obj):
        self.write(integer(obj))

    def _float(self, obj):
        self.write(b"G" + struct.pack(">d", obj))

    def _bytes(self, obj):
        if self._recall(obj):
            return
        if self._protocol >= 3 and len(obj) < 1 << 32:
            head = b"C%c" % len(obj) if len(obj) < 256 else b"B" + len(obj).to_bytes(4, "little")
            self.write(head + obj + self.memoize(obj))
            return
        self.write(self.name("_codecs.encode"))
        self.save((str(obj, "latin1"), "latin1"))
        self.write(b"R" + self.memoize(obj))

    def _list(self, obj):
        if self._recall(obj):
            return
        self.write(b"]" + self.memoize(obj))
        if obj:
            self._items(obj)

    def _dict(self, obj):
        if self._recall(obj):
            return
        self.write(b"}" + self.memoize(obj))
        if obj:
            self._pairs(obj.items())

    def _ordered_dict(self, obj):
        if self._recall(obj):
            return
        self.write(self.name("collections.OrderedDict") + b")R" + self.memoize(obj))
        if obj:
            self._pairs(obj.items())
        if obj.__dict__:
            self.save(obj.__dict__)
            self.write(b"b")

    def _tuple(self, obj):
        if not obj:
            self.write(b")")
            return
        if self._recall(obj):
            return
        small = len(obj) <= 3
        if not small:
            self.write(b"(")
        for item in obj:
            self.save(item)
        known = self._memo.get(id(obj))
        if known is not None:  # a list inside holds this tuple: take what was just put on the stack off again
            self.write((b"0" * len(obj) if small else b"1") + get(known[0]))
            return
        self.write((b"t", b"\x85", b"\x86", b"\x87")[len(obj) if small else 0])
        self.write(self.memoize(obj))


def _is_global(function) -> bool:
    return function.__self__ is None or isinstance(function.__self__, types.ModuleType)


def get(index: int) -> bytes:
    return b"h%c" % index if index < 256 else b"j" + index.to_bytes(4, "little")


def put(index: int) -> bytes:
    return b"q%c" % index if index < 256 else b"r" + index.to_bytes(4, "little")


def integer(value: int) -> bytes:
    """The shortest opcode of protocol 2 for an int."""
    if 0 <= value < 256:
        return b"K%c" % value
    if 0 <= value < 65536:
        return b"M" + value.to_bytes(2, "little")
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + value.to_bytes(4, "little", signed=True)
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if len(raw) < 256:
        return b"\x8a%c%b" % (len(raw), raw)
    return b"\x8b" + len(raw).to_bytes(4, "little") + raw


_EXACT = {
    type(None): Pickler._none,
    bool: Pickler._bool,
    int: Pickler._int,
    float: Pickler._float,
    bytes: Pickler._bytes,
    list: Pickler._list,
    tuple: Pickler._tuple,
    dict: Pickler._dict,
    collections.OrderedDict: Pickler._ordered_dict,
}
