"""Memory of the device in other libraries' hands and back: DLPack and the CUDA array interface."""

import pytest
import torch
from torch import cuda
from torch._cuda import _native

dlpack = pytest.importorskip("torch.utils.dlpack")
from_dlpack, to_dlpack = dlpack.from_dlpack, dlpack.to_dlpack


class Theirs:
    """An array of another library, over a tensor's memory."""

    def __init__(self, tensor, **facts):
        self._tensor = tensor
        if facts.get("data") == "odd":
            facts["data"] = (tensor.data_ptr() + 1, False)
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__ | facts


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.complex64])
def test_dlpack_shares_memory_both_ways(dtype):
    x = torch.arange(12, device="cuda").reshape(3, 4).to(dtype)[:, ::2]
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x)
    assert y.device == x.device and y.dtype == dtype and y.stride() == x.stride() and y.data_ptr() == x.data_ptr()
    y[0, 0] = 1
    assert torch.equal(x.cpu(), y.cpu())
    z = from_dlpack(to_dlpack(x))
    place = x.data_ptr()
    del x, y
    assert z.data_ptr() == place and z[0, 0].item() == 1


def test_dlpack_orders_the_consumers_stream_behind_the_producers():
    _native.configure(lazy=True)
    a, b, x = cuda.Stream(), cuda.Stream(), torch.zeros(3, device="cuda")
    cuda.synchronize()
    with cuda.stream(a):
        x += 5
        shared = x
        with cuda.stream(b):
            pass
        capsule = shared.__dlpack__(stream=b.cuda_stream)
    with cuda.stream(b):
        y = from_dlpack(capsule) * 2
    b.synchronize()
    assert y.cpu().tolist() == [10, 10, 10]
    with cuda.stream(a):
        x += 1
        late = x.__dlpack__(stream=-1)  # the consumer said that it would wait by itself
    assert late is not None
    with pytest.raises(ValueError, match="stream 0 is ambiguous"):
        x.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream must be an int or None, got str"):
        x.__dlpack__(stream="b")
    with pytest.raises(BufferError, match=r"goes to dl_device \(2, 0\) only"):
        x.__dlpack__(dl_device=(2, 7))


def test_dlpack_to_the_cpu_is_a_copy():
    import numpy

    x = torch.arange(3.0, device="cuda")
    assert numpy.from_dlpack(x.cpu()).tolist() == [0, 1, 2]
    assert torch.from_dlpack(x, device="cpu").tolist() == [0, 1, 2]
    assert torch.from_dlpack(x.cpu(), device="cuda").device.type == "cuda"
    assert x.__dlpack__(dl_device=(1, 0)) is not None
    with pytest.raises(BufferError, match="requires grad"):
        torch.ones(2, device="cuda").requires_grad_().__dlpack__()


def test_arrays_of_other_libraries_become_tensors_over_their_memory():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    y = torch.as_tensor(Theirs(x), device="cuda")
    assert y.data_ptr() == x.data_ptr() and y.shape == (2, 3) and y.device == x.device
    y.add_(1)
    assert x[0, 0].item() == 1
    t = torch.as_tensor(Theirs(x.t()), device="cuda")
    assert t.stride() == (1, 3) and t.data_ptr() == x.data_ptr()
    assert torch.tensor(Theirs(x)).data_ptr() != x.data_ptr()
    assert torch.as_tensor(Theirs(x), dtype=torch.float64).dtype == torch.float64
    assert torch.as_tensor(Theirs(x), device="cpu").device.type == "cpu"
    place = Theirs(x)
    z = torch.as_tensor(place)
    del place, x, y, t
    assert z[1, 2].item() == 6
    assert torch.as_tensor(Theirs(torch.empty(0, 3, device="cuda"))).shape == (0, 3)


@pytest.mark.parametrize(
    ("facts", "error", "text"),
    [
        ({"typestr": ">f4"}, TypeError, "no dtype for '>f4'"),
        ({"typestr": "<U4"}, TypeError, "no dtype for '<U4'"),
        ({"data": "odd"}, ValueError, "elements of torch.float32 must lie at a multiple of 4 bytes"),
        ({"strides": (12, 5)}, ValueError, "strides must be multiples of 4 bytes"),
        ({"strides": (12,)}, ValueError, "as many strides as sizes"),
        ({"shape": (2, -3)}, ValueError, "shape must be a tuple of sizes"),
        ({"strides": (-12, 4)}, ValueError, "negative"),
        ({"mask": 3}, NotImplementedError, "masked"),
        ({"data": (0, False)}, ValueError, "address 0"),
    ],
)
def test_what_an_interface_must_not_say(facts, error, text):
    with pytest.raises(error, match=text):
        torch.as_tensor(Theirs(torch.arange(6.0, device="cuda").reshape(2, 3), **facts))


def test_memory_of_the_host_is_not_taken_for_the_devices():
    x = torch.arange(6.0)
    facts = {"typestr": "<f4", "shape": (6,), "strides": None, "data": (x.data_ptr(), False), "version": 2}
    theirs = type("Theirs", (), {"__cuda_array_interface__": facts})()
    with pytest.raises(ValueError, match="is no memory of a CUDA device"):
        torch.as_tensor(theirs, device="cuda")
