"""Operators with tensors of devices."""

import numpy as np
import torch
from programs.checks import devices, raises, two_devices
from torch import cuda


def cat_of_one_device_and_its_mistakes():
    for dim in range(-3, 3):
        a, b = torch.rand(2, 3, 4), torch.rand(2, 3, 4)
        assert torch.equal(torch.cat((a.cuda(), b.cuda()), dim).cpu(), torch.cat((a, b), dim))
    x, y = torch.randn(2, 1).cuda(), torch.randn(2, 1, 1).cuda()
    raises(RuntimeError, "cat", lambda: torch.cat([x, y]))
    raises(RuntimeError, "cat", lambda: torch.cat([torch.randn(2, 1).cuda(), torch.randn(3, 2).cuda()], 0))
    assert torch.cat([cuda.FloatTensor(), x]).shape == (2, 1) and torch.stack([x, x], 1).shape == (2, 2, 1)
    z = torch.randn(20, 5).cuda()
    assert torch.equal(torch.cat(torch.split(z, 7)), z) and torch.equal(torch.cat(torch.chunk(z, 3)), z)


def cat_happens_on_the_device_of_its_operands():
    two_devices()
    x, y = torch.randn(4, 4).cuda(1), torch.randn(4, 4).cuda(1)
    z = torch.cat([x, y], 0)
    assert z.get_device() == 1 and torch.equal(z.cpu(), torch.cat([x.cpu(), y.cpu()]))
    raises(RuntimeError, "cuda:0", lambda: torch.cat([x, y.cuda(0)]))


def operands_of_two_devices_are_refused():
    x = torch.ones(2, 2)
    pairs = [(x, x.cuda())] + ([(x.cuda(0), x.cuda(1))] if len(devices()) > 1 else [])
    for a, b in pairs:
        for call in (
            lambda a=a, b=b: a + b, lambda a=a, b=b: a @ b, lambda a=a, b=b: torch.where(a > 0, a, b),
            lambda a=a, b=b: a.index_select(0, b[0].long()), lambda a=a, b=b: torch.addmm(a, b, b),
            lambda a=a, b=b: a.gather(0, b.long()), lambda a=a, b=b: a.add_(b), lambda a=a, b=b: torch.max(a, b),
            lambda a=a, b=b: torch.cat([a, b]), lambda a=a, b=b: torch.dot(a[0], b[0]),
            lambda a=a, b=b: torch.sum(a, 0, out=b[0]),
        ):  # fmt: skip
            raises(RuntimeError, "cuda:", call)
    assert (torch.tensor(2.0) * x.cuda()).is_cuda and (x.cuda() + 1).is_cuda  # numbers go along


def reductions_of_half_numbers():
    assert torch.ones(65536, device="cuda", dtype=torch.half).mean().item() == 1
    assert torch.ones(70000, device="cuda", dtype=torch.half).mean(dtype=torch.float32).item() == 1
    x = torch.tensor([3.0, 4.0], device="cuda", dtype=torch.half)
    assert x.norm().item() == 5 and x.norm(p=0).item() == 2 and x.norm(1).item() == 7
    a = cuda.HalfTensor([0.25]).fill_(2**-13)  # whose square is no half number
    assert a.norm().item() == 2**-13
    assert x.norm(dtype=torch.float32, p=2).dtype == torch.float32 and x.sum().item() == 7
    assert x.max().item() == 4 and x.argmin().item() == 0 and x.cumsum(0).tolist() == [3, 7] and x.prod().item() == 12


def arithmetic_of_half_numbers():
    a, b = torch.randn(6, 6).half(), torch.randn(6, 6).half()
    x, y = a.cuda(), b.cuda()
    for f in (torch.add, torch.mul, torch.sub, torch.div, torch.max, torch.min, torch.lt, torch.eq):
        assert torch.equal(f(x, y).cpu(), f(a, b)), f
    for name in ("neg", "abs", "sqrt", "exp", "tanh", "floor", "sign", "sigmoid", "relu", "round", "reciprocal"):
        assert torch.equal(getattr(x, name)().cpu().float().nan_to_num(), getattr(a, name)().float().nan_to_num()), name
    assert torch.allclose((x @ y).cpu().float(), a.float() @ b.float(), atol=2e-2)
    assert (x + 1).dtype == (x * 2.5).dtype == torch.half and (x**2).dtype == torch.half
    x += 1
    x.zero_().add_(3).mul_(2)
    assert x.tolist() == [[6] * 6] * 6 and x.view(-1)[::2].contiguous().sum().item() == 108


def variances_do_not_lose_small_differences():
    x = torch.tensor([0.01, 1.3, -0.5], device="cuda")
    assert abs(x.var().item() - np.var([0.01, 1.3, -0.5], ddof=1)) < 1e-6
    big = torch.tensor([2281.5, 2281.25], device="cuda")
    assert big.var(0).item() == 0.03125 and big.var().item() == 0.03125
    assert torch.ones(3, 4, device="cuda").std(1).tolist() == [0] * 3


def extremes_know_infinity_and_their_places():
    inf = float("inf")
    for dtype in (torch.float, torch.double, torch.half):
        x = torch.tensor([inf, -inf, 3, inf], device="cuda", dtype=dtype)
        assert x.max().item() == inf and x.min().item() == -inf and x[2:3].max(0)[1].item() == 0
    a = torch.randn(7, 9)
    for dim in (0, 1, -1):
        v, i = a.cuda().max(dim)
        assert torch.equal(v.cpu(), a.max(dim)[0]) and torch.equal(i.cpu(), a.max(dim)[1])
        v, i = a.cuda().median(dim)
        assert torch.equal(v.cpu(), a.median(dim)[0])
        assert torch.equal(a.cuda().kthvalue(2, dim)[0].cpu(), a.kthvalue(2, dim)[0])
    assert torch.equal(a.cuda().topk(3, 1)[0].cpu(), a.topk(3, 1)[0]) and a.cuda().mode(1)[0].shape == (7,)


def results_are_written_to_out():
    a, b = torch.randn(3, 4), torch.randn(4, 3)
    out = cuda.FloatTensor()
    assert torch.mm(a.cuda(), b.cuda(), out=out) is out and torch.allclose(out.cpu(), a @ b, atol=1e-5)
    values, places = cuda.FloatTensor(), cuda.LongTensor()
    torch.max(a.cuda(), 1, out=(values, places))
    assert torch.equal(values.cpu(), a.max(1)[0]) and torch.equal(places.cpu(), a.max(1)[1])
    torch.sort(a.cuda(), 1, out=(values, places))
    assert torch.equal(values.cpu(), a.sort(1)[0])
    torch.topk(a.cuda(), 2, out=(values, places))
    assert values.shape == (3, 2)
    for f, args in (
        (torch.cat, ([a, a],)),
        (torch.stack, ([a, a],)),
        (torch.cumsum, (a, 0)),
        (torch.tril, (a,)),
        (torch.nonzero, (a,)),
    ):
        moved = [[t.cuda() for t in x] if isinstance(x, list) else x.cuda() if torch.is_tensor(x) else x for x in args]
        o = torch.empty(0, device="cuda", dtype=f(*args).dtype)
        f(*moved, out=o)
        assert torch.equal(o.cpu(), f(*args)), f
    raises(RuntimeError, "", lambda: torch.add(a.cuda(), 1, out=torch.empty(3, 4)))


def elements_are_gathered_and_scattered():
    src, index = torch.randn(5, 6), torch.randint(5, (3, 6))
    x, i = src.cuda(), index.cuda()
    assert torch.equal(x.gather(0, i).cpu(), src.gather(0, index))
    for name, args in (("scatter_", (src[:3],)), ("scatter_add_", (src[:3],)), ("scatter_", (2.5,))):
        here, there = torch.zeros(5, 6), torch.zeros(5, 6, device="cuda")
        unique = torch.stack([torch.randperm(5)[:3] for _ in range(6)], 1)  # each place once
        getattr(here, name)(0, unique, *args)
        getattr(there, name)(0, unique.cuda(), *(a.cuda() if torch.is_tensor(a) else a for a in args))
        assert torch.equal(there.cpu(), here), name
    here, there = torch.zeros(5, 6), torch.zeros(5, 6, device="cuda")
    at = torch.tensor([0, 3])
    here.index_add_(0, at, src[:2]).index_copy_(0, at + 1, src[2:4]).index_fill_(1, at, 7)
    there.index_add_(0, at.cuda(), x[:2]).index_copy_(0, at.cuda() + 1, x[2:4]).index_fill_(1, at.cuda(), 7)
    assert torch.equal(there.cpu(), here) and torch.equal(x.take(at.cuda()).cpu(), src.take(at))
    assert torch.equal(x.index_select(1, at.cuda()).cpu(), src.index_select(1, at))
    there.put_(at.cuda(), x[0, :2])
    there.masked_fill_(there == 7, -1)
    there.masked_scatter_(there == -1, x)
    assert torch.equal(x.masked_select(x > 0).cpu(), src[src > 0])


def places_are_named_by_lists_masks_and_tensors():
    a = torch.arange(24.0).view(2, 3, 4)
    x = a.cuda()
    byte = (a[0] > 3).byte()
    for key in (
        0, -1, slice(None, None, 2), (Ellipsis, 1), (None, 1), ([0, 1], [1, 2]), (slice(None), [2, 0]),
        (torch.tensor([[1, 0]]),), (0, torch.tensor([2, 2]), slice(1, 3)), a > 5,
    ):  # fmt: skip
        moved = tuple(k.cuda() if torch.is_tensor(k) else k for k in key) if isinstance(key, tuple) else key
        moved = moved.cuda() if torch.is_tensor(moved) else moved
        assert torch.equal(x[moved].cpu(), a[key]), key
        assert torch.equal(x[key].cpu(), a[key]), key  # places of the CPU are moved
    assert torch.equal(x[0][byte.bool().cuda()].cpu(), a[0][byte.bool()])
    x[0, 1:], a[0, 1:] = 5, 5
    x[1, [0, 2]], a[1, [0, 2]] = torch.ones(4).cuda(), torch.ones(4)
    x[x == 5], a[a == 5] = -1, -1
    assert torch.equal(x.cpu(), a) and x.tolist() == a.tolist()


def a_place_that_is_not_there_is_an_index_error_and_the_device_lives_on():
    x = torch.ones(3, 3, device="cuda")
    for call in (
        lambda: x[torch.tensor([5]).cuda()].cpu(),
        lambda: x.index_select(0, torch.tensor([3]).cuda()).cpu(),
        lambda: x.gather(1, torch.full((3, 1), 9).cuda()).cpu(),
    ):
        raises(IndexError, "out of", call)
        assert (x + 1).sum().item() == 18
    raises(IndexError, "", lambda: x[5])


def sums_of_columns_that_do_not_lie_together():
    x = torch.randn(4, 1, 3, 5).cuda().permute(3, 1, 0, 2)
    assert torch.allclose(x.sum(0), x.contiguous().sum(0)) and torch.allclose(x.sum(), x.contiguous().sum())
    y = torch.randn(32, 32, device="cuda")
    out = torch.zeros(32, device="cuda")
    torch.sum(y, 0, out=out[:])
    assert torch.allclose(out, y.sum(0)) and torch.ones(1, 200_000, device="cuda").sum(1).item() == 200_000
    assert torch.full((240_000,), 1.0, device="cuda").prod().item() == 1 and y.sum((0, 1)).dim() == 0
    assert torch.zeros(0, 3, device="cuda").sum(0).tolist() == [0, 0, 0]


def counts_sorts_and_searches():
    x = torch.tensor([3, 1, 1, 0], device="cuda")
    assert torch.bincount(x).tolist() == [1, 2, 0, 1] and torch.bincount(x, minlength=6).tolist()[4:] == [0, 0]
    assert torch.bincount(x, torch.tensor([0.5, 1, 1, 2], device="cuda")).tolist() == [2, 2, 0, 0.5]
    assert torch.unique(x).tolist() == [0, 1, 3] and torch.nonzero(x - 1).tolist() == [[0], [3]]
    assert torch.histc(torch.arange(10.0, device="cuda"), 5).tolist() == [2] * 5
    values, places = torch.sort(x, descending=True)
    assert values.tolist() == [3, 1, 1, 0] and places.tolist()[0] == 0
    assert torch.randn(3000, device="cuda").sort()[0].diff().min().item() >= 0
    assert (x == 1).any().item() and not (x == 1).all().item() and x.byte().all().item() == 0


def matrices_are_decomposed():
    a = torch.randn(4, 4, dtype=torch.double)
    s = a @ a.t() + torch.eye(4, dtype=torch.double)
    x, y = a.cuda(), s.cuda()
    b = torch.randn(4, 2, dtype=torch.double)
    assert torch.allclose(torch.linalg.solve(y, b.cuda()).cpu(), torch.linalg.solve(s, b))
    assert torch.allclose(torch.det(x).cpu(), torch.det(a)) and torch.allclose(
        torch.slogdet(x)[1].cpu(), torch.slogdet(a)[1]
    )
    assert torch.allclose(torch.logdet(y).cpu(), torch.logdet(s)) and torch.allclose(
        y.inverse() @ y, torch.eye(4).double().cuda()
    )
    u, d, v = torch.svd(x)
    assert u.is_cuda and torch.allclose(u @ torch.diag(d) @ v.t(), x)
    l = torch.linalg.cholesky(y)
    assert torch.allclose(l @ l.t(), y) and torch.allclose(torch.linalg.eigvalsh(y).cpu(), torch.linalg.eigvalsh(s))
    q, r = torch.qr(x)
    assert torch.allclose(q @ r, x) and torch.linalg.matrix_rank(y).item() == 4
    assert torch.allclose(torch.pinverse(x) @ x, torch.eye(4).double().cuda(), atol=1e-8)
    assert torch.allclose(torch.triangular_solve(b.cuda(), l, upper=False)[0].cpu(), torch.linalg.solve(l.cpu(), b))
    assert torch.equal(torch.matrix_power(x, 2), x @ x)


def diagonals_flips_and_shapes():
    a = torch.arange(12.0).view(3, 4)
    x = a.cuda()
    for f in (
        lambda t: t.diagonal(1), lambda t: torch.diagflat(t[0]), lambda t: t.flip(0, 1), lambda t: t.rot90(1, (0, 1)),
        lambda t: t.tril(-1), lambda t: t.triu(1), lambda t: t.unfold(1, 2, 1), lambda t: t.expand(2, 3, 4),
        lambda t: t.repeat(2, 1), lambda t: t.unsqueeze(1).squeeze(), lambda t: t.t().contiguous().view(-1),
        lambda t: t.roll(1, 0), lambda t: t.narrow(1, 1, 2), lambda t: torch.trace(t), lambda t: t.renorm(2, 0, 1.0),
        lambda t: torch.cross(t[:, :3], t[:, 1:], 1), lambda t: torch.dist(t, t + 1), lambda t: t.diag(),
        lambda t: torch.einsum("ij,kj->ik", t, t), lambda t: torch.meshgrid(t[0], t[1])[0], lambda t: t.permute(1, 0),
    ):  # fmt: skip
        assert torch.allclose(f(x).cpu(), f(a), rtol=1e-5)
    y = torch.empty(3, 4, device="cuda").t_()
    y.resize_(2, 2)
    assert y.shape == (2, 2) and x.view(2, 6).stride() == (6, 1) and x.t().is_contiguous() is False
    raises(RuntimeError, "view", lambda: x.t().view(-1))
    x.set_()
    assert x.numel() == 0


def digits_of_special_functions():
    a = torch.linspace(0.1, 5, 40, dtype=torch.double)
    for name in (
        "digamma",
        "lgamma",
        "erf",
        "erfc",
        "erfinv",
        "expm1",
        "log1p",
        "rsqrt",
        "tan",
        "sinh",
        "frac",
        "trunc",
    ):
        u = a / 6 if name == "erfinv" else a
        assert torch.allclose(getattr(u.cuda(), name)().cpu(), getattr(u, name)(), rtol=1e-12), name
    assert torch.allclose(torch.polygamma(1, a.cuda()).cpu(), torch.polygamma(1, a))
    assert torch.equal(torch.fmod(-a.cuda(), 3).cpu(), torch.fmod(-a, 3))
    assert torch.equal(torch.remainder(-a.cuda(), 3).cpu(), torch.remainder(-a, 3))
    assert torch.equal(a.cuda().clamp(1, 2).cpu(), a.clamp(1, 2)) and torch.equal(
        torch.lerp(a.cuda(), -a.cuda(), 0.5).cpu(), torch.lerp(a, -a, 0.5)
    )
    assert torch.tensor([7, -7], device="cuda").div(2, rounding_mode="trunc").tolist() == [3, -3]


def ranges_have_their_ends():
    assert torch.arange(0, 10, 3, device="cuda").tolist() == [0, 3, 6, 9]
    assert torch.range(1, 4, device="cuda").tolist() == [1, 2, 3, 4]
    assert torch.linspace(-2, 2, 5, device="cuda").tolist() == [-2, -1, 0, 1, 2]
    assert torch.linspace(1, 1, 1, device="cuda").tolist() == [1]
    assert torch.allclose(torch.logspace(0, 3, 4, device="cuda").cpu(), torch.tensor([1.0, 10, 100, 1000]))
    assert torch.arange(0.0, 1, 0.25, out=cuda.FloatTensor()).tolist() == [0, 0.25, 0.5, 0.75]


def spectra_come_back():
    x = torch.randn(3, 8, dtype=torch.double)
    y = torch.fft.rfft(x.cuda())
    assert np.allclose(y.cpu().numpy(), np.fft.rfft(x.numpy())) and torch.allclose(torch.fft.irfft(y, 8).cpu(), x)
    assert np.allclose(torch.fft.fft2(x.cuda()).cpu().numpy(), np.fft.fft2(x.numpy()))
    assert torch.allclose(torch.hann_window(10, device="cuda").cpu(), torch.hann_window(10))


def sparse_tensors_are_made_added_and_multiplied():
    for i in devices():
        d = f"cuda:{i}"
        at, values = torch.tensor([[0, 1, 1], [2, 0, 2]], device=d), torch.tensor([3.0, 4.0, 5.0], device=d)
        s = torch.sparse_coo_tensor(at, values, (2, 3))
        assert s.is_cuda and s.is_sparse and s.get_device() == i and s._nnz() == 3
        assert s.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]] and s.t().to_dense().tolist() == [[0, 4], [0, 0], [3, 5]]
        dense = torch.randn(3, 2, device=d)
        assert torch.allclose(torch.sparse.mm(s, dense), s.to_dense() @ dense) and torch.allclose(
            torch.mm(s, dense), s.to_dense() @ dense
        )
        assert (s + s).to_dense().tolist() == (s * 2).to_dense().tolist() and s.cpu().is_cuda is False
        assert torch.equal(s.cpu().cuda(i).to_dense(), s.to_dense()) and torch.equal(
            s.half().to_dense().float(), s.to_dense()
        )
        twice = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,), device=d)
        assert twice.coalesce().values().tolist() == [3] and not twice.is_coalesced()
    assert cuda.sparse.FloatTensor(at.cuda(0), values.cuda(0), torch.Size([2, 3])).to_dense().sum().item() == 12
    x = cuda.sparse.DoubleTensor(2, 3)
    assert x._nnz() == 0 and x.type() == "torch.cuda.sparse.DoubleTensor" and cuda.sparse.LongTensor().numel() == 0
    assert torch.spmm(s, dense).shape == (2, 2) and torch.addmm(torch.zeros(2, 2, device=d), s, dense).shape == (2, 2)
