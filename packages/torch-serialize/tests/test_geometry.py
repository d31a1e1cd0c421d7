"""Files with every integer in every place of a tensor, read back by only the standard library.

The reader of this file shares no line with the package: `pickle.Unpickler` with names and persistent ids of its own,
`zipfile`, `tarfile` and `struct`.
"""

import io
import itertools
import pickle
import struct
import tarfile
import types
import zipfile

import numpy as np
import pytest
import torch
from torch.serialize import load, save
from torch.serialize._arrays.adapters import Adapter
from torch.serialize._arrays.dtypes import ELEMENT_TYPES
from torch.serialize._pickles.pickler import Pickler

FORMATS = ["zip", "stream", "tar"]
BACKENDS = ["numpy", "torch"]
KINDS = {"torch.FloatStorage": "f4", "torch.ByteStorage": "u1", "torch.LongStorage": "i8", "torch.DoubleStorage": "f8"}


class View:
    """A tensor of a file: its storage and what the file says of it."""

    def __init__(self, storage, offset, size, stride, requires_grad=False, hooks=None):
        self.storage, self.offset, self.size, self.stride = storage, offset, size, stride
        self.requires_grad = requires_grad
        assert hooks in (None, {})

    @property
    def geometry(self):
        return self.offset, self.size, self.stride

    def array(self):
        flat = self.storage.array
        width = flat.itemsize
        strides = [s * width for s in self.stride]
        return np.lib.stride_tricks.as_strided(flat[self.offset :], self.size, strides, writeable=False)


class Reader(pickle.Unpickler):
    def __init__(self, file, storage):
        super().__init__(file)
        self.persistent_load = storage

    def find_class(self, module, name):
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return View
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        return f"{module}.{name}"


def storage(kind, numel, raw):
    array = np.frombuffer(raw, KINDS[kind])
    assert len(array) == numel
    return types.SimpleNamespace(array=array)


def read_zip(raw):
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        assert file.testzip() is None
        known = {}

        def found(pid):
            word, kind, key, location, numel = pid
            assert (word, location) == ("storage", "cpu")
            if key not in known:
                known[key] = storage(kind, numel, file.read(f"archive/data/{key}"))
            return known[key]

        return Reader(io.BytesIO(file.read("archive/data.pkl")), found).load()


def read_stream(raw):
    known = {}

    def found(pid):
        word, kind, key, location, numel, view = pid
        assert (word, location, view) == ("storage", "cpu", None)
        return known.setdefault(key, types.SimpleNamespace(kind=kind, numel=numel))

    file = io.BytesIO(raw)
    magic, version, info, obj, keys = (Reader(file, found).load() for _ in range(5))
    assert (magic, version, info["little_endian"]) == (0x1950A86A20F9469CFC6C, 1001, True)
    assert keys == list(known)
    for kept in known.values():
        (numel,) = struct.unpack("<q", file.read(8))
        kept.array = storage(kept.kind, kept.numel, file.read(numel * np.dtype(KINDS[kept.kind]).itemsize)).array
    assert file.read() == b""
    return obj


def read_tar(raw):
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        files = {name: io.BytesIO(tar.extractfile(name).read()) for name in tar.getnames()}

    def no_id(pid):
        raise AssertionError(pid)

    def one(name):
        return Reader(files[name], no_id).load()

    known = {}
    for _ in range(one("storages")):
        key, location, kind = one("storages")
        (numel,) = struct.unpack("<q", files["storages"].read(8))
        assert location == "cpu"
        known[key] = storage(kind, numel, files["storages"].read(numel * np.dtype(KINDS[kind]).itemsize))
    assert one("storages") == []
    tensors = {}
    for _ in range(one("tensors")):
        key, place, _ = one("tensors")
        (ndim,) = struct.unpack("<i4x", files["tensors"].read(8))
        *numbers, offset = struct.unpack(f"<{2 * ndim + 1}q", files["tensors"].read(8 * (2 * ndim + 1)))
        tensors[str(key)] = View(known[place], offset, tuple(numbers[:ndim]), tuple(numbers[ndim:]))
    return Reader(files["pickle"], tensors.__getitem__).load()


READERS = {"zip": read_zip, "stream": read_stream, "tar": read_tar}


def written(obj, format, backend):
    out = io.BytesIO()
    save(obj, out, format=format, arrays=backend)
    return out.getvalue()


def repeated(size, backend):
    """One element seen as `size`."""
    if backend == "numpy":
        return np.broadcast_to(np.float32(7), size)
    return torch.full((1,) * len(size), 7.0).expand(size)


def needed(backend):
    if backend == "torch" and not hasattr(torch, "Tensor"):
        pytest.skip("torch-core is not installed")
    return backend


def with_byte(byte):
    """Integers of each width in which `byte` stands in each place."""
    for width, fill in itertools.product((1, 2, 4, 5, 8), (0x00, 0x25)):
        for place in range(width):
            raw = bytearray([fill] * width)
            raw[place] = byte
            value = int.from_bytes(raw, "little")
            if value < 2**63:
                yield value


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", FORMATS)
def test_tensors_of_every_length_below_70000_stand_in_one_file(format, backend):
    one = repeated((1,), needed(backend))
    lengths = range(0, 70_000, 1 if (format, backend) == ("zip", "torch") else 11)
    tensors = [np.broadcast_to(one, (n,)) if backend == "numpy" else one.expand(n) for n in lengths]
    raw = written(tensors, format, backend)
    for n, view in zip(lengths, READERS[format](raw), strict=True):
        assert view.size == (n,)
    for n, tensor in zip(lengths, load(raw, arrays=backend), strict=True):
        assert tuple(tensor.shape) == (n,) and (n == 0 or tensor[-1] == 7)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", FORMATS)
def test_two_tensors_of_each_length_up_to_512_and_around_9509_make_a_file(format, backend):
    for n in (*range(513), *range(9470, 9730), 25125, 65573, 2**24 + 37, 37 * 2**16):
        raw = written([repeated((n,), needed(backend)) for _ in range(2)], format, backend)
        for view, again in zip(READERS[format](raw), load(raw, arrays=backend), strict=True):
            assert view.size == tuple(again.shape) == (n,) and (n == 0 or view.array()[-1] == again[-1] == 7)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", FORMATS)
def test_values_come_back_from_every_size_stride_and_offset_that_holds_an_awkward_byte(format, backend):
    awkward = [0x00, 0x0A, 0x25, 0x2E, 0x68, 0x80, 0xFF]  # %, the end of a line, opcodes, ends of ranges
    base = np.arange(300_000)
    if needed(backend) == "torch":
        base = torch.arange(300_000)
    views = [base[:0]]
    for a, b in itertools.product(awkward, repeat=2):
        both = a | b << 8
        views += [base[both : both + 3], base[a : a + 2 * (b + 1) : b + 1], base[both:][: a * b].reshape(a, b)]
        views += [base[a:][: 2 * a * b].reshape(2, a, b), base[b:][: 2 * a * b].reshape(a, b, 2)[:, :1]]
        views += [base[b:][: 4 * a * b].reshape(2, a, 2, b)[:, :, 1]]
    raw = written(views, format, backend)
    back = load(raw, arrays=backend)
    for view, read, again in zip(views, READERS[format](raw), back, strict=True):
        assert np.array_equal(read.array(), np.asarray(view)) and np.array_equal(read.array(), np.asarray(again))


@pytest.mark.parametrize("times", [1, 2])
def test_every_byte_may_stand_in_every_place_of_every_number_of_a_tensor(times):
    # As the first tensor of its pickle, and as a second one, which is written in another way.
    row = ELEMENT_TYPES["float32"]
    for byte in range(256):
        for n in with_byte(byte):
            for offset, size, stride in (
                (n, (n,), (n,)),
                (0, (n, 1), (1, n)),
                (1, (2, n, n), (n, n, 2)),
                (n, (1, 1, n, 3, n), (n, 3, 1, n, 1)),
                (n, (), ()),
            )[:: 1 if times == 1 else 3]:
                one = Adapter()
                pickler = Pickler(one)
                pickler.write(b"(")
                for _ in range(times):
                    one.tensor(pickler, 0, row, row, "cpu", 4 * n, offset, size, stride, True)
                pickler.write(b"t.")
                ids = []
                views = Reader(io.BytesIO(b"".join(pickler._out)), ids.append).load()
                assert [view.geometry for view in views] == [(offset, size, stride)] * times
                assert ids == [("storage", "torch.FloatStorage", "0", "cpu", n)] * times
