"""Tensors that are read in one step: the same calls, with the same arguments, as opcode by opcode."""

import pytest
from torch.serialize import CorruptPickleError
from torch.serialize._arrays.adapters import Adapter
from torch.serialize._arrays.dtypes import ELEMENT_TYPES
from torch.serialize._pickles.pickler import Pickler
from torch.serialize._pickles.tensor_calls import TensorCalls
from torch.serialize._pickles.unpickler import DataUnpickler

SHAPES = {  # size: stride
    (): (),
    (3,): (1,),
    (256, 65536): (65536, 1),
    (2, 0, 3): (0, 3, 1),
    (2, 3, 4, 5): (60, 20, 5, 1),
    (1,) * 64: (1,) * 64,
    (3, 70000): (-1, 1),
}


class Named(Adapter):
    """Writes (dtype, nbytes, offset, size, stride, requires_grad) as the tensor it describes."""

    def write(self, pickler, obj):
        name, *rest = obj.described
        row = ELEMENT_TYPES[name]
        self.tensor(pickler, len(self.storages), row, row, "cpu", *rest)
        self.storages.append(obj)
        pickler.write(pickler.memoize(obj))
        return True


class Described:
    def __init__(self, *described):
        self.described = described


def many():
    return [
        Described(name, 1 << 20 << scale, offset, size, stride, grad)
        for name in ("float32", "int64")
        for scale in (0, 8)
        for offset in (0, 300, 1 << 20)
        for size, stride in SHAPES.items()
        for grad in (False, True)
    ]


def read(data):
    """What the names of a pickle were called with, and what stood for storages."""
    asked = []

    def find(module, name):
        def call(*args):
            asked.append((name, args))
            return name

        return call

    def storage(pid):
        asked.append((*pid[:1], *pid[2:]))
        return pid[2]

    DataUnpickler(data, find, storage).load()
    return asked


def test_a_tensor_read_in_one_step_is_the_one_that_its_opcodes_make(monkeypatch):
    tensors = many()
    data = Pickler(Named()).dumps(tensors)
    found = []
    at = TensorCalls.at
    monkeypatch.setattr(TensorCalls, "at", staticmethod(lambda *args: found.append(at(*args)) or found[-1]))
    at_once = read(data)
    assert sum(match is not None for match in found) == len(tensors) - 2  # names are in full in the first of a type
    monkeypatch.setattr(TensorCalls, "at", staticmethod(lambda *args: None))
    assert at_once == read(data)
    last = tensors[-1].described
    assert at_once[-1] == ("_rebuild_tensor_v2", (str(len(tensors) - 1), *last[2:], "OrderedDict"))


def call(key=b"X\2\0\0\x0017", numel=b"K\3", size=b"K\3\x85", stride=b"K\1\x85", grad=b"\x89"):
    names = b"\x80\2X\7\0\0\0storageq\0cf\nf\nq\1X\3\0\0\0cpuq\2h\1"
    return names + b"((h\0h\1" + key + b"h\2" + numel + b"tQK\0" + size + stride + grad + b"h\1)RtR."


def test_the_plain_call_of_these_tests_is_read_in_one_step():
    assert TensorCalls.at(call(), call().index(b"((") + 1)
    assert read(call())[-1] == ("f", ("17", 0, (3,), (1,), False, "f"))


@pytest.mark.parametrize(
    "stream",
    [
        call(key=b"X\1\0\0\x0017"),
        call(key=b"X\3\0\0\x0017"),
        call(size=b"K\3\x86"),
        call(stride=b"N"),
        call(numel=b"N"),
        call(grad=b"N"),
        call(key=b"X\1\0\0\0w"),
    ],
)
def test_what_is_almost_such_a_call_goes_opcode_by_opcode(stream):
    assert TensorCalls.at(stream, stream.index(b"((") + 1) is None


def test_numbers_of_a_call_are_not_taken_for_opcodes():
    stream = call(numel=b"JtQ(K", size=b"M)R\x85")
    assert read(stream)[0] == ("storage", "17", "cpu", int.from_bytes(b"tQ(K", "little"))
    assert read(stream)[-1][1][2] == (int.from_bytes(b")R", "little"),)


def test_only_what_a_name_stands_for_is_called_in_one_step_too():
    for stream in (call().replace(b"q\2h\1((", b"q\2h\0(("), call().replace(b"h\1)RtR.", b"h\0)RtR.")):
        with pytest.raises(CorruptPickleError, match="it calls an object of type str"):
            read(stream)
