"""Storages: bytes and typed elements under tensors, and what keeps their address."""

import copy
import gc
import pickle
import sys
import threading
import warnings
import weakref

import pytest
import torch

CLASSES = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16, "Byte": torch.uint8,
    "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64, "Bool": torch.bool,
    "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
}  # fmt: skip


@pytest.mark.parametrize("name, dtype", CLASSES.items())
def test_every_dtype_has_its_class(name, dtype):
    kind = getattr(torch, f"{name}Storage")
    s = kind([1, 0, 1])
    assert isinstance(s, kind) and isinstance(s, torch.TypedStorage) and torch.is_storage(s) and kind.dtype == dtype
    assert s.dtype == dtype and len(s) == s.size() == 3 and s.element_size() == dtype.itemsize
    assert s.tolist() == torch.tensor([1, 0, 1], dtype=dtype).tolist() and s.type() == f"torch.{name}Storage"
    assert not isinstance(s, torch.FloatStorage if name != "Float" else torch.IntStorage)
    assert torch.zeros(2, dtype=dtype).storage_type() is kind and isinstance(
        torch.zeros(2, dtype=dtype).storage(), kind
    )
    assert kind(5).size() == 5 and kind().size() == 0


def test_a_storage_and_its_tensor_are_one_memory():
    x = torch.arange(6.0).view(2, 3)
    s = x[1].storage()
    assert s.tolist() == [0, 1, 2, 3, 4, 5] and s.data_ptr() == x.data_ptr()
    s[4] = 10
    s[-1] = 11
    assert x[1].tolist() == [3, 10, 11] and s[4] == 10.0 and s[-1] == 11.0
    s[0:2] = 7
    assert x[0].tolist() == [7, 7, 2]
    part = s[1:3]
    part.fill_(1)
    assert x[0].tolist() == [7, 1, 1] and isinstance(part, torch.FloatStorage) and len(part) == 2
    assert list(s)[:2] == [7, 1] and s == x.storage() and s != part and len({s, x.storage()}) == 1
    assert torch.FloatTensor(s).data_ptr() == x.data_ptr() and torch.FloatTensor(s).shape == (6,)
    assert torch.Tensor().set_(s, 2, (2,)).tolist() == [1, 3] and torch.Tensor().set_(s).shape == (6,)
    assert torch.Tensor().set_(x.untyped_storage(), 1, (2, 2), (2, 1)).tolist() == [[1, 1], [3, 10]]
    assert x.untyped_storage() is s.untyped() and torch.is_storage(s.untyped())
    with pytest.raises(TypeError, match="expected a storage of torch.float64 .got torch.float32"):
        torch.DoubleTensor(s)
    with pytest.raises(RuntimeError, match="the tensor is of torch.int64, the storage of torch.float32"):
        torch.LongTensor().set_(s)


def test_bad_indices_sizes_and_types_are_named():
    s = torch.IntStorage([1, 2, 3])
    with pytest.raises(IndexError, match="index 3 is out of range for a storage of size 3"):
        s[3]
    with pytest.raises(IndexError, match="index -4"):
        s[-4] = 1
    with pytest.raises(TypeError, match="integers or slices, not str"):
        s["a"]
    with pytest.raises(ValueError, match="step 1, not 2"):
        s[::2]
    with pytest.raises(RuntimeError, match="have 3 and 2 elements"):
        s.copy_(torch.IntStorage(2))
    with pytest.raises(ValueError, match="invalid type: 'torch.Nothing'"):
        s.type("torch.Nothing")
    with pytest.raises(RuntimeError, match="must not be negative, got -1"):
        torch.FloatStorage(-1)
    with pytest.raises(RuntimeError, match="torch-core-cuda"):
        s.pin_memory()
    with pytest.raises(TypeError, match="wrap_storage must be an UntypedStorage, not list"):
        torch.TypedStorage(wrap_storage=[1])


def test_conversions_and_copies():
    s = torch.FloatStorage([1.5, 2.5])
    assert s.int().tolist() == [1, 2] and s.double().dtype == torch.float64 and s.float() is s
    assert s.type("torch.LongStorage").tolist() == [1, 2] and s.type(torch.IntStorage).dtype == torch.int32
    for twin in (s.clone(), copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.new([1.5, 2.5])):
        twin[0] = 9
        assert twin.tolist() == [9, 2.5] and isinstance(twin, torch.FloatStorage) and s[0] == 1.5
    assert torch.FloatStorage(2).copy_(torch.IntStorage([3, 4])).tolist() == [3, 4]
    assert torch.DoubleStorage(s).tolist() == [1.5, 2.5] and s.cpu() is s and not s.is_cuda and not s.is_pinned()
    assert torch.TypedStorage(2, dtype=torch.int16).element_size() == 2
    assert repr(s) == " 1.5\n 2.5\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]"


def test_sharing_survives_a_pickle_and_a_deep_copy():
    x = torch.arange(4.0)
    for again in (copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))):
        y, s, u = again((x[1:], x.storage(), x.untyped_storage()))
        s[1] = 9
        assert y[0] == 9 and s.untyped() is u and x[1] == 1


def test_a_storage_can_be_resized():
    x = torch.arange(3.0)
    s = x.storage()
    s.resize_(5)
    assert len(s) == 5 and s.tolist()[:3] == [0, 1, 2] and x.tolist() == [0, 1, 2] and s.resizable()
    assert len(s.untyped()) == 20
    with pytest.raises(NotImplementedError, match="a storage of 20 bytes cannot shrink to 8"):
        s.resize_(2)
    with pytest.raises(RuntimeError, match="must not be negative"):
        s.resize_(-1)


def test_bytes():
    u = torch.ByteStorage([1, 2, 255]).untyped()
    assert u.tolist() == [1, 2, 255] == list(u) and u[2] == 255 and u[1:].tolist() == [2, 255] and len(u) == 3
    u[0] = 7
    assert bytes(u) == b"\x07\x02\xff" and u.clone().tolist() == [7, 2, 255] and u.fill_(0).tolist() == [0, 0, 0]
    assert torch.UntypedStorage.from_buffer(b"\0\1\0\2", "big", dtype=torch.int16)._typed(torch.int16).tolist() == [
        1,
        2,
    ]
    assert torch.IntStorage.from_buffer(b"\1\0\0\0\2\0\0\0", "little", 1, 4).tolist() == [2]
    with pytest.raises(ValueError, match="the buffer has 4 bytes, 2 elements of torch.int32 need 8"):
        torch.IntStorage.from_buffer(b"\0" * 4, count=2)
    assert repr(u[:1].fill_(5)) == " 5\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    assert not hasattr(u, "nonsense") and torch.UntypedStorage(2, device="meta").device.type == "meta"


def test_a_file_is_memory(tmp_path):
    file = tmp_path / "numbers"
    s = torch.FloatStorage.from_file(str(file), shared=True, size=3)
    s.fill_(2)
    assert s.filename == str(file) and s.is_shared() and len(file.read_bytes()) == 12
    private = torch.FloatStorage.from_file(str(file), size=2)
    private[0] = 5
    assert s.tolist() == [2, 2, 2] and private.tolist() == [5, 2] and private.filename is None
    with pytest.raises(RuntimeError, match="has 12 bytes, 16 are asked for"):
        torch.FloatStorage.from_file(str(file), size=4)


def test_storages_ask_for_the_part_that_shares_memory():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = torch.FloatStorage([1, 2])
        pytest.importorskip("torch.multiprocessing")
        assert s.share_memory_() is s and s.is_shared() and s.tolist() == [1, 2]


def test_a_storage_says_which_it_is_and_how_big():
    x = torch.ones(99)
    typed, untyped = x.storage(), x.untyped_storage()
    assert typed._cdata == untyped._cdata == x[3:].untyped_storage()._cdata != x.clone().untyped_storage()._cdata
    empty = torch.ones(0)
    assert typed.__sizeof__() - empty.storage().__sizeof__() == 396
    assert untyped.__sizeof__() - empty.untyped_storage().__sizeof__() == 396
    assert sys.getsizeof(torch.zeros(10, dtype=torch.float64).storage()) > 80


def test_torch_storage_is_the_class_of_floats():
    assert torch.Storage is torch.FloatStorage and torch.Storage([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert isinstance(torch.ones(2).storage(), torch.Storage) and not isinstance(
        torch.ones(2).long().storage(), torch.Storage
    )
    assert torch.Storage in torch._storage_classes and len(torch._storage_classes) == len(CLASSES) + 2


def test_a_file_is_memory_by_its_bytes(tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(8)))
    for s in (
        torch.UntypedStorage.from_file(str(file), shared=False, nbytes=3),
        torch.UntypedStorage.from_file(str(file), False, 3),
        torch.UntypedStorage.from_file(filename=str(file), nbytes=3),
    ):
        assert s.tolist() == [0, 1, 2] and s.nbytes() == 3
    assert torch.UntypedStorage.from_file(file).nbytes() == 8
    with pytest.raises(RuntimeError, match="has 8 bytes, 9 are asked for"):
        torch.UntypedStorage.from_file(file, nbytes=9)
    assert torch.UntypedStorage.from_file(file, True, 10).nbytes() == 10 and file.stat().st_size == 10


def test_a_storage_is_watched_until_its_memory_goes():
    ended, x = [], torch.ones(3)
    view = x[1:]
    weakref.finalize(x.untyped_storage(), ended.append, 1)
    ref = weakref.ref(x.untyped_storage())
    gc.collect()
    assert not ended and ref() is x.untyped_storage()
    del x
    assert not ended and ref().nbytes() == 12
    held = ref()
    del view
    assert not ended and held.nbytes() == 12
    del held
    assert ended == [1] and ref() is None


def test_a_watched_storage_may_end_in_another_thread():
    ended, boxes = [], [[torch.ones(1000)] for _ in range(8)]
    for box in boxes:
        weakref.finalize(box[0].untyped_storage(), ended.append, 1)
    threads = [threading.Thread(target=box.clear) for box in boxes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(ended) == 8
