"""With torch-core installed, files hold and give tensors."""

import collections
import copy
import io
import pickle
import zipfile

import numpy as np
import pytest
from torch.serialize import (
    FileFormatError,
    convert,
    inspect,
    load,
    load_safetensors,
    safe_globals,
    save,
    save_safetensors,
    save_sharded,
)

torch = pytest.importorskip("torch")
if not hasattr(torch, "Tensor"):
    pytest.skip("torch-core is not installed", allow_module_level=True)

FORMATS = ["zip", "stream", "tar"]
KINDS = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()  # noqa: SIM905


def has_autograd():
    import importlib.util

    try:
        return importlib.util.find_spec("torch.autograd") is not None
    except ImportError:
        return False


needs_autograd = pytest.mark.skipif(not has_autograd(), reason="torch-autograd is not installed")


def grid():
    return torch.arange(24, dtype=torch.float32).reshape(4, 6)


def roundtrip(obj, **kwargs):
    out = io.BytesIO()
    save(obj, out, **kwargs)
    return load(io.BytesIO(out.getvalue()))


@pytest.mark.parametrize("format", FORMATS)
def test_values_geometry_and_sharing_survive(format):
    base = grid()
    before = {
        "base": base,
        "view": base[1:3, ::2],
        "t": base.t(),
        "empty": torch.zeros(0, 3),
        "zero_d": torch.tensor(2.5),
    }
    after = roundtrip(before, format=format)
    for name, tensor in before.items():
        assert after[name].tolist() == tensor.tolist() and after[name].dtype == tensor.dtype
        assert after[name].shape == tensor.shape and after[name].stride() == tensor.stride()
    after["base"][1, 0] = -1
    assert after["view"][0, 0].item() == -1 and after["t"][0, 1].item() == -1


@pytest.mark.parametrize("kind", [*KINDS, "uint16", "uint32", "uint64"])
def test_every_element_type_survives(kind):
    tensor = torch.tensor([0, 1, 2, 3]).to(getattr(torch, kind))
    for format in ("zip", "stream"):
        back = roundtrip([tensor], format=format)[0]
        assert back.dtype == tensor.dtype and back.tolist() == tensor.tolist()


def test_views_with_another_type_share_their_storage():
    base = torch.arange(4, dtype=torch.int32)
    seen = torch._C._tensor_over(base.untyped_storage(), torch.int16, 0, (8,), (1,))
    first, second = roundtrip([base, seen])
    first[0] = 5
    assert second.tolist() == [5, 0, 1, 0, 2, 0, 3, 0]


def test_one_tensor_twice_is_one_object():
    tensor = grid()
    out = roundtrip([tensor, tensor])
    assert out[0] is out[1]


def test_storages_sizes_dtypes_and_devices_survive():
    tensor = grid()
    out = roundtrip([tensor.untyped_storage(), tensor, tensor.size(), torch.float16, torch.device("cpu")])
    assert bytes(out[0]) == tensor.numpy().tobytes() and out[2] == (4, 6) and type(out[2]) is torch.Size
    assert out[3] is torch.float16 and out[4] == torch.device("cpu")
    out[1][0, 0] = 9
    assert out[0][0:4] if hasattr(out[0], "__getitem__") else bytes(out[0])[:4] == np.float32(9).tobytes()


def test_layouts_memory_formats_and_dtypes_without_tensors_survive():
    for constant in (
        torch.strided,
        torch.sparse_coo,
        torch.channels_last,
        torch.preserve_format,
        torch.int4,
        torch.uint2,
    ):
        assert roundtrip([constant])[0] is constant


def test_files_of_pytorch_give_tensors(data):
    for name in ("zip.pt", "stream.pt"):
        try:
            out = load(data / name)
        except NotImplementedError as e:
            assert "float8" in str(e)
            continue
        assert out["view"].tolist() == grid()[1:3, ::2].tolist() and out["again"] is out["base"]
        assert out["bfloat16"].dtype == torch.bfloat16 and out["bfloat16"].tolist() == [0, 1, 2, 3]
        out["base"][1, 0] = -1
        assert out["view"][0, 0].item() == -1


def test_a_mapped_file_is_copied_on_write(tmp_path):
    path = tmp_path / "a.pt"
    save({"a": grid()}, path)
    out = load(path, mmap=True)["a"]
    out[0, 0] = 7
    assert out[0, 0].item() == 7 and load(path)["a"][0, 0].item() == 0


def test_big_files_are_read_and_written_by_threads(tmp_path):
    path = tmp_path / "a.pt"
    tensors = [torch.full((400_000,), float(i)) for i in range(5)]
    save(tensors, path)
    assert all(a.tolist()[::1000] == b.tolist()[::1000] for a, b in zip(tensors, load(path)))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)


def test_arrays_stay_arrays_and_can_be_asked_for():
    out = roundtrip({"array": np.arange(3.0), "tensor": torch.arange(3)})
    assert isinstance(out["array"], np.ndarray) and isinstance(out["tensor"], torch.Tensor)
    raw = io.BytesIO()
    save({"t": grid()}, raw)
    assert np.array_equal(load(raw.getvalue(), arrays="numpy")["t"], grid().numpy())


def test_map_location_moves_storages():
    raw = io.BytesIO()
    save({"t": grid()}, raw)
    for location in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, lambda storage, where: storage):
        assert load(raw.getvalue(), map_location=location)["t"].tolist() == grid().tolist()
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"no CUDA device.*map_location='cpu'"):
            load(raw.getvalue(), map_location="cuda")
    with pytest.raises(RuntimeError, match="no one knows how to put a storage on the device 'moon'"):
        load(raw.getvalue(), map_location="moon")


def test_safetensors_hold_tensors():
    raw = io.BytesIO()
    save_safetensors({"a": grid().t(), "b": torch.ones(3, dtype=torch.bfloat16)}, raw)
    out = load_safetensors(raw.getvalue())
    assert out["a"].tolist() == grid().t().tolist() and out["b"].dtype == torch.bfloat16
    assert {row.name for row in inspect(raw.getvalue())} == {"a", "b"}


def test_other_pickle_modules_write_what_pickle_cannot():
    cloudpickle = pytest.importorskip("cloudpickle")
    raw = io.BytesIO()
    tensor = grid()
    save({"f": lambda x: x + 1, "t": tensor, "v": tensor[1]}, raw, pickle_module=cloudpickle)
    out = load(raw.getvalue(), weights_only=False)
    assert out["f"](1) == 2 and out["t"].tolist() == tensor.tolist()
    out["t"][1, 0] = -1
    assert out["v"][0].item() == -1


def test_pickles_and_deep_copies_share_within_one():
    tensor = grid()
    for copied in (pickle.loads(pickle.dumps([tensor, tensor[1]])), copy.deepcopy([tensor, tensor[1]])):
        copied[0][1, 0] = -1
        assert copied[1][0].item() == -1


class Named(torch.Tensor):
    pass


def test_attributes_of_tensors_are_saved_pickled_and_copied():
    plain, named = torch.arange(3.0), torch.Tensor._make_subclass(Named, torch.arange(4.0))
    plain.note, named.unit, named.base = "hi", {"m": 1}, plain
    with_classes = {"weights_only": False}
    out = io.BytesIO()
    save([plain, named, plain[1:]], out)
    for a, b, view in (
        load(out.getvalue(), **with_classes),
        pickle.loads(pickle.dumps([plain, named, plain[1:]])),
        copy.deepcopy([plain, named, plain[1:]]),
    ):
        assert type(a) is torch.Tensor and vars(a) == {"note": "hi"} and a.tolist() == [0, 1, 2]
        assert type(b) is Named and b.unit == {"m": 1} and b.base is a and b.tolist() == [0, 1, 2, 3]
        view[0] = 9
        assert a[1].item() == 9
    assert vars(copy.copy(plain)) == {"note": "hi"} and vars(view) == {}


def test_a_file_of_pytorch_keeps_the_attributes_of_a_tensor(data):
    out = load(data / "attribute.pt")
    assert out.tolist() == [1, 1, 1] and vars(out) == {"note": "hi"}


@needs_autograd
def test_parameters_and_gradients_survive():
    out = roundtrip({"leaf": torch.ones(2, requires_grad=True), "plain": torch.ones(2)})
    assert out["leaf"].requires_grad and not out["plain"].requires_grad


@needs_autograd
def test_hooks_are_left_out_with_a_warning_at_the_users_line():
    leaf = torch.ones(2, requires_grad=True)
    leaf.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="the hooks of a tensor are not saved") as warned:
        out = roundtrip([leaf])
    assert out[0].tolist() == [1, 1] and out[0].requires_grad
    assert all("serialize/_" not in w.filename for w in warned)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickles_since_2_holds_the_same(protocol, format):
    values = [b"bytes", b"x" * 300, {1}, "text", 2**70, bytearray(b"a"), np.arange(3)]
    out = roundtrip({"t": grid(), "v": values}, format=format, pickle_protocol=protocol)
    assert out["t"].tolist() == grid().tolist() and out["v"][:-1] == values[:-1]
    assert out["v"][-1].tolist() == [0, 1, 2] and isinstance(out["v"][-1], np.ndarray)


class Outer:
    class Inner(tuple):
        def __new__(cls, *, value):
            return super().__new__(cls, (value,))

        def __getnewargs_ex__(self):
            return (), {"value": self[0]}


@pytest.mark.parametrize("protocol", [2, 4])
def test_nested_classes_and_keyword_arguments_are_kept(protocol):
    raw = io.BytesIO()
    save([Outer.Inner(value=3), Outer.Inner], raw, pickle_protocol=protocol)
    out = load(raw.getvalue(), weights_only=False)
    assert type(out[0]) is Outer.Inner and out[0] == (3,) and out[1] is Outer.Inner


def test_protocols_that_do_not_exist_are_refused():
    for protocol in (0, 1, 6, "2"):
        with pytest.raises(ValueError, match="pickle_protocol must be 2 to 5"):
            save({}, io.BytesIO(), pickle_protocol=protocol)


def test_names_on_the_torch_module(tmp_path):
    torch.save(collections.OrderedDict(a=grid()), tmp_path / "a.pt")
    out = torch.load(tmp_path / "a.pt")
    assert type(out) is collections.OrderedDict and out["a"].tolist() == grid().tolist()


CHECK = """
import torch
o = torch.load("f.pt", weights_only={safe})
b = torch.arange(24.).reshape(4, 6)
assert torch.equal(o["base"], b) and torch.equal(o["view"], b[1:3, ::2]) and torch.equal(o["t"], b.t())
assert o["view"].untyped_storage().data_ptr() == o["base"].untyped_storage().data_ptr()
for name, t in o["kinds"].items():
    assert str(t.dtype) == "torch." + name and t.to(torch.complex64).tolist() == ([0, 1, 1, 1] if name == "bool" else [0, 1, 2, 3])
assert o["size"] == torch.Size([4, 6]) and type(o["size"]) is torch.Size
assert vars(o["noted"]) == {{"note": ["hi", 3]}} and o["noted"].tolist() == [1, 1] and o["noted"].dtype == torch.bfloat16
print("fine")
"""


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_pytorch_reads_tensors_that_are_written(format, tmp_path, peer):
    base = grid()
    kinds = {kind: torch.tensor([0, 1, 2, 3]).to(getattr(torch, kind)) for kind in KINDS}
    noted = torch.ones(2, dtype=torch.bfloat16)
    noted.note = ["hi", 3]
    obj = {"base": base, "view": base[1:3, ::2], "t": base.t(), "kinds": kinds, "size": base.size(), "noted": noted}
    save(obj, tmp_path / "f.pt", format=format)
    assert peer(CHECK.format(safe=True)) == "fine"


def quantized_tensors():
    x = torch.arange(12.0).reshape(3, 4)
    steps = torch.tensor([0.1, 0.2, 0.3])
    q = torch.quantize_per_tensor(x, 0.5, 3, torch.quint8)
    return {
        "bytes": q,
        "again": q,
        "view": q[1],
        "signed": torch.quantize_per_tensor(x, 0.5, -3, torch.qint8).t(),
        "wide": torch.quantize_per_tensor(x, 0.5, -3, torch.qint32)[1:],
        "channels": torch.quantize_per_channel(x, steps, torch.tensor([1, 2, 3]), 0, torch.qint8),
        "floats": torch.quantize_per_channel(x, steps, torch.tensor([1.0, 2.5, 3.0]), 0, torch.quint8),
        "nibbles": torch.quantize_per_channel(x[:, :3], 2 * steps, torch.tensor([1.0, 2.5, 3.0]), 0, torch.quint4x2),
    }


def assert_same_quantized(found, wanted):
    assert found.keys() == wanted.keys()
    for name, q in wanted.items():
        other = found[name]
        assert torch.equal(other.int_repr(), q.int_repr()) and torch.equal(other.dequantize(), q.dequantize()), name
        assert (other.dtype, other.qscheme(), other.stride()) == (q.dtype, q.qscheme(), q.stride())
    assert found["again"] is found["bytes"] and found["view"].data_ptr() == found["bytes"].data_ptr() + 4


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_quantized_tensors_come_back_with_what_their_integers_mean(format):
    wanted, out = quantized_tensors(), io.BytesIO()
    save(wanted, out, format=format)
    assert_same_quantized(load(io.BytesIO(out.getvalue())), wanted)


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_zero_points_that_are_none_of_the_integers_are_refused(format):
    integers, out = torch.ones(2, 3, dtype=torch.int8), io.BytesIO()
    points = torch.tensor([0, 1 << 40])
    save(torch._make_per_channel_quantized_tensor(integers, torch.ones(2), points, 0), out, format=format)
    with pytest.raises(RuntimeError, match="a quantized tensor of qint8 has zero point 1099511627776"):
        load(io.BytesIO(out.getvalue()))


def test_integers_and_a_quantized_tensor_of_one_memory_are_saved_side_by_side():
    q = torch.quantize_per_tensor(torch.arange(3.0), 0.5, 3, torch.quint8)
    out = io.BytesIO()
    save([q.as_subclass(torch.Tensor), q], out)
    integers, again = load(io.BytesIO(out.getvalue()))
    assert integers.tolist() == [3, 5, 7] and again.is_quantized and again.dequantize().tolist() == [0, 1, 2]


def test_the_oldest_format_has_no_quantized_tensors():
    with pytest.raises(NotImplementedError, match="the tar format of 2016 has no quantized tensors"):
        save(quantized_tensors(), io.BytesIO(), format="tar")


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_pytorch_reads_quantized_tensors_and_its_own_come_back(format, tmp_path, peer):
    save(quantized_tensors(), tmp_path / "ours", format=format)
    said = peer(
        f"""
import torch
d = torch.load({str(tmp_path / "ours")!r})
assert d["bytes"].int_repr().tolist()[0] == [3, 5, 7, 9] and d["signed"].dtype is torch.qint8
assert d["again"] is d["bytes"] and d["floats"].q_per_channel_zero_points().tolist() == [1, 2.5, 3]
torch.save(d, {str(tmp_path / "theirs")!r}, _use_new_zipfile_serialization={format == "zip"})
print("fine")
"""
    )
    assert said == "fine"
    assert_same_quantized(load(tmp_path / "theirs"), quantized_tensors())


def test_the_module_has_its_second_name():
    import torch.serialization

    assert torch.serialization is torch.serialize and torch.serialization.load is load


@pytest.mark.skipif(not hasattr(torch, "sparse_coo_tensor"), reason="this torch-core has no sparse tensors")
@pytest.mark.parametrize("format", ["zip", "stream"])
def test_sparse_tensors_come_back_and_share_their_halves(format):
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    loose = torch.sparse_coo_tensor([[2, 0, 2]], values, (4, 2))
    tidy = torch.sparse_coo_tensor([[0, 1], [1, 0]], [True, False], (2, 2), is_coalesced=True)
    after = roundtrip({"values": values, "loose": loose, "tidy": tidy}, format=format)
    assert after["loose"].to_dense().tolist() == loose.to_dense().tolist() and not after["loose"].is_coalesced()
    assert after["tidy"].is_coalesced() and after["tidy"].dtype == torch.bool and after["tidy"].shape == (2, 2)
    after["values"].fill_(7)
    assert after["loose"]._values().tolist() == [[7.0, 7.0]] * 3


def test_formats_without_sparse_tensors_say_so(tmp_path):
    sparse = torch.sparse_coo_tensor([[1]], [1.0], (2,))
    with pytest.raises(NotImplementedError, match="save_sharded: 'a' is sparse.*to_dense"):
        save_sharded({"a": sparse}, tmp_path / "m.bin")
    with pytest.raises(NotImplementedError, match="to_dense"):
        save_safetensors({"a": sparse}, tmp_path / "m.safetensors")
    save(sparse, tmp_path / "a.pt")
    with pytest.raises(NotImplementedError, match="convert: sparse tensors have no other format.*to_dense"):
        convert(tmp_path / "a.pt", tmp_path / "a.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]


@pytest.mark.skipif(not hasattr(torch, "sparse_coo_tensor"), reason="this torch-core has no sparse tensors")
def test_a_file_whose_indices_lie_outside_is_refused():
    bad = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,))
    bad._indices()[0, 1] = 99
    with pytest.raises(RuntimeError, match="size is 2 but found index 99"):
        roundtrip(bad)


SPARSE = """
import torch
o = torch.load("f.pt", weights_only=True)
dense = torch.tensor([[3., 4.], [0., 0.], [6., 8.], [0., 0.]])
assert o["loose"].layout is torch.sparse_coo and o["loose"].dtype == torch.float32 and not o["loose"].is_coalesced()
assert torch.equal(o["loose"].to_dense(), dense) and o["loose"]._nnz() == 3
assert o["tidy"].is_coalesced() and o["tidy"].dtype == torch.bool and o["tidy"].to_dense().tolist() == [[False, True], [False, False]]
assert o["none"].shape == (2, 0, 3) and o["none"]._nnz() == 0
assert o["values"].data_ptr() == o["loose"]._values().data_ptr()
o["tidy"] = o["loose"].coalesce()
torch.save(o, "g.pt", _use_new_zipfile_serialization={zip})
print("fine")
"""


@pytest.mark.skipif(not hasattr(torch, "sparse_coo_tensor"), reason="this torch-core has no sparse tensors")
@pytest.mark.parametrize("format", ["zip", "stream"])
def test_pytorch_reads_sparse_tensors_and_its_own_come_back(format, tmp_path, peer):
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    obj = {
        "values": values,
        "loose": torch.sparse_coo_tensor([[2, 0, 2]], values, (4, 2)),
        "tidy": torch.sparse_coo_tensor([[0, 1], [1, 0]], [True, False], (2, 2), is_coalesced=True),
        "none": torch.sparse_coo_tensor(size=(2, 0, 3)),
    }
    save(obj, tmp_path / "f.pt", format=format)
    assert peer(SPARSE.format(zip=format == "zip")) == "fine"
    back = load(tmp_path / "g.pt")
    assert back["tidy"].is_coalesced() and back["tidy"]._indices().tolist() == [[0, 2]]
    assert back["loose"].to_dense().tolist() == back["tidy"].to_dense().tolist() == [[3, 4], [0, 0], [6, 8], [0, 0]]
    back["values"].fill_(7)
    assert back["loose"]._values().tolist() == [[7.0, 7.0]] * 3 and back["none"].shape == (2, 0, 3)


class Labelled(torch.Tensor):
    pass


class Counted(torch.Tensor):
    """Is saved as only a number."""

    def __reduce_ex__(self, protocol):
        return torch.full, ((self.numel(),), 7)


def test_a_subclass_that_says_how_it_is_pickled_is_asked():
    out = io.BytesIO()
    save([torch.Tensor._make_subclass(kind, torch.ones(2)) for kind in (Labelled, Counted)], out)
    labelled, counted = load(out.getvalue(), weights_only=False)
    assert type(labelled) is Labelled and labelled.tolist() == [1, 1]
    assert type(counted) is torch.Tensor and counted.tolist() == [7, 7]


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_a_buffer_stays_one_and_is_a_marked_tensor_for_pytorch(format):
    nn = pytest.importorskip("torch.nn")
    kept = nn.Buffer(torch.ones(2), persistent=False)
    out = roundtrip([kept, kept[:1].detach()], format=format)
    assert type(out[0]) is nn.Buffer and out[0].persistent is False and not hasattr(out[0], "_is_buffer")
    out[0][0] = 5
    assert out[1].tolist() == [5]


def test_a_buffer_is_read_by_pytorch(peer, tmp_path):
    nn = pytest.importorskip("torch.nn")
    save(nn.Buffer(torch.arange(3.0)), tmp_path / "buffer.pt")
    code = "import torch; b = torch.load('buffer.pt', weights_only=True); print(isinstance(b, torch.nn.Buffer), b.tolist())"
    assert peer(code) == "True [0.0, 1.0, 2.0]"


class Halved(torch.Tensor):
    """A tensor without memory, made of whole numbers and a scale."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, whole, scale):
        return torch.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=torch.float64, device=whole.device)

    def __init__(self, whole, scale):
        self.whole, self.scale = whole, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_a_wrapper_is_saved_as_what_it_is_made_of(format):
    whole = torch.tensor([[1, 2], [3, 4]], dtype=torch.int8)
    out = io.BytesIO()
    save({"w": Halved(whole.t(), 0.5), "whole": whole}, out, format=format)
    with pytest.raises(pickle.UnpicklingError, match="Halved"):
        load(out.getvalue())
    with safe_globals([Halved]):
        again = load(out.getvalue())
    w = again["w"]
    assert type(w) is Halved and w.shape == (2, 2) and w.dtype == torch.float64 and w.scale == 0.5
    assert w.whole.tolist() == [[1, 3], [2, 4]]
    again["whole"].zero_()
    assert w.whole.sum() == 0  # one storage, as before
    with safe_globals([Halved]), pytest.raises(NotImplementedError, match="Halved has no memory of its own: NumPy has"):
        load(out.getvalue(), arrays="numpy")


class Uneven:
    pass


def test_a_wrapper_is_made_of_a_class_of_tensors_only():
    out = io.BytesIO()
    save(Halved(torch.ones(2, dtype=torch.int8), 2.0), out, format="stream")
    with safe_globals([Uneven]), pytest.raises(FileFormatError, match="Uneven, which is none of tensors"):
        load(out.getvalue().replace(b"Halved", b"Uneven"))


def test_a_tensor_that_does_not_fit_is_told_with_its_file_and_its_place(tmp_path):
    path = tmp_path / "small.pt"
    save({"a": torch.arange(4.0)}, path)
    with zipfile.ZipFile(path) as file:
        records = {name: file.read(name) for name in file.namelist()}
    changed = [name for name in records if name.endswith("data.pkl")]
    for name in changed:
        assert records[name].count(b"K\x04\x85") == 1  # the size
        records[name] = records[name].replace(b"K\x04\x85", b"K\x09\x85")
    with zipfile.ZipFile(path, "w") as file:
        for name, data in records.items():
            file.writestr(name, data)
    with pytest.raises(
        FileFormatError, match=r"small\.pt: near byte \d+ of its pickle: a tensor of size \(9,\), .* 16 bytes"
    ):
        load(path)


def test_an_attribute_that_hides_another_is_told_with_its_file():
    tensor = torch.ones(2)
    tensor.lovely = 1
    out = io.BytesIO()
    save(tensor, out)
    with zipfile.ZipFile(out) as file:
        records = {name: file.read(name).replace(b"lovely", b"layout") for name in file.namelist()}
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as file:
        for name, data in records.items():
            file.writestr(name, data)
    with pytest.raises(FileFormatError, match=r"bytes: near byte \d+ of its pickle: an attribute 'layout'"):
        load(changed.getvalue())
