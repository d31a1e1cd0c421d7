"""TorchScript archives of PyTorch 1.0 to 1.3, built here from the facts of their format."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from torch.serialize import FileFormatError, convert, inspect, load


def tensor(key, dims, strides, offset=0, kind="FLOAT", **more):
    # as protobuf prints them: integers of 64 bits are text
    return {"dims": [*map(str, dims)], "strides": [*map(str, strides)], "offset": str(offset), "dataType": kind,
            "data": {"key": key}, "device": "cpu", **more}  # fmt: skip


def parameter(name, number, is_buffer=False):
    return {"name": name, "tensorId": str(number), "isBuffer": is_buffer}


GRID = np.arange(12, dtype=np.float32)


def model():
    """A network whose two layers share a weight, one of them transposed, with a counter beside."""
    return {
        "protoVersion": "6",
        "producerName": "pytorch",
        "producerVersion": "1.3",
        "tensors": [
            tensor("tensors/0", (3, 4), (4, 1), requiresGrad=True),
            tensor("tensors/0", (4, 2), (1, 4), offset=4),
            tensor("tensors/2", (), (), kind="INT64", requiresGrad=False),
        ],
        "mainModule": {
            "name": "Net",
            "optimize": True,
            "torchscriptArena": {"key": "code/Net.py"},
            "parameters": [],
            "submodules": [
                {"name": "first", "parameters": [parameter("weight", 0), parameter("count", 2, True)]},
                {"name": "second", "submodules": [{"name": "inner", "parameters": [parameter("weight", 1)]}]},
                {"name": "tied", "parameters": [parameter("weight", 0)]},
            ],
        },
    }


def archive(described, storages=None, **records):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("net/version", "1\n")
        file.writestr("net/code/Net.py", "op_version_set = 0\ndef forward(self, x): return x\n")
        for key, data in (storages or {"tensors/0": GRID.tobytes(), "tensors/2": np.int64(7).tobytes()}).items():
            file.writestr(f"net/{key}", data)
        for key, data in records.items():
            file.writestr(f"net/{key}.pkl", data)
        file.writestr("net/model.json", described if isinstance(described, str) else json.dumps(described))
    return out.getvalue()


def test_parameters_and_buffers_come_by_dotted_names_and_share_memory():
    out = load(archive(model()), arrays="numpy")
    assert list(out) == ["first.weight", "first.count", "second.inner.weight", "tied.weight"]
    assert np.array_equal(out["first.weight"], GRID.reshape(3, 4)) and out["first.count"] == 7
    assert np.array_equal(out["second.inner.weight"], GRID[4:].reshape(2, 4).T)
    assert out["tied.weight"] is out["first.weight"]
    out["first.weight"][1, 0] = 50
    assert out["second.inner.weight"][0, 0] == 50


def test_tensors_of_torch_core_need_gradients_as_the_file_says():
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "Tensor"):
        pytest.skip("torch-core is not installed")
    out = load(archive(model()))
    assert out["first.weight"].tolist() == GRID.reshape(3, 4).tolist() and not out["second.inner.weight"].requires_grad
    out["first.weight"].data[1, 0] = 50
    assert out["second.inner.weight"][0, 0].item() == 50


@pytest.mark.parametrize("kind, number, dtype", [
    ("FLOAT", 1, "float32"), ("INT32", 2, "int32"), ("BOOL", 5, "bool"), ("UINT8", 6, "uint8"), ("INT8", 7, "int8"),
    ("INT16", 9, "int16"), ("INT64", 10, "int64"), ("FLOAT16", 12, "float16"), ("DOUBLE", 13, "float64"),
])  # fmt: skip
def test_every_element_type_is_known_by_name_and_number(kind, number, dtype):
    values = np.array([0, 1, 1], dtype)
    for spelt in (kind, number):
        described = model()
        described["tensors"] = [tensor("tensors/0", (3,), (1,), kind=spelt)]
        described["mainModule"] = {"parameters": [parameter("values", 0)]}
        out = load(archive(described, {"tensors/0": values.tobytes()}), arrays="numpy")["values"]
        assert out.dtype == values.dtype and np.array_equal(out, values)


def test_attributes_that_are_tensors_are_found_too():
    described = model()
    described["mainModule"]["attributes"] = [
        {"name": "scale", "type": "float", "id": "0"},
        {"name": "table", "type": "Tensor", "id": "1"},
    ]
    body = b"\x80\x02(G?\xe0\0\0\0\0\0\0ctorch.jit._pickle\nbuild_tensor_from_id\n(K\x01tRt."
    out = load(archive(described, attributes=body), arrays="numpy")
    assert "scale" not in out and np.array_equal(out["table"], out["second.inner.weight"])
    with pytest.raises(pickle.UnpicklingError, match="os.system"):
        load(archive(described, attributes=b"cos\nsystem\n(S'true'\ntR."), arrays="numpy")


def test_they_are_inspected_and_converted_like_any_other(tmp_path):
    (tmp_path / "net.pt").write_bytes(archive(model()))
    rows = {row.name: row for row in inspect(tmp_path / "net.pt")}
    assert rows["first.weight"].shape == (3, 4) and rows["first.weight"].requires_grad
    assert rows["first.weight"].storage == rows["second.inner.weight"].storage != rows["first.count"].storage
    assert convert(tmp_path / "net.pt", tmp_path / "net.npz") == []
    assert np.array_equal(np.load(tmp_path / "net.npz")["second.inner.weight"], GRID[4:].reshape(2, 4).T)
    mapped = load(tmp_path / "net.pt", arrays="numpy", mmap=True)
    assert np.array_equal(mapped["first.weight"], GRID.reshape(3, 4))


@pytest.mark.parametrize("path, value, message", [
    (("tensors", 0, "dims", 0), "4", "reaches outside|does not fit"),
    (("tensors", 0, "offset"), "-1", "reaches outside|does not fit"),
    (("tensors", 0, "dims"), ["9" * 30, "1"], "a size or stride is"),
    (("tensors", 0, "strides"), {"0": 1}, "strides is"),
    (("tensors", 0, "data"), None, "the data of a tensor is None"),
    (("tensors", 0, "data", "key"), "../x", r"lacks storage \.\./x: record net/\.\./x"),
    (("tensors",), [], "tensor 0 of 0"),
    (("mainModule",), [], r"mainModule is \[\]"),
    (("mainModule", "submodules", 0, "parameters", 0, "tensorId"), 1.5, "the number of a tensor is 1.5"),
    (("mainModule", "submodules", 2, "name"), "first", "two tensors are called 'first.weight'"),
    (("mainModule", "submodules", 0, "name"), None, "a name is None"),
    (("mainModule", "attributes"), [{"name": "x", "id": "3"}], "attribute 'x' is number 3, which is not there"),
])  # fmt: skip
@pytest.mark.parametrize("arrays", ["numpy", None])
def test_what_contradicts_itself_is_an_error_that_says_what(path, value, message, arrays):
    described = model()
    place = described
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises((FileFormatError, RuntimeError), match=message):
        load(archive(described), arrays=arrays)


def test_elements_that_no_array_has_and_broken_json_are_named():
    for change, message in (({"dataType": "STRING"}, "'STRING'"), ({"isQuantized": True}, "quantized")):
        described = model()
        described["tensors"][0].update(change)
        with pytest.raises(NotImplementedError, match=message):
            load(archive(described), arrays="numpy")
    for text in ("{", "[" * 100_000, "[]", "3"):
        with pytest.raises(FileFormatError, match="its model.json is not that of a TorchScript module"):
            load(archive(text), arrays="numpy")
