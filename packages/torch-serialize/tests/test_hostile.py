"""Files that are damaged or built to do harm give an error: no crash, no hang, no memory beyond the file's own size."""

import io
import os
import pickle
import random
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from torch.serialize import (
    CorruptPickleError,
    FileFormatError,
    UnsafeGlobalError,
    convert,
    inspect,
    load,
    save,
    save_npy,
    save_npz,
    save_safetensors,
)
from torch.serialize._pickles.unpickler import DataUnpickler

# What a reader may say of a bad file. TypeError and the like would mean that a check is missing.
EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError, NotImplementedError, UnicodeDecodeError)


def archive(**records):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in records.items():
            file.writestr("a/" + name.replace("__", "/").replace("_pkl", ".pkl"), content)
    return out.getvalue()


def small():
    out = io.BytesIO()
    save({"a": np.arange(4.0), "b": [1, "x"]}, out, arrays="numpy")
    return bytearray(out.getvalue())


def tensor_pickle(numel=4, offset=0, size=(4,), stride=(1,)):
    def ints(values):
        return b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", v) for v in values) + b"t"

    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\1\0\0\x000X\3\0\0\0cpu"
        + ints([numel])[1:-1] + b"tQ" + ints([offset])[1:-1] + ints(size) + ints(stride) + b"\x89ccollections\nOrderedDict\n)RtR."
    )  # fmt: skip


def read(data):
    return load(bytes(data), arrays="numpy")


def test_a_truncated_file_is_an_error_wherever_it_ends(data):
    for raw in (bytes(small()), (data / "stream.pt").read_bytes(), (data / "plain.pkl").read_bytes()):
        for end in range(0, len(raw) - 1, 7):
            with pytest.raises(EXPECTED):
                read(raw[:end])


@pytest.mark.parametrize("name", ["zip.pt", "stream.pt", "numpy.pt", "plain.pkl", "script.pt"])
def test_any_flipped_bits_are_an_error_or_harmless(data, name):
    raw, rng = (data / name).read_bytes(), random.Random(name)
    for _ in range(400):
        bad = bytearray(raw)
        for _ in range(rng.choice([1, 1, 3, 20])):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            read(bad)
        except EXPECTED:
            pass


def test_a_flipped_bit_in_the_numbers_is_found_by_the_checksum():
    raw = small()
    at = raw.index(np.arange(4.0).tobytes())
    raw[at + 9] ^= 1
    with pytest.raises(FileFormatError, match=r"record 'archive/data/0' has CRC .* the file was damaged"):
        read(raw)


def test_a_promise_of_more_elements_than_there_are_is_refused():
    for numel in (5, 10**15, -1, 2**62):
        raw = archive(data_pkl=tensor_pickle(numel), data__0=bytes(16), version="3")
        with pytest.raises(FileFormatError, match="elements"):
            read(raw)


@pytest.mark.parametrize(
    "geometry",
    [
        {"size": (5,)},
        {"offset": 1},
        {"offset": -1},
        {"stride": (2,)},
        {"stride": (-1,)},
        {"size": (2**40, 2**40), "stride": (2**50, 2**50)},
        {"size": (-1,)},
        {"size": (4, 1)},
    ],
)
def test_a_tensor_that_leaves_its_storage_is_refused(geometry):
    with pytest.raises(FileFormatError, match="outside its storage|has offset"):
        read(archive(data_pkl=tensor_pickle(**geometry), data__0=bytes(16), version="3"))


def test_a_missing_storage_is_named():
    with pytest.raises(FileFormatError, match="lacks storage 0"):
        read(archive(data_pkl=tensor_pickle(), version="3"))


def test_two_records_of_one_name_are_refused():
    raw = small().replace(b"archive/version", b"archive/data/00")
    raw = raw.replace(b"archive/data/00", b"archive/data/0\0")
    with pytest.raises(FileFormatError):
        read(raw)
    with pytest.warns(UserWarning, match="Duplicate"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            file.writestr("a/data.pkl", b"N.")
            file.writestr("a/data.pkl", b"N.")
    with pytest.raises(FileFormatError, match="two records are called 'a/data.pkl'"):
        read(out.getvalue())


@pytest.mark.parametrize("name", ["../a/data.pkl", "/etc/passwd", "a/../../b", "C:/x", "a\\..\\b"])
def test_names_that_leave_the_archive_are_refused(name):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(zipfile.ZipInfo(name), b"N.")
    with pytest.raises(FileFormatError, match="points outside"):
        read(out.getvalue())


def test_a_decompression_bomb_is_refused_and_an_honest_deflated_file_is_read():
    for size, fine in ((100, True), (1 << 20, False)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a/data.pkl", b"\x80\x02]X" + struct.pack("<I", size) + b"x" * size + b"a.")
        if fine:
            assert read(out.getvalue()) == ["x" * size]
        else:
            with pytest.raises(FileFormatError, match=r"decompression bomb.*weights_only=False"):
                read(out.getvalue())
            assert load(out.getvalue(), arrays="numpy", weights_only=False) == ["x" * size]


def test_a_wrong_size_of_a_deflated_record_is_found():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", b"\x80\x02]X\x20\0\0\0" + b"x" * 32 + b"a.")
    raw = bytearray(out.getvalue())
    at = raw.index(b"PK\x01\x02") + 24
    raw[at : at + 4] = struct.pack("<I", 20)
    with pytest.raises(FileFormatError, match="does not decompress to its declared 20 bytes"):
        read(raw)


def test_records_that_overlap_are_refused():
    raw = archive(data_pkl=b"N.", version=b"3")
    at = raw.rindex(b"PK\x01\x02")
    first = raw.index(b"PK\x01\x02")
    bad = bytearray(raw)
    bad[at + 42 : at + 46] = raw[first + 42 : first + 46]  # the second record starts where the first one does
    with pytest.raises(FileFormatError):
        read(bad)


def test_a_zip_of_something_else_says_so():
    with pytest.raises(FileFormatError, match=r"without a/data.pkl"):
        read(archive(**{"letter.txt": b"hello"}))


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (b"\x80\x02cos\nsystem\nX\2\0\0\0ls\x85R.", "os.system"),
        (b"\x80\x02cbuiltins\neval\nX\1\0\0\x001\x85R.", "builtins.eval"),
        (b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "posix.system"),
        (b"\x80\x02c__builtin__\ngetattr\nc__builtin__\ndict\nX\4\0\0\0keys\x86R.", "builtins.dict.keys"),
        (b"\x80\x02cexceptions\nSystemExit\n.", "builtins.SystemExit"),
        (b"\x80\x02ctorch.hub\nload\n.", "torch.hub.load"),
        (b"\x80\x02ctorch\nload\n.", "torch.load"),
        (b"\x80\x02cnumpy\nload\n.", "numpy.load"),
        (b"\x80\x02cnumpy.core.multiarray\nfromfile\n.", "fromfile"),
    ],
)
def test_code_is_refused_by_name(stream, text):
    for raw in (archive(data_pkl=stream), stream):
        with pytest.raises(UnsafeGlobalError, match="was not loaded") as info:
            read(raw)
        assert text in str(info.value)
        assert info.value.global_name.endswith(text)


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (b"\x80\x02]]R.", "calls an object of type list"),
        (b"\x80\x02c__builtin__\ngetattr\nK\1X\4\0\0\0real\x86R.", "takes an attribute of an object of type int"),
        (b"\x80\x02c__builtin__\ngetattr\nc_codecs\nencode\nX\1\0\0\0a\x86R.", "takes an attribute of"),
        (b"\x80\x02K\1]\x81.", "makes an object of"),
        (b"\x80\x02K\1}b.", "sets the state of"),
        (b"\x80\x02K\1K\2a.", "appends to"),
        (b"\x80\x02K\1K\2K\3s.", "sets items of"),
        (b"\x80\x02ccollections\nOrderedDict\n)R(K\1K\2K\3u.", "a key without a value"),
        (b"\x80\x02}]K\1s.", "unhashable"),
        (b"\x80\x02h\7.", "KeyError"),
        (b"\x80\x02\x82\1.", "opcode 0x82"),
        (b"\x80\x09N.", "protocol 9"),
        (b"\x80\x02X\xff\xff\xff\x7fabc", "2147483647 bytes declared"),
        (b"\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc", "bytes declared"),
        (b"\x80\x02L" + b"9" * 100000 + b"L\n.", "an integer of 100000 decimal digits"),
        (b"\x80\x02(i__main__\nX\n.", "old-style Python 2 classes"),
        (
            b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\0\0\0\0\x7f\x85R.",
            "gives builtins.bytearray 545460846592 as argument 1",
        ),
        (b"\x80\x02t.", "ends early"),
        (b"\x80\x02.", "ends early"),
        (b"\x80\x02cos", "a line has no end"),
    ],
)
def test_broken_and_malicious_streams_are_explained(stream, text):
    with pytest.raises((CorruptPickleError, EOFError)) as info:
        read(archive(data_pkl=stream))
    assert text in str(info.value) and "byte" in str(info.value)


def test_keys_that_take_exponential_time_to_hash_are_refused():
    # t0 = (), t[n + 1] = (t[n], t[n]): hashing t[100] would visit 2**100 tuples.
    stream = b"\x80\x02}(K\1K\1t" + b"q\0h\0\x86" * 100 + b"K\1s."
    with pytest.raises(CorruptPickleError, match="a key of more than 1000 parts"):
        read(archive(data_pkl=stream))
    collisions = (
        b"\x80\x02}("
        + b"".join(b"\x8a\x10" + (i * (2**61 - 1) << 8).to_bytes(16, "little") + b"N" for i in range(1, 500))
        + b"u."
    )
    with pytest.raises(CorruptPickleError, match="more than 64 bits"):
        read(archive(data_pkl=collisions))


def test_a_memo_that_holds_itself_is_just_a_cyclic_list():
    out = read(archive(data_pkl=b"\x80\x02]q\0h\0a."))
    assert out[0] is out


def test_huge_memo_numbers_cost_nothing():
    assert read(archive(data_pkl=b"\x80\x02]r\xff\xff\xff\xff.")) == []


def test_deep_nesting_is_no_recursion():
    depth = 100_000
    out = read(archive(data_pkl=b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."))
    assert isinstance(out, list) and len(out) == 1


@pytest.mark.parametrize("code", ["f4,f4", "04f4", "O", "V8", "(3,)f4", "f4" * 1000, "datetime64"])
def test_dtypes_of_numpy_beyond_numbers_and_text_are_refused(code):
    stream = b"\x80\x02cnumpy\ndtype\nX" + struct.pack("<I", len(code)) + code.encode() + b"\x89\x88\x87R."
    with pytest.raises(FileFormatError, match="a NumPy dtype of"):
        read(archive(data_pkl=stream))


def test_only_what_was_found_by_name_can_be_called():
    calls = []

    def find(module, name):
        return calls.append

    DataUnpickler(b"\x80\x02ca\nb\nK\1\x85R.", find, None).load()
    assert calls == [1]
    with pytest.raises(CorruptPickleError):
        DataUnpickler(b"\x80\x02K\1Q)R.", find, lambda pid: calls.append).load()


LIMITED = """
import os, resource, sys, time
import numpy
from torch.serialize import load
if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which takes terabytes of addresses itself
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
begin = time.time()
try:
    load(sys.argv[1], arrays="numpy")
except (RuntimeError, ValueError, EOFError) as e:
    print(type(e).__name__)
except Exception as e:
    print(type(e).__name__)
assert time.time() - begin < 20
"""


PEAK = """
import sys
import numpy
from torch.serialize import load

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = peak()
load(sys.stdin.buffer if sys.argv[1] == "-" else sys.argv[1], arrays="numpy")
print(peak() - before)
"""


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer keeps what was freed")
@pytest.mark.parametrize("format", ["zip", "stream", "tar", "safetensors", "npy", "npz"])
def test_reading_takes_no_more_memory_than_twice_the_file(format, tmp_path):
    values, path = np.arange(3_000_000.0), tmp_path / "a"
    if format in ("zip", "stream", "tar"):
        save({"a": values}, path, arrays="numpy", format=format)
    else:
        convert_to = {"safetensors": save_safetensors, "npz": save_npz}.get(format)
        save_npy(values, path) if convert_to is None else convert_to({"a": values}, path)
    size, rest = path.stat().st_size, 10 << 20
    for source in (path, "-"):
        with open(path, "rb") as file:  # cat makes it a pipe, which has to be taken whole
            pipe = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        with pipe, pipe.stdout:
            done = subprocess.run([sys.executable, "-c", PEAK, str(source)], stdin=pipe.stdout, capture_output=True)
        assert done.returncode == 0 and int(done.stdout) < 2 * size + rest, done.stderr


def npy_header(shape):
    text = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def test_files_that_declare_terabytes_fail_in_little_memory(tmp_path):
    samples = [
        npy_header((10**12,)),
        npy_header((10**9, 10**9, 0)),
        struct.pack("<Q", 1 << 60) + b"{",
        struct.pack("<Q", 64) + b'{"a":{"dtype":"F64","shape":[1099511627776],"data_offsets":[0,8]}}'.ljust(64),
        archive(data_pkl=tensor_pickle(2**40), data__0=bytes(16)),
        (pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + tensor_pickle(2**40)),
    ]
    for i, raw in enumerate(samples):
        path = tmp_path / f"{i}.bin"
        path.write_bytes(raw)
        done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() in ("FileFormatError", "") or i == 1, (i, done.stdout)


def test_checksums_of_zlib_are_those_of_the_writer():
    raw = bytes(small())
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        assert zlib.crc32(np.arange(4.0).tobytes()) == file.getinfo("archive/data/0").CRC


def frame(body):
    return b"\x80\x02" + body + b"."


LISTED = b"]q\0(" + b"K\1" * 5000 + b"e0"  # a list of 5000 numbers, kept under number 0


@pytest.mark.parametrize(
    "kind", ["builtins set", "builtins list", "builtins frozenset", "collections deque", "torch Size"]
)
def test_one_list_copied_again_and_again_is_refused(kind):
    call = b"c%b\n%b\nh\0\x85R" % tuple(kind.encode().split())
    with pytest.raises((CorruptPickleError, FileFormatError), match="calls copy far more|it gives torch.Size"):
        read(archive(data_pkl=frame(LISTED + b"(" + call * 400 + b"l")))


@pytest.mark.parametrize(
    "call",
    [
        b"cbuiltins\nset\n(%bl\x85R",
        b"cbuiltins\nfrozenset\n(%bl\x85R",
        b"ccollections\nCounter\n(%bl\x85R",
        b"cbuiltins\ndict\n((%bNtl\x85R",
        b"ccollections\nOrderedDict\n((%bNtl\x85R",
        b"cbuiltins\nstr\n%b\x85R",
        b"ctorch\ndevice\n%bK\1\x86R",
        b"ctorch.serialization\n_get_layout\n%b\x85R",
        b"%bQ",
        b"ctorch\nSize\n%b\x85R",
    ],
)
def test_nothing_prints_or_hashes_pairs_of_pairs(call):
    # t0 = (), t[n + 1] = (t[n], t[n]): its text has 2**100 brackets.
    pairs = b")q\0" + b"h\0h\0\x86q\0" * 100
    with pytest.raises(EXPECTED):
        read(archive(data_pkl=frame(call % pairs)))


def test_types_themselves_are_data():
    out = io.BytesIO()
    save([dict, int, set, {"factory": list}], out, arrays="numpy")
    assert read(out.getvalue()) == [dict, int, set, {"factory": list}]


def test_one_storage_as_many_tensors_is_widened_once():
    head, tail = tensor_pickle(stride=(0,), size=(10**12,)).replace(b"FloatStorage", b"BFloat16Storage")[:-1], b"."
    out = read(archive(data_pkl=head + tail, data__0=bytes(8)))
    assert out.shape == (10**12,) and out[5] == 0


def test_an_exponential_or_endless_list_of_names_is_refused():
    pairs = b"]q\0" + b"](h\0h\0eq\0" * 60
    with pytest.raises(FileFormatError, match="in so many ways"):
        inspect(archive(data_pkl=frame(pairs)))
    with pytest.raises(FileFormatError, match="nested more than 500 deep"):
        inspect(archive(data_pkl=b"\x80\x02" + b"]" * 2000 + b"a" * 1999 + b"."))
    assert inspect(archive(data_pkl=frame(b"]q\0h\0a"))) == []


def test_views_that_repeat_their_elements_are_not_written_out(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(archive(data_pkl=tensor_pickle(stride=(0,), size=(10**10,)), data__0=bytes(16)))
    with pytest.raises(FileFormatError, match="views that repeat their elements"):
        convert(path, tmp_path / "b.safetensors")
    assert not (tmp_path / "b.safetensors").exists()


def test_conjugated_views_that_repeat_their_elements_are_refused(data):
    with zipfile.ZipFile(data / "conjugate.pt") as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    body = next(name for name in records if name.endswith("data.pkl"))
    size, stride = pickle.dumps((2, 2), 2)[2:-3], pickle.dumps((2, 1), 2)[2:-3]
    assert records[body].count(size) and records[body].count(stride)
    wide = b"J\xff\xff\xff\x7fK\x02\x86"
    records[body] = records[body].replace(size, wide).replace(stride, b"K\0K\1\x86")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in records.items():
            archive.writestr(name, content)
    for arrays in ("numpy", None):
        with pytest.raises((FileFormatError, CorruptPickleError), match="take more room than all of the file"):
            load(out.getvalue(), arrays=arrays)


def test_a_pointer_of_git_lfs_is_named():
    with pytest.raises(FileFormatError, match="git lfs pull"):
        load(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
