"""Reads PyTorch's formats of before 2020: the tar of 2016, and the stream of pickles of 0.1.10 to 1.5.

stream: magic number, protocol 1001, sys_info, the object, the list of storage keys (each a pickle), then per key the
number of elements (int64) and the elements. Also plain `pickle` files that hold tensors.
tar: members sys_info, storages, tensors, pickle; see `load_tar`.
"""

from __future__ import annotations

import functools
import struct
from pickle import UnpicklingError
from typing import Any

from .._arrays.dtypes import BY_STORAGE
from .._arrays.stored import Stored
from .._errors import FileFormatError, SourceChangeWarning, UnsafeGlobalError, brief, warn
from .._pickles.globals import StorageClass, safe_find
from .._pickles.words import is_dims, is_int
from .._session import Session, own_words
from .._storage.source import MemorySource

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_FIRST = 1 << 20
_NESTING = 100_000


def is_tar(head: bytes) -> bool:
    return len(head) == 512 and head[257:262] == b"ustar" and head.split(b"\0", 1)[0].lstrip(b"./") in _MEMBERS


def is_stream(head: bytes) -> bool:
    return MAGIC.to_bytes(10, "little") in head[:20]


_MEMBERS = (b"sys_info", b"pickle", b"tensors", b"storages")


class _Growing:
    """Unpickles from a prefix of a source, taking a longer one when a pickle does not end in it."""

    def __init__(self, session: Session, persistent_load):
        self._session = session
        self._persistent_load = persistent_load
        self._size = min(session.source.size, _FIRST)
        self.position = 0

    def load(self):
        source = self._session.source
        while True:
            data = bytes(source.read(0, self._size))
            unpickler = self._session.unpickler(data, self._persistent_load)
            unpickler.position = self.position
            try:
                obj = unpickler.load()
            except UnsafeGlobalError:
                raise
            except (UnpicklingError, EOFError, IndexError, ValueError):
                if self._size == source.size:
                    raise
            else:
                self.position = unpickler.position
                return obj
            self._size = min(source.size, self._size * 4)


class _StreamStorages:
    """Storages that are named first and come, with their elements, behind the object."""

    def __init__(self, session: Session):
        self._session = session
        self._known: dict[Any, Stored] = {}  # by key, or by key and element type
        self._raw: dict[str, tuple] = {}
        self._total = 0

    def get(self, pid):
        session = self._session
        if _is_module(pid):
            return _module_class(*pid[1:])
        cls, key, location, numel = session.check_id(pid)
        root = self._root(cls, key, location, numel)
        view = pid[5] if len(pid) > 5 else None
        if view is None:
            return root
        if type(view) is not tuple or len(view) != 3 or type(view[0]) not in (str, int) or not is_dims(view[1:]):
            raise FileFormatError(f"load: {session.source.name}: a view of a storage is {brief(view)}")
        view_key, offset, count = brief_key(view[0]), *view[1:]
        if view_key not in self._known:
            width = cls.row.itemsize
            if min(offset, count) < 0 or (offset + count) * width > len(root.data):
                raise FileFormatError(f"load: {session.source.name}: a view of {count} elements at {offset} of {numel}")
            part = session.backend.part(root.data, offset * width, count * width)
            self._known[view_key] = session.backend.stored(part, cls.row, location)
        return self._known[view_key]

    def _root(self, cls: StorageClass, key: str, location: str, numel: int) -> Stored:
        known = self._known.get(key)
        if known is None:
            nbytes = numel * cls.row.itemsize
            self._total += nbytes
            if self._total > self._session.source.size:
                raise FileFormatError(
                    f"load: {self._session.source.name} promises storages of {self._total} bytes "
                    f"and has {self._session.source.size} in all"
                )
            data = self._session.backend.allocate(nbytes)
            known = self._known[key] = self._session.backend.stored(data, cls.row, location)
            self._raw[key] = data, cls.row, numel
        return known if known.row is cls.row else self._session.retyped(self._known, known, key, cls.row, numel)

    def expect_none(self) -> None:
        """Raises when a pickle has named storages of which there are no bytes."""
        if self._raw:
            raise FileFormatError(f"load: {self._session.source.name}: it names storages and does not hold them")

    def fill(self, keys, position: int) -> None:
        session, source = self._session, self._session.source
        plain = type(keys) is list and all(type(key) in (str, int) for key in keys)
        if not plain or sorted(map(brief_key, keys)) != sorted(self._raw):
            raise FileFormatError(f"load: {source.name}: its list of storages and its tensors disagree")
        order = "big" if session.swapped else "little"
        for key in map(brief_key, keys):
            data, row, numel = self._raw[key]
            stored = int.from_bytes(bytes(source.read(position, 8)), order, signed=True)
            if stored != numel:
                raise FileFormatError(f"load: {source.name}: storage {key} has {stored} elements instead of {numel}")
            position += 8
            nbytes = numel * row.itemsize
            source.check(position, nbytes)
            session.fill(data, row, lambda target, at=position: source.read_into(at, target))
            position += nbytes
        source.end = position

    def move(self) -> bool:
        """Takes the filled storages to their devices; whether tensors made before are to be made again."""
        copied = False
        for stored in self._known.values():
            if stored.wide:  # elements were taken from it before they had come
                stored.wide, copied = None, True
        moved: dict[int, tuple] = {}  # by id of the data, which several types of elements may share
        for stored in self._known.values():
            if self._session.moved_from(stored.location):
                if id(stored.data) not in moved:
                    moved[id(stored.data)] = self._session.moved(stored.data, stored.location), stored.data
                stored.data = moved[id(stored.data)][0]
        return bool(moved) or copied


def brief_key(key: str | int) -> str:
    """The key of a storage as text; a long number, which no writer makes, is not written out."""
    return key if type(key) is str else brief(key)


def _is_module(pid) -> bool:
    return type(pid) is tuple and len(pid) > 1 and type(pid[0]) is str and pid[0] == "module"


@functools.lru_cache(maxsize=256)
def _source_of(cls: type) -> str | None:
    import inspect

    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return None


def _module_class(cls, file=None, source=None):
    """The class of a saved module; a warning when its source is not the text that the file has."""
    if not isinstance(cls, type) or cls.__module__.startswith("torch."):
        return cls
    now = _source_of(cls)
    if now is not None and type(source) is str and source != now:
        warn(
            f"load: the source of {cls.__module__}.{cls.__qualname__} has changed since the file was saved; its objects have "
            "the attributes of then and the methods of now",
            SourceChangeWarning,
        )
    return cls


def load_stream(session: Session):
    """A stream of pickles; a single pickle without the magic number in front is that object."""
    storages = _StreamStorages(session)
    stream = _Growing(session, storages.get)
    first = stream.load()
    if type(first) is not int or first != MAGIC:
        storages.expect_none()
        session.source.end = stream.position
        return first
    protocol = stream.load()
    if type(protocol) is not int or protocol != PROTOCOL:
        raise FileFormatError(f"load: {session.source.name} has protocol {brief(protocol)}, expected {PROTOCOL}")
    _use_sys_info(session, stream.load())
    storages.expect_none()
    begin, names = stream.position, session.names
    names.filled = False
    obj = stream.load()
    keys = own_words(stream.load())
    storages.fill(keys, stream.position)
    names.filled = True
    if storages.move() or names.again:
        # Tensors were made over storages that were still empty; over the moved ones, or with the elements that had to be
        # looked at, they are made once more.
        session.renew()
        names.budget = session.budget
        stream.position = begin
        obj = stream.load()
    return obj


def _use_sys_info(session: Session, info) -> None:
    info = own_words(info)
    if type(info) is dict and info.get("little_endian") is False:
        session.swapped = True


# The tar of 2016


def _members(session: Session) -> dict[str, bytes]:
    """The members of a POSIX ustar archive; read by hand, because nothing is unpacked and names choose nothing."""
    source, out, position = session.source, {}, 0
    while position + 512 <= source.size:
        head = bytes(source.read(position, 512))
        if head == b"\0" * 512:
            break
        name = head.split(b"\0", 1)[0].decode("latin1").lstrip("./")
        digits = head[124:136].strip(b" \0") or b"0"
        try:
            size = int(digits, 8) if digits.isdigit() else -1
        except ValueError:
            size = -1
        if size < 0:
            raise FileFormatError(f"load: {source.name}: tar member {name!r} has no readable size")
        if head[156:157] in (b"0", b"\0") and name.encode("latin1") in _MEMBERS:
            if name in out:
                raise FileFormatError(f"load: {source.name}: two tar members are called {name!r}")
            out[name] = bytes(source.read(position + 512, size))
        position += 512 + (size + 511) // 512 * 512
    if missing := [m.decode() for m in _MEMBERS if m.decode() not in out]:
        raise FileFormatError(f"load: {source.name} is a tar archive without {', '.join(missing)}")
    return out


def load_tar(session: Session):
    """sys_info: a dict. storages: their count, per storage (key, location, class) and elements; then the views.
    tensors: their count, per tensor (key, storage key, class) and geometry. pickle: the object, ids naming the rest."""
    name = session.source.name
    members = _members(session)
    session.source.close()  # what came through a pipe is not held twice

    def refuse(pid):
        raise FileFormatError(f"load: {name}: a persistent id where none belongs")

    _use_sys_info(session, session.unpickler(members["sys_info"], refuse).load())
    stored = _tar_storages(session, members["storages"], refuse)
    objects = {**stored, **_tar_tensors(session, members["tensors"], refuse, stored)}

    def persistent_load(pid):
        if isinstance(pid, tuple):  # ("module", class, file, source)
            return _module_class(*pid[1:]) if _is_module(pid) else pid[0]
        key = int(pid) if type(pid) is str and pid.isdecimal() and len(pid) < 20 else pid
        if type(key) is not int or key not in objects:
            raise FileFormatError(f"load: {name}: object {brief(pid)} is missing")
        if isinstance(objects[key], Stored):
            objects[key] = session.backend.public(objects[key])
        return objects[key]

    return session.unpickler(members["pickle"], persistent_load).load()


def _tar_find(session: Session):
    plain = safe_find(session.names, session.source.name)

    def find(module, name):
        # Tensor classes such as torch.FloatTensor only repeat what the storage says.
        if module in ("torch", "torch.cuda") and name.replace("Tensor", "Storage") in BY_STORAGE:
            cls = name.replace("Tensor", "Storage")
            return StorageClass(BY_STORAGE[cls], cls)
        return plain(module, name)

    return find


def _reader(session: Session, data: bytes, refuse):
    trusted, session.weights_only = session.weights_only, True
    try:
        return session.unpickler(data, refuse, _tar_find(session))
    finally:
        session.weights_only = trusted


def _tar_storages(session: Session, data: bytes, refuse) -> dict[int, Stored]:
    name, reader, out = session.source.name, _reader(session, data, refuse), {}
    memory = MemorySource(memoryview(data), f"{name}:storages")
    order = "big" if session.swapped else "little"
    for _ in range(_count(name, reader.load())):
        key, location, cls = _triple(name, reader.load())
        if not isinstance(cls, StorageClass) or type(location) is not str:
            raise FileFormatError(f"load: {name}: storage {brief(key)} is of no storage class")
        begin = reader.position
        numel = int.from_bytes(memory.read(begin, 8), order, signed=True)
        nbytes = max(numel, 0) * cls.row.itemsize
        memory.check(begin + 8, nbytes)
        if numel < 0 or key in out:
            raise FileFormatError(
                f"load: {name}: storage {brief(key)} of {numel} elements, or a second one of that number"
            )
        out[key] = session.storage(
            cls.row, location, nbytes, lambda target, at=begin + 8: memory.read_into(at, target)
        )  # fmt: skip
        reader.position = begin + 8 + nbytes
    for view in _listed(name, reader.load()):
        if type(view) is not tuple or not is_dims(view) or len(view) != 4 or view[1] not in out:
            raise FileFormatError(f"load: {name}: a view of a storage is {brief(view)}")
        target, root, offset, count = view
        base = out[root]
        width = base.row.itemsize
        if min(offset, count) < 0 or (offset + count) * width > len(base.data):
            raise FileFormatError(f"load: {name}: a view of {count} elements at {offset} leaves its storage")
        part = session.backend.part(base.data, offset * width, count * width)
        out[target] = session.backend.stored(part, base.row, base.location)
    return out


def _tar_tensors(session: Session, data: bytes, refuse, stored) -> dict[int, object]:
    name, reader, out = session.source.name, _reader(session, data, refuse), {}
    order = ">" if session.swapped else "<"
    for _ in range(_count(name, reader.load())):
        key, storage_key, _ = _triple(name, reader.load())
        begin = reader.position
        try:
            (ndim,) = struct.unpack_from(order + "i", data, begin)
            if not 0 <= ndim <= 64:
                raise struct.error
            numbers = struct.unpack_from(f"{order}{2 * ndim + 1}q", data, begin + 8)
        except struct.error:
            raise FileFormatError(
                f"load: {name}: tensor {brief(key)} ends early or has no possible dimension"
            ) from None
        if type(storage_key) is not int or storage_key not in stored:
            raise FileFormatError(f"load: {name}: tensor {brief(key)} lacks its storage {brief(storage_key)}")
        base = stored[storage_key]
        out[key] = session.backend.tensor(base, base.row, numbers[-1], numbers[:ndim], numbers[ndim:-1])
        reader.position = begin + 8 + 8 * (2 * ndim + 1)
    return out


def _listed(name: str, value) -> list:
    if type(value) not in (list, tuple):
        raise FileFormatError(f"load: {name}: a list of views that is {brief(value)}")
    return value


def _count(name: str, value) -> int:
    if type(value) is not int or not 0 <= value <= _NESTING:
        raise FileFormatError(f"load: {name}: a count of {brief(value)}")
    return value


def _triple(name: str, value):
    value = own_words(value)
    if not isinstance(value, tuple) or len(value) != 3 or not is_int(value[0]):
        raise FileFormatError(f"load: {name}: an entry of {brief(value)}")
    return value
