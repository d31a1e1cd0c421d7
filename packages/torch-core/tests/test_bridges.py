"""Memory shared with NumPy, DLPack, buffers and pickles."""

import copy
import hashlib
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import torch
from torch._copying import PickledStorage

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_and_back_share_memory(name):
    a = np.arange(6).astype(name).reshape(2, 3)
    t = torch.from_numpy(a)
    assert t.dtype == getattr(torch, name) and t.tolist() == a.tolist()
    assert np.shares_memory(t.numpy(), a) and np.shares_memory(np.asarray(t), a) and t.numpy().dtype == a.dtype
    assert torch.from_numpy(a[::-1, ::2]).tolist() == a[::-1, ::2].tolist()
    assert torch.from_dlpack(a).tolist() == a.tolist() and np.from_dlpack(t).tolist() == a.tolist()


def test_the_array_lives_as_long_as_the_tensor():
    t = torch.from_numpy(np.arange(1000))
    assert t[999].item() == 999 and t.untyped_storage()._owner is not None


def test_what_numpy_cannot_hold_is_said():
    with pytest.raises(TypeError, match="BFloat16"):
        torch.ones(1, dtype=torch.bfloat16).numpy()
    with pytest.raises(TypeError, match="expected np.ndarray"):
        torch.from_numpy([1, 2])
    with pytest.raises(TypeError, match="can't convert an array of format"):
        torch.from_numpy(np.array(["a"]))
    for make in (torch.from_numpy, torch.as_tensor, torch.tensor):
        with pytest.raises(ValueError, match="byte order different from the native byte order .format '>f'"):
            make(np.ones(2, dtype=">f4"))
        with pytest.raises(TypeError, match="can't convert elements of numpy.ndarray that are no numbers"):
            make(np.array(["2020"], dtype="datetime64"))
    with pytest.raises(TypeError, match="meta"):
        torch.empty(1, device="meta").numpy()


def test_read_only_arrays_warn():
    a = np.arange(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(a)


def test_buffers_become_tensors():
    raw = bytearray(b"\x01\x00\x00\x00\x02\x00\x00\x00")
    t = torch.frombuffer(raw, dtype=torch.int32)
    t[0] = 7
    assert raw[0] == 7 and torch.frombuffer(raw, dtype=torch.uint8, offset=4, count=1).tolist() == [2]
    with pytest.raises(ValueError, match="offset .9 bytes."):
        torch.frombuffer(raw, dtype=torch.uint8, offset=9)
    with pytest.raises(ValueError, match="must not be greater"):
        torch.frombuffer(raw, dtype=torch.int32, count=3)
    with pytest.raises(ValueError, match=r"frombuffer: list has no buffer; torch.tensor\(\) takes sequences"):
        torch.frombuffer([1, 2], dtype=torch.int32)
    assert bytes(memoryview(torch.tensor([1, 2], dtype=torch.uint8))) == b"\x01\x02"
    with pytest.raises(BufferError, match="not contiguous"):
        hashlib.md5(torch.ones(4)[::2])


def test_dlpack_says_steps_of_dims_of_one_element_as_one():
    x = torch.arange(16.0)[::3][:1]
    assert x.stride() == (3,) and torch.from_dlpack(x).stride() == (1,)
    assert torch.from_dlpack(torch.ones(4, 3)[::2, :1]).stride() == (6, 1)


def test_dlpack_capsules_are_taken_once():
    with pytest.raises(TypeError, match="__dlpack__: stream must be an int or None, got str"):
        torch.ones(2).__dlpack__(stream="0")
    capsule = torch.ones(2).__dlpack__()
    assert torch.from_dlpack(capsule).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="only once"):
        torch.from_dlpack(capsule)
    with pytest.raises(TypeError, match="no __dlpack__"):
        torch.from_dlpack(3)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickles_keep_sharing_strides_and_dtypes(protocol):
    base = torch.arange(6.0)
    parts = [
        base,
        base[2:],
        base.view(2, 3).t(),
        torch.tensor(1, dtype=torch.int8),
        torch.empty(0, 2),
        torch.ones(2, dtype=torch.bfloat16),
    ]
    copies = pickle.loads(pickle.dumps(parts, protocol))
    for part, other in zip(parts, copies):
        assert other.tolist() == part.tolist() and other.dtype == part.dtype and other.stride() == part.stride()
    copies[0][3] = 50
    assert copies[1][1].item() == 50 and copies[2][0, 1].item() == 50 and base[3].item() == 3


LOADS = {"C": pickle.loads, "Python": pickle._loads}
BIG = 100_000  # floats: from 64 KiB on an unpickler's bytes become the storage


@pytest.mark.parametrize("loads", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("protocol", range(2, 6))
def test_big_tensors_of_one_pickle_share_memory_with_nothing_else(loads, protocol):
    base = torch.arange(float(BIG))
    pickled = pickle.dumps([base, base[5:]], protocol)
    kept = hashlib.sha256(pickled).digest()
    (a, part), (b, _) = loads(pickled), loads(pickled)
    a.zero_()
    assert part.sum().item() == 0 and torch.equal(b, base) and hashlib.sha256(pickled).digest() == kept
    a.resize_(2 * BIG).fill_(1)
    assert a.sum().item() == 2 * BIG and torch.equal(pickle.loads(pickle.dumps(b)), base)


def test_bytes_that_someone_else_holds_are_copied_into_a_storage():
    base = torch.arange(float(BIG))
    buffers = []
    pickled = pickle.dumps(base, 5, buffer_callback=buffers.append)
    held = [bytes(buffers[0]), bytearray(buffers[0])]
    for buffer in held:
        pickle.loads(pickled, buffers=[buffer]).zero_()
        assert buffer == memoryview(base.untyped_storage())
    restore, args = PickledStorage(base.untyped_storage()).__reduce_ex__(4)
    first, second = restore(*args), restore(*args)
    assert first.data_ptr() != second.data_ptr()


def test_a_storage_is_restored_with_one_copy_of_the_bytes_which_then_go():
    for protocol in (4, 5):
        storage = torch.ones(BIG, dtype=torch.complex128).untyped_storage()
        pickled = pickle.dumps(storage, protocol)
        tracemalloc.start()
        again = pickle.loads(pickled)
        size, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size < 0.1 * len(storage), "Python's bytes are gone: the storage has memory of its own"
        assert len(storage) <= peak < 1.1 * len(storage), "and while it was made there were no more of them"
        tensor = torch.tensor((), dtype=torch.complex128).set_(again)
        del again
        assert tensor.sum().item() == BIG


def test_deep_copies_keep_sharing():
    base = torch.arange(4.0)
    a, b = copy.deepcopy([base, base[1:]])
    a[1] = 9
    assert b[0].item() == 9 and base[1].item() == 1
    assert copy.copy(base).data_ptr() == base.data_ptr()


def test_hostile_geometry_is_refused():
    storage = torch.ones(4).untyped_storage()
    for offset, size, stride in [
        (0, (5,), (1,)),
        (-1, (1,), (1,)),
        (0, (2,), (2**62,)),
        (0, (2**62, 4), (1, 1)),
        (3, (2,), (1,)),
        (1, (3,), (-1,)),
    ]:
        with pytest.raises(RuntimeError, match="does not fit|negative|64 bits"):
            torch._C._tensor_over(storage, torch.float32, offset, size, stride)


def test_crc32c_is_that_of_the_published_check_value_and_continues():
    assert torch._C._crc32c(b"123456789") == 0xE3069283  # RFC 3720, B.4, and the catalogue of CRC algorithms
    assert torch._C._crc32c(bytes(32)) == 0x8A9136AA
    assert torch._C._crc32c(b"6789", torch._C._crc32c(b"12345")) == 0xE3069283


class Producer:
    """An object with DLPack's methods; `knows` are the words that its export takes."""

    def __init__(self, tensor, knows):
        self.tensor, self.knows, self.asked = tensor, knows, []

    def __dlpack__(self, **words):
        if not words.keys() <= self.knows:
            raise TypeError("unexpected keyword argument")
        self.asked.append(words)
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("make", [lambda t: t, lambda t: Producer(t, set()), lambda t: Producer(t, {"copy", "stream"})])
@pytest.mark.parametrize("device", [None, "cpu", "cpu:0", torch.device("cpu")])
def test_dlpack_copies_when_asked_to_and_only_then(make, device):
    x = torch.ones(2, 2)
    for wanted in (None, False, True):
        y = torch.from_dlpack(make(x), device=device, copy=wanted)
        assert torch.equal(y, x) and (y.data_ptr() != x.data_ptr()) == bool(wanted)
    assert torch.from_dlpack(ext_tensor=make(x)).data_ptr() == x.data_ptr()


def test_a_producer_that_must_not_copy_is_told():
    producer = Producer(torch.ones(2), {"copy"})
    torch.from_dlpack(producer, copy=False)
    torch.from_dlpack(producer, copy=True)
    torch.from_dlpack(producer)
    assert producer.asked == [{"copy": False}, {}, {}]


def test_words_of_dlpack_that_cannot_be_kept_are_refused():
    x = torch.ones(2)
    for words in ({"device": "cpu"}, {"copy": True}):
        with pytest.raises(ValueError, match="a capsule has been exported already"):
            torch.from_dlpack(x.__dlpack__(), **words)
    with pytest.raises(BufferError, match="on the CPU and on CUDA only, not on device 'meta'"):
        torch.from_dlpack(x, device="meta")
    for place in ("cuda", torch.device("cuda", 1)):
        with pytest.raises(BufferError, match=f"is on device 'cpu' and cannot be shared with '{place}'"):
            torch.from_dlpack(x, device=place, copy=False)
        if not torch.cuda.is_available():
            with pytest.raises(NotImplementedError, match="torch-core-cuda"):
                torch.from_dlpack(x, device=place)
    for words in ({"bogus": 1}, {"ext_tensor": x}):
        with pytest.raises(TypeError):
            torch.from_dlpack(x, **words)
    with pytest.raises(TypeError, match="int has no __dlpack__ method"):
        torch.from_dlpack(3)
    with pytest.raises(BufferError, match=r"goes to dl_device \(1, 0\) only, not \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    assert torch.from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()
    assert torch.from_dlpack(x.__dlpack__(dl_device=(1, 0), copy=False)).data_ptr() == x.data_ptr()


class OnCuda:
    """What the protocol asks of a tensor."""

    is_cuda, requires_grad, layout, dtype, shape = True, False, torch.strided, torch.float32, (2, 3)
    element_size, numel, data_ptr = (lambda self: 4), (lambda self: 6), (lambda self: 4096)
    is_contiguous, stride = (lambda self: False), (lambda self: (1, 2))


def test_memory_of_cuda_tensors_is_told_and_that_of_others_is_not():
    from torch._cuda_array import interface

    assert not hasattr(torch.ones(2), "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="on non-CUDA tensor type: torch.FloatTensor"):
        torch.ones(2).__cuda_array_interface__
    told = {"typestr": "<f4", "shape": (2, 3), "strides": (4, 8), "data": (4096, False), "version": 2}
    assert interface(OnCuda()) == told
    wrong = OnCuda()
    wrong.requires_grad = True
    with pytest.raises(RuntimeError, match="requires grad"):
        interface(wrong)
    wrong.requires_grad, wrong.dtype = False, torch.bfloat16
    with pytest.raises(TypeError, match="NumPy has no bfloat16"):
        interface(wrong)


def test_an_array_of_another_dtype_is_a_copy_that_may_be_forbidden():
    x = torch.ones(2)
    assert x.__array__(copy=False).ctypes.data == x.data_ptr()
    assert x.__array__(np.float32, copy=False).ctypes.data == x.data_ptr()
    assert x.__array__(np.float32, copy=True).ctypes.data != x.data_ptr()
    assert x.__array__(np.float64).dtype == np.float64
    with pytest.raises(
        ValueError, match="__array__: copy=False, but a tensor of torch.float32 as an array of .*float64"
    ):
        x.__array__(np.float64, copy=False)


def test_tensors_and_arrays_are_compared_element_by_element():
    t, a = torch.arange(3.0), np.array([0.0, 5.0, 2.0])
    for result in (t == a, a == t):
        assert isinstance(result, torch.Tensor) and result.tolist() == [True, False, True]
    assert (t != a).tolist() == (a != t).tolist() == [False, True, False]
    assert (t < a).tolist() == (a > t).tolist() == [False, True, False]
    assert (t >= np.array(1.0)).tolist() == [False, True, True]
    assert (t == np.array(["a", "b", "c"])) is False  # no tensor holds texts
    with pytest.raises(RuntimeError, match="size"):
        t == np.arange(4.0)  # noqa: B015
    assert np.float32(2) in t and np.int64(7) not in t


@pytest.mark.filterwarnings("error")
def test_an_array_that_is_only_read_may_be_read_only():
    a = np.arange(3)
    a.setflags(write=False)
    t = torch.arange(5)
    assert torch.tensor(a).tolist() == [0, 1, 2] and t[a].tolist() == [0, 1, 2]
    t[:3] = a
    assert torch.asarray(a, copy=True).tolist() == [0, 1, 2] and (t[:3] == a).all()
    for keep in (torch.as_tensor, torch.from_numpy, torch.asarray):
        with pytest.raises(UserWarning, match="not writable"):
            keep(a)


class Column:
    """Numbers as a table of another library keeps them: a sequence by labels that gives an array."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, label):
        return self.array[label - 10]

    def __iter__(self):
        return iter(self.array.tolist())


def test_what_gives_an_array_is_a_tensor_of_its_dtype():
    column = Column(np.array([1.0, 2.0]))
    for made in (torch.tensor(column), torch.as_tensor(column), torch.asarray(column)):
        assert made.dtype == torch.float64 and made.tolist() == [1, 2]
    assert torch.as_tensor(column).data_ptr() == column.array.ctypes.data != torch.tensor(column).data_ptr()
    assert torch.tensor(column, dtype=torch.int64).tolist() == [1, 2]
    column.array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor(column).tolist() == torch.as_tensor(column).tolist() == [1, 2]
    torch.as_tensor(column).zero_()
    assert column.array.tolist() == [1, 2]  # of an array that is not to be written there is a copy
