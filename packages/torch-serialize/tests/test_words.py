"""What the words of a file may be given and what comes of them: nothing of the file's is run, shared or trusted."""

import collections
import io
import pickle
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import torch
from torch.serialize import (
    CorruptPickleError,
    FileFormatError,
    get_default_load_expansion,
    load,
    save,
    set_default_load_expansion,
)
from torch.serialize._errors import brief
from torch.serialize._pickles.words import KINDS, PLAIN, TABLE, Word

REFUSED = (FileFormatError, CorruptPickleError)
has_tensors = pytest.mark.skipif(not hasattr(torch, "Tensor"), reason="torch-core is not installed")


def name(full):
    module, _, word = full.rpartition(".")
    return f"c{module}\n{word}\n".encode()


def long(value):
    return b"\x8a\x08" + struct.pack("<q", value)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def archive(body, *storages):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02" + body + b".")
        for i, data in enumerate(storages):
            file.writestr(f"a/data/{i}", data)
    return out.getvalue()


V2 = name("torch._utils._rebuild_tensor_v2")


def arguments(kind="Float", key="0", numel=1, size=(1,), stride=(1,)):
    place = b"(" + text("storage") + name(f"torch.{kind}Storage") + text(key) + text("cpu") + long(numel) + b"tQ"
    dims = b"".join(b"(" + b"".join(map(long, numbers)) + b"t" for numbers in (size, stride))
    return b"(" + place + long(0) + dims + b"\x89" + name("collections.OrderedDict") + b")Rt"


def tensor(**geometry):
    return V2 + arguments(**geometry) + b"R"


def sparse(indices, values, size=(4,), coalesced=b"\x89"):
    dims = b"(" + b"".join(map(long, size)) + b"t"
    layout = name("torch.serialization._get_layout") + text("torch.sparse_coo") + b"\x85R"
    return name("torch._utils._rebuild_sparse_tensor") + layout + b"(" + indices + values + dims + coalesced + b"t\x86R"


DTYPE_STATE = b"(K\3" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
DTYPE = name("numpy.dtype") + text("f4") + b"\x89\x88\x87Rq\6" + DTYPE_STATE
ARRAY = name("numpy.core.multiarray._reconstruct") + name("numpy.ndarray") + b"K\0\x85C\1b\x87R"
ARRAY_STATE = b"(K\1K\4\x85h\6\x89C\x10" + bytes(16) + b"tb"


@pytest.mark.parametrize("word", [row[0] for row in TABLE])
def test_every_word_takes_what_the_table_says_and_refuses_an_object_of_another_kind(word):
    takes = next(row[1] for row in TABLE if row[0] == word)
    kinds = [part.strip("[]").split("|") for part in takes.split() if part not in ("-", "...")]
    strange = b"cbuiltins\ncomplex\nG" + struct.pack(">d", 1.5) + b"\x85R"  # a kind that no word takes
    for place in range(len(kinds) + 1):
        call = name(word) + b"(" + strange * place + b"tR"
        required = sum(not part.startswith("[") for part in takes.split())
        if takes != "..." and (place or required) and set(kinds[0] if kinds else ["-"]) != {"any"}:
            with pytest.raises(CorruptPickleError, match="it gives|it calls"):
                load(archive(call))
    with pytest.raises((CorruptPickleError, NotImplementedError)):
        load(archive(name(word) + b"(" + strange * 12 + b"tR"))


def test_what_is_no_type_stands_in_the_object_as_a_word_that_cannot_be_called():
    out = load(archive(b"(" + V2 + name("builtins.getattr") + name("_codecs.encode") + b"t"))
    assert [type(word) for word in out] == [Word] * 3 and not any(map(callable, out))
    assert repr(out[0]) == "<torch._utils._rebuild_tensor_v2>"
    assert load(archive(b"(" + name("builtins.dict") + name("numpy.ndarray") + b"t")) == (dict, np.ndarray)


def test_an_array_and_a_dtype_get_their_state_once():
    assert load(archive(DTYPE + b"0" + ARRAY + ARRAY_STATE)).tolist() == [0.0] * 4
    with pytest.raises(FileFormatError, match="the state of a NumPy ndarray that is complete is set once more"):
        load(archive(DTYPE + b"0" + ARRAY + ARRAY_STATE + ARRAY_STATE))
    with pytest.raises(FileFormatError, match="that is complete is set once more"):
        load(archive(DTYPE + DTYPE_STATE))


def test_the_dtypes_of_numpy_itself_are_not_changed():
    for word in ("Float32DType", "Int64DType"):
        with pytest.raises(FileFormatError, match="that is complete is set once more"):
            load(archive(name(f"numpy.dtypes.{word}") + b")R" + DTYPE_STATE.replace(b"<", b">")))
    assert np.dtype("f4").isnative


def test_a_dtype_keeps_its_own_flags_and_size():
    # Flags of objects on numbers would have NumPy follow them as pointers.
    state = b"(K\3" + text("<") + b"NNN" + long(64) + long(64) + long(0x3F) + b"tb"
    dtype = load(archive(name("numpy.dtype") + text("f4") + b"\x89\x88\x87R" + state))
    assert dtype == np.dtype("f4") and dtype.flags == 0 and dtype.itemsize == 4


@pytest.mark.parametrize("state", [
    b"(K\1K\5\x85h\6\x89C\x10" + bytes(16) + b"tb", b"(K\1" + long(-4) + b"\x85h\6\x89C\x10" + bytes(16) + b"tb",
    b"(K\1K\4\x85N\x89C\x10" + bytes(16) + b"tb", b"(K\1K\4\x85h\6\x89]tb", b"]b", b"(K\1h\6h\6\x89C\0tb",
])  # fmt: skip
def test_an_array_has_as_many_bytes_as_its_shape_and_type_say(state):
    with pytest.raises(FileFormatError, match="a NumPy array"):
        load(archive(DTYPE + b"0" + ARRAY + state))


def test_arrays_are_made_of_bytes_of_their_own():
    raw = b"C" + bytes([200]) + bytes(200)
    big = b"B" + struct.pack("<I", 4000) + bytes(4000)
    for data, count in ((raw, 50), (big, 1000)):
        state = b"(K\1" + long(count) + b"\x85h\6\x89h\x07tb"
        out = load(archive(b"(" + data + b"q\7" + DTYPE + ARRAY + state + ARRAY + state + b"t"))
        out[2][:] = 7
        assert out[0] == bytes(4 * count) and not out[3].any()


@has_tensors
def test_a_tensor_made_of_an_array_has_memory_of_its_own():
    array = (
        name("numpy.core.numeric._frombuffer") + b"(C\x10" + bytes(16) + b"q\7" + DTYPE + b"K\4\x85" + text("C") + b"tR"
    )
    call = name("torch._utils._rebuild_device_tensor_from_numpy") + b"(h\x08N" + text("cpu") + b"\x89tR"
    array, made, raw = load(archive(b"(" + array + b"q\x08" + call + b"h\7t"))
    made[:] = 7
    assert raw == bytes(16) and not array.any() and not array.flags.writeable


@pytest.mark.parametrize(("value", "spelt"), [
    (np.array(["2020-01-01"], "M8[ns]"), "datetime64[ns]"), (np.array([3], "m8[5us]"), "timedelta64[5us]"),
    (np.datetime64("2020-01", "M"), "datetime64[M]"), (np.dtype("m8[h]"), "timedelta64[h]"),
])  # fmt: skip
def test_dates_keep_their_unit(value, spelt):
    for protocol in range(2, 6):
        back = load(pickle.dumps(value, protocol), arrays="numpy")
        assert str(getattr(back, "dtype", back)) == spelt and np.array_equal(back, value)


def test_a_plain_pickle_may_hold_an_array():
    for value in (
        np.arange(3),
        np.array(["ab"], ">U2"),
        np.zeros((0, 3)),
        np.asfortranarray(np.eye(3)),
        np.arange(3.0)[::-1],
    ):
        for protocol in range(2, 6):
            raw = pickle.dumps(value, protocol)
            back, wanted = load(raw, arrays="numpy"), pickle.loads(raw)
            assert np.array_equal(back, wanted) and back.dtype == wanted.dtype
            assert not back.size or back.strides == wanted.strides


def test_a_plain_pickle_cannot_name_storages_whose_bytes_it_has_not():
    with pytest.raises(FileFormatError, match="names storages and does not hold them"):
        load(b"\x80\x02" + tensor() + b"." + bytes(64))


@pytest.mark.parametrize("hidden", ["items", "keys", "__class__", "move_to_end", "__dict__"])
def test_attributes_do_not_hide_methods_of_a_dict(hidden):
    with pytest.raises(FileFormatError, match="would hide what every OrderedDict has"):
        load(archive(name("collections.OrderedDict") + b")R}" + text(hidden) + b"Nsb"))
    assert load(archive(name("collections.OrderedDict") + b")R}" + text("_metadata") + b"Nsb"))._metadata is None


@has_tensors
def test_attributes_do_not_hide_or_set_what_a_tensor_has():
    head = name("torch._tensor._rebuild_from_type_v2") + b"(" + V2 + name("torch.Tensor") + arguments()
    for hidden in dir(torch.Tensor):
        with pytest.raises(FileFormatError, match="would hide what every Tensor has"):
            load(archive(head + b"}" + text(hidden) + b"NstR", bytes(4)))
    assert load(archive(head + b"}" + text("scale") + b"K\7stR", bytes(4))).scale == 7


@has_tensors
def test_the_indices_of_a_sparse_tensor_belong_to_it_and_are_looked_at():
    indices = tensor(kind="Long", numel=2, size=(1, 2), stride=(2, 1)) + b"q\x20"
    values = tensor(key="1", numel=2, size=(2,))
    raw = struct.pack("<2q", 1, 3)
    made, plain = load(archive(b"(" + sparse(indices, values) + b"h\x20t", raw, bytes(8)))
    plain.fill_(1 << 40)
    assert made._indices().tolist() == [[1, 3]] and made.to_dense().tolist() == [0.0] * 4
    with pytest.raises(RuntimeError, match="1099511627776"):
        load(archive(sparse(indices, values), struct.pack("<2q", 1, 1 << 40), bytes(8)))
    for order, coalesced in (((1, 3), True), ((3, 1), False), ((2, 2), False)):  # whatever the file says of it
        claimed = load(archive(sparse(indices, values, coalesced=b"\x88"), struct.pack("<2q", *order), bytes(8)))
        assert claimed.is_coalesced() is coalesced


@has_tensors
@pytest.mark.parametrize("format", ["zip", "stream"])
def test_sparse_tensors_come_back_from_every_format(format):
    out = io.BytesIO()
    wanted = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).coalesce()
    save([wanted, torch.ones(3)], out, format=format)
    back, ones = load(out.getvalue())
    assert back.is_coalesced() and back.to_dense().tolist() == wanted.to_dense().tolist() and ones.sum() == 3


def timed(raw, **options):
    begin = time.process_time()
    with pytest.raises((*REFUSED, RuntimeError)) as info:
        load(raw, **options)
    assert time.process_time() - begin < 5
    return str(info.value)


@has_tensors
def test_a_small_file_with_a_large_sparse_tensor_is_refused_and_the_limit_is_named():
    many = 1 << 28
    raw = archive(
        sparse(tensor(kind="Long", numel=2, size=(1, many), stride=(1, 0)), tensor(key="1", size=(many,), stride=(0,))),
        bytes(16),
        bytes(4),
    )
    said = timed(raw)
    assert "its sparse tensors take more room" in said and "the limit is 4.0 times its" in said
    assert "torch.serialization.set_default_load_expansion(8)" in said


@pytest.mark.parametrize("body", [
    name("numpy.ndarray") + long(1 << 28) + b"\x85" + text("O") + b"\x86R",
    name("torch.Tensor") + long(1 << 34) + b"\x85R",
    name("torch.Tensor") + long(1 << 34) + b"\x85\x81",
    name("torch.nn.parameter.Parameter") + long(1 << 34) + b"\x85R",
    name("builtins.bytearray") + long(1 << 34) + b"\x85R",
    name("builtins.bytes") + long(1 << 34) + b"\x85R",
    name("builtins.list") + tensor(size=(1 << 40,), stride=(0,)) + b"\x85R",
    V2 + b"(" + tensor(size=(1 << 40,), stride=(0,)) + b"t0K\0" + tensor(size=(1 << 40,), stride=(0,)) + b"\x86R",
    name("numpy.core.numeric._frombuffer") + b"(C\0" + name("numpy.dtype") + text("S0") + b"\x89\x88\x87R" + long(1 << 40) + b"\x85"
    + text("C") + b"tR",
    name("collections.Counter") + b"]" + b"\x85R",
])  # fmt: skip
def test_no_call_takes_memory_by_a_number(body):
    timed(archive(body, bytes(4)))


def test_keys_of_one_hash_are_refused_before_they_take_long():
    times = 1000003  # hash(complex) is hash(real) + 1000003 * hash(imag)
    keys = [complex(times * i, -i) for i in range(1, 500)]
    assert len(set(map(hash, keys))) < 3
    number = name("builtins.complex") + b"q\0"
    body = [b"h\0G" + struct.pack(">d", key.real) + b"G" + struct.pack(">d", key.imag) + b"\x86R" for key in keys]
    assert "keys of one hash" in timed(archive(number + b"0}(" + b"N".join(body) + b"Nu"))
    assert "keys of one hash" in timed(
        archive(number + b"0" + name("builtins.set") + b"(" + b"".join(body) + b"t\x85R")
    )
    same = archive(number + b"0(" + b"".join(b"}" + body[0] + b"Ns" for _ in range(500)) + b"t")
    assert len(load(same)) == 500


def test_long_keys_are_compared_only_as_often_as_the_file_is_long():
    key = "k" * 1_000_000
    raw = archive(text(key) + b"q\0" + text(key) + b"q\1" + b"}h\0Ns(" + b"h\1N" * 50_000 + b"u")
    assert "calls copy far more" in timed(raw)


def test_numbers_of_millions_of_digits_are_neither_multiplied_nor_printed():
    huge = b"\x8b" + struct.pack("<I", 10**7) + b"\x7f" * 10**7
    assert load(archive(huge + b"0N")) is None
    assert brief(1 << 300) == "<int of 301 bits>"
    place = b"(" + text("storage") + name("torch.FloatStorage") + text("0") + text("cpu")
    timed(archive(place + huge + b"tQ"))
    timed(archive(V2 + b"(" + place + b"K\1tQ" + huge + b"(K\1t(K\1t\x89NtR", bytes(4)))
    timed(archive(name("torch.Size") + huge + b"\x85\x85R"))


CHAINS = """
import collections, sys
from torch.serialize import load
import test_words as words
word, step = {"deque": ("collections.deque", b"h\\0)R"), "defaultdict": ("collections.defaultdict", b"Nh\\0)R")}[sys.argv[1]]
close = {"deque": b"a", "defaultdict": b"s"}[sys.argv[1]]
n = int(sys.argv[2])
made = load(words.archive(words.name(word) + b"q\\0)R" + step * n + close * n))
del made
print("freed")
"""


@pytest.mark.parametrize("kind", ["deque", "defaultdict"])
def test_chains_that_python_frees_by_recursion_are_short(kind):
    def run(length):
        path = __file__.rpartition("/")[0]
        code = f"import sys; sys.path.insert(0, {path!r})\n{CHAINS}"
        return subprocess.run(
            [sys.executable, "-c", code, kind, str(length)], capture_output=True, text=True, timeout=120
        )

    assert run(1000).stdout.strip() == "freed"
    done = run(200_000)
    assert done.returncode == 1 and "deques and defaultdicts within deques and defaultdicts" in done.stderr


def test_nested_data_of_other_kinds_is_freed_however_deep():
    deep = 200_000
    for body in (b"N" + b"\x85" * deep, b"]" * deep + b"a" * (deep - 1), b"}" + b"N}" * deep + b"s" * deep):
        load(archive(body))
    odict = name("collections.OrderedDict") + b"q\0)R" + text("a") + b"q\0010" + b"h\0)R" * 3
    assert isinstance(load(archive(odict + b"}h\1Nsb")), collections.OrderedDict)


def test_the_limit_can_be_raised_for_a_block_and_is_checked():
    raw = archive(b"]q\0(" + b"K\1" * 5000 + b"e0(" + (name("builtins.list") + b"h\0\x85R") * 400 + b"l")
    with pytest.raises(CorruptPickleError, match=r"calls copy far more .*set_default_load_expansion\(8\)"):
        load(raw)
    with set_default_load_expansion(200):
        assert get_default_load_expansion() == 200.0 and len(load(raw)) == 400
    assert get_default_load_expansion() == 4.0
    for wrong in (0, -1, "4", float("nan"), 1 << 20):
        with pytest.raises(ValueError, match="expected a number from 1 to"):
            set_default_load_expansion(wrong)


def test_every_kind_of_the_table_is_known():
    here = set(KINDS) | {
        "storage",
        "tensor",
        "array",
        "dtype",
        "layout",
        "sparse",
        "quantizer",
        "function",
        "ndarray",
        "npdtype",
    }
    for _, takes, makes, _ in TABLE:
        assert makes and {kind for part in takes.split() for kind in part.strip("[]").split("|")} <= here | {"-", "..."}
    assert len({row[0] for row in TABLE}) == len(TABLE) and set(PLAIN) < {row[0] for row in TABLE}
