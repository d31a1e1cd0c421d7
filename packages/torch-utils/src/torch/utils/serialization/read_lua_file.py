"""Reads what ``torch.save`` of Lua wrote (``.t7``, ``.net``), in its binary form.

Every object is a 32-bit tag and what follows it; tables, functions and objects of classes have a number, under which a
later one refers to them. The format is that of ``File.lua`` in Torch 7.
"""

from __future__ import annotations

import math
import os
import re
import struct

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["LuaFunction", "T7Reader", "T7ReaderException", "TorchObject", "load_lua"]

_DTYPES = {
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Half": torch.float16, "Float": torch.float32, "Double": torch.float64,
}  # fmt: skip
_MEMORY = re.compile(r"torch\.(?:Cuda)?(\w*?)(Tensor|Storage)").fullmatch
_MAX_KEY = 1000
_VERSION = re.compile(r"V \d+").fullmatch


class T7ReaderException(ValueError):
    """The file is no binary file of Lua Torch, is damaged, or holds an object of a class that is not known."""


class TorchObject:
    """An object of a Lua class: ``torch_typename()`` says which; its fields are attributes.

    >>> TorchObject("nn.Identity", {"train": True}).train
    True
    """

    def __init__(self, typename: Any, fields: Any) -> None:
        self._typename = typename
        self._obj = fields

    def torch_typename(self) -> Any:
        """The name of the class."""
        return self._typename

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_obj")
        if isinstance(fields, dict) and name in fields:
            return fields[name]
        raise AttributeError(f"a Lua object of class {self.__dict__.get('_typename')} has no field {name!r}")

    def __repr__(self) -> str:
        return f"TorchObject({self._typename}, {self._obj!r})"


class LuaFunction:
    """A function in a file: its bytecode, which is not run, and the values that it closed over."""

    def __init__(self, dumped: Any, upvalues: Any) -> None:
        self.dumped = dumped
        self.upvalues = upvalues


class _Table(dict):
    """A table of Lua; like any other value it may be a key."""

    __hash__ = object.__hash__


class T7Reader:
    """Reads one object after another from a file that is open for reading bytes.

    Tables with the keys 1 to n become lists (``list_heuristic``) and numbers without a fraction ints (``int_heuristic``).
    With ``unknown_classes`` objects of classes other than tensors and storages become :class:`TorchObject`. ``long_size``
    is 8, or 4 for files written on a system whose ``long`` has 4 bytes.
    """

    def __init__(
        self,
        fileobj: Any,
        unknown_classes: bool = False,
        long_size: Any = None,
        *,
        list_heuristic: bool = True,
        int_heuristic: bool = True,
    ) -> None:
        if long_size not in (None, 4, 8):
            raise ValueError(f"load_lua: long_size must be 4 or 8, not {long_size!r}")
        self.f = fileobj
        self.unknown_classes = unknown_classes
        self.list_heuristic = list_heuristic
        self.int_heuristic = int_heuristic
        self.objects = {}
        self._long = "<i" if long_size == 4 else "<q"
        self._referred = set()  # numbers of tables that hold themselves
        self._end = fileobj.seek(0, os.SEEK_END)
        fileobj.seek(0)
        self._readers = {
            0: lambda: None,
            1: self.read_number,
            2: self.read_string,
            3: self.read_table,
            4: self.read_object_of_class,
            5: self.read_boolean,
            6: self._read_function,
            7: self.read_numbered_function,
            8: self.read_numbered_function,
        }

    def read(self) -> Any:
        """The next object."""
        try:
            return self.read_obj()
        except RecursionError:
            raise T7ReaderException(f"{self._where()}: tables are nested too deep") from None

    def read_obj(self) -> Any:
        begin = self.f.tell()
        tag = self.read_int()
        if tag not in self._readers:
            hint = " (is it a file of Lua's torch.save in binary form?)" if begin == 0 else ""
            raise T7ReaderException(f"{self._where()}: {tag} is not the tag of an object{hint}")
        return self._readers[tag]()

    # --- plain values ---

    def _take(self, count):
        here = self.f.tell()
        if not 0 <= count <= self._end - here:
            raise T7ReaderException(f"{self._where()}: {count} bytes are announced and {self._end - here} are left")
        return self.f.read(count)

    def _unpack(self, form):
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _where(self):
        return f"load_lua: {getattr(self.f, 'name', 'file')} at byte {self.f.tell()}"

    def read_int(self) -> Any:
        return self._unpack("<i")

    def read_long(self) -> Any:
        return self._unpack(self._long)

    def read_boolean(self) -> Any:
        return self.read_int() == 1

    def read_number(self) -> Any:
        value = self._unpack("<d")
        whole = self.int_heuristic and math.isfinite(value) and value == int(value)
        return int(value) if whole else value

    def _read_bytes(self):
        return self._take(self.read_int())

    def read_string(self) -> Any:
        """Text, or bytes where it is not UTF-8."""
        data = self._read_bytes()
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    # --- numbered objects ---

    def _numbered(self, read):
        number = self.read_int()
        if number in self.objects:
            self._referred.add(number)
            return self.objects[number]
        self.objects[number] = read(number)
        return self.objects[number]

    def read_table(self) -> Any:
        return self._numbered(self._read_table)

    def _read_table(self, number):
        table = self.objects[number] = _Table()
        self._referred.discard(number)
        pairs = self.read_int()
        if pairs < 0:
            raise T7ReaderException(f"{self._where()}: a table of {pairs} pairs")
        for _ in range(pairs):
            key = self._as_key(self.read_obj())
            table[key] = self.read_obj()
        holds_itself = number in self._referred
        if self.list_heuristic and not holds_itself and all(i in table for i in range(1, len(table) + 1)):
            return [table[i] for i in range(1, len(table) + 1)]
        return table

    def _as_key(self, key):
        """A list as a tuple, if it is a short one of plain values: it is hashed each time that it is referred to."""
        if not isinstance(key, list):
            return key
        if len(key) > _MAX_KEY or not all(isinstance(part, (int, float, str, bytes, bool)) for part in key):
            raise T7ReaderException(
                f"{self._where()}: a table of {len(key)} elements as a key, not of a few plain values"
            )
        return tuple(key)

    def read_numbered_function(self) -> Any:
        return self._numbered(lambda number: self._read_function())

    def _read_function(self):
        return LuaFunction(self._read_bytes(), self.read_obj())

    def read_object_of_class(self) -> Any:
        return self._numbered(self._read_object_of_class)

    def _read_object_of_class(self, number):
        name = self.read_string()
        if isinstance(name, str) and _VERSION(name):  # files of the first days have no version
            name = self.read_string()
        found = _MEMORY(name) if isinstance(name, str) else None
        if found and (dtype := _DTYPES.get(found[1] or "Float")):
            return self._read_tensor(dtype) if found[2] == "Tensor" else self._read_storage(dtype)
        if not self.unknown_classes:
            raise T7ReaderException(
                f"{self._where()}: an object of class {name}, which is not known here; "
                "load_lua(..., unknown_classes=True) reads its fields"
            )
        made = self.objects[number] = TorchObject(name, None)
        made._obj = self.read_obj()
        return made

    def _read_storage(self, dtype):
        size = self.read_long()
        data = self._take(size * dtype.itemsize)
        return torch.TypedStorage(wrap_storage=torch.UntypedStorage.from_buffer(data, dtype=torch.uint8), dtype=dtype)

    def _read_tensor(self, dtype):
        dims = self.read_int()
        if not 0 <= dims <= 64:
            raise T7ReaderException(f"{self._where()}: a tensor of {dims} dims")
        size = [self.read_long() for _ in range(dims)]
        stride = [self.read_long() for _ in range(dims)]
        offset = self.read_long() - 1
        storage = self.read_obj()
        tensor = torch.empty(0, dtype=dtype)
        if storage is None or not dims:  # a tensor without dims is empty in Lua
            return tensor
        if not isinstance(storage, torch.TypedStorage) or storage.dtype != dtype:
            raise T7ReaderException(f"{self._where()}: a tensor of {dtype} over {type(storage).__name__}")
        try:
            return tensor.set_(storage, offset, size, stride)
        except RuntimeError as error:
            raise T7ReaderException(f"{self._where()}: {error}") from None


def load_lua(filename: Any, unknown_classes: bool = False, **kwargs: Any) -> Any:
    """The first object of a file of Lua's ``torch.save`` in binary form; ``kwargs`` are :class:`T7Reader`'s.

    Tensors, storages, tables, numbers, strings and booleans become tensors, storages, lists and dicts, numbers, strings
    and bools; tensors of CUDA lie in main memory. :class:`T7ReaderException` for files that are damaged or of another
    kind, and for objects of other classes unless ``unknown_classes``.
    """
    with open(filename, "rb") as f:
        return T7Reader(f, unknown_classes, **kwargs).read()
