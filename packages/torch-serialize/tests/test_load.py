"""Files of PyTorch 2.13 read with only NumPy."""

import collections
import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import warnings
import zipfile

import numpy as np
import pytest
import torch
from torch.serialize import (
    FileFormatError,
    SourceChangeWarning,
    UnsafeGlobalError,
    inspect,
    load,
    save,
    set_crc32_options,
)

GRID = np.arange(24.0, dtype=np.float32).reshape(4, 6)


def read(path, **kwargs):
    return load(path, arrays="numpy", **kwargs)


@pytest.mark.parametrize("name", ["zip.pt", "stream.pt"])
@pytest.mark.parametrize("mmap", [False, True])
def test_a_checkpoint_has_its_values_and_its_sharing(data, name, mmap):
    out = read(data / name, mmap=mmap)
    assert np.array_equal(out["base"], GRID)
    assert np.array_equal(out["view"], GRID[1:3, ::2]) and np.array_equal(out["transposed"], GRID.T)
    assert out["again"] is out["base"]
    assert np.shares_memory(out["base"], out["view"]) and np.shares_memory(out["base"], out["transposed"])
    out["base"][1, 0] = -1
    assert out["view"][0, 0] == -1
    assert out["empty"].shape == (0, 3) and out["zero_d"].shape == () and out["zero_d"] == 3.5
    assert np.array_equal(out["parameter"], np.ones(3)) and np.array_equal(out["leaf"], np.ones(2))
    assert np.array_equal(out["expanded"], np.ones(5))
    assert out["nested"] == [1, 2.5, None, True, "ü", (1, 2, (3,)), {"a": {1, 2}}, b"bytes\xff",
                             collections.OrderedDict(x=1), 2**80, -5, 300, 70000]  # fmt: skip
    assert out["size"] == (1, 2) and out["dtype"] == np.float16 and out["device"] == "cpu" and out["complex"] == 1 + 2j


KINDS = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint16",
    "uint32",
    "uint64",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type_arrives(data, kind):
    array = read(data / "zip.pt")[kind]
    assert array.dtype == kind
    assert np.array_equal(array, np.array([0, 1, 2, 3]).astype(kind))


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_that_numpy_lacks_become_float32(data, kind):
    array = read(data / "zip.pt")[kind]
    assert array.dtype == np.float32 and np.array_equal(array, [0, 1, 2, 3])


def test_bfloat16_in_a_stream_is_widened_after_its_bytes_came(data):
    assert np.array_equal(read(data / "stream.pt")["bfloat16"], [0, 1, 2, 3])


def test_a_whole_module_is_refused_with_its_class_and_the_way_to_allow_it(data):
    with pytest.raises(UnsafeGlobalError) as info:
        read(data / "module.pt")
    text = str(info.value)
    assert "torch.nn.modules.container.Sequential" in text and "add_safe_globals([Sequential])" in text
    assert "weights_only=False" in text and "state_dict" in text


def test_numpy_arrays_and_scalars_inside_are_data(data):
    out = read(data / "numpy.pt")
    assert np.array_equal(out["array"], np.arange(6.0).reshape(2, 3))
    assert out["scalar"] == 3.5 and out["scalar"].dtype == np.float64 and out["int"] == 7


@pytest.mark.parametrize("name", ["conjugate.pt", "conjugate_stream.pt"])
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("arrays", ["numpy", None])
def test_views_that_were_conjugated_or_negated_lazily_have_the_values_they_stood_for(data, name, mmap, arrays):
    out = load(data / name, arrays=arrays, mmap=mmap)
    base = np.array([[1 + 2j, 3 - 4j], [5j, -6]], np.complex64)
    assert out["base"].tolist() == base.tolist() and out["conj"].tolist() == base.conj().tolist()
    assert out["row"].tolist() == base.conj()[1].tolist() and out["neg"].tolist() == base.conj().imag.tolist()
    assert {row.name: row.shape for row in inspect(data / name)}["row"] == (2,)


def test_a_sparse_tensor_needs_torch_core(data):
    with pytest.raises(NotImplementedError, match="pip install --no-index --find-links WHEELHOUSE torch-core"):
        read(data / "sparse.pt")


def test_a_bare_storage_gives_its_bytes(data):
    assert len(np.asarray(read(data / "storage.pt"))) == 48


def test_a_tensor_with_attributes_gives_its_values(data):
    assert np.array_equal(read(data / "attribute.pt"), np.ones(3))


def test_a_torchscript_archive_gives_parameters_and_buffers_by_name(data):
    out = read(data / "script.pt")
    assert list(out) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
                         "1.num_batches_tracked"]  # fmt: skip
    assert out["0.weight"].shape == (4, 3) and np.array_equal(out["1.running_var"], np.ones(4))


def test_a_plain_pickle_of_tensors_is_read_without_running_it(data):
    assert np.array_equal(read(data / "plain.pkl")["w"], np.arange(4.0))


@pytest.mark.parametrize("name", ["zip.pt", "stream.pt", "plain.pkl"])
def test_bytes_file_objects_and_streams_without_readinto_give_the_same(data, name):
    raw = (data / name).read_bytes()

    class Slow:
        def __init__(self):
            self.inner = io.BytesIO(raw)
            self.seek, self.tell = self.inner.seek, self.inner.tell

        def read(self, count=-1):
            return self.inner.read(min(count, 1000) if count >= 0 else count)

    with open(data / name, "rb") as file:
        results = [read(x) for x in (raw, io.BytesIO(raw), Slow(), file, str(data / name))]
    first = next(iter(results[0]))
    assert all(np.array_equal(r[first], results[0][first]) for r in results)


def test_a_file_object_is_read_from_where_it_stands(data):
    raw = (data / "zip.pt").read_bytes()
    stream = io.BytesIO(b"header" + raw)
    stream.seek(6)
    assert np.array_equal(read(stream)["base"], GRID)
    assert stream.tell() == 6 + len(raw)


@pytest.mark.parametrize("kind", ["file", "BytesIO", "archive"])
def test_objects_that_follow_each_other_in_one_stream_are_read_one_by_one(data, kind, tmp_path):
    raw = b"header" + (data / "stream.pt").read_bytes() + pickle.dumps(["second"]) + (data / "stream.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a", raw + b"tail")
    (tmp_path / "a").write_bytes(raw + b"tail")
    opened = {
        "file": lambda: (tmp_path / "a").open("rb"),
        "BytesIO": lambda: io.BytesIO(raw + b"tail"),
        "archive": lambda: zipfile.Path(tmp_path / "a.zip", "a").open("rb"),
    }
    with opened[kind]() as stream:
        stream.seek(6)
        assert np.array_equal(read(stream)["base"], GRID) and read(stream) == ["second"]
        assert np.array_equal(read(stream)["base"], GRID) and stream.read() == b"tail"


def test_a_trusted_file_is_read_by_pythons_unpickler(data):
    for name in ("zip.pt", "stream.pt"):
        out = read(data / name, weights_only=False)
        assert np.array_equal(out["view"], GRID[1:3, ::2]) and np.shares_memory(out["base"], out["view"])


def python2(text):
    """A string as Python 2 pickled it."""
    return b"U" + bytes([len(text)]) + text


def stream_of_python2(little=True):
    """A list of a string, a storage's tensor of the numbers 1 and 2, as a stream of pickles that Python 2 wrote."""
    head = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
    system = b"\x80\x02}" + python2(b"little_endian") + (b"\x88" if little else b"\x89") + b"s."
    place = b"(" + python2(b"storage") + b"ctorch\nFloatStorage\n" + python2(b"71") + python2(b"cpu") + b"K\x02NtQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + place + b"K\x00K\x02\x85K\x01\x85\x89NtR"
    obj = b"\x80\x02](" + python2("é".encode()) + tensor + b"e."
    keys = b"\x80\x02]" + python2(b"71") + b"a."
    return head + system + obj + keys + struct.pack("<qff" if little else ">qff", 2, 1, 2)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("little", [True, False])
def test_strings_of_python_2_stay_bytes_where_that_is_asked_for(little, weights_only):
    text, tensor = load(
        io.BytesIO(stream_of_python2(little)), arrays="numpy", encoding="bytes", weights_only=weights_only
    )
    assert text == "é".encode() and tensor.tolist() == [1, 2]
    text, tensor = load(io.BytesIO(stream_of_python2(little)), arrays="numpy", weights_only=weights_only)
    assert text == "é" and tensor.tolist() == [1, 2]


def test_an_empty_file_says_so(tmp_path):
    (tmp_path / "e.pt").write_bytes(b"")
    with pytest.raises(EOFError, match="e.pt is empty"):
        read(tmp_path / "e.pt")


def test_something_else_is_named_by_its_first_bytes(tmp_path):
    (tmp_path / "page.pt").write_text("<html>not found</html>")
    with pytest.raises(FileFormatError, match="it starts with b'<html>"):
        read(tmp_path / "page.pt")


def test_wrong_arguments_are_explained(data, tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.pt")
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(ValueError, match="mmap=True needs a path or a file"):
        read(io.BytesIO(b"x"), mmap=True)
    with pytest.raises(TypeError, match="map_location must be"):
        read(data / "zip.pt", map_location=3.5)
    with pytest.raises(TypeError, match="unexpected argument 'colour'"):
        read(data / "zip.pt", colour=1)
    with open(data / "zip.pt", encoding="latin1") as text, pytest.raises(TypeError, match="mode 'rb'"):
        read(text)
    with pytest.raises(AttributeError, match="got int"):
        read(3)
    import pickle

    with pytest.raises(RuntimeError, match="weights_only=False"):
        read(data / "zip.pt", pickle_module=pickle, weights_only=True)


def test_map_location_as_a_function_sees_every_storage_once(data):
    seen = []

    def place(storage, location):
        seen.append(location)
        return

    for name in ("zip.pt", "stream.pt"):
        seen.clear()
        out = read(data / name, map_location=place)
        assert np.array_equal(out["base"], GRID) and np.array_equal(out["zero_d"], 3.5)
        assert set(seen) == {"cpu"} and len(seen) > 10


def test_writes_to_a_mapped_file_stay_in_memory(data, tmp_path):
    path = tmp_path / "copy.pt"
    path.write_bytes((data / "zip.pt").read_bytes())
    out = read(path, mmap=True)
    out["base"][:] = 7
    assert np.array_equal(read(path)["base"], GRID)


def test_an_open_file_is_mapped_from_where_it_stands(data, tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"12345678" * 8 + (data / "zip.pt").read_bytes())
    with open(path, "rb") as file:
        file.seek(64)
        out = read(file, mmap=True)
    assert np.array_equal(out["base"], GRID) and not out["base"].flags.owndata


def test_what_comes_through_a_pipe_is_mapped_from_a_temporary_file(tmp_path):
    pipe, count = tmp_path / "pipe", 3_000_000
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: save({"a": np.arange(count)}, pipe, arrays="numpy"))
    writer.start()
    out = read(pipe, mmap=True)["a"]
    writer.join()
    assert out[-1] == count - 1 and not out.flags.owndata
    with open("/proc/self/maps") as maps:
        assert any("(deleted)" in line and "/tmp" in line for line in maps)


def test_files_without_checksums_are_read(tmp_path):
    set_crc32_options(False)
    try:
        save({"a": np.arange(5)}, tmp_path / "a.pt", arrays="numpy")
    finally:
        set_crc32_options(True)
    assert read(tmp_path / "a.pt")["a"].tolist() == [0, 1, 2, 3, 4]
    raw = bytearray((tmp_path / "a.pt").read_bytes())
    raw[raw.index(b"\3" + bytes(7))] = 77
    assert read(bytes(raw))["a"].tolist() == [0, 1, 2, 77, 4]


def test_checksums_can_be_left_uncompared(tmp_path):
    save({"a": np.arange(5)}, tmp_path / "a.pt", arrays="numpy")
    raw = bytearray((tmp_path / "a.pt").read_bytes())
    raw[raw.index(b"\3" + bytes(7))] = 77
    with pytest.raises(FileFormatError, match="damaged"):
        read(bytes(raw))
    set_crc32_options(False)
    try:
        assert read(bytes(raw))["a"].tolist() == [0, 1, 2, 77, 4]
    finally:
        set_crc32_options(True)


def with_source(cls, source):
    """A stream of 2018 that holds an object of a module class, and the source that the class had."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            if obj is not cls or told:
                return None
            told.append(cls)  # the id itself names the class
            return "module", cls, "net.py", source

    told, out = [], io.BytesIO()
    for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(part, out, 2)
    Pickler(out, 2).dump(cls())
    pickle.dump([], out, 2)
    return out.getvalue()


class Net:
    depth = 3


def test_a_module_whose_source_has_changed_is_loaded_with_a_warning():
    text = "class Net:\n    depth = 3\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error", SourceChangeWarning)
        assert type(read(with_source(Net, text), weights_only=False)) is Net
    with pytest.warns(SourceChangeWarning, match=r"the source of .*Net has changed") as caught:
        read(with_source(Net, text.replace("3", "2")), weights_only=False)
    assert caught[0].filename == __file__


SMALL = """
import sys, torch
before = set(sys.modules)
torch.load(sys.argv[1])
heavy = {"ast", "asyncio", "concurrent.futures", "dataclasses", "inspect", "json", "logging", "numpy", "secrets", "shutil", "tempfile"}
print(*sorted(heavy & (set(sys.modules) - before)))
"""


@pytest.mark.skipif(not hasattr(torch, "Tensor"), reason="torch-core is not installed")
def test_reading_a_small_file_first_imports_little(tmp_path):
    save({"a": torch.zeros(3)}, tmp_path / "a.pt")
    done = subprocess.run(
        [sys.executable, "-c", SMALL, tmp_path / "a.pt"], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.skipif(not hasattr(torch, "Tensor"), reason="torch-core is not installed")
def test_a_tensor_without_elements_may_begin_behind_its_storage():
    """Views of nothing do, as PyTorch writes them."""
    nothing = torch.empty(0, dtype=torch.int64).untyped_storage()
    x = torch.empty(0, dtype=torch.int64).set_(nothing, 1, (1, 0, 5), (10, 10, 2))
    file = io.BytesIO()
    save(x, file)
    file.seek(0)
    y = load(file)
    assert (y.shape, y.stride(), y.storage_offset()) == ((1, 0, 5), (10, 10, 2), 1)
