"""Products: tiles of every size, strides and dtypes, sums with a product, and results that do not depend on the run."""

import pytest
import torch
from test_elementwise import DTYPES, numbers

operator = torch._C._operator


def close(there, here):
    assert there.is_cuda and there.dtype == here.dtype and there.shape == here.shape
    exact = not (here.is_floating_point() or here.is_complex())
    tolerance = (
        0 if exact else {2: 1e-2, 4: 1e-4, 8: 1e-4 if here.is_complex() else 1e-11, 16: 1e-11}[here.dtype.itemsize]
    )
    scale = 1.0 if exact or here.numel() == 0 else max(1.0, float(here.abs().nan_to_num().max()))
    assert torch.allclose(there.cpu(), here, rtol=tolerance, atol=tolerance * scale, equal_nan=True), (there, here)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (5, 7, 3), (70, 65, 33), (3, 130, 17), (2, 2, 3000)])
def test_products_of_every_dtype_and_strides(m, n, k, dtype):
    a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
    close(a.cuda() @ b.cuda(), a @ b)
    close(torch.mm(a.cuda().t().contiguous().t(), b.cuda().t().contiguous().t()), a @ b)
    close(a.cuda()[::2] @ b.cuda(), a[::2] @ b)
    close(a.cuda() @ b.cuda()[:, 0], a @ b[:, 0])
    close(a.cuda()[0] @ b.cuda(), a[0] @ b)
    close(a.cuda()[0].dot(b.cuda()[:, 0]), a[0].dot(b[:, 0]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("m, n, k", [(64, 64, 32), (128, 72, 64), (65, 130, 40), (40, 64, 1024), (17, 9, 5)])
def test_products_of_halves_on_tensor_cores(m, n, k, dtype):
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    expected = (a.double() @ b.double()).to(dtype)
    for left in (a.cuda(), a.cuda().t().contiguous().t()):
        for right in (b.cuda(), b.cuda().t().contiguous().t()):
            close(left @ right, expected)
    shifted = torch.empty(m * k + 1, dtype=dtype, device="cuda")[1:].view(m, k).copy_(a)  # not at 16 bytes
    close(shifted @ b.cuda(), expected)
    added = torch.addmm(b[0].cuda(), a.cuda(), b.cuda(), alpha=2, beta=3)
    close(added, (3 * b[0].double() + 2 * (a.double() @ b.double())).to(dtype))
    batches = torch.stack([a, -a]).cuda() @ torch.stack([b, b]).cuda()
    close(batches, torch.stack([expected, -expected]))


def test_a_half_that_is_no_number_stays_where_it_is():
    a = torch.ones(64, 64, dtype=torch.float16, device="cuda")
    a[3, 5] = float("nan")
    y = (a @ torch.ones(64, 64, dtype=torch.float16, device="cuda")).cpu()
    assert y[3].isnan().all() and y[:3].eq(64).all() and y[4:].eq(64).all()


def test_an_empty_middle_is_zero_and_empty_results_are_empty():
    a, b = torch.ones(3, 0), torch.ones(0, 4)
    close(a.cuda() @ b.cuda(), torch.zeros(3, 4))
    close(torch.addmm(torch.ones(4).cuda(), a.cuda(), b.cuda()), torch.ones(3, 4))
    assert (b.cuda() @ torch.ones(4, 5).cuda()).shape == (0, 5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32, torch.complex64])
def test_sums_with_a_product(dtype):
    a, b, c = numbers((2, 5, 6), dtype), numbers((2, 6, 4), dtype, 1), numbers((2, 5, 4), dtype, 2)
    for call in (
        lambda a, b, c: torch.addmm(c[0], a[0], b[0], beta=2, alpha=3),
        lambda a, b, c: torch.addmm(c[0, 0], a[0], b[0]),
        lambda a, b, c: torch.addmv(c[0, :, 0], a[0], b[0, :, 0], beta=2),
        lambda a, b, c: torch.baddbmm(c, a, b, beta=0),
        lambda a, b, c: torch.addbmm(c[0], a, b, alpha=2),
        lambda a, b, c: torch.addr(c[0], a[0, :, 0], b[0, 0]),
        lambda a, b, c: c[0].clone().addmm_(a[0], b[0]),
        lambda a, b, c: torch.matmul(a[:, None], b[None]),
        lambda a, b, c: torch.einsum("bij,bjk->ik", a, b),
        lambda a, b, c: torch.chain_matmul(a[0], b[0], c[0].t()),
    ):
        close(call(a.cuda(), b.cuda(), c.cuda()), call(a, b, c))


def test_a_factor_of_zero_does_not_read_what_is_added():
    c = torch.full((3, 4), float("nan"), device="cuda")
    close(torch.addmm(c, torch.ones(3, 2).cuda(), torch.ones(2, 4).cuda(), beta=0), torch.full((3, 4), 2.0))


def test_an_operand_of_its_own_result():
    x = numbers((4, 4), torch.float32)
    close(x.cuda().addmm_(x.cuda(), x.cuda()), x.addmm(x, x))
    y = x.cuda()
    close(y.addmm_(y, y), x.addmm(x, x))


def test_vdot_conjugates_its_first_operand():
    a, b = numbers((40,), torch.complex64), numbers((40,), torch.complex64, 1) * 1j
    close(torch.vdot(a.cuda() * 1j, b.cuda()), torch.vdot(a * 1j, b))


def test_layers():
    x, w, b = numbers((2, 3, 50), torch.float32), numbers((7, 50), torch.float32, 1), numbers((7,), torch.float32, 2)
    close(operator("linear")(x.cuda(), w.cuda(), b.cuda()), operator("linear")(x, w, b))
    close(operator("linear")(x.cuda().transpose(0, 1), w.cuda()), operator("linear")(x.transpose(0, 1), w))


def test_long_sums_are_cut_by_size_and_have_the_same_bits_every_time():
    from torch._cuda import _native

    a, b = numbers((6, 20_000), torch.float32).cuda(), numbers((20_000, 5), torch.float32, 1).cuda()
    first = (a @ b).cpu()
    for seed in (3, 4):
        _native.configure(order=seed)
        assert torch.equal((a @ b).cpu(), first)
    assert torch.allclose(first.double(), a.cpu().double() @ b.cpu().double(), rtol=1e-4, atol=1e-2)


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="mm: not implemented for torch.bool"):
        torch.mm(torch.ones(2, 2, dtype=torch.bool, device="cuda"), torch.ones(2, 2, dtype=torch.bool, device="cuda"))
    with pytest.raises(RuntimeError, match="mm.*cuda:0.*cpu|mm.*cpu.*cuda:0"):
        torch.mm(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
