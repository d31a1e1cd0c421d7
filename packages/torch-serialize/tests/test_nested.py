"""Nested tensors of both layouts: a file of PyTorch, our own, and such as cannot be."""

import importlib.util

import pytest
from torch.serialize import FileFormatError, load, save

torch = pytest.importorskip("torch")
if not hasattr(torch, "nested"):
    pytest.skip("there is no torch-core", allow_module_level=True)
ITEMS = [[[0.0, 1, 2], [3, 4, 5]], [[7.0] * 3] * 4]
HAS_AUTOGRAD = importlib.util.find_spec("torch.autograd") is not None
needs_autograd = pytest.mark.skipif(not HAS_AUTOGRAD, reason="rows of jagged tensors are taken by torch-autograd")
LAYOUTS = ["strided", pytest.param("jagged", marks=needs_autograd)]


def nested(layout, items=ITEMS):
    return torch.nested.nested_tensor([torch.tensor(item) for item in items], layout=getattr(torch, layout))


def check(found, layout):
    assert found.is_nested and str(found.layout) == f"torch.{layout}"
    assert [item.tolist() for item in found.unbind()] == ITEMS


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_of_pytorch_comes_as_it_was(layout, trusted, data):
    found = load(data / "nested.pt", weights_only=not trusted)[layout]
    check(found, layout)
    assert found.requires_grad == HAS_AUTOGRAD


@pytest.mark.parametrize("format", ["zip", "stream"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_our_files_come_back(layout, format, tmp_path):
    save({"a": nested(layout), "b": [nested(layout)]}, tmp_path / "f.pt", format=format)
    found = load(tmp_path / "f.pt")
    check(found["a"], layout)
    check(found["b"][0], layout)


def test_items_that_are_no_rows_of_their_buffer_are_packed(tmp_path):
    turned = nested("strided").transpose(1, 2)
    save(turned, tmp_path / "f.pt")
    assert [item.tolist() for item in load(tmp_path / "f.pt").unbind()] == [item.tolist() for item in turned.unbind()]


@needs_autograd
def test_rows_with_gaps_between_them_keep_their_lengths(tmp_path):
    whole = torch.arange(12.0).view(2, 6)
    made = torch.nested.narrow(whole, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
    save([made, made + 1], tmp_path / "f.pt")
    first, second = load(tmp_path / "f.pt")
    assert [item.tolist() for item in first.unbind()] == [[0, 1], [7, 8, 9]]
    assert [item.tolist() for item in (first + second).unbind()] == [[1, 3], [15, 17, 19]]  # their sizes are one


@pytest.mark.parametrize(
    "part, value, text",
    [
        ("_nested_tensor_size", [[2, 3], [4, 4]], r"item 1 of a nested tensor has shape \(4, 4\)"),
        ("_nested_tensor_size", [[2, 3], [-4, 3]], "item 1 of a nested tensor"),
        ("_nested_tensor_size", [[2, 3]], "is made of tensors of shapes"),
        ("_nested_tensor_size", [[2.0, 3], [4, 3]], "is made of tensors of shapes"),
        ("_nested_tensor_size", [[2, 3], [1 << 40, 1 << 40]], "item 1 of a nested tensor"),
        ("_nested_tensor_strides", [[3, 1], [300, 1]], "item 1 of a nested tensor"),
        ("_nested_tensor_strides", [[3, 1], [-3, 1]], "item 1 of a nested tensor"),
        ("_nested_tensor_storage_offsets", [0, 7], "item 1 of a nested tensor .* offset 7 in 18 elements"),
        ("_nested_tensor_storage_offsets", [-1, 6], "item 0 of a nested tensor"),
    ],
)
def test_items_outside_of_the_buffer_are_refused(part, value, text, tmp_path, monkeypatch):
    made = nested("strided")
    monkeypatch.setattr(type(made), part, lambda self: torch.tensor(value))
    save(made, tmp_path / "f.pt")
    with pytest.raises(FileFormatError, match=text):
        load(tmp_path / "f.pt")


@pytest.mark.parametrize(
    "part, value, text",
    [
        ("_offsets", [0, 2, 7], "lie outside of its 6 values"),
        ("_offsets", [0, 2, 1], "lie outside of its 6 values"),
        ("_offsets", [-1, 2, 6], "lie outside of its 6 values"),
        ("_offsets", [0], r"offsets of shape \(1,\)"),
        ("_offsets", [0.0, 2, 6], "offsets of shape"),
        ("_lengths", [2, 5], "lie outside of its 6 values"),
        ("_lengths", [2], r"lengths of shape \(1,\)"),
        ("_ragged", 9, "ragged dim 9"),
        ("_ragged", "1", "is made of"),
        ("_offsets", None, "is made of"),
    ],
)
def test_rows_outside_of_the_values_are_refused(part, value, text, tmp_path):
    made = nested("jagged")
    setattr(made, part, torch.tensor(value) if isinstance(value, list) else value)
    save(made, tmp_path / "f.pt")
    with pytest.raises(FileFormatError, match=text):
        load(tmp_path / "f.pt")


def test_numpy_has_no_nested_arrays(data):
    with pytest.raises(NotImplementedError, match="NumPy has no nested arrays; torch-core reads them"):
        load(data / "nested.pt", arrays="numpy")


def test_items_that_take_far_more_room_than_the_file_are_refused(tmp_path, monkeypatch):
    made = nested("strided")
    many = torch.zeros(1, 1, dtype=torch.int64).expand(1 << 26, 1)
    monkeypatch.setattr(type(made), "_nested_tensor_size", lambda self: many)
    monkeypatch.setattr(type(made), "_nested_tensor_strides", lambda self: many)
    monkeypatch.setattr(type(made), "_nested_tensor_storage_offsets", lambda self: many[:, 0])
    save(made, tmp_path / "f.pt")
    with pytest.raises(FileFormatError, match="its nested tensors take more room"):
        load(tmp_path / "f.pt")
