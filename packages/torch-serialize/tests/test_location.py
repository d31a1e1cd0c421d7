"""Where tensors go: `map_location` in all its forms."""

import io
import typing

import numpy as np
import pytest
from torch.serialize import load, register_package, save
from torch.serialize._storage import location as locations

torch = pytest.importorskip("torch")
if not hasattr(torch, "Tensor"):
    pytest.skip("torch-core is not installed", allow_module_level=True)


def written(format="zip"):
    out = io.BytesIO()
    base = torch.arange(6.0).view(2, 3)
    save({"base": base, "row": base[1], "n": 3}, out, format=format)
    return out.getvalue()


@pytest.mark.parametrize("format", ["zip", "stream", "tar"])
@pytest.mark.parametrize(
    "location",
    ["cpu", "cpu:0", torch.device("cpu"), {"cpu": "cpu"}, {torch.device("cpu"): torch.device("cpu")}, {"cuda:1": "cpu"}, None,
     lambda storage, location: storage, lambda storage, location: None],
    ids=str,
)  # fmt: skip
def test_tensors_stay_in_main_memory_and_share_it(location, format):
    out = load(written(format), map_location=location)
    assert out["base"].tolist() == [[0, 1, 2], [3, 4, 5]]
    out["base"][1, 0] = 9
    assert out["row"].tolist() == [9, 4, 5]


@pytest.mark.parametrize("format", ["zip", "stream", "tar"])
@pytest.mark.parametrize("location", ["meta", torch.device("meta"), {"cpu": "meta"}], ids=str)
def test_meta_tensors_have_shapes_and_no_data(location, format):
    out = load(written(format), map_location=location)
    assert out["base"].device.type == "meta" and out["base"].shape == (2, 3) and out["row"].stride() == (1,)
    assert out["n"] == 3


def test_for_meta_the_numbers_are_not_even_read(tmp_path):
    path = tmp_path / "a.pt"
    save({"a": torch.arange(10**6)}, path)
    raw = bytearray(path.read_bytes())
    raw[4_000_000] ^= 1  # a checksum would find it
    path.write_bytes(raw)
    assert load(path, map_location="meta")["a"].shape == (10**6,)
    with pytest.raises(RuntimeError, match="damaged"):
        load(path)


def test_arrays_have_no_meta():
    with pytest.raises(NotImplementedError, match="arrays have no device 'meta'"):
        load(written(), map_location="meta", arrays="numpy")
    with pytest.raises(NotImplementedError, match="arrays have no device 'meta'"):
        load(written(), map_location={"cpu": "meta"}, arrays="numpy")


@pytest.mark.parametrize("error", [TypeError, KeyError, ValueError, ZeroDivisionError])
def test_an_error_of_the_users_function_is_the_users(error):
    def place(storage, location):
        raise error("mine")

    with pytest.raises(error, match="mine"):
        load(written(), map_location=place)


def test_a_kind_of_device_can_be_added(monkeypatch):
    monkeypatch.setattr(locations, "_packages", list(locations._packages))
    moved = []

    def bring(storage, location):
        return moved.append(location) or storage if location.startswith("moon") else None

    register_package(5, lambda storage: None, bring)
    assert load(written(), map_location="moon:1")["base"].tolist() == [[0, 1, 2], [3, 4, 5]] and moved == ["moon:1"]


@pytest.mark.parametrize("name", ["cuda0", "cuda:x", "cuda:-1"])
def test_a_name_that_is_no_device_is_refused(name):
    with pytest.raises(RuntimeError, match=f"Invalid device string: '{name}'"):
        load(written(), map_location=name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_device_is_explained():
    with pytest.raises(RuntimeError, match=r"no CUDA device.*map_location='cpu'"):
        load(written(), map_location="cuda:0")
    with pytest.raises(TypeError, match="must be a device, its name, a dict or a function, got int"):
        load(written(), map_location=0)


def test_skipped_data_leaves_room_for_it(tmp_path):
    import zipfile

    from torch.serialize import skip_data

    path, numbers = tmp_path / "a.pt", torch.arange(6.0)
    with skip_data():
        save({"a": numbers, "b": numbers[2:]}, path)
    assert load(path)["a"].tolist() == [0] * 6
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("a/data/0")
    with open(path, "r+b") as file:
        file.seek(info.header_offset + 26)
        start = info.header_offset + 30 + sum(int.from_bytes(file.read(2), "little") for _ in range(2))
        file.seek(start)
        file.write(np.arange(6, dtype=np.float32).tobytes())
    assert load(path)["a"].tolist() == [0, 1, 2, 3, 4, 5]
    with skip_data():
        out = load(path)
    assert out["a"].shape == (6,) and out["b"].untyped_storage().data_ptr() == out["a"].untyped_storage().data_ptr()


def test_annotations_have_a_name_for_what_map_location_may_be():
    from torch.serialize import MAP_LOCATION

    assert str in typing.get_args(MAP_LOCATION) and type(None) in typing.get_args(MAP_LOCATION)
