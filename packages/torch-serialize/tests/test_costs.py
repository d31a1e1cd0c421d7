"""What a small file can make the reader do: time and memory stay within a multiple of the file's size."""

import collections
import importlib.util
import io
import json
import pathlib
import pickle
import random
import struct
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch
from torch.serialize import FileFormatError, get_unsafe_globals_in_checkpoint, inspect, load
from torch.serialize._pickles import rules
from torch.serialize._pickles.words import TABLE

REFUSED = (RuntimeError, pickle.UnpicklingError)
MOST = 500  # bytes of memory for a byte of the file: an empty set of one opcode takes 216
has_tensors = pytest.mark.skipif(not hasattr(torch, "Tensor"), reason="torch-core is not installed")


def name(full):
    module, _, word = full.rpartition(".")
    return f"c{module}\n{word}\n".encode()


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def long(value):
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a%c%b" % (len(raw), raw)


def block(raw):
    return b"B" + struct.pack("<I", len(raw)) + raw


def archive(body, *storages, **others):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02" + body + b".")
        for i, data in enumerate(storages):
            file.writestr(f"a/data/{i}", data)
        for record, data in others.items():
            file.writestr(f"a/{record.replace('__', '.')}", data)
    return out.getvalue()


LONG_PICKLE = block(bytes(500_000)) + b"0"  # what a call may copy grows with the pickle


def tensor(kind="Float", size=(1,), stride=(1,), numel=1, id_end=b"", metadata=b""):
    place = (
        b"(" + text("storage") + name(f"torch.{kind}Storage") + text("0") + text("cpu") + long(numel) + id_end + b"tQ"
    )
    dims = b"".join(b"(" + b"".join(map(long, numbers)) + b"t" for numbers in (size, stride))
    rest = long(0) + dims + b"\x89" + name("collections.OrderedDict") + b")R" + metadata + b"t"
    return name("torch._utils._rebuild_tensor_v2") + b"(" + place + rest + b"R"


def stream(body, elements):
    """A file of 2018 with one storage, in little room: it may lie in another file."""
    head = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2)
    return head + b"\x80\x02" + body + b"." + pickle.dumps(["0"], 2) + struct.pack("<q", elements) + bytes(8 * elements)


def nested(inner, times):
    word = name("torch.storage._load_from_bytes") + b"q\1" + block(inner) + b"\x85q\2"
    return archive(LONG_PICKLE + b"(" + word + b"h\1h\2R" * times + b"t")


SAME_HASH = (1 << 61) - 1  # CPython's hash of a number is what it leaves over this prime
COPIED = "calls copy far more"
TWO = b"}(" + b"".join(b"h\1" + long(i) + b"\x86N" for i in range(500)) + b"uq\2\x85q\4"
TEXT = name("numpy.dtype") + text("U100000") + b"\x89\x88\x87Rq\1" + b"(K\3" + text("<") + b"NNN" + b"NNK\x08tb0"
LETTERS = name("numpy.core.multiarray.scalar") + b"h\1" + block(("a" * 100_000).encode("utf-32-le")) + b"\x86R"
COLLIDING = [b"(" + b"N" * 500 + b"".join(long(-1 - (i >> k & 1)) for k in range(6)) + b"t" for i in range(64)]

COSTLY = {
    "memo numbers of one hash": (b"N" + b"".join(b"p%d\n" % (i * SAME_HASH) for i in range(1, 3000)), "out of order"),
    "a negative memo number": (b"Np-1\n", "out of order"),
    "memo numbers far apart": (b"N" + b"".join(b"r" + struct.pack("<I", i << 10) for i in range(1, 3000)), "out of order"),
    "text of NumPy as keys": (TEXT + LETTERS + b"q\2" + LETTERS + b"q\3}h\2Ns" + b"h\3Ns" * 3000, COPIED),
    "a dict of long keys copied": (
        LONG_PICKLE + b"(" + b"N" * 985 + b"tq\1" + TWO + name("collections.OrderedDict") + b"q\3" + b"h\3h\4R0" * 2000,
        COPIED,
    ),
    "long keys of one hash": (
        LONG_PICKLE + b"}(" + b"N".join(COLLIDING) + b"Nu" + (COLLIDING[-1] + b"Ns") * 300,
        COPIED,
    ),
    "a long name": (text("m" * 2000) + text("a") + b"\x93", "a name of 2001 characters"),
}  # fmt: skip


@pytest.mark.parametrize("kind", COSTLY)
def test_what_takes_quadratic_time_is_refused(kind):
    body, said = COSTLY[kind]
    with pytest.raises(REFUSED, match=said):
        load(archive(body), arrays="numpy")


def test_names_of_any_length_are_refused_where_unknown_ones_are_listed_too():
    raw = archive(text("m" * 2000) + text("a") + b"\x93")
    for look in (inspect, get_unsafe_globals_in_checkpoint):
        with pytest.raises(REFUSED, match="a name of 2001 characters"):
            look(raw)


def colliding_numbers(bits=15):
    """Numbers that fill the places of a dict in the order in which it looks at them, and others that start there.

    A dict looks at place ``5 i + 1 + (hash >> 5 k)`` after place i (CPython Objects/dictobject.c).
    """
    mask = (1 << bits) - 1
    arc = [0]
    while len(arc) < mask * 15 // 32:
        arc.append((5 * arc[-1] + 1) & mask)
    place, late = {n: i for i, n in enumerate(arc)}, []
    for number in range(1 << bits, 1 << bits + 8):
        i, rest = number & mask, number
        while i in place and rest:
            rest >>= 5
            i = (5 * i + rest + 1) & mask
        if not rest and place.get(i, mask) < len(arc) // 4:
            late.append(number)
            if len(late) == mask * 5 // 32:
                break
    return arc + late


@pytest.mark.parametrize("how", ["dict", "set", "frozenset", "dict of pairs", "set of a list"])
def test_numbers_that_collide_are_refused_and_others_are_not(how, monkeypatch):
    monkeypatch.setattr(rules, "_SECONDS", 0.0)
    # Sets look at other places than dicts: for them any number is too slow here.
    monkeypatch.setattr(rules, "_SECONDS_PER_KEY", 2e-6 if "dict" in how else 1e-9)
    begin, join, end = {
        "dict": (b"}(", b"N", b"Nu"), "set": (b"\x8f(", b"", b"\x90"), "frozenset": (b"(", b"", b"\x91"),
        "dict of pairs": (name("builtins.dict") + b"((", b"Nt(", b"Ntl\x85R"), "set of a list": (name("builtins.set") + b"(", b"", b"l\x85R"),
    }[how]  # fmt: skip
    numbers = [b"J" + struct.pack("<i", n) for n in colliding_numbers()]
    with pytest.raises(REFUSED, match="they were chosen to collide"):
        load(archive(begin + join.join(numbers) + end), arrays="numpy")
    monkeypatch.undo()
    some = [b"J" + struct.pack("<i", 7919 * n) for n in range(20_000)]
    assert len(load(archive(begin + join.join(some) + end), arrays="numpy")) == 20_000


def test_a_file_within_a_file_spends_what_that_one_has():
    copies = b"((" + b"N" * 560 + b"tq\1\x85q\2" + name("builtins.list") + b"q\3" + b"h\3h\2R" * 110 + b"t"
    with pytest.raises(REFUSED, match=COPIED):
        load(nested(b"\x80\x02" + copies + b".", 400), arrays="numpy")
    views = tensor("ComplexFloat", (8000,), (0,), id_end=b"N", metadata=b"}" + text("conj") + b"\x88s")
    with pytest.raises(REFUSED, match="conjugated and negated views take more room"):
        load(nested(stream(views, 1), 400), arrays="numpy")
    assert len(load(nested(stream(tensor(id_end=b"N", numel=2, kind="Double"), 2), 40), arrays="numpy")) == 42


def module(attributes):
    return name("__torch__.M") + b")\x81}(" + attributes + b"ub"


def test_names_of_nested_modules_are_paid_for():
    end = b"".join((b"X\1\0\0\0ah\2", b"ub")) * 200
    chain = (name("__torch__.M") + b")\x81}(h\1") * 200
    raw = archive(
        text("s" * 100_000) + b"q\1" + tensor() + b"q\2" + chain + module(b"h\1h\2") + end, bytes(4), constants__pkl=b""
    )
    with pytest.raises(REFUSED, match="the names of its tensors take more room"):
        load(raw, arrays="numpy")
    inner = {"parameters": [{"name": "w", "tensorId": 0}]}
    for _ in range(60):
        inner = {"name": "s" * 5000, **inner, "submodules": [inner]}
    model = {"mainModule": inner, "tensors": [{"dims": [1], "strides": [1], "dataType": "FLOAT", "data": {"key": "w"}}]}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/model.json", json.dumps(model))
        file.writestr("a/w", bytes(4))
    with pytest.raises(REFUSED, match="the names of its tensors take more room"):
        load(out.getvalue(), arrays="numpy")


def test_modules_of_any_depth_without_state_or_with_strange_names_are_no_surprise():
    deep = (
        tensor()
        + b"q\2"
        + (name("__torch__.M") + b")\x81}(" + text("")) * 2000
        + module(text("a") + b"h\2")
        + b"ub" * 2000
    )
    assert list(load(archive(LONG_PICKLE * 8 + deep, bytes(4), constants__pkl=b""), arrays="numpy")) == [
        "." * 2000 + "a"
    ]
    assert load(archive(name("__torch__.M") + b"N\x85\x81", constants__pkl=b""), arrays="numpy") == {}
    with pytest.raises(FileFormatError, match=r"an attribute of a module has the name \(1,\)"):
        load(archive(module(b"K\1\x85" + tensor()), bytes(4), constants__pkl=b""), arrays="numpy")


@pytest.mark.parametrize(("field", "value"), [("dims", [1 << 70]), ("strides", [1 << 70]), ("offset", 1 << 70)])
def test_numbers_beyond_64_bits_in_a_model_are_refused(field, value):
    entry = {"dims": [1], "strides": [1], "dataType": "FLOAT", "data": {"key": "w"}, field: value}
    model = {"mainModule": {"parameters": [{"name": "w", "tensorId": 0}]}, "tensors": [entry]}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/model.json", json.dumps(model))
        file.writestr("a/w", bytes(4))
    with pytest.raises(FileFormatError, match="is 1180591620717411303424"):
        load(out.getvalue())


@pytest.mark.parametrize("size", [b"-1000", b"-1", b"+10", b"1_0", b"0o10", b"9"])
def test_a_tar_member_has_a_size_in_octal_digits(size):
    def member(called, digits):
        head = bytearray(512)
        head[: len(called)], head[124:136], head[156:157], head[257:262] = (
            called,
            digits.ljust(12, b"\0"),
            b"0",
            b"ustar",
        )
        return bytes(head)

    with pytest.raises(FileFormatError, match="tar member 'other' has no readable size"):
        load(member(b"sys_info", b"1") + b"N".ljust(512, b"\0") + member(b"other", size) + bytes(1024))


@pytest.mark.parametrize(
    "hidden", ["__array_interface__", "__array_struct__", "__cuda_array_interface__", "__anything__"]
)
def test_an_attribute_has_no_name_that_tells_a_library_an_address(hidden):
    wanted = (
        b"}("
        + text("data")
        + long(4096)
        + b"\x89\x86"
        + text("shape")
        + b"K\4\x85"
        + text("typestr")
        + text("|u1")
        + b"u"
    )
    state = b"}" + text(hidden) + wanted + b"s"
    with pytest.raises(FileFormatError, match=f"has the name '{hidden}', which is Python's own"):
        load(archive(name("collections.OrderedDict") + b")R" + state + b"b"))
    if hasattr(torch, "Tensor"):
        word = name("torch._utils._rebuild_parameter_with_state")
        with pytest.raises(FileFormatError, match="has the name|would hide"):
            load(archive(word + b"(" + tensor() + b"\x89}" + state + b"tR", bytes(4)))


@pytest.mark.parametrize("pad", range(9))
def test_an_array_may_begin_at_any_byte_of_its_record(pad, tmp_path):
    head = (repr({"descr": "<f8", "fortran_order": False, "shape": (3,)}) + " " * pad + "\n").encode()
    raw = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + np.arange(3.0).tobytes()
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("a.npy", raw)
    assert load(tmp_path / "a.npz")["a"].tolist() == load(raw).tolist() == [0.0, 1.0, 2.0]
    assert load(tmp_path / "a.npz", mmap=True)["a"].tolist() == [0.0, 1.0, 2.0]


# Every word, again and again

spec = importlib.util.spec_from_file_location("compose", pathlib.Path(__file__).parent / "fuzz" / "compose.py")
sys.path.insert(0, str(pathlib.Path(__file__).parent / "fuzz"))
compose = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compose)
sys.path.pop(0)


def memory_of(raw):
    """The most memory that reading a file takes, and what became of it."""
    tracemalloc.start()
    try:
        made = load(raw)
        native = {id(s): len(s) for s in storages_of(made)} if hasattr(torch, "Tensor") else {}
        outcome = "object"
    except REFUSED as e:
        made, native, outcome = None, {}, type(e).__name__
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak + sum(native.values()), outcome


def storages_of(made):
    tensors = [node for node in made if isinstance(node, torch.Tensor) and node.device.type == "cpu"]
    parts = [part for t in tensors for part in ((t._indices(), t._values()) if t.is_sparse else (t,))]
    return [part.untyped_storage() for part in parts]


@pytest.mark.parametrize("word", [row[0] for row in TABLE])
def test_a_word_that_is_called_again_and_again_takes_a_bounded_multiple_of_the_file(word):
    outcomes = collections.Counter()
    for seed in range(2):
        one = compose.Composer(random.Random(f"{word} {seed}"))
        body = b"\x80\x02(" + one.repeated(word, 1000) + b"t."
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            file.writestr("a/data.pkl", body)
            for key, size in enumerate(one.storages):
                file.writestr(f"a/data/{key}", bytes(size))
        peak, outcome = memory_of(out.getvalue())
        assert peak < MOST * len(out.getvalue()) + (1 << 20), (seed, outcome, peak, len(out.getvalue()))
        outcomes[outcome] += 1
    assert outcomes


def test_what_stands_for_the_scheme_of_a_quantized_tensor_is_not_made_a_text_of():
    twice = b"]q\xf0"
    for _ in range(200):  # lists that hold the one before twice: as a text 2 ** 200 brackets
        twice += b"](h\xf0h\xf0eq\xf0"
    storage = b"((" + text("storage") + name("torch.ByteStorage") + text("0") + text("cpu") + b"K\x01tQ"
    scale = b"G" + struct.pack(">d", 0.5)
    body = (
        name("torch._utils._rebuild_qtensor") + storage + b"K\x00K\x01\x85K\x01\x85(" + twice + scale + b"K\x00t\x89}tR"
    )
    with pytest.raises(pickle.UnpicklingError, match="_rebuild_qtensor .* as argument 5"):
        load(archive(body, b"\0"))


@pytest.mark.parametrize(
    "offset, size, stride, message",
    [
        (0, b"K\x09", b"K\x01", "(does not fit into a|reaches outside its) storage of 4 bytes"),
        (0, b"J\xff\xff\xff\x7f", b"K\x01", "(does not fit into a|reaches outside its) storage of 4 bytes"),
        (1, b"K\x02", b"K\x01", "begins at 1 with steps"),
        (0, b"K\x02", b"K\x02", r"with steps \(2,\), which none does"),
    ],
)
def test_integers_of_less_than_a_byte_lie_in_their_storage(offset, size, stride, message):
    storage = b"((" + text("storage") + name("torch.QUInt4x2Storage") + text("0") + text("cpu") + b"K\x04tQ"
    scheme = b"(" + name("torch.per_tensor_affine") + b"G" + struct.pack(">d", 0.5) + b"K\x00t"
    body = (
        name("torch._utils._rebuild_qtensor") + storage + b"K" + bytes([offset]) + size + b"\x85" + stride + b"\x85" + scheme
        + b"\x89" + name("collections.OrderedDict") + b")RtR"
    )  # fmt: skip
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=message):
        load(archive(body, bytes(4)))


def test_a_storage_of_less_than_bytes_makes_no_plain_tensor():
    storage = b"((" + text("storage") + name("torch.QUInt4x2Storage") + text("0") + text("cpu") + b"K\x04tQ"
    body = (
        name("torch._utils._rebuild_tensor_v2") + storage + b"K\x00K\x04\x85K\x01\x85\x89" + name("collections.OrderedDict") + b")RtR"
    )  # fmt: skip
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match="a plain tensor is made of a storage of quint4x2"):
        load(archive(body, bytes(4)))
