"""The safetensors format, both ways."""

import io
import json

import numpy as np
import pytest
from torch.serialize import FileFormatError, inspect, load, load_safetensors, save_safetensors


def written(tensors, **kwargs):
    out = io.BytesIO()
    save_safetensors(tensors, out, **kwargs)
    return out.getvalue()


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


KINDS = ["bool", "uint8", "int16", "float16", "float32", "int64", "uint64", "complex64"]


def test_every_type_and_shape_survives():
    tensors = {kind: np.arange(6).reshape(2, 3).astype(kind) for kind in KINDS}
    tensors |= {"zero_d": np.full((), 2.5), "empty": np.zeros((0, 4)), "strided": np.arange(12.0)[::3]}
    for reader in (load_safetensors, load):
        out = reader(written(tensors), arrays="numpy")
        assert {k: v.dtype for k, v in out.items()} == {k: v.dtype for k, v in tensors.items()}
        assert all(np.array_equal(out[k], tensors[k]) and out[k].shape == tensors[k].shape for k in tensors)


def test_the_header_says_where_each_tensor_lies():
    data = written({"b": np.ones(3, np.uint8), "a": np.ones(2, np.float32)}, metadata={"made": "here"})
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert header == {
        "__metadata__": {"made": "here"},
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [3], "data_offsets": [8, 11]},
    }
    assert (8 + size) % 8 == 0 and len(data) == 8 + size + 11


def test_a_file_can_be_mapped(tmp_path):
    path = tmp_path / "m.safetensors"
    save_safetensors({"w": np.arange(1000.0)}, path)
    out = load_safetensors(path, mmap=True, arrays="numpy")["w"]
    out[0] = 5
    assert np.array_equal(load(path, arrays="numpy")["w"], np.arange(1000.0))
    assert [t.name for t in inspect(path)] == ["w"]


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (raw(b"{broken}"), "not JSON"),
        (raw(b"[" * 5000), "header"),
        (raw({"a": ENTRY}, bytes(7)), "truncated or altered"),
        (raw({"a": ENTRY}, bytes(9)), "truncated or altered"),
        (raw({"a": ENTRY, "b": ENTRY}, bytes(8)), "begins at 0, the tensor before it ends at 8"),
        (raw({"a": {**ENTRY, "data_offsets": [4, 12]}}, bytes(12)), "begins at 4"),
        (raw({"a": {**ENTRY, "shape": [3]}}, bytes(8)), "has the offsets 0 to 8"),
        (raw({"a": {**ENTRY, "shape": [-2]}}, bytes(8)), "has the"),
        (raw({"a": {**ENTRY, "dtype": "X"}}, bytes(8)), "the entry of 'a'"),
        (raw({"a": {**ENTRY, "shape": [0, 2**62, 8], "data_offsets": [0, 0]}}, b""), "has the offsets 0 to 0"),
        (raw({"a": 3}, bytes(8)), "the entry of 'a'"),
        (raw(b'{"a":1,"a":2}'), "a name occurs twice"),
        (raw(b"[1]"), "not a JSON object"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "its header should take"),
    ],
)
def test_broken_files_are_explained(file, text):
    with pytest.raises(FileFormatError, match="not a valid safetensors file") as info:
        load_safetensors(file, arrays="numpy")
    assert text in str(info.value)


def test_what_the_format_lacks_is_refused():
    with pytest.raises(TypeError, match="complex128, which the format lacks"):
        written({"a": np.zeros(2, complex)})
    with pytest.raises(TypeError, match="'a' is a list, not a tensor"):
        written({"a": [1]})
    with pytest.raises(TypeError, match="expected a dict"):
        written([1])


def test_another_reader_agrees():
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(3, np.int8)}
    out = safetensors.load(written(tensors))
    assert all(np.array_equal(out[k], tensors[k]) for k in tensors)
    assert np.array_equal(load_safetensors(safetensors.save(tensors), arrays="numpy")["a"], tensors["a"])
