"""Compressed sparse tensors and those of dtypes that only store numbers: files of PyTorch, and our own."""

import importlib.util
import math

import numpy as np
import pytest
from torch.serialize import inspect, load, save

torch = pytest.importorskip("torch")
if not hasattr(torch, "sparse_csr_tensor"):
    pytest.skip("this torch-core has no compressed tensors", allow_module_level=True)

STORED = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32"]
DENSE = [[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 5], [0, 0, 0, 6]]


def read(path):
    return load(path, arrays="numpy")


def check(found):
    for name in ("csr", "csc", "bsr", "bsc"):
        assert str(found[name].layout) == f"torch.sparse_{name}" and found[name].to_dense().tolist() == DENSE
    assert found["batch"].shape == (2, 4, 4) and found["batch"][1].to_dense().tolist() == DENSE
    assert found["csr32"].crow_indices().dtype == torch.int32
    assert found["p"].requires_grad == (importlib.util.find_spec("torch.autograd") is not None)
    for name in STORED:
        assert str(found[name].dtype) == f"torch.{name}"
    assert found["float8_e4m3fn"].view(torch.uint8).tolist() == [0, 56, 194, 126, 126, 126, 126, 127, 1, 0]
    assert found["float8_e5m2"].tolist()[:6] == [0, 1, -2.5, 448, 512, math.inf]
    assert found["complex32"].tolist()[:3] == [0, 1, -2.5]


def test_a_file_of_pytorch_comes_as_it_was(data):
    check(load(data / "compressed.pt"))


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_our_files_come_back(data, tmp_path, format):
    save(load(data / "compressed.pt"), tmp_path / "f.pt", format=format)
    check(load(tmp_path / "f.pt"))
    names = str([row.name for row in inspect(tmp_path / "f.pt")])
    assert "crow_indices" in names and "row_indices" in names


def test_numpy_gets_what_holds_the_numbers(tmp_path):
    floats = torch.arange(256).to(torch.uint8)
    save({name: floats.view(getattr(torch, name)) for name in STORED if name != "complex32"}, tmp_path / "f.pt")
    for name, array in read(tmp_path / "f.pt").items():
        wanted = floats.view(getattr(torch, name)).float().numpy()
        assert array.dtype == np.float32 and np.array_equal(array, wanted, equal_nan=True)
    save(torch.tensor([1 + 2j, -0.5j]).chalf(), tmp_path / "c.pt")
    assert read(tmp_path / "c.pt").tolist() == [1 + 2j, -0.5j]
    save(torch.eye(2).to_sparse_csr(), tmp_path / "s.pt")
    with pytest.raises(NotImplementedError, match="pip install .*torch-core"):
        read(tmp_path / "s.pt")


def test_indices_of_a_file_are_looked_at(tmp_path):
    bad = torch.eye(2).to_sparse_csr()
    bad.col_indices()[1] = 99
    save(bad, tmp_path / "f.pt")
    with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols` is not satisfied"):
        load(tmp_path / "f.pt")


PEER = """
import torch, warnings
warnings.simplefilter("ignore")
o = torch.load("f.pt", weights_only=True)
dense = torch.tensor([[0., 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 5], [0, 0, 0, 6]])
for name in ("csr", "csc", "bsr", "bsc"):
    assert str(o[name].layout) == "torch.sparse_" + name and torch.equal(o[name].to_dense(), dense)
assert o["float8_e4m3fn"].view(torch.uint8).tolist() == [0, 56, 194, 126, 126, 126, 126, 127, 1, 0]
assert o["complex32"].dtype == torch.complex32
print("fine")
"""


def test_pytorch_reads_ours(data, tmp_path, peer):  # it reads float8 in archives only
    save(load(data / "compressed.pt"), tmp_path / "f.pt", format="zip")
    assert peer(PEER) == "fine"
