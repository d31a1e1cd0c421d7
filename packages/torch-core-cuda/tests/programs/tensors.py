"""Making tensors and moving them between devices and dtypes."""

import copy

import numpy as np
import torch
from programs.checks import devices, raises, two_devices
from torch import cuda


def a_tensor_is_made_where_the_current_device_is():
    two_devices()
    x, y = torch.FloatTensor(5, 5).fill_(1).cuda(), torch.ones(5, 5).cuda()
    assert x.get_device() == y.get_device() == 0
    with cuda.device(1):
        z = torch.ones(5, 5).cuda()
        assert z.get_device() == 1 and cuda.FloatTensor(2).get_device() == 1
        assert (x + y).get_device() == 0  # results are where their operands are
        assert z.add(1).get_device() == 1
        with cuda.device(0):
            assert cuda.FloatTensor(2).get_device() == 0
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0


def set_device_takes_numbers_names_and_devices():
    two_devices()
    for given, index in ((1, 1), ("cuda:0", 0), (torch.device("cuda", 1), 1), ("cuda", 1)):
        cuda.set_device(given)
        assert cuda.current_device() == index and torch.ones(1, device="cuda").get_device() == index
    cuda.set_device(-1)
    assert cuda.current_device() == 1


def new_tensors_are_made_where_the_old_one_is():
    for i in devices():
        x = torch.randn(3, 3).cuda(i)
        assert x.new([0, 1, 2]).get_device() == i and x.new(2, 3).shape == (2, 3)
        assert x.new(2, 3).get_device() == x.new(x.size()).get_device() == x.new().get_device() == i
        assert x.new(x).get_device() == i and x.new_zeros(2).get_device() == x.new_tensor([1.0]).get_device() == i
        assert x.new_full((2,), 7).tolist() == [7, 7] and x.new_empty(0).dtype == torch.float32
        assert torch.zeros_like(x).get_device() == torch.randn_like(x).get_device() == i
    if len(devices()) > 1:
        assert torch.ones(1).cuda(1).new([0], device=0).get_device() == 0
        with cuda.device(1):
            assert x.new([0]).get_device() == i


def cuda_of_a_tensor_copies_only_to_another_device():
    two_devices()
    x = torch.randn(5, 5)
    y = x.cuda()
    assert y.cuda() is y and y.get_device() == 0
    z = y.cuda(1)
    assert z.get_device() == 1 and z.cuda(1) is z and torch.equal(z.cpu(), x)
    with cuda.device(1):
        assert y.cuda().get_device() == 1
    assert z.cpu().get_device() == -1 and z.to(0).get_device() == 0 and z.to("cuda:1") is z


def type_conversions_go_between_devices_and_types():
    x = torch.randn(5, 5)
    assert isinstance(x.float(), torch.FloatTensor) and isinstance(x.cuda().double(), cuda.DoubleTensor)
    assert isinstance(x.cuda().float().cpu().int(), torch.IntTensor) and x.cuda().type() == "torch.cuda.FloatTensor"
    y = x.storage()
    assert isinstance(y.cuda().double(), cuda.DoubleStorage) and isinstance(y.cuda().cpu(), torch.FloatStorage)
    assert isinstance(y.cuda().float().cpu().int(), torch.IntStorage)
    assert x.cuda().type(torch.LongTensor).is_cuda is False and x.type("torch.cuda.HalfTensor").dtype == torch.float16
    assert x.type_as(torch.ones(1, device="cuda").double()).type() == "torch.cuda.DoubleTensor"
    if len(devices()) > 1:
        with cuda.device(1):
            z = x.cuda()
            assert z.get_device() == z.int().get_device() == z.type(cuda.DoubleTensor).get_device() == 1
        assert z.int().get_device() == z.type(torch.cuda.IntTensor).get_device() == 1


def to_takes_devices_dtypes_and_other_tensors():
    x = torch.tensor([1.5, -2.5])
    for i in devices():
        other = torch.zeros(1, dtype=torch.int32, device=f"cuda:{i}")
        y = x.to(other)
        assert y.get_device() == i and y.dtype == torch.int32 and y.tolist() == [1, -2]
        assert x.to(f"cuda:{i}", torch.float64).dtype == torch.float64
        assert x.to(device=torch.device("cuda", i), dtype=torch.half, non_blocking=True).tolist() == [1.5, -2.5]
        assert other.to(other) is other and other.to(other, copy=True) is not other


def factories_take_a_device():
    for i in devices():
        d = torch.device("cuda", i)
        made = [
            torch.zeros(2, device=d), torch.ones(2, device=i), torch.eye(2, device=d), torch.arange(2, device=d),
            torch.linspace(0, 1, 2, device=d), torch.full((2,), 3.0, device=f"cuda:{i}"), torch.rand(2, device=d),
            torch.randint(4, (2,), device=d), torch.randperm(2, device=d), torch.empty(2, device=d),
            torch.tensor([1, 2], device=d), torch.as_tensor(np.ones(2), device=d), torch.logspace(0, 1, 2, device=d),
        ]  # fmt: skip
        assert all(x.device == d for x in made)
        assert torch.tensor(made[0]).device == d and torch.as_tensor(made[0]) is made[0]
        assert torch.tensor(np.arange(3), device=d).tolist() == [0, 1, 2]


def classes_of_cuda_make_tensors():
    for name, dtype in (
        ("Float", torch.float32), ("Double", torch.float64), ("Half", torch.float16), ("Byte", torch.uint8),
        ("Char", torch.int8), ("Short", torch.int16), ("Int", torch.int32), ("Long", torch.int64),
    ):  # fmt: skip
        kind = getattr(cuda, f"{name}Tensor")
        assert kind([1, 2, 3]).tolist() == [1, 2, 3] and kind(2, 3).shape == (2, 3) and kind().numel() == 0
        assert kind([1]).dtype == dtype and kind(torch.Size([4])).shape == (4,)
        assert isinstance(kind(1), kind) and torch.is_tensor(kind(1)) and kind([2]).type() == f"torch.cuda.{name}Tensor"
        assert kind(kind([1, 2])).tolist() == [1, 2]


def sequences_and_arrays_become_tensors():
    assert cuda.FloatTensor([list(range(i * 4, i * 4 + 4)) for i in range(5)]).tolist() == [
        [float(j) for j in range(i * 4, i * 4 + 4)] for i in range(5)
    ]
    x = torch.from_numpy(np.arange(6.0).reshape(2, 3)).cuda()
    assert np.array_equal(x.cpu().numpy(), np.arange(6.0).reshape(2, 3))
    raises(TypeError, "cpu()", lambda: x.numpy())
    raises(TypeError, "cpu()", lambda: np.asarray(x))
    assert float(x[1, 2]) == 5.0 and int(x[0, 1].long()) == 1 and bool(x[0, 0]) is False and x[0].tolist() == [0, 1, 2]
    assert [row.shape for row in x] == [(3,), (3,)] and f"{x[0, 1].item():.1f}" == "1.0"


def copies_are_deep_and_stay_where_they_are():
    for i in devices():
        x = torch.randn(4, 4).cuda(i)
        shared = [x, x.t(), x.storage()]
        made = copy.deepcopy(shared)
        assert made[0].get_device() == i and torch.equal(made[0], x)
        made[0].fill_(9)
        assert made[1][0, 0].item() == 9 and made[2][0] == 9 and x[0, 0].item() != 9
        assert copy.copy(x).data_ptr() == x.data_ptr() and x.clone().get_device() == i


def values_are_printed_with_their_device():
    assert repr(torch.tensor([1.0, 2.0]).cuda()) == "tensor([1., 2.], device='cuda:0')"
    assert str(torch.tensor([1], device="cuda")) == "tensor([1], device='cuda:0')"
    assert (
        repr(torch.tensor([1.5], dtype=torch.half).cuda()) == "tensor([1.5000], device='cuda:0', dtype=torch.float16)"
    )
    assert repr(torch.empty(0, device="cuda")) == "tensor([], device='cuda:0')"
    if len(devices()) > 1:
        assert repr(torch.tensor(3, device="cuda:1")) == "tensor(3, device='cuda:1')"
        with cuda.device(1):
            assert repr(torch.tensor(3, device="cuda:0")) == "tensor(3, device='cuda:0')"


def copies_between_devices_have_the_sources_values():
    x = torch.randn(4, 6)
    for i in devices():
        for j in devices():
            a, b = x.cuda(i), torch.zeros(4, 6, device=f"cuda:{j}")
            b.copy_(a)
            assert torch.equal(b.cpu(), x)
            b = torch.zeros(6, 4, device=f"cuda:{j}", dtype=torch.double)
            b.t().copy_(a)  # other strides and another dtype
            assert torch.equal(b.cpu(), x.t().double())
            c = torch.zeros(3, 4, 6, device=f"cuda:{j}")
            c.copy_(a)
            assert torch.equal(c[2].cpu(), x)
            d = torch.zeros(4, 3)
            d.copy_(a[:, ::2], non_blocking=True)
            cuda.synchronize(i)
            assert torch.equal(d, x[:, ::2])


def a_copy_waits_for_both_streams():
    two_devices()
    d0, d1 = torch.device("cuda:0"), torch.device("cuda:1")
    x = torch.zeros(1000, device=d0)
    with cuda.device(1):
        side = cuda.Stream()
        with cuda.stream(side):
            y = torch.ones(1000, device=d1)
            cuda._sleep(1_000_000)
            y += 1
            x.copy_(y)  # from the stream of this device
    assert x.sum().item() == 2000
    y.fill_(5)
    x.copy_(y)
    y.zero_()
    assert x.tolist() == [5] * 1000
