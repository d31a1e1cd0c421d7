"""One call of `load`: its settings, the storages found so far, and the threads that fill them."""

from __future__ import annotations

import io
import mmap as mmap_module
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

from ._arrays.backends import arrays
from ._arrays.dtypes import BYTES, UNTYPED, ElementType, swap_bytes
from ._arrays.stored import NO_META, Stored
from ._errors import FileFormatError, brief
from ._options import LoadEndianness, options, thread_options
from ._pickles.budget import Budget, Copies
from ._pickles.globals import StorageClass, TorchNames, safe_find
from ._pickles.safe import get_safe_globals
from ._pickles.unpickler import DataUnpickler
from ._storage.location import is_function, is_plain, placement
from ._storage.source import DescriptorSource, MemorySource, Source
from ._storage.threads import PARALLEL_FROM, executor

_FAR = 1 << 63


class Settings(NamedTuple):
    """How a file is read; the arguments of `load`."""

    arrays: Any = None  # the backend of `_arrays.backends`, or its name
    map_location: Any = None
    weights_only: bool = True
    pickle_module: Any = pickle
    pickle_args: dict | None = None
    mapped: bool = False
    verified: bool = False  # what is mapped is read once to compare its checksum


class Session:
    """State of one `load`; leaving it waits until every storage is filled.

    Args:
        source: the file
        settings: how it is read
        read: ``read(session)`` gives the object of a file that lies in this one
    """

    def __init__(self, source: Source, settings: Settings = Settings(), read: Callable[[Session], Any] | None = None):
        self.source = source
        self._settings = settings
        self._read = read
        self._outer: Session | None = None  # whose file this one lies in
        self.copies: Copies | None = None  # of the pickle that is read
        self.named = 0  # storages named by persistent ids
        self.renew()
        self.use(arrays(settings.arrays))
        self.weights_only = settings.weights_only
        self.swapped = options.endianness is LoadEndianness.BIG
        map_location = settings.map_location
        self._plain = is_plain(map_location)
        self._to_meta = not is_function(map_location) and str(map_location) == "meta"
        if self._to_meta and self.backend.name == "numpy":
            raise NotImplementedError(NO_META)
        self._place = placement(map_location)
        self._pickle_module = settings.pickle_module
        self._pickle_args = {"encoding": "utf-8", **(settings.pickle_args or {})}
        self._pool = None
        self._jobs: list = []
        self._skips = thread_options.skip_data
        self._map: mmap_module.mmap | None = None

    def renew(self) -> None:
        """Grants what the file may cost, also when it is read once more; a file within a file has that one's grants."""
        if self._outer is None:
            self.budget = Budget(self.source.size, self.source.name)

    def use(self, backend) -> None:
        """Makes tensors by this backend of `_arrays.backends`."""
        self.backend = backend
        self.names = TorchNames(backend, self.budget, self._nested, self.settle)

    def _nested(self, data):
        if self._outer is not None or self._read is None:
            raise FileFormatError(f"{self.source.name}: a file within a file within a file")
        self.budget.pay(len(data), "the files within it")
        inner = type(self)(
            MemorySource(data, f"{self.source.name}: storage"), self._settings._replace(mapped=False), self._read
        )
        inner._outer = self
        inner.budget = inner.names.budget = self.budget
        with inner:
            return self._read(inner)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=error is not None)
            if error is None:
                for job in self._jobs:
                    job.result()

    def settle(self) -> None:
        """Waits until every storage that was named is filled."""
        for job in self._jobs:
            job.result()

    # Pickles

    def unpickler(self, data: bytes, persistent_load: Callable[[Any], Any], find=None, opens: tuple[type, ...] = ()):
        """A reader of the pickles in `data`, data-only or, when the file is trusted, Python's own.

        Objects of the classes `opens`, and of those that the user allowed, may be changed by the data.
        """
        if self._pickle_args["encoding"] == "bytes":
            load_id, persistent_load = persistent_load, lambda pid: load_id(own_words(pid))
        if self.weights_only:
            openly = tuple(item[0] if isinstance(item, tuple) else item for item in get_safe_globals())
            outer = self._outer
            self.copies = Copies(len(data)) if outer is None or outer.copies is None else outer.copies
            classes = (*opens, *(item for item in openly if isinstance(item, type)))
            return DataUnpickler(
                data,
                find or safe_find(self.names, self.source.name),
                persistent_load,
                encoding=self._pickle_args["encoding"],
                is_open=lambda obj: issubclass(type(obj), classes),
                build=self.names.build,
                where=self.source.name,
                copies=self.copies,
            )
        return _TrustedUnpickler(self, data, persistent_load)

    # Storages

    def finish(self, obj):
        """The loaded object; a storage that was saved for itself, and not under a tensor, takes its public form."""
        if self.named == self.names.used:
            return obj
        try:
            return _replace(obj, self.backend.public, {})
        except RecursionError:
            raise FileFormatError(f"{self.source.name}: storages in containers nested too deeply") from None

    def check_id(self, pid) -> tuple[StorageClass, str, str, int]:
        """The parts of ``("storage", class, key, location, numel, ...)``."""
        if type(pid) is tuple and len(pid) == 5:
            _, cls, key, location, numel = pid
            if (
                type(cls) is StorageClass
                and type(key) is type(location) is str
                and type(numel) is int
                and 0 <= numel < _FAR
            ):
                self.named += 1
                return cls, key, location, numel
            if type(cls) is str and cls == UNTYPED:  # from another pickler than ours
                pid = (pid[0], StorageClass(BYTES, UNTYPED), *pid[2:])
                self.named -= 1
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage" or not isinstance(pid[1], StorageClass):
            raise FileFormatError(f"{self.source.name}: a storage is named by {brief(pid)}")
        _, cls, key, location, numel = pid[:5]
        self.named += 1
        if type(numel) is not int or not 0 <= numel < _FAR or type(location) is not str or type(key) not in (str, int):
            raise FileFormatError(
                f"{self.source.name}: storage {brief(key)} has {brief(numel)} elements on {brief(location)}"
            )
        return cls, str(key), location, numel

    def storage(
        self, row: ElementType, location: str, nbytes: int, fill: Callable[[memoryview], None], offset=None, verify=None
    ):
        """A storage of `nbytes` that `fill` fills, now or by the end of the session; `offset` says where it could be mapped.

        `verify(view)` compares the checksum of what was mapped.
        """
        backend = self.backend
        if self._to_meta:
            return backend.stored(self._place(range(nbytes), location), row, location)
        stays, job = not self.moved_from(location), None
        base = getattr(self.source, "base", 0)
        if (
            self._settings.mapped
            and offset is not None
            and nbytes
            and (base + offset) % row.itemsize == 0
            and not self.swapped
        ):
            view = self._view(base + offset, nbytes)
            if self._settings.verified and verify is not None:
                verify(view)
            data = backend.wrap(view)
        else:
            data = backend.allocate(nbytes)
            if nbytes >= PARALLEL_FROM and stays and self.source.concurrent:
                if self._pool is None:
                    self._pool = executor()
                job = self._pool.submit(self.fill, data, row, fill)
                self._jobs.append(job)
            elif nbytes:
                self.fill(data, row, fill)
        stored = backend.stored(data if stays else self._place(data, location), row, location)
        stored.job = job
        return stored

    def retyped(self, known: dict, stored: Stored, key: str, row: ElementType, numel: int) -> Stored:
        """The storage `key` as elements of another type than it was first named with; `known` keeps it."""
        if numel * row.itemsize != len(stored.data):
            raise FileFormatError(
                f"load: {self.source.name}: storage {brief(key)} of {len(stored.data)} bytes is named with {numel} "
                f"elements of {row.name}"
            )
        if (key, row) not in known:
            known[key, row] = stored.typed(row)
        return known[key, row]

    def archived(self, reader, record):
        """A storage with the contents of a record, and these contents as far as a header may reach."""
        storage = self.backend.allocate(record.size)
        contents = self.backend.buffer(storage)
        reader.read_into(record, contents)
        return storage, contents

    def swap(self, data, row: ElementType, swapped: bool) -> None:
        """Reverses the bytes of elements that are there."""
        if swapped:
            swap_bytes(self.backend.buffer(data), row)

    def is_simple(self, location: str) -> bool:
        """Whether a storage is a copy of the file's bytes as they are."""
        return self._plain and location == "cpu" and not (self.swapped or self._settings.mapped or self._skips)

    def moved_from(self, location: str) -> bool:
        """Whether a storage that the file keeps on `location` goes elsewhere once it is filled."""
        return not self._plain or location != "cpu"

    def moved(self, data, location: str):
        """The storage where `map_location` wants it."""
        return self._place(data, location) if self.moved_from(location) else data

    def fill(self, data, row, fill) -> None:
        if self._skips:
            return
        target = self.backend.buffer(data)
        fill(target)
        if self.swapped:
            swap_bytes(target, row)

    def _view(self, offset: int, nbytes: int) -> memoryview:
        if self._map is None:
            source = self.source
            if not isinstance(source, DescriptorSource):
                raise FileFormatError(f"load: {source.name} cannot be mapped")
            private = options.mmap_flags == mmap_module.MAP_PRIVATE
            access = mmap_module.ACCESS_COPY if private else mmap_module.ACCESS_WRITE
            if private:
                self._map = mmap_module.mmap(source.fd, 0, access=access)
            else:
                with open(source.name, "r+b") as file:
                    self._map = mmap_module.mmap(file.fileno(), 0, access=access)
        return memoryview(self._map)[offset : offset + nbytes]


def own_words(value, depth: int = 2):
    """What a file says of itself (ids, lists of keys, its system) as text; ``encoding="bytes"`` is meant for its object."""
    if type(value) is bytes:
        return value.decode("ascii", "replace")
    if depth and type(value) in (tuple, list):
        return type(value)(own_words(item, depth - 1) for item in value)
    if depth and type(value) is dict:
        return {own_words(key): own_words(item, depth - 1) for key, item in value.items()}
    return value


def _replace(obj, public: Callable, seen: dict[int, Any]):
    # Goes only through the plain containers: storages inside other objects are beyond a data-only reader anyway.
    if id(obj) in seen:
        return seen[id(obj)]
    if isinstance(obj, Stored):
        seen[id(obj)] = new = public(obj)
        return new
    if type(obj) is tuple:
        new = tuple(_replace(item, public, seen) for item in obj)
        seen[id(obj)] = new
        return new
    seen[id(obj)] = obj
    if isinstance(obj, dict):
        for key, value in obj.items():
            obj[key] = _replace(value, public, seen)
    elif type(obj) is list:
        obj[:] = [_replace(item, public, seen) for item in obj]
    return obj


class _TrustedUnpickler:
    """Python's unpickler with our meaning of torch's names; runs whatever the file says."""

    def __init__(self, session: Session, data: bytes, persistent_load):
        self._stream = io.BytesIO(data)
        self.position = 0
        names = session.names

        class Unpickler(session._pickle_module.Unpickler):
            def find_class(self, module, name):
                found = names.trusted(module, name)
                return super().find_class(module, name) if found is None else found

        Unpickler.persistent_load = staticmethod(persistent_load)
        self._make = lambda: Unpickler(self._stream, **session._pickle_args)

    def load(self):
        self._stream.seek(self.position)
        unpickler = self._make()
        obj = unpickler.load()
        self.position = self._stream.tell()
        return obj
