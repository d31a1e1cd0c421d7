"""The container of TorchScript archives: an object tree with its tensors, the texts of its classes, extra files.

Nothing here knows what the texts mean: ``torch.jit`` compiles them. As everywhere in this package, reading runs nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._arrays.adapters import TorchAdapter
from ._errors import FileFormatError
from ._formats import crc
from ._formats.dispatch import opened
from ._formats.zip_load import _byte_order, _Storages
from ._formats.zip_reader import TRUSTED_EXPANSION, ZipReader, check_name, is_zip
from ._formats.zip_writer import ZipLayout
from ._options import options
from ._pickles.globals import safe_find
from ._pickles.pickler import Pickler
from ._session import Session, Settings
from ._storage.write import write_to

__all__ = ["Instance", "Program", "Tagged", "read_program", "write_program"]


class Instance:
    """An object of a class of the archive: ``type_name`` is its qualified name, ``attributes`` what it holds, ``args`` what
    it was called with: the value of an enum's member.  What a ``__getstate__`` of its own gave is its ``state``."""

    type_name = ""
    takes_bare_argument = True  # PyTorch calls enums with a value that is in no tuple

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.args, self.attributes, self.state = args, {}, None
        return self

    def __setstate__(self, state):
        self.state = state
        if isinstance(state, dict):
            self.attributes = state


class Tagged:
    """A list or dict that is written with its type, such as ``List[int]``."""

    def __init__(self, value, text: str):
        self.value, self.text = value, text


#: The format whose operators mean what they mean today. Before the fourth one ``div`` of two ints was an int, before the
#: fifth ``full`` of an int was a float.
VERSION = 10


class Program(NamedTuple):
    """What an archive holds, and the version of its format."""

    root: Any
    constants: tuple
    texts: dict
    extra: dict
    version: int = VERSION


def read_program(f, map_location=None, progress=None) -> Program:
    """The parts of a TorchScript archive of PyTorch 1.4 to today.

    >>> import io, torch
    >>> out = io.BytesIO()
    >>> root = type("Instance", (Instance,), {"type_name": "__torch__.Net"})()
    >>> root.attributes["weight"] = torch.ones(2)
    >>> write_program(out, root, (), {"__torch__.py": "class Net(Module):\\n  weight : Tensor\\n"})
    >>> program = read_program(out.getvalue())
    >>> program.root.type_name, program.root.attributes["weight"], list(program.texts)
    ('__torch__.Net', tensor([1., 1.]), ['__torch__.py'])
    """
    held: list[Program] = []

    class ProgramSession(Session):
        def finish(self, obj):
            return obj

    def make(source, settings, read):
        return ProgramSession(source, settings, read)

    settings = Settings(None, map_location, True)
    opened(f, make, progress, settings, lambda session: held.append(_read(session)))
    return held[0]


def _read(session: Session) -> Program:
    source = session.source
    if not is_zip(source):
        raise FileFormatError(f"load: {source.name} is no archive of a program: torch.load reads files of torch.save")
    reader = ZipReader(source, TRUSTED_EXPANSION if source.size < 1 << 20 else options.expansion)
    if not reader.records:
        raise FileFormatError(f"load: {source.name} is an empty zip archive")
    top = next(iter(reader.records)).partition("/")[0]
    for name in ("data.pkl", "constants.pkl"):
        if f"{top}/{name}" not in reader.records:
            raise FileFormatError(
                f"load: {source.name} has no {top}/{name}: it is no archive of a program; torch.load reads files of torch.save"
            )
    order = reader.records.get(f"{top}/byteorder")
    if order is not None:
        session.swapped = _byte_order(reader, order) == "big"
    constants = _unpickled(session, reader, top, "constants")
    root = _unpickled(session, reader, top, "data")
    texts, extra = {}, {}
    for name, record in reader.records.items():
        inside = name.partition("/")[2]
        if inside.startswith("code/") and inside.endswith(".py"):
            try:
                texts[inside[5:]] = reader.read(record).decode()
            except UnicodeDecodeError as error:
                raise FileFormatError(f"load: {source.name} is damaged: {name} is no text ({error})") from None
        elif inside.startswith("extra/"):
            extra[inside[6:]] = reader.read(record)
    session.settle()
    return Program(root, constants if isinstance(constants, tuple) else (), texts, extra, _version(reader, top))


def _version(reader: ZipReader, top: str) -> int:
    """The version that says what operators mean; in archives of torch-jit 0.1.0 they meant what they do today."""
    number = reader.records.get(f"{top}/version")
    if number is None or f"{top}/program.txt" in reader.records:
        return VERSION
    text = reader.read(number).strip()
    return int(text) if text.isdigit() else VERSION


def _unpickled(session: Session, reader: ZipReader, top: str, part: str):
    plain = safe_find(session.names, session.source.name)
    storages = _PartStorages(session, reader, top, part)
    classes: dict[str, type] = {}

    def find(module, name):
        if module.split(".")[0] == "__torch__":
            full = f"{module}.{name}"
            return classes.setdefault(full, type("Instance", (Instance,), {"type_name": full}))
        if module == "torch.jit._pickle":
            return lambda *args: args[0] if args else None
        return plain(module, name)

    data = reader.read(reader.records[f"{top}/{part}.pkl"])
    return session.unpickler(data, storages.get, find, (Instance,)).load()


class _PartStorages(_Storages):
    """The storages of one pickle of several: they lie in a folder of its name."""

    def __init__(self, session, reader, root, part):
        super().__init__(session, reader, root)
        self._part = part

    def _at(self, name, row, location, numel):
        return super()._at(f"{self._part}/{name.removeprefix('data/')}", row, location, numel)


# --- writing ---


class _ProgramAdapter(TorchAdapter):
    """Writes instances and typed containers beside tensors."""

    def write(self, pickler, obj):
        if isinstance(obj, Instance):
            pickler.write(pickler.name(obj.type_name))
            if obj.args:
                pickler.save(obj.args[0])
                pickler.write(b"R" + pickler.memoize(obj))
                return True
            pickler.write(b")\x81" + pickler.memoize(obj))
            if obj.state is not None:
                pickler.save(obj.state)
                pickler.write(b"b")
                return True
            pickler.write(b"}(")
            for name, value in obj.attributes.items():
                pickler.write(pickler.text(name))
                pickler.save(value)
            pickler.write(b"ub")
            return True
        if isinstance(obj, Tagged):
            pickler.write(pickler.name("torch.jit._pickle.restore_type_tag"))
            pickler.save(obj.value)
            pickler.write(pickler.text(obj.text) + b"\x86R" + pickler.memoize(obj))
            return True
        if isinstance(obj, self._tensor_type) and getattr(type(obj), "is_quantized", None) is not True:
            self._plain(pickler, obj)
            pickler.write(pickler.memoize(obj))
            return True
        return super().write(pickler, obj)


def write_program(f, root, constants=(), texts=None, extra=None, form=None) -> None:
    """Write an archive that `read_program` and PyTorch read; ``texts`` by their path below ``code/``.

    ``form`` gives the text of the member ``program.txt``. It is called with a function that tells of a tensor the
    member that its storage is written to, and the offset there.
    """
    import torch

    texts, extra = texts or {}, extra or {}
    for name in (*texts, *extra):
        check_name(name, "save")
    parts = []
    for part, obj in (("data", root), ("constants", tuple(constants))):
        adapter = _ProgramAdapter(torch)
        parts.append((part, Pickler(adapter).dumps(obj), adapter))
    program = None if form is None else form(lambda tensor: _place(tensor, parts)).encode()

    def produce(sink):
        layout, crc32 = ZipLayout(), crc.function()

        def record(title, data):
            sink.write(layout.header(f"{sink.name}/{title}", len(data), crc32(data)))
            sink.write(data)

        for part, body, adapter in parts:
            record(f"{part}.pkl", body)
            for key, storage in enumerate(adapter.storages):
                record(f"{part}/{key}", adapter.payload(storage))
        for name, text in texts.items():
            record(f"code/{name}", text.encode())
        if program is not None:
            record("program.txt", program)
        for name, data in extra.items():
            record(f"extra/{name}", data.encode() if isinstance(data, str) else bytes(data))
        record("byteorder", b"little")
        record("version", b"%d\n" % VERSION)
        sink.write(layout.end())

    write_to(f, "archive", produce)


def _place(tensor, parts) -> tuple[str, int]:
    """Where a dense tensor's storage is written: beside the first pickle that has it, or else the last one."""
    storage = tensor.untyped_storage()
    for part, _, adapter in parts:
        key = adapter.key_of(storage)
        if key is not None:
            return f"{part}/{key}", tensor.storage_offset()
    return f"{part}/{adapter.register(storage)}", tensor.storage_offset()
