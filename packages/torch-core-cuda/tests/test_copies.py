"""Moving tensors: to and from devices, between dtypes and layouts."""

import pytest
import torch
from test_elementwise import DTYPES, numbers, same


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_are_those_of_the_cpu(dtype, to):
    x = numbers((4, 5), dtype)
    same(x.cuda().to(to), x.to(to))
    same(x.cuda().t().to(to), x.t().to(to))
    assert torch.equal(x.cuda().to("cpu", to), x.to(to))


def test_edges_of_conversions():
    x = torch.tensor([0.0, -0.0, 1e-8, 6e-8, 65504, 65520, 1e30, -1e30, float("inf"), float("nan"), 0.1, -1.5])
    for to in (torch.float16, torch.bfloat16):
        assert torch.equal(x.cuda().to(to).cpu().view(torch.int16), x.to(to).view(torch.int16))
    assert x.cuda().bool().tolist() == x.bool().tolist()
    small = torch.tensor([-1.5, 300.7, -300.7])
    for to in (torch.uint8, torch.int8, torch.int16, torch.int64):
        same(small.cuda().to(to), small.to(to))


@pytest.mark.parametrize("layout", ["t", "step", "flip", "expand", "offset"])
def test_layouts(layout):
    x = torch.arange(24.0).reshape(4, 6)
    cut = {
        "t": lambda x: x.t(),
        "step": lambda x: x[::2, 1::3],
        "flip": lambda x: x.permute(1, 0)[2:],
        "expand": lambda x: x[:1].expand(5, 6),
        "offset": lambda x: x.flatten()[1:],
    }[layout]
    same(cut(x.cuda()).contiguous(), cut(x))
    assert torch.equal(cut(x.cuda()).cpu(), cut(x))
    target = torch.zeros(cut(x).shape, device="cuda")
    target.copy_(cut(x))
    same(target, cut(x))


def test_cuda_and_cpu_and_to():
    x = torch.arange(3)
    y = x.cuda()
    assert y.device == torch.device("cuda", 0) and y.is_cuda and y.get_device() == 0
    assert y.cuda() is y and x.cpu() is x and y.to("cuda:0") is y
    assert str(y) == "tensor([0, 1, 2], device='cuda:0')"
    assert y.cpu().tolist() == [0, 1, 2] and y[1].item() == 1 and bool(y[0] == 0)
    assert torch.empty(0, device="cuda").cpu().shape == (0,)


def test_views_share_memory():
    y = torch.zeros(2, 3, device="cuda")
    y.view(6)[4] = 1
    y[0].fill_(2)
    assert y.tolist() == [[2, 2, 2], [0, 1, 0]]
    assert y.t().data_ptr() == y.data_ptr()


def test_memory_of_the_host_may_change_once_a_copy_has_returned():
    from torch._cuda import _native

    _native.configure(lazy=True)
    x = torch.ones(1000)
    y = x.cuda()
    x.zero_()
    assert y.sum is not None and y.cpu().tolist() == [1.0] * 1000
