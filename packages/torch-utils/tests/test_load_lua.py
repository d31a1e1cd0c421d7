"""Files of Lua Torch: values and sharing come back, damage is told."""

import struct

import pytest
import torch
from torch.utils.serialization import LuaFunction, T7ReaderException, TorchObject, load_lua


class Writer:
    """Writes objects as Lua does."""

    def __init__(self, long="q"):
        self.data = b""
        self.long = long
        self.count = 0

    def ints(self, *values):
        self.data += struct.pack(f"<{len(values)}i", *values)
        return self

    def longs(self, *values):
        self.data += struct.pack(f"<{len(values)}{self.long}", *values)
        return self

    def text(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.ints(len(data)).data += data
        return self

    def number(self, value):
        self.ints(1).data += struct.pack("<d", value)
        return self

    def string(self, text):
        return self.ints(2).text(text)

    def begin(self, tag, *rest):
        self.count += 1
        return self.ints(tag, self.count, *rest)

    def object(self, name):
        return self.begin(4).text("V 1").text(name)

    def storage(self, name, form, *values):
        self.object(f"torch.{name}Storage").longs(len(values)).data += struct.pack(f"<{len(values)}{form}", *values)
        return self


@pytest.fixture
def read(tmp_path):
    def load(writer, **kwargs):
        (tmp_path / "a.t7").write_bytes(writer if isinstance(writer, bytes) else writer.data)
        return load_lua(tmp_path / "a.t7", **kwargs)

    return load


def test_plain_values(read):
    assert read(Writer().ints(0)) is None
    assert read(Writer().ints(5, 1)) is True and read(Writer().ints(5, 0)) is False
    whole, half = read(Writer().number(3)), read(Writer().number(0.5))
    assert (whole, type(whole), half) == (3, int, 0.5)
    assert type(read(Writer().number(3), int_heuristic=False)) is float
    assert read(Writer().number(float("inf"))) == float("inf")
    assert read(Writer().string("naïve")) == "naïve" and read(Writer().string(b"\xff")) == b"\xff"


def test_tables_become_lists_and_dicts(read):
    table = Writer().begin(3, 2).number(1).string("a").number(2).string("b")
    assert read(table) == ["a", "b"]
    assert read(table, list_heuristic=False) == {1: "a", 2: "b"}
    assert read(Writer().begin(3, 2).number(1).string("a").string("n").number(2)) == {1: "a", "n": 2}
    assert read(Writer().begin(3, 1).begin(3, 1).number(1).number(5).number(7)) == {(5,): 7}


def test_a_table_may_hold_itself_and_another_twice(read):
    loop = read(Writer().begin(3, 1).number(1).ints(3, 1))
    assert loop[1] is loop
    writer = Writer().begin(3, 2).number(1).begin(3, 1).number(1).string("a")
    first, second = read(writer.number(2).ints(3, 2))
    assert first is second and first == ["a"]


@pytest.mark.parametrize(
    ("name", "form", "dtype"),
    [("Byte", "B", torch.uint8), ("Char", "b", torch.int8), ("Short", "h", torch.int16), ("Int", "i", torch.int32),
     ("Long", "q", torch.int64), ("Half", "e", torch.float16), ("Float", "f", torch.float32),
     ("Double", "d", torch.float64), ("Cuda", "f", torch.float32), ("CudaLong", "q", torch.int64)],
)  # fmt: skip
def test_tensors_are_views_of_their_storage(read, name, form, dtype):
    writer = Writer().object(f"torch.{name}Tensor").ints(2).longs(3, 2, 1, 3, 2)  # transposed, from the second element
    tensor = read(writer.storage(name, form, *range(7)))
    assert tensor.dtype == dtype and tensor.stride() == (1, 3)
    assert tensor.tolist() == [[1, 4], [2, 5], [3, 6]]


def test_two_tensors_share_a_storage(read):
    writer = Writer().begin(3, 2).number(1).object("torch.FloatTensor").ints(1).longs(2, 1, 1)
    writer.storage("Float", "f", 1, 2).number(2).object("torch.FloatTensor").ints(1).longs(2, 1, 1).ints(4, 3)
    first, second = read(writer)
    first[0] = 5
    assert second.tolist() == [5, 2]


def test_empty_tensors_and_short_longs(read):
    empty = read(Writer().object("torch.DoubleTensor").ints(0).longs(1).ints(0))
    assert empty.shape == (0,) and empty.dtype == torch.float64
    short = Writer("i").object("torch.FloatTensor").ints(1).longs(2, 1, 1).storage("Float", "f", 1, 2)
    assert read(short, long_size=4).tolist() == [1, 2]
    with pytest.raises(ValueError, match="long_size must be 4 or 8, not 2"):
        read(short, long_size=2)


def test_objects_of_other_classes_are_read_when_asked(read):
    writer = Writer().object("nn.Linear").begin(3, 1).string("train").ints(5, 1)
    with pytest.raises(
        T7ReaderException, match=r"a\.t7 at byte \d+: an object of class nn.Linear.*unknown_classes=True"
    ):
        read(writer)
    made = read(writer, unknown_classes=True)
    assert isinstance(made, TorchObject) and made.torch_typename() == "nn.Linear" and made.train is True
    with pytest.raises(AttributeError, match="class nn.Linear has no field 'weight'"):
        made.weight
    first_days = Writer().begin(4).text("nn.Old").ints(0)
    assert read(first_days, unknown_classes=True).torch_typename() == "nn.Old"


@pytest.mark.parametrize("tag", [7, 8])
def test_functions_are_kept_and_not_run(read, tag):
    function = read(Writer().begin(tag).text(b"\x1bLua").begin(3, 1).number(1).number(2))
    assert isinstance(function, LuaFunction) and (function.dumped, function.upvalues) == (b"\x1bLua", [2])


def test_every_shorter_file_is_an_error(read):
    writer = Writer().begin(3, 1).string("x").object("torch.FloatTensor").ints(1).longs(2, 1, 1)
    data = writer.storage("Float", "f", 1, 2).data
    assert read(data)["x"].tolist() == [1, 2]
    for size in range(len(data)):
        with pytest.raises(T7ReaderException):
            read(data[:size])


def test_a_changed_byte_gives_an_error_or_other_values(read):
    writer = Writer().begin(3, 2).string("x").object("torch.FloatTensor").ints(1).longs(2, 1, 1)
    data = writer.storage("Float", "f", 1, 2).string("n").number(3).data
    refused = 0
    for place in range(len(data)):
        for change in (0x01, 0x80, 0xFF):
            try:
                read(data[:place] + bytes([data[place] ^ change]) + data[place + 1 :])
            except T7ReaderException:
                refused += 1
    assert refused > len(data) / 2


def test_damage_is_told(read):
    with pytest.raises(
        T7ReaderException, match="1347109700 is not the tag of an object .is it a file of Lua's torch.save"
    ):
        read(b"DCKP" * 4)
    with pytest.raises(T7ReaderException, match=r"\d+ bytes are announced and 0 are left"):
        read(Writer().object("torch.FloatStorage").longs(1 << 60))
    with pytest.raises(T7ReaderException, match="-5 bytes are announced"):
        read(Writer().ints(2, -5))
    with pytest.raises(T7ReaderException, match="a table of -1 pairs"):
        read(Writer().begin(3, -1))
    with pytest.raises(T7ReaderException, match="a tensor of -1 dims"):
        read(Writer().object("torch.FloatTensor").ints(-1))
    outside = Writer().object("torch.FloatTensor").ints(1).longs(9, 1, 1).storage("Float", "f", 1, 2)
    with pytest.raises(T7ReaderException, match="at byte"):
        read(outside)
    other = Writer().object("torch.FloatTensor").ints(1).longs(1, 1, 1).storage("Double", "d", 1)
    with pytest.raises(T7ReaderException, match="a tensor of torch.float32 over TypedStorage"):
        read(other)
    deep = Writer()
    for _ in range(5000):
        deep.begin(3, 1).number(1)
    with pytest.raises(T7ReaderException, match="nested too deep"):
        read(deep)


def test_a_key_may_be_a_short_table_of_plain_values(read):
    pair = Writer().begin(3, 1).begin(3, 2).number(1).number(7).number(2).string("b").number(5)
    assert read(pair) == {(7, "b"): 5}
    long = Writer().begin(3, 1).begin(3, 1001)
    for i in range(1001):
        long.number(i + 1).number(0)
    with pytest.raises(T7ReaderException, match="a table of 1001 elements as a key"):
        read(long.number(5))
    with pytest.raises(T7ReaderException, match="a table of 1 elements as a key"):
        read(Writer().begin(3, 1).begin(3, 1).number(1).begin(3, 1).number(1).number(1).number(5))
