"""use_deterministic_algorithms: sums at places that are named often are the CPU's, to the bit, in every schedule."""

import pytest
import torch
from test_devices import run
from torch._cuda import _native


@pytest.fixture(autouse=True, params=[0, 3, 11])
def asked_for(request):
    _native.configure(order=request.param, lazy=bool(request.param % 2))
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64])
@pytest.mark.parametrize("size", [7, 3000])
def test_sums_are_those_of_adding_in_order(dtype, size):
    torch.manual_seed(0)
    index, values = torch.randint(5, (size,)), (torch.randn(size) * 100).to(dtype)
    wanted = torch.zeros(5, dtype=dtype)
    for i, v in zip(index.tolist(), values, strict=True):
        wanted[i] += v
    at, there = index.cuda(), values.cuda()
    zeros = torch.zeros(5, dtype=dtype, device="cuda")
    for result in (
        zeros.clone().index_add_(0, at, there),
        zeros.clone().scatter_add_(0, at, there),
        zeros.clone().put_(at, there, accumulate=True),
        zeros.clone().index_put_((at,), there, accumulate=True),
    ):
        assert torch.equal(result.cpu(), wanted)


def test_rows_and_strides():
    torch.manual_seed(1)
    index, values = torch.randint(4, (50,)), torch.randn(3, 50, 6)
    x = torch.zeros(6, 4, 3).transpose(0, 2)
    wanted = torch.zeros(3, 4, 6)
    for k, i in enumerate(index.tolist()):
        wanted[:, i] += values[:, k]
    assert torch.equal(x.cuda().index_add_(1, index.cuda(), values.cuda()).cpu(), wanted)


def test_of_values_written_to_one_place_the_last_one_stays():
    torch.manual_seed(2)
    index, values = torch.randint(6, (500,)), torch.randn(500)
    wanted = torch.zeros(6)
    for i, v in zip(index.tolist(), values.tolist(), strict=True):
        wanted[i] = v
    at, there = index.cuda(), values.cuda()
    assert torch.equal(torch.zeros(6, device="cuda").put_(at, there).cpu(), wanted)
    assert torch.equal(torch.zeros(6, device="cuda").scatter_(0, at, there).cpu(), wanted)
    x = torch.zeros(6, device="cuda")
    x[at] = there
    assert torch.equal(x.cpu(), wanted)


def test_an_index_out_of_range_is_left_alone_and_said():
    x = torch.zeros(3, device="cuda")
    x.scatter_add_(0, torch.tensor([1, 9, 1]).cuda(), torch.ones(3, device="cuda"))
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 3"):
        x.cpu()
    assert x.tolist() == [0, 2, 0]


def test_what_is_asked_before_cuda_begins_holds():
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled() and not _native.is_deterministic()
    said = run(
        """
        import torch
        torch.use_deterministic_algorithms(True)
        torch.cuda.is_available()
        from torch._cuda import _native
        print(_native.is_deterministic(), torch.are_deterministic_algorithms_enabled())
        """
    )
    assert said == "True True\n"
