"""Composes pickles of all that the data-only reader allows, at random, and watches what `load` does with them.

    python packages/torch-serialize/tests/fuzz/compose.py --seconds 600 [--seed 1] [--bytes]

The words are those of the reader's own table: they are called with what the table says, with objects of other kinds and
with too few and too many; what comes of them is kept under numbers, called again, filled, put into itself, built, and
built once more. With ``--bytes`` every other file has bytes changed as well. An input that breaks a promise is written
to ``crash-*.bin`` in the current folder; an input that ends the process is found in ``last.bin``. A build with a
sanitizer (``ci/variant.py asan``) sees writes that stay without consequence elsewhere.

Watched are: the error, the time, the memory; each event of `sys.addaudithook`, so nothing is opened, run or imported;
each Python function that is called, by `sys.setprofile`; and whether writing to all that came back changes bytes,
classes or dtypes that others hold.
"""

from __future__ import annotations

import argparse
import codecs
import collections
import contextlib
import gc
import importlib
import io
import os
import random
import resource
import struct
import sys
import time
import zipfile

import numpy as np
import target
import torch
from torch.serialize import load
from torch.serialize._arrays.dtypes import ELEMENT_TYPES
from torch.serialize._formats.legacy_load import MAGIC, PROTOCOL
from torch.serialize._pickles.words import TABLE, Word

HAS_TENSORS = hasattr(torch, "Tensor")
DATA = (type, torch.device) if HAS_TENSORS else type  # which may be called: a device decorates functions
SECONDS, SECONDS_PER_BYTE = 3.0, 1e-4  # of the CPU; a sanitizer takes its share
ROOM = 1 << 30  # addresses beyond those of the start
_WORDS = {name: [part for part in takes.split() if part not in ("...", "-")] for name, takes, _, _ in TABLE}
_MAKES = {name: makes for name, _, makes, _ in TABLE}
# Calls that are refused whatever they are given come seldom.
_CALLED = [name for name, _, _, make in TABLE if make not in (None, "rebuild_missing")] * 8 + list(_WORDS)
# Names that lie near the words, or that would be of use to someone who means harm.
_FOREIGN = [
    "os.system", "builtins.eval", "builtins.exec", "builtins.open", "builtins.__import__", "torch.load", "torch.save",
    "torch._utils._rebuild_tensor_v4", "torch.serialization.load", "numpy.load", "numpy.core.multiarray.fromfile",
    "numpy.lib.npyio.load", "subprocess.Popen", "builtins.getattr.__call__", "builtins.type", "builtins.object",
    "collections.UserDict", "collections.namedtuple", "torch.Tensor.set_", "numpy.ndarray.tofile", "torch.hub.load",
]  # fmt: skip
_STORAGES = {"Float": 4, "Double": 8, "Long": 8, "Int": 4, "Byte": 1, "Bool": 1, "BFloat16": 2, "ComplexFloat": 8}
_TEXTS = [
    "a", "", "cpu", "meta", "cuda:0", "0", "1", "torch.sparse_coo", "torch.strided", "f4", "<f8", "O", "S3", "U2", "M8[ns]", "i8",
    "latin1", "C", "F", "data", "_indices", "_values", "grad", "items", "__class__", "__setstate__", "__reduce__", "_metadata",
    "_is_buffer", "conj", "neg", "storage", "module", "x" * 600,
]  # fmt: skip
_NUMBERS = [0, 1, 2, 3, 4, 7, 8, -1, 37, 255, 256, 1 << 31, 1 << 40, -(1 << 62), (1 << 63) - 1, 1 << 63, 1 << 80]


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K%c" % value
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a%c%b" % (len(raw), raw)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def named(full: str) -> bytes:
    module, _, word = full.rpartition(".")
    return f"c{module}\n{word}\n".encode()


class Composer:
    """Writes one pickle; `kept` are the memo's numbers by kind of what they hold."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.kept: dict[str, list[int]] = {}
        self.count = 0
        self.storages: list[int] = [rng.choice((0, 1, 4, 16, 64, 256)) for _ in range(rng.randrange(1, 5))]

    def keep(self, kind: str) -> bytes:
        """The opcode that keeps what is on the stack."""
        self.kept.setdefault(kind, []).append(self.count)
        self.count += 1
        return b"r" + struct.pack("<I", self.count - 1)

    def again(self, kind: str | None = None) -> bytes | None:
        """Something that was made before."""
        if kind is None and self.kept:
            kind = self.rng.choice(list(self.kept))
        known = self.kept.get(kind)
        return None if not known else b"j" + struct.pack("<I", self.rng.choice(known))

    # Objects of a kind

    def one(self, kinds: str, depth: int = 0) -> bytes:
        """Something that should be of one of these kinds, and sometimes is of another."""
        rng = self.rng
        if rng.random() < 0.015:
            kinds = rng.choice(list(self._makers()))
        kind = rng.choice(kinds.split("|"))
        if rng.random() < 0.4 and (before := self.again(kind)) is not None:
            return before
        made = self._makers().get(kind, self.plain)(depth)
        return made + self.keep(kind) if rng.random() < 0.5 else made

    def _makers(self):
        return {
            "any": self.plain, "int": lambda d: number(self.rng.choice(_NUMBERS[:9])), "index": lambda d: b"K\0",
            "length": lambda d: self.rng.choice((b"N", b"K\5")), "edge": lambda d: self.rng.choice((b"N", b"K\3", text("a"))),
            "flag": lambda d: self.rng.choice((b"\x88", b"\x89")), "number": self._number, "real": self._number,
            "text": lambda d: text(self.rng.choice(_TEXTS)), "bytes": self._bytes,
            "bytearray": lambda d: b"\x96" + struct.pack("<Q", 16) + bytes(16), "dims": self._dims,
            "series": self._series, "keys": self._series, "pairs": self._pairs, "dict": self._dict,
            "factory": lambda d: named(self.rng.choice(("builtins.list", "builtins.dict", "builtins.int"))),
            "class": self._class, "args": self._args, "hooks": lambda d: named("collections.OrderedDict") + b")R",
            "metadata": self._metadata, "state": self._dict, "storage": self._storage, "tensor": self._tensor,
            "array": self._array, "dtype": self._dtype, "layout": self._layout, "sparse": self._sparse,
            "function": lambda d: named(self.rng.choice([n for n in _WORDS if n.startswith("torch._utils")])),
            "ndarray": lambda d: named("numpy.ndarray"), "npdtype": self._npdtype, "file": self._file,
        }  # fmt: skip

    def plain(self, depth: int = 0) -> bytes:
        rng = self.rng
        if depth > 3 or rng.random() < 0.5:
            return rng.choice((b"N", b"\x88", b")", b"]", b"}", number(rng.choice(_NUMBERS)), text(rng.choice(_TEXTS))))
        return rng.choice((self._series, self._dict, self._bytes, self._number, self._call, self._tensor))(depth + 1)

    def _number(self, depth: int) -> bytes:
        return self.rng.choice(
            (number(self.rng.choice(_NUMBERS)), b"G" + struct.pack(">d", self.rng.choice((0.5, 1e300))))
        )

    def _bytes(self, depth: int) -> bytes:
        size = self.rng.choice((0, 1, 4, 8, 16, 32, 2000))
        return b"B" + struct.pack("<I", size) + self.rng.randbytes(size)

    def _dims(self, depth: int) -> bytes:
        rng = self.rng
        values = [rng.choice((0, 1, 1, 2, 2, 4, 4, 16)) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5)))]
        if rng.random() < 0.03:
            values.append(rng.choice(_NUMBERS))
        return b"(" + b"".join(map(number, values)) + b"t"

    def _series(self, depth: int) -> bytes:
        begin, end = self.rng.choice(
            ((b"(", b"t"), (b"(", b"l"), (b"(", b"t"), (b"](", b"e"), (b"\x8f(", b"\x90"), (b"(", b"\x91"))
        )
        return begin + b"".join(self.one("any|int|text", depth + 1) for _ in range(self.rng.randrange(4))) + end

    def _pairs(self, depth: int) -> bytes:
        if self.rng.random() < 0.5:
            return self._dict(depth)
        body = b"".join(
            self.one("text|int", depth + 1) + self.one("any", depth + 1) + b"\x86" for _ in range(self.rng.randrange(4))
        )
        return b"(" + body + b"l"

    def _dict(self, depth: int) -> bytes:
        items = [
            self.one("text|int|number", depth + 1) + self.one("any|tensor", depth + 1)
            for _ in range(self.rng.randrange(3))
        ]
        return b"}(" + b"".join(items) + b"u"

    def _metadata(self, depth: int) -> bytes:
        return self.rng.choice((b"N", b"}", b"}" + text("conj") + b"\x88s", b"}" + text("neg") + b"\x88s"))

    def _class(self, depth: int) -> bytes:
        return named(
            self.rng.choice(
                ("torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer", "builtins.dict")
            )
        )

    def _args(self, depth: int) -> bytes:
        return (
            b"("
            + b"".join(self.one(part.strip("[]"), depth + 1) for part in _WORDS["torch._utils._rebuild_tensor_v2"][:6])
            + b"t"
        )

    def _storage(self, depth: int) -> bytes:
        rng = self.rng
        key = rng.randrange(len(self.storages))
        kind = rng.choice(list(_STORAGES))
        numel = self.storages[key] // _STORAGES[kind] if rng.random() < 0.98 else rng.choice(_NUMBERS)
        name = f"torch.{kind}Storage"
        if rng.random() < 0.1:
            name, numel = "torch.storage.UntypedStorage", self.storages[key]
        extra = self.id_end
        return (
            b"("
            + text("storage")
            + named(name)
            + text(str(key))
            + text(rng.choice(("cpu",) * 9 + ("meta",)))
            + number(numel)
            + extra
            + b"tQ"
        )

    id_end = b""

    def _view(self, nbytes: int, width: int) -> bytes:
        """Offset, size and stride of a view of so many bytes."""
        rng, room = self.rng, nbytes // width
        if not room:
            return number(0) + b"(K\0t(K\1t"
        size, stride, step = [], [], 1
        for _ in range(rng.randrange(3)):
            most = max(room // max(step, 1), 0)
            n = rng.choice([n for n in (0, 1, 2, 4, 16) if n <= most] or [0])
            size.append(n if rng.random() < 0.95 else 1 << 40)
            stride.append(step if rng.random() < 0.9 else 0)
            step *= max(n, 1)
        dims = b"".join(b"(" + b"".join(map(number, numbers)) + b"t" for numbers in (size, stride))
        return number(0) + dims

    def _tensor(self, depth: int) -> bytes:
        if self.rng.random() < 0.3 and (again := self.again("tensor")) is not None:
            return again
        args, _ = self._geometry(depth)
        metadata = self._metadata(depth) if self.rng.random() < 0.3 else b""
        return named("torch._utils._rebuild_tensor_v2") + b"(" + args + metadata + b"tR"

    def _geometry(self, depth: int, short: bool = False) -> tuple[bytes, str]:
        """The first arguments of a rebuild function, and the kind of elements."""
        rng = self.rng
        key, kind = rng.randrange(len(self.storages)), rng.choice(list(_STORAGES))
        nbytes, width = self.storages[key], _STORAGES[kind]
        place = b"(" + text("storage") + named(f"torch.{kind}Storage") + text(str(key)) + text("cpu")
        view = place + number(nbytes // width) + self.id_end + b"tQ" + self._view(nbytes, width)
        grad = b"\x88" if kind in ("Float", "Double") and rng.random() < 0.3 else b"\x89"
        return view if short else view + grad + self.one("hooks", depth + 1), kind

    def _array(self, depth: int) -> bytes:
        code, width = self.rng.choice((("f4", 4), ("i8", 8), ("S3", 3), ("u1", 1), ("M8", 8)))
        dtype = named("numpy.dtype") + text(code) + b"\x89\x88\x87R" + self.keep("npdtype")
        count = self.rng.choice((0, 1, 4, 300))
        head = (
            named("numpy._core.multiarray._reconstruct")
            + named("numpy.ndarray")
            + b"K\0\x85C\1b\x87R"
            + self.keep("array")
        )
        data = b"B" + struct.pack("<I", count * width) + self.rng.randbytes(count * width) + self.keep("bytes")
        state = (
            b"(K\1" + number(count) + b"\x85j" + struct.pack("<I", self.kept["npdtype"][-1]) + b"\x89" + data + b"tb"
        )
        if self.rng.random() < 0.05:
            state *= 2
        return dtype + b"0" + head + state

    def _npdtype(self, depth: int) -> bytes:
        if self.rng.random() < 0.2:
            return named(f"numpy.dtypes.{self.rng.choice(('Float32', 'Int64', 'Str'))}DType") + b")R"
        order = text(self.rng.choice("<>=|"))
        state = b"(K\3" + order + b"NNN" + number(-1) * 2 + self.rng.choice((b"K\0", b"K\x3f")) + b"tb"
        call = (
            named("numpy.dtype")
            + text(self.rng.choice(("f4", "i8", "c8", "U2", "S3", "m8", "O", "S0")))
            + b"\x89\x88\x87R"
        )
        return call + self.keep("npdtype") + (state if self.rng.random() < 0.6 else b"")

    def _dtype(self, depth: int) -> bytes:
        return named(
            f"torch.{self.rng.choice(('float32', 'int64', 'bfloat16', 'bool', 'float', 'complex64', 'uint16'))}"
        )

    def _layout(self, depth: int) -> bytes:
        return (
            named("torch.serialization._get_layout")
            + text(self.rng.choice(("torch.sparse_coo",) * 5 + ("torch.strided",)))
            + b"\x85R"
        )

    def _sparse(self, depth: int) -> bytes:
        size = self.rng.choice((b"(K\4t", b"(K\4K\4t", b"()t", b"(J\xff\xff\xff\x7ft"))
        return (
            b"("
            + self.one("tensor", depth + 1)
            + self.one("tensor", depth + 1)
            + size
            + self.rng.choice((b"", b"\x88", b"\x89"))
            + b"t"
        )

    def _file(self, depth: int) -> bytes:
        inner = compose(random.Random(self.rng.random()), nested=True) if depth < 2 else b"\x80\x02N."
        return b"B" + struct.pack("<I", len(inner)) + inner

    def _call(self, depth: int) -> bytes:
        return self.call(self.rng.choice(_CALLED), depth)

    def _fitting(self):
        """Arguments that fit one another, for words for which chance seldom finds them."""
        return {
            "torch._tensor._rebuild_from_type_v2": self._of_type, "numpy._core.numeric._frombuffer": self._in_buffer,
            "numpy.core.numeric._frombuffer": self._in_buffer, "builtins.getattr": lambda d: self._class(d) + text("a.b"),
            "torch._utils._rebuild_tensor_v3": lambda d: self._geometry(d)[0] + self._dtype(d),
            "torch._utils._rebuild_tensor": lambda d: self._geometry(d, short=True)[0],
        }  # fmt: skip

    def _of_type(self, depth: int) -> bytes:
        args, state = (
            b"(" + self._geometry(depth)[0] + b"t",
            self.rng.choice((self._dict(depth), b"}" + text("scale") + b"Ns", b"N")),
        )
        return named("torch._utils._rebuild_tensor_v2") + self._class(depth) + args + state

    def _in_buffer(self, depth: int) -> bytes:
        data = self.again("bytes") or self.rng.choice((b"C", b"\x96"))
        if data in (b"C", b"\x96"):
            data += (
                (b"\x10" if data == b"C" else struct.pack("<Q", 16))
                + bytes(16)
                + self.keep("bytes" if data == b"C" else "bytearray")
            )
        return data + named("numpy.dtype") + text("f4") + b"\x89\x88\x87R" + b"K\4\x85" + text(self.rng.choice("CFA"))

    # Steps

    def call(self, word: str, depth: int = 0) -> bytes:
        """A word called with what it takes, or nearly."""
        rng, parts = self.rng, _WORDS[word]
        if word == "torch.storage._load_from_bytes" and depth < 2:
            parts = ["file"]
        count = rng.randrange(sum(not part.startswith("[") for part in parts), len(parts) + 1) if parts else 0
        args = [self.one(part.strip("[]"), depth + 1) for part in parts[:count]]
        if word in self._fitting() and rng.random() < 0.7:
            args = [self._fitting()[word](depth + 1)]
        if rng.random() < 0.01:
            args.append(self.plain(depth + 1))
        how = b"R" if rng.random() < 0.9 else b"\x81" if rng.random() < 0.8 else b"}\x92"
        return named(word) + b"(" + b"".join(args) + b"t" + how + self.keep(_MAKES[word])

    def repeated(self, word: str, times: int) -> bytes:
        """A word called again and again with one and the same tuple of arguments, and all that comes of it kept."""
        parts = ["file"] if word == "torch.storage._load_from_bytes" else _WORDS[word]
        fitting = self._fitting().get(word)
        args = fitting(0) if fitting else b"".join(self.one(part.strip("[]")) for part in parts)
        head = named(word) + self.keep("word") + b"0(" + args + b"t" + self.keep("args") + b"0"
        call = b"".join(b"j" + struct.pack("<I", index) for index in (self.count - 2, self.count - 1)) + b"R"
        return head + call * times

    def step(self) -> bytes:
        """A statement, which leaves something on the stack."""
        rng = self.rng
        what = rng.random()
        if what < 0.62:
            return self.call(rng.choice(_CALLED))
        if what < 0.72:
            return self.one("any|tensor|array|storage|dtype")
        owner = self.again() or b"}"
        if what < 0.77:  # BUILD
            states = ("state", "dict", "args")
            odd = (b"(\x88\x89Nt", b"(K\1(K\4t" + self.one("npdtype") + b"\x89" + self._bytes(0) + b"t")
            return owner + (self.one(rng.choice(states)) if rng.random() < 0.6 else rng.choice(odd)) + b"b"
        if what < 0.84:
            return (self.again("dict") or b"}") + self.one("text|int|any") + (self.again() or b"N") + b"s"
        if what < 0.90:
            return (self.again("list") or self.again("deque") or b"]") + (self.again() or b"N") + b"a"
        if what < 0.93:  # puts something into itself
            return b"]" + self.keep("list") + b"j" + struct.pack("<I", self.count - 1) + b"a"
        if what < 0.95:
            return rng.choice((b"N2", b"(NN1N", b"NN0"))
        if what < 0.955:
            return named(rng.choice(_FOREIGN)) + b"(" + text("echo") + b"tR"
        if what < 0.96:
            return b"j" + struct.pack("<I", rng.choice((self.count + 1, 1 << 31)))
        if what < 0.97:
            return b"\x8b" + struct.pack("<I", 1000) + rng.randbytes(1000)
        return b"I%d\n" % rng.choice(_NUMBERS)

    def pickle(self) -> bytes:
        steps = b"".join(self.step() for _ in range(self.rng.choice((1, 3, 10, 30))))
        if self.rng.random() < 0.5:  # what was only used on the way comes back as well
            steps += b"".join(b"j" + struct.pack("<I", index) for index in range(self.count))
        return b"\x80\x02(" + steps + b"t."


def compose(rng: random.Random, nested: bool = False) -> bytes:
    """A file: a zip, a stream of 2018, or a plain pickle."""
    one = Composer(rng)
    kind = rng.choice(("zip", "zip", "zip", "stream", "plain"))
    if kind == "zip":
        body = one.pickle()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,))) as file:
            file.writestr("a/data.pkl", body)
            for key, size in enumerate(one.storages):
                file.writestr(f"a/data/{key}", rng.randbytes(size) if rng.random() < 0.5 else bytes(size))
        return out.getvalue()
    if kind == "plain":
        return one.pickle()
    one.id_end = b"N"
    body = one.pickle()
    info = b"\x80\x02}" + text("little_endian") + b"\x88s."
    head = b"\x80\x02" + number(MAGIC) + b"." + b"\x80\x02" + number(PROTOCOL) + b"." + info
    # Only storages that were named belong into the list; which kind each was first named with is read off the file.
    keys, sizes = [], []
    for key, size in enumerate(one.storages):
        if (at := body.find(text("storage") + b"c")) >= 0 and text(str(key)) + text("cpu") in body[at:]:
            keys.append(text(str(key)))
            sizes.append((key, size))
    tail = b"".join(struct.pack("<q", size // _first_width(body, key)) + rng.randbytes(size) for key, size in sizes)
    return head + body + b"\x80\x02](" + b"".join(keys) + b"e." + tail


def _first_width(body: bytes, key: int) -> int:
    before = body[: body.find(text(str(key)) + text("cpu"))]
    found = [(before.rfind(f"\n{kind}Storage\n".encode()), width) for kind, width in _STORAGES.items()]
    at, width = max(found)
    return width if at >= 0 else 1


# Oracles

_watching = False
_events: collections.Counter = collections.Counter()
_HARMLESS = {
    "import",
    "object.__getattr__",
    "object.__setattr__",
    "sys._getframe",
    "gc.collect",
    "array.__new__",
    "sys.setprofile",
    "builtins.id",
}
_MINE = os.path.abspath(__file__)
_places: tuple[str, ...] = ()  # where the code lies that the reader may run


def _own_places() -> tuple[str, ...]:
    own = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("torch", "numpy")]
    return (
        "<frozen",
        "<string>",
        os.path.dirname(os.__file__),
        *{os.path.dirname(m.__file__) for m in own if getattr(m, "__file__", None)},
    )


_foreign_calls: list[str] = []


def _audit(event: str, args) -> None:
    if _watching:
        _events[event if event != "import" else f"import {args[0]}"] += 1


def _profile(frame, event: str, arg) -> None:
    if event == "call":
        file = frame.f_code.co_filename
        if not file.startswith(_places) and os.path.abspath(file) not in (_MINE,):
            _foreign_calls.append(f"{file}: {frame.f_code.co_name}")
    elif event == "c_call" and getattr(arg, "__module__", None) in ("posix", "_posixsubprocess", "_socket", "_ctypes"):
        _foreign_calls.append(f"{arg.__module__}.{arg.__name__}")
    elif (
        event == "c_call"
        and arg.__name__ in ("eval", "exec", "compile", "open", "input", "breakpoint")
        and arg.__self__ is not None
    ):
        if getattr(arg.__self__, "__name__", "") in ("builtins", "io"):
            _foreign_calls.append(arg.__name__)


def things(obj, seen: dict[int, object]) -> None:
    """All objects inside `obj`, by id."""
    todo = [obj]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if isinstance(node, dict):
            todo += [*dict.keys(node), *dict.values(node)]
        elif isinstance(node, (list, tuple, set, frozenset, collections.deque)):
            todo += node
        if HAS_TENSORS and isinstance(node, torch.Tensor):
            todo += (node._attributes or {}).values()
        elif type(getattr(node, "__dict__", None)) is dict:
            todo += node.__dict__.values()


def shared_state() -> tuple:
    """What a file must not change."""
    dtypes = tuple(
        (str(np.dtype(c)), np.dtype(c).isnative, np.dtype(c).flags, np.dtype(c).itemsize)
        for c in ("f4", "i8", "U1", "S1", "M8", "?")
    )
    classes = [dict, list, collections.OrderedDict, collections.Counter, np.ndarray]
    if HAS_TENSORS:
        classes += [torch.Tensor, torch.Size]
    return dtypes, tuple(tuple(vars(cls)) for cls in classes)


def write_all(found: dict[int, object]) -> None:
    """Writes to every element that came back, and looks at every tensor."""
    kept = {key: bytes(memoryview(node)) for key, node in found.items() if type(node) is bytes}
    for node in found.values():
        if type(node) is np.ndarray:
            assert not node.dtype.hasobject, "an array of objects"
            if node.nbytes < 1 << 16:
                node.tobytes()
                if node.flags.writeable:
                    node.view(f"V{node.dtype.itemsize}").fill(b"\1" * node.dtype.itemsize)
        elif HAS_TENSORS and isinstance(node, torch.Tensor):
            assert not any(hasattr(type(node), name) for name in node._attributes or ()), "a hidden method"
            if node.device.type == "meta":
                continue
            if str(node.layout) != "torch.strided":
                indices, size = node._indices(), node.shape
                for row, most in zip(indices.tolist(), size, strict=False):
                    assert all(0 <= index < most for index in row), "an index outside"
                continue
            assert node.numel() == 0 or _last(node) <= len(node.untyped_storage()), "a tensor outside its storage"
            if max(node.shape, default=0) < 1 << 12 and node.numel() < 1 << 12:
                node.detach().tolist()
            whole = memoryview(node.untyped_storage())
            if len(whole) < 1 << 16:
                whole[:] = b"\1" * len(whole)
    for key, before in kept.items():
        assert found[key] == before, "bytes have changed"


def _last(tensor) -> int:
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    return (tensor.storage_offset() + reach + 1) * tensor.element_size()


def check(data: bytes) -> str:
    """Loads `data`; AssertionError when a promise is broken, else a word for what happened."""
    global _watching
    before, copy, outcome = shared_state(), bytes(memoryview(data)), "object"
    _events.clear()
    _foreign_calls.clear()
    begin, obj = time.process_time(), None
    sys.setprofile(_profile)
    _watching = True
    try:
        obj = load(data)
    except target.EXPECTED as e:
        outcome = type(e).__name__
        e.__traceback__ = None
    finally:
        _watching = False
        sys.setprofile(None)
    seconds = time.process_time() - begin
    assert seconds < SECONDS + SECONDS_PER_BYTE * len(data), f"{seconds:.1f} s for {len(data)} bytes"
    bad = [
        e
        for e in _events
        if e.split()[0] not in _HARMLESS or (" " in e and e.split()[1].partition(".")[0] not in _LOADED)
    ]
    assert not bad, f"events {bad}"
    assert not _foreign_calls, f"calls {_foreign_calls[:5]}"
    if outcome == "object":
        found: dict[int, object] = {}
        things(obj, found)
        assert not any(callable(node) and not isinstance(node, DATA) for node in found.values()), "something to call"
        write_all(found)
        del found
    assert data == copy, "the file has changed"
    assert shared_state() == before, "dtypes or classes have changed"
    return outcome


_LOADED = {name.partition(".")[0] for name in sys.modules} | {"numpy", "torch"}


def prepare() -> None:
    """Bounds the memory, and has all imported that is imported at first use, before anything is watched."""
    global _places
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        with open("/proc/self/statm") as file:
            resource.setrlimit(resource.RLIMIT_AS, (int(file.read().split()[0]) * 4096 + ROOM,) * 2)
    sys.addaudithook(_audit)
    for part in ("torch.autograd", "torch.nn", "torch.storage", "torch.sparse", "numpy.dtypes"):
        with contextlib.suppress(ImportError):
            importlib.import_module(part)
    for row in ELEMENT_TYPES:  # torch-core reads the file of some types when they are asked for
        getattr(torch, row, None)
    for codec in ("raw_unicode_escape", "unicode_escape", "latin1", "ascii", "cp437"):
        codecs.lookup(codec)
    for seed in range(100):  # what is imported at first use is there before it counts
        with contextlib.suppress(*target.EXPECTED):
            load(compose(random.Random(f"warm {seed}")))
    _places = _own_places()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=60, help="of the CPU")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--bytes", action="store_true", help="change bytes of every other file")
    arguments.add_argument("--folder", default=".", help="where findings go")
    chosen = arguments.parse_args()
    prepare()
    begin, done, words = time.process_time(), 0, collections.Counter()
    while time.process_time() - begin < chosen.seconds:
        rng = random.Random(f"{chosen.seed} {done}")
        data = compose(rng)
        if chosen.bytes and done % 2:
            data = target.mutate(data, rng)
        with open(os.path.join(chosen.folder, "last.bin"), "wb") as file:
            file.write(data)
        try:
            words[check(data)] += 1
        except BaseException:
            path = os.path.join(chosen.folder, f"crash-{chosen.seed}-{done}.bin")
            with open(path, "wb") as file:
                file.write(data)
            print(f"input: {path}", file=sys.stderr)
            raise
        done += 1
        if done % 500 == 0:
            gc.collect()
    os.unlink(os.path.join(chosen.folder, "last.bin"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{done} files, {peak} MB at most: {dict(words.most_common())}")


assert Word
if __name__ == "__main__":
    main()
