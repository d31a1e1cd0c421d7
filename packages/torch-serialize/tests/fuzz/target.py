"""What is fuzzed: any bytes at all, loaded, inspected and converted, into arrays and, with torch-core, into tensors.

A zip with a member ``*.index.json`` stands for a folder with a checkpoint in several files, and is read as that too.
`check` returns when the outcome is right: an object, or one of the errors that `load` documents, within a time and
memory that the input's size bounds. `mutate` alters the inside of containers and closes them again, so that what
lies behind checksums and lengths is reached as well.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import tempfile
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable

import numpy  # noqa: F401 - before memory is measured
import torch
from torch.serialize import convert, inspect, load
from torch.serialize._storage import source

# What a reader may say of a bad file. TypeError and the like would mean that a check is missing.
EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError, UnicodeDecodeError)
SECONDS = 5.0
# A one-byte opcode may make a Python list (56 bytes); beyond such factors memory must not grow.
MEMORY_PER_BYTE, MEMORY_CONSTANT = 200, 3 << 20

warnings.simplefilter("ignore")


def check(data: bytes, seed: int = 0) -> str:
    """Reads `data` in every way; raises AssertionError when time or memory leave their bounds, or the unexpected error.

    Gives a word for what happened to `load`: "object" or the name of the error.
    """
    outcome = "object"
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    path = os.path.join(folder, "x.bin")
    targets = [os.path.join(folder, name) for name in ("x.safetensors", "x.npz", "x.pt")]
    tracemalloc.start()
    begin = time.process_time()  # of the CPU, so that a busy machine is no finding
    try:
        with open(path, "wb") as file:
            file.write(data)
        try:
            load(data, arrays="numpy")
        except EXPECTED as e:
            outcome = type(e).__name__
        source.WHOLE = 0 if seed & 4 else 4 << 20  # whether a file is read record by record, as big ones are
        calls = [
            lambda: inspect(path),
            lambda: load(path, arrays="numpy", mmap=True),
            lambda: convert(path, targets[seed % 3]),
        ]
        if hasattr(torch, "Tensor"):
            calls.append(lambda: load(data))
        if index := _unpacked(data, folder):
            calls += [
                lambda: load(index, arrays="numpy", mmap=bool(seed & 1)),
                lambda: inspect(index),
                lambda: convert(index, targets[seed % 3], max_shard_size=100 if seed % 3 != 1 and seed & 2 else None),
            ]
        for call in calls:
            try:
                call()
            except (*EXPECTED, FileNotFoundError):  # which an index names
                pass
            except (TypeError, ValueError) as e:  # what the target's format cannot hold
                if not str(e).startswith(("convert:", "save_npz:", "save_safetensors:", "save_sharded:")):
                    raise
        seconds, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    assert seconds < SECONDS, f"{seconds:.1f} s for {len(data)} bytes"
    assert peak < MEMORY_CONSTANT + MEMORY_PER_BYTE * len(data), f"{peak} bytes of memory for {len(data)} bytes"
    return outcome


def _unpacked(data: bytes, folder: str) -> str | None:
    """Puts the members of a zip with an index into `folder`; the path of the index."""
    records = _records(data)
    index = next((info.filename for info, _ in records if info.filename.endswith(".index.json")), None)
    if index is None:
        return None
    for info, content in records:
        name = info.filename
        if os.path.basename(name) == name not in ("x.bin", ".", "..") and len(name.encode(errors="ignore")) < 100:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
    return os.path.join(folder, os.path.basename(index))


def flip(data: bytes, rng: random.Random) -> bytes:
    """A plain mutation: bytes changed, cut out, repeated or overwritten by interesting numbers."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not out:
            return bytes(rng.randbytes(8))
        at = rng.randrange(len(out))
        kind = rng.randrange(6)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at] = rng.choice(b"\0\1\x7f\x80\xff().tR]}hqQbcaeuX0123")
        elif kind == 2:
            del out[at : at + rng.randrange(1, 9)]
        elif kind == 3:
            out[at:at] = out[at : at + rng.randrange(1, 33)]
        elif kind == 4:
            number = rng.choice((0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 62, (1 << 64) - 1))
            width = rng.choice((1, 2, 4, 8))
            out[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        else:
            out[at:at] = rng.choice(_WORDS)
    return bytes(out)


_WORDS = [
    *(f"c{module}\n{name}\n".encode() for module, name in (
        ("collections", "OrderedDict"), ("collections", "Counter"), ("collections", "deque"), ("builtins", "set"),
        ("collections", "defaultdict"), ("builtins", "str"), ("builtins", "list"), ("builtins", "tuple"),
        ("builtins", "dict"), ("builtins", "frozenset"), ("builtins", "bytearray"), ("_codecs", "encode"),
        ("numpy.core.multiarray", "_reconstruct"), ("numpy.core.multiarray", "scalar"), ("numpy", "dtype"),
        ("numpy", "ndarray"), ("torch._utils", "_rebuild_tensor_v2"), ("torch._utils", "_rebuild_tensor_v3"),
        ("torch._utils", "_rebuild_parameter"), ("torch._tensor", "_rebuild_from_type_v2"), ("torch", "Size"),
        ("torch._utils", "_rebuild_sparse_tensor"), ("torch", "BFloat16Storage"), ("torch", "FloatStorage"),
        ("torch.storage", "UntypedStorage"), ("torch.storage", "_load_from_bytes"), ("torch", "float8_e4m3fn"),
        ("torch._utils", "_rebuild_meta_tensor_no_storage"), ("torch.serialization", "_get_layout"),
    )),
    b")R", b"\x85R", b"\x86R", b"h\0", b"h\1", b"h\2", b"q\0", b"2", b"22\x87", b"](", b"e", b"}(", b"u", b"b", b"Q",
    b'"', b"{", b"[", b"null", b"-1", b"1e999", b'":', b'"../x"', b'.index.json"', b'"x.safetensors"',
    b"\x81", b"\x8a\x08\0\0\0\0\0\0\0\x01", b"K\0", b"K\1", b"\x88", b"\x89", b"N",
]  # fmt: skip


def mutate(data: bytes, rng: random.Random, change: Callable = flip) -> bytes:
    """`change` applied to `data`, or to something inside of it."""
    if rng.random() < 0.6:
        for inside in (_inside_zip, _inside_safetensors):
            if (out := inside(data, rng, change)) is not None:
                return out
    return change(data, rng)


def _records(data: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(info, archive.read(info)) for info in archive.infolist() if info.file_size < 1 << 16]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError, ValueError,
            UnicodeDecodeError, KeyError, OverflowError, IndexError):  # fmt: skip
        return []


def _inside_zip(data: bytes, rng: random.Random, change: Callable) -> bytes | None:
    records = _records(data)
    if not records:
        return None
    out = io.BytesIO()
    chosen = rng.choice(
        [i for i, (info, _) in enumerate(records) if info.filename.endswith((".pkl", ".json"))] * 6
        + [*range(len(records))]
    )
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", method) as archive:
        for i, (info, content) in enumerate(records):
            try:
                archive.writestr(info.filename, mutate(content, rng, change) if i == chosen else content)
            except (ValueError, UnicodeEncodeError):
                return None
    return out.getvalue()


def _inside_safetensors(data: bytes, rng: random.Random, change: Callable) -> bytes | None:
    size = int.from_bytes(data[:8], "little")
    if not 2 <= size <= len(data) - 8 or data[8:9] != b"{":
        return None
    header = change(data[8 : 8 + size], rng)
    try:
        header = json.dumps(json.loads(header)).encode()
    except (ValueError, RecursionError):
        pass
    return len(header).to_bytes(8, "little") + header + data[8 + size :]
