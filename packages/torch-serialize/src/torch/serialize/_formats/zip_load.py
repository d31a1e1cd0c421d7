"""Reads the zip format of PyTorch 1.6 to today, TorchScript archives (their tensors) and ``.npz``."""

from __future__ import annotations

import collections
from typing import Any

from .._arrays.dtypes import UNTYPED, ElementType
from .._arrays.stored import Stored
from .._errors import FileFormatError, brief
from .._options import options
from .._pickles.globals import safe_find
from .._session import Session
from ..npy import read_npz
from .script_json import MODEL, Model
from .zip_reader import TRUSTED_EXPANSION, Record, ZipReader


def load(session: Session):
    """The object of a zip archive, told by the records that it has."""
    reader = ZipReader(session.source, options.expansion if session.weights_only else TRUSTED_EXPANSION)
    records = reader.records
    if not records:
        raise FileFormatError(f"load: {session.source.name} is an empty zip archive")
    root = next(iter(records)).partition("/")[0]
    body = records.get(f"{root}/data.pkl")
    if body is None:
        if all(name.endswith(".npy") for name in records):
            return read_npz(reader, session)
        if f"{root}/{MODEL}" in records:
            return _load_script_json(session, reader, root)
        raise FileFormatError(
            f"load: {session.source.name} is a zip archive without {root}/data.pkl: not a file of torch.save"
        )
    order = records.get(f"{root}/byteorder")
    if order is not None:
        session.swapped = _byte_order(reader, order) == "big"
    storages = _Storages(session, reader, root)
    if f"{root}/constants.pkl" in records:
        return _load_script(session, reader.read(body), storages)
    return session.unpickler(reader.read(body), storages.get).load()


def _byte_order(reader: ZipReader, record: Record) -> str:
    order = reader.read(record).decode("ascii", "replace") if record.size < 16 else "?"
    if order not in ("little", "big"):
        raise reader.fail(f"its byte order is {order!r}")
    return order


class _Storages:
    """The storages of an archive, each made when it is first named."""

    def __init__(self, session: Session, reader: ZipReader, root: str):
        self._session = session
        self._reader = reader
        self._root = root
        self._known: dict[Any, Stored] = {}  # by key, or by key and element type

    def get(self, pid):
        session = self._session
        cls, key, location, numel = session.check_id(pid)
        stored = self._known.get(key)
        if stored is None:
            stored = self._at(f"data/{key}", cls.row, location, numel)
            self._known[key] = stored
        elif stored.row is not cls.row:
            stored = session.retyped(self._known, stored, key, cls.row, numel)
        return stored.data if pid[1] == UNTYPED else stored

    def named(self, name: str, row: ElementType, location: str):
        """The storage in the record `name`, whatever its size."""
        if name not in self._known:
            self._known[name] = self._at(name, row, location, None)
        return self._known[name]

    def _at(self, name: str, row: ElementType, location: str, numel: int | None):
        session, reader = self._session, self._reader
        record = reader.records.get(f"{self._root}/{name}")
        if record is None:
            raise FileFormatError(
                f"load: {session.source.name} lacks storage {name[:80].removeprefix('data/')}: "
                f"record {self._root}/{name[:80]}"
            )
        if numel is not None and record.size != numel * row.itemsize:
            raise FileFormatError(
                f"load: {session.source.name}: storage {name.removeprefix('data/')} should hold {numel} elements of {row.name}, "
                f"{numel * row.itemsize} bytes, and its record has {record.size}"
            )
        if session.source.memory is not None and session.is_simple(location) and not record.deflated:
            return session.backend.stored(session.backend.from_bytes(reader.view(record)), row, location)
        return session.storage(
            row,
            location,
            record.size,
            lambda target: reader.read_into(record, target),
            None if record.deflated else record.offset,
            lambda view: reader.verify(record, view),
        )


def _load_script_json(session: Session, reader: ZipReader, root: str):
    storages = _Storages(session, reader, root)
    plain = safe_find(session.names, session.source.name)
    session.weights_only = True
    model = Model(
        reader.read(reader.records[f"{root}/{MODEL}"]),
        session.source.name,
        storages.named,
        session.backend.tensor,
        session.budget.pay,
    )

    def find(module, name):
        if module == "torch.jit._pickle":
            return model.tensor if name == "build_tensor_from_id" else lambda *args: args[0] if args else None
        return plain(module, name)

    def attributes():
        record = reader.records.get(f"{root}/attributes.pkl")
        return () if record is None else session.unpickler(reader.read(record), storages.get, find).load()

    return model.named(attributes)


class _ScriptObject:
    """An object of a TorchScript class: its attributes, none of its code."""

    def __new__(cls, *args):
        self = super().__new__(cls)
        self.attributes = {}
        return self

    def __setstate__(self, state):
        if isinstance(state, dict):
            self.attributes = state


def _load_script(session: Session, body: bytes, storages: _Storages):
    """The parameters and buffers of a TorchScript module by their dotted names, as its state_dict would have them."""
    plain = safe_find(session.names, session.source.name)
    session.weights_only = True

    def find(module, name):
        if module.startswith("__torch__"):
            return _ScriptObject
        if module == "torch.jit._pickle":
            return lambda *args: args[0] if args else None
        return plain(module, name)

    root = session.unpickler(body, storages.get, find, (_ScriptObject,)).load()
    if not isinstance(root, _ScriptObject):
        return root
    out, seen = collections.OrderedDict(), set()

    waiting = [("", root)]
    while waiting:
        name, node = waiting.pop()
        session.budget.pay(len(name), "the names of its tensors")
        if not isinstance(node, _ScriptObject):
            out[name] = node
        elif id(node) not in seen:
            seen.add(id(node))
            prefix = "" if node is root else f"{name}."
            parts = [(key, value) for key, value in node.attributes.items() if _is_listed(value)]
            waiting += [(prefix + _name(session, key), value) for key, value in reversed(parts)]
    return out


def _is_listed(value) -> bool:
    return isinstance(value, _ScriptObject) or (hasattr(value, "dtype") and hasattr(value, "shape"))


def _name(session: Session, key) -> str:
    if type(key) is not str:
        raise FileFormatError(f"load: {session.source.name}: an attribute of a module has the name {brief(key)}")
    return key
