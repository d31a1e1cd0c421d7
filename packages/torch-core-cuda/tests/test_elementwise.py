"""Element-wise kernels: the CPU's results, to the bit where nothing is fused, whatever dtypes and strides."""

import pytest
import torch

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64, torch.complex64, torch.complex128]  # fmt: skip


def numbers(shape, dtype, seed=0):
    torch.manual_seed(seed)
    x = torch.randint(-5, 6, shape) if not dtype.is_floating_point else torch.randn(shape, dtype=torch.float64) * 3
    return (x.abs() if dtype == torch.uint8 else x).to(dtype)


def same(there, here):
    assert there.is_cuda and there.dtype == here.dtype and there.shape == here.shape
    assert torch.equal(torch.nan_to_num(there.cpu()), torch.nan_to_num(here))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [torch.add, torch.mul, torch.eq, torch.ne])
def test_arithmetic_of_every_dtype(op, dtype):
    a, b = numbers((5, 7), dtype), numbers((5, 7), dtype, 1)
    same(op(a.cuda(), b.cuda()), op(a, b))
    same(op(a.t().cuda(), b.cuda().t()), op(a.t(), b.t()))
    same(op(a.cuda()[:, ::2], b.cuda()[1:2, ::2]), op(a[:, ::2], b[1:2, ::2]))


@pytest.mark.parametrize("n", [0, 1, 3, 127, 128, 1000, 100_003])
def test_lengths_around_packets_and_blocks(n):
    x = torch.arange(n, dtype=torch.float32)
    same(x.cuda() * 2 + 1, x * 2 + 1)
    same(x.cuda()[1:] - x.cuda()[:-1], x[1:] - x[:-1])  # not aligned to sixteen bytes
    same(x.to(torch.int8).cuda() + 1, x.to(torch.int8) + 1)


FUSED = {
    "log1p": lambda a, b: torch.log1p(a), "log2": lambda a, b: torch.log2(a), "log10": lambda a, b: torch.log10(a),
    "asinh": lambda a, b: torch.asinh(a), "acosh": lambda a, b: torch.acosh(a), "atanh": lambda a, b: torch.atanh(a),
    "logaddexp": torch.logaddexp, "logaddexp2": torch.logaddexp2, "hypot": torch.hypot, "xlogy": torch.xlogy,
    "add": lambda a, b: torch.add(a, b, alpha=0.3), "sub": lambda a, b: torch.sub(a, b, alpha=0.3),
    "rsub": lambda a, b: torch.rsub(a, b, alpha=0.3), "lerp": lambda a, b: torch.lerp(a, b, 0.3),
    "lerp of tensors": lambda a, b: torch.lerp(a, b, a), "addcmul": lambda a, b: torch.addcmul(a, b, a, value=0.3),
    "addcdiv": lambda a, b: torch.addcdiv(a, b, a, value=0.3), "gelu": lambda a, b: torch._C._operator("gelu")(a, approximate="tanh"),
    "silu": lambda a, b: torch._C._operator("silu")(a), "mish": lambda a, b: torch._C._operator("mish")(a), "softplus": lambda a, b: torch._C._operator("softplus")(a),
}  # fmt: skip


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="the CPU rounds products apart from sums"
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUSED)
def test_products_and_sums_are_fused_alike_on_both_sides(name, dtype):
    torch.manual_seed(0)
    a = torch.randn(50_000, dtype=dtype) * torch.exp(torch.randn(50_000, dtype=dtype) * 4)
    a[:20_000] = torch.rand(20_000, dtype=dtype) * 2 - 1
    b = a[torch.randperm(len(a))]
    same(FUSED[name](a.cuda(), b.cuda()), FUSED[name](a, b))


def test_numbers_of_the_host_stand_for_tensors():
    x = torch.arange(6.0).reshape(2, 3)
    same(3 - x.cuda(), 3 - x)
    same(x.cuda() * torch.tensor(2.5), x * torch.tensor(2.5))
    same(torch.where(x.cuda() > 2, x.cuda(), -1.0), torch.where(x > 2, x, -1.0))


def test_in_place_and_out():
    x = torch.arange(12.0).reshape(3, 4)
    y = x.cuda()
    assert y.add_(1).mul_(2) is y
    same(y, (x + 1) * 2)
    y.t()[1] = 7
    out = torch.empty(0, device="cuda")
    assert torch.add(y, 1, out=out) is out
    assert out[0, 1] == 8
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1, device="cuda").expand(3).add_(1)
    halves = torch.zeros(4, dtype=torch.float16, device="cuda")
    halves += torch.ones(4, device="cuda")
    assert halves.tolist() == [1, 1, 1, 1]


def test_many_dims_and_broadcasting():
    x = torch.arange(2.0**12).reshape([2] * 12)
    y = x.permute(*reversed(range(12)))
    same(x.cuda() + y.cuda(), x + y)
    same(x.cuda()[:1] * y.cuda(), x[:1] * y)


def test_integers_divided_by_zero_are_told_at_the_next_wait():
    x = torch.tensor([4, 5], device="cuda")
    y = x // torch.tensor([2, 0], device="cuda")
    with pytest.raises(RuntimeError, match="ZeroDivisionError: integer division or modulo by zero, in floor_divide"):
        y.cpu()
    assert (x // 2).tolist() == [2, 2]  # the device goes on


def test_what_has_no_kernel_names_operator_and_device():
    with pytest.raises(
        NotImplementedError, match="^copy_: no kernel that converts torch.float32 to torch.complex32 on cuda:0"
    ):
        torch.ones(2, device="cuda").to(torch.complex32)


def test_tensors_of_two_devices_are_refused():
    with pytest.raises(RuntimeError, match=r'at least two devices, cuda:0 and cpu! Move one .* with .to\("cuda:0"\)'):
        torch.ones(2, device="cuda") + torch.ones(2)
    with pytest.raises(
        RuntimeError, match=r'found \(1, 2\) torch.float32 on cpu and .* move one .* with .to\("cuda:0"\)'
    ):
        torch.ones(1, 2) @ torch.ones(2, 1, device="cuda")


def test_one_truth_of_the_cpu_chooses():
    a, b = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    assert torch.where(torch.tensor(True), a, b).cpu().equal(torch.ones(3))
    assert torch.where(torch.tensor(False), a, b).cpu().equal(torch.zeros(3))
    with pytest.raises(RuntimeError, match="at least two devices, cpu and cuda:0"):
        torch.where(torch.tensor([True, False, True]), a, b)
