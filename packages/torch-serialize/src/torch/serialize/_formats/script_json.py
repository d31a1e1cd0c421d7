"""TorchScript archives of PyTorch 1.0 to 1.3: ``model.json`` tells the modules, their tensors lie in records of their own.

``mainModule`` holds ``parameters`` (name, tensorId), ``attributes`` (name, id) and ``submodules`` of the same kind; tensor
number i is entry i of ``tensors``: dims, strides, offset, dataType, and in ``data.key`` the record of its storage, which
several tensors may share. Attributes are the elements of one pickle. Integers of 64 bits are text, as protobuf writes them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from .._arrays.dtypes import ELEMENT_TYPES
from .._errors import FileFormatError, brief
from .._pickles.words import is_int

MODEL = "model.json"
# dataType: the names and numbers of Caffe2's TensorProto.DataType.
_TYPES = {
    "FLOAT": (1, "float32"),
    "INT32": (2, "int32"),
    "BOOL": (5, "bool"),
    "UINT8": (6, "uint8"),
    "INT8": (7, "int8"),
    "INT16": (9, "int16"),
    "INT64": (10, "int64"),
    "FLOAT16": (12, "float16"),
    "DOUBLE": (13, "float64"),
}
_ROWS = {kind: ELEMENT_TYPES[name] for text, (number, name) in _TYPES.items() for kind in (text, number)}


class Model:
    """The tensors that a ``model.json`` describes, each made once.

    Args:
        text: contents of the record
        what: the file, for messages
        stored: ``stored(key, row, location)`` gives the storage in record `key`
        make: ``make(stored, row, offset, size, stride, requires_grad)`` gives a tensor
        pay: ``pay(count, reason)`` pays for names, each of which repeats those around it
    """

    def __init__(self, text: bytes, what: str, stored: Callable, make: Callable, pay: Callable[[int, str], None]):
        self._what, self._stored, self._make, self._pay = what, stored, make, pay
        import json

        try:
            model = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise self._fail(str(e)[:200]) from None
        self._main = _field(self._object(model, "model"), "mainModule", "main_module")
        self._entries = self._list(model, "tensors")
        self._made: dict[int, Any] = {}

    def _fail(self, text: str) -> FileFormatError:
        return FileFormatError(f"load: {self._what}: its {MODEL} is not that of a TorchScript module: {text}")

    def named(self, attributes: Callable[[], Any]) -> collections.OrderedDict:
        """All parameters, buffers and tensors among the attributes, by dotted names; `attributes()` reads their pickle."""
        out: collections.OrderedDict = collections.OrderedDict()
        values = None
        waiting = [("", self._object(self._main, "mainModule"))]
        while waiting:
            prefix, module = waiting.pop()
            self._pay(len(prefix), "the names of its tensors")
            found = [
                (entry, self.tensor(_field(entry, "tensorId", "tensor_id")))
                for entry in self._list(module, "parameters")
            ]
            for entry in self._list(module, "attributes"):
                values = attributes() if values is None else values
                number = self._int(entry.get("id"), "the id of an attribute")
                if not isinstance(values, (list, tuple)) or not 0 <= number < len(values):
                    raise self._fail(
                        f"attribute {brief(entry.get('name'))} is number {brief(number)}, which is not there"
                    )
                if hasattr(values[number], "dtype") and hasattr(values[number], "shape"):
                    found.append((entry, values[number]))
            for entry, tensor in found:
                name = prefix + self._name(entry)
                self._pay(len(name), "the names of its tensors")
                if name in out:
                    raise self._fail(f"two tensors are called {brief(name)}")
                out[name] = tensor
            parts = self._list(module, "submodules")
            waiting += [(f"{prefix}{self._name(part)}.", part) for part in reversed(parts)]
        return out

    def tensor(self, number):
        """Tensor `number` of the file."""
        number = self._int(number, "the number of a tensor")
        if number not in self._made:
            if not 0 <= number < len(self._entries):
                raise self._fail(f"tensor {brief(number)} of {len(self._entries)}")
            self._made[number] = self._tensor(self._entries[number])
        return self._made[number]

    def _tensor(self, entry: dict):
        kind, device = _field(entry, "dataType", "data_type"), entry.get("device", "cpu")
        row = _ROWS.get(kind) if isinstance(kind, (str, int)) else None
        if row is None:
            raise NotImplementedError(
                f"load: {self._what}: a tensor with elements of type {brief(kind)} cannot be read"
            )
        if _field(entry, "isQuantized", "is_quantized"):
            raise NotImplementedError(f"load: {self._what}: quantized tensors cannot be read")
        key = self._object(entry.get("data"), "the data of a tensor").get("key")
        if not isinstance(key, str) or not isinstance(device, str):
            raise self._fail(f"a tensor lies in record {brief(key)} on {brief(device)}")
        size, stride = (
            tuple(self._int(n, "a size or stride") for n in self._list(entry, name, int | str))
            for name in ("dims", "strides")
        )
        offset = self._int(entry.get("offset", 0), "an offset")
        grad = _field(entry, "requiresGrad", "requires_grad") is True
        return self._make(self._stored(key, row, device), row, offset, size, stride, grad)

    def _object(self, value, what: str) -> dict:
        if not isinstance(value, dict):
            raise self._fail(f"{what} is {brief(value)}")
        return value

    def _list(self, owner: dict, name: str, kind=dict) -> list:
        value = owner.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise self._fail(f"{name} is {brief(value)}")
        return value

    def _name(self, entry: dict) -> str:
        if not isinstance(name := entry.get("name"), str):
            raise self._fail(f"a name is {brief(name)}")
        return name

    def _int(self, value, what: str) -> int:
        if type(value) is str and len(value) < 20 and value.removeprefix("-").isdecimal():
            return int(value)
        if value is None:  # protobuf may leave out a zero
            return 0
        if not is_int(value):
            raise self._fail(f"{what} is {brief(value)}")
        return value


def _field(entry: dict, *names: str):
    """The value under the name as JSON spells it, or as the schema does."""
    return next((entry[name] for name in names if name in entry), None)
