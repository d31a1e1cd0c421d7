"""Storages that are saved for themselves come back as what they were, and over the memory of their tensors."""

import io

import numpy as np
import pytest
from torch.serialize import inspect, load, save

torch = pytest.importorskip("torch")
if not hasattr(torch, "Tensor"):
    pytest.skip("torch-core is not installed", allow_module_level=True)

FORMATS = ["zip", "stream", "tar"]


def roundtrip(obj, **kwargs):
    out = io.BytesIO()
    save(obj, out, **kwargs)
    return load(io.BytesIO(out.getvalue()))


@pytest.mark.parametrize("format", FORMATS)
def test_storages_are_saved_for_themselves_and_with_their_tensors(format):
    tensor = torch.arange(4, dtype=torch.int16)
    typed, untyped = tensor.storage(), torch.ones(2).untyped_storage()
    out = roundtrip({"typed": typed, "untyped": untyped, "tensor": tensor}, format=format)
    assert type(out["typed"]) is type(typed) and out["typed"].tolist() == [0, 1, 2, 3]
    assert out["typed"].dtype is torch.int16 and bytes(out["untyped"]) == np.ones(2, np.float32).tobytes()
    out["tensor"][0] = 9
    assert out["typed"][0] == 9
    for obj in (typed, untyped):
        assert roundtrip(obj, format=format).tolist() == obj.tolist()


@pytest.mark.parametrize("format", FORMATS)
def test_a_storage_of_bytes_stays_typed(format):
    assert type(roundtrip(torch.ByteStorage([1, 2]), format=format)) is type(torch.ByteStorage(1))


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_a_storage_without_a_type_gets_none_from_the_tensors_over_it(format):
    tensor = torch.arange(4.0)
    for obj in ([tensor, tensor.untyped_storage()], [tensor.untyped_storage(), tensor]):
        for out in (
            roundtrip(obj, format=format),
            load(as_bytes(obj, format), map_location=lambda storage, where: storage.clone()),
        ):
            seen, storage = sorted(out, key=lambda part: type(part) is torch.UntypedStorage)
            assert type(storage) is torch.UntypedStorage and type(seen) is torch.Tensor
            seen[0] = 9
            assert bytes(storage)[:4] == np.float32(9).tobytes()


def as_bytes(obj, format):
    out = io.BytesIO()
    save(obj, out, format=format)
    return out.getvalue()


@pytest.mark.parametrize("format", ["zip", "stream"])
def test_one_storage_is_kept_in_each_of_its_types(format):
    tensor = torch.arange(4.0)
    codes = tensor.view(torch.int32).storage()
    out = roundtrip([codes, tensor.storage(), tensor.untyped_storage(), codes], format=format)
    assert [getattr(storage, "dtype", None) for storage in out] == [torch.int32, torch.float32, None, torch.int32]
    assert out[0] is out[3]
    out[0][1] = 0x40000000
    assert out[1][1] == 2.0
    listed = inspect(as_bytes([codes, tensor], format))
    assert [row.storage for row in listed] == [0, 0] and [row.dtype for row in listed] == ["int32", "float32"]


def test_the_tar_of_2016_refuses_two_types_of_one_storage():
    tensor = torch.arange(4.0)
    for obj in ([tensor, tensor.view(torch.int32).storage()], [tensor, tensor.untyped_storage()]):
        with pytest.raises(NotImplementedError, match="has no elements of u?int.* in this storage"):
            as_bytes(obj, "tar")
    bytes_of = torch.tensor([1, 2], dtype=torch.uint8)
    out = roundtrip([bytes_of.untyped_storage(), bytes_of], format="tar")
    assert out[1].tolist() == list(bytes(out[0])) == [1, 2]
