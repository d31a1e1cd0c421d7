"""Arithmetic, dtypes and indices, beside what the CPU computes."""

import numpy as np
import torch
from programs.checks import devices, raises
from torch import cuda

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.half, torch.float, torch.double)


def _same(f, *tensors):
    here, there = f(*tensors), f(*[t.cuda() for t in tensors])
    here, there = [x if isinstance(x, (tuple, list)) else (x,) for x in (here, there)]
    for a, b in zip(here, there, strict=True):
        assert b.is_cuda and a.dtype == b.dtype and a.shape == b.shape, (a, b)
        assert torch.equal(a, b.cpu()) or torch.allclose(a, b.cpu(), rtol=1e-5, atol=1e-6, equal_nan=True), (a, b)


def integers_overflow_as_they_do_on_the_cpu():
    for dtype in INTEGERS:
        info = torch.iinfo(dtype)
        x = torch.tensor([info.min, info.max, 0, 1, 7, info.max // 2], dtype=dtype)
        for f in (
            torch.add,
            torch.sub,
            torch.mul,
            torch.bitwise_and,
            torch.bitwise_or,
            torch.bitwise_xor,
            torch.maximum,
        ):
            _same(f, x, x.flip(0))
        _same(torch.abs, x)
        _same(torch.neg, x)
        _same(torch.sign, x)
        _same(lambda t: t**2, x)
        _same(lambda t: t**3, x)
        _same(torch.bitwise_not, x)
        d = torch.tensor([3, 7, 1, 5, 2, 4], dtype=dtype)
        for f in (torch.remainder, torch.fmod, torch.floor_divide, torch.true_divide):
            _same(f, x, d)
        _same(lambda t: t << 2, x)
        _same(lambda t: t >> 1, x)
        _same(lambda t: (t.sum(), t.prod(), t.max(), t.min(), t.cumsum(0), t.cumprod(0), t.sort()[0]), x)
    x = torch.tensor([4, 5], device="cuda")
    raises(RuntimeError, "ZeroDivisionError", lambda: (x // 0).tolist())
    raises(RuntimeError, "negative", lambda: x**-1)
    assert (x + 1).tolist() == [5, 6]


def dtypes_are_promoted_as_on_the_cpu():
    kinds = [torch.ones(2, dtype=t) for t in (*INTEGERS, *FLOATS, torch.bool)]
    for a in kinds:
        for b in kinds:
            _same(torch.add, a, b)
            _same(torch.eq, a, b)
            _same(torch.true_divide, a, b)
            if a.dtype.is_floating_point or not b.dtype.is_floating_point:
                if b.dtype == torch.bool or a.dtype != torch.bool:
                    _same(lambda x, y: x.clone().mul_(y), a, b)
        _same(lambda x: (x * 2, x * 2.5, x == 1.0, x.sum(), torch.where(x > 0, x, 3)), a)
    raises(RuntimeError, "", lambda: torch.ones(2, dtype=torch.int32, device="cuda").add_(1.5))


def numbers_that_are_no_numbers_go_through():
    inf, nan = float("inf"), float("nan")
    for dtype in FLOATS:
        x = torch.tensor([inf, -inf, nan, 0.0, -0.0, 1.0, -2.5, 6e4], dtype=dtype)
        for name in (
            "abs", "neg", "sign", "floor", "ceil", "round", "trunc", "frac", "exp", "log", "sqrt", "sigmoid", "tanh", "relu",
            "isnan", "isinf", "isfinite", "reciprocal", "rsqrt", "erf", "log1p", "expm1", "sin", "cos", "atan", "signbit",
        ):  # fmt: skip
            _same(lambda t, name=name: getattr(t, name)().float(), x)
        for f in (
            torch.max,
            torch.min,
            torch.fmod,
            torch.remainder,
            torch.atan2,
            torch.pow,
            torch.lt,
            torch.ge,
            torch.fmax,
        ):
            _same(lambda a, b, f=f: f(a, b).float(), x, x.flip(0))
        _same(lambda t: (t.max(), t.min(), t.sum(), t.max(0)[1], t.argmin(), t.clamp(-1, 1), t.cummax(0)[0]), x)
        _same(lambda t: t.sort()[1], x)
        _same(lambda t: t.topk(3)[0], x)
        _same(lambda t: t.median(), x)
        _same(lambda t: torch.nan_to_num(t), x)
        _same(lambda t: t.softmax(0), x)


def norms_of_many_orders_and_dims():
    x = torch.randn(4, 5, 6)
    for p in (0, 0.5, 1, 2, 3, float("inf"), float("-inf"), "fro"):
        _same(lambda t, p=p: t.norm(p), x)
        if p != "fro":
            _same(lambda t, p=p: t.norm(p, 1), x)
            _same(lambda t, p=p: t.norm(p, -1, keepdim=True), x)
    _same(lambda t: t[0].norm("nuc"), x)
    _same(lambda t: t.norm(2, (0, 2)), x)
    _same(lambda t: t.double().norm(dtype=torch.double), x.half())
    _same(lambda t: t.std(1, unbiased=False), x)
    _same(lambda t: t.var((0, 2), keepdim=True), x)
    _same(lambda t: torch.renorm(t, 2, 1, 0.5), x)
    _same(lambda t: torch.dist(t, t.flip(0), 3), x)
    _same(lambda t: t.logsumexp(1), x)
    _same(lambda t: (t.mean(), t.mean(2), t.median(1)[0], t.mode(0)[0].sum() * 0, t.kthvalue(3, 1)[0]), x)


def elements_are_put_where_lists_and_masks_say():
    a, v = torch.arange(60.0).view(3, 4, 5), torch.randn(5)
    i, j, mask = torch.tensor([0, 2, 2, -1]), torch.tensor([[3], [0]]), torch.rand(3, 4) > 0.4

    def put(key, value, accumulate=None):
        def f(t, value):
            t = t.clone()
            at = tuple(k.to(t.device) if torch.is_tensor(k) else k for k in key)
            if accumulate is None:
                t[at] = value
            else:
                t.index_put_(at, value, accumulate=accumulate)
            return t

        _same(f, a, value)

    put((i[:2],), torch.randn(2, 4, 5))
    put((slice(None), j), torch.tensor(3.0))
    put((j % 3 + torch.tensor([[1], [0]]), slice(None), i[:2]), torch.randn(2, 2, 4))
    put((mask,), v)
    put((mask, 2), torch.tensor(-1.0))
    put((None, 1, Ellipsis, slice(0, 5, 2)), v[:3])
    put((1, i[:2], i[:2]), v[:2])
    put((i,), torch.ones(4, 5), True)  # a place twice
    put((i, i), v, True)
    put((i[:1], slice(None), 0), torch.randn(4))
    for key in (
        (mask,),
        (j - 1, i[:2]),
        (slice(1, 3), i),
        (i, slice(None), (j - 1)[:, 0].repeat(2)),
        (None, mask),
        (Ellipsis, i),
    ):
        _same(lambda t, key=key: t[tuple(k.to(t.device) if torch.is_tensor(k) else k for k in key)], a)
    x = a.cuda()
    raises((IndexError, RuntimeError), "", lambda: x[torch.ones(2, 4, dtype=torch.bool)])
    raises(IndexError, "", lambda: x[torch.tensor([0.5])])
    raises(RuntimeError, "", lambda: x.index_put_((i.cuda(),), torch.ones(3, 5, device="cuda").double()))
    raises((IndexError, RuntimeError), "", lambda: x[[0, 1], [0, 1, 2]])
    assert torch.equal(x.cpu(), a)


def regions_that_overlap_are_copied_as_if_they_did_not_or_refused():
    x = torch.arange(12.0, device="cuda")
    x[1:].copy_(x[:-1].clone())
    assert x.tolist() == [0, *range(11)]
    e = torch.zeros(1, device="cuda").expand(5)
    raises(RuntimeError, "", lambda: e.add_(1))
    raises(RuntimeError, "", lambda: e.copy_(torch.ones(5)))
    y = torch.arange(9.0, device="cuda").view(3, 3)
    y.copy_(y.t().clone())
    assert y.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    z = torch.ones(4, 4, device="cuda")[::2, 1::2]
    z.zero_().add_(5)
    assert z.tolist() == [[5, 5]] * 2 and z.stride() == (8, 2) and z.storage_offset() == 1


def triangles_and_places_of_nonzeros():
    a = torch.randn(2, 5, 4)
    for k in (-6, -2, 0, 1, 3, 6):
        _same(
            lambda t, k=k: (t.tril(k), t.triu(k), t[0].diag(k) if -5 <= k <= 4 else t[0, 0], t.transpose(1, 2).tril(k)),
            a,
        )
        assert torch.equal(torch.tril_indices(5, 4, k, device="cuda").cpu(), torch.tril_indices(5, 4, k))
        assert torch.equal(torch.triu_indices(5, 4, k, device="cuda").cpu(), torch.triu_indices(5, 4, k))
    b = (a > 0.5).float()
    for view in (b, b.transpose(0, 2), b[:, ::2], b[:0], b[0, 0, 0]):
        _same(lambda t: t.nonzero(), view)
    _same(lambda t: t.byte().nonzero(), b)
    _same(lambda t: torch.masked_select(t, t > 0), a)
    _same(lambda t: (torch.flip(t, (0, 2)), torch.roll(t, (1, -2), (0, 1)), torch.rot90(t, 3, (1, 2))), a)
    _same(lambda t: torch.diag_embed(t, 1, 0, 2), a[0])
    _same(lambda t: torch.diagonal(t, -1, 1, 2), a)


def draws_know_what_is_possible():
    p = torch.tensor([[0.0, 0.3, 0.0, 0.7], [0.5, 0.0, 0.5, 0.0]], device="cuda")
    for _ in range(5):
        drawn = torch.multinomial(p, 2)
        assert sorted(drawn[0].tolist()) == [1, 3] and sorted(drawn[1].tolist()) == [0, 2]
    assert set(torch.multinomial(p, 50, replacement=True)[0].tolist()) <= {1, 3}
    raises(RuntimeError, "", lambda: torch.multinomial(p, 3).tolist())
    raises(RuntimeError, "", lambda: torch.multinomial(-p, 1).tolist())
    assert torch.bernoulli(torch.tensor([0.0, 1.0], device="cuda")).tolist() == [0, 1]
    for dtype in INTEGERS:
        x = torch.empty(2000, dtype=dtype, device="cuda").random_(3, 7)
        assert x.min().item() == 3 and x.max().item() == 6
    assert torch.empty(999, dtype=torch.int64, device="cuda").random_(-40, -20).max().item() < -20
    x = torch.empty(4001, device="cuda").uniform_(-2, 3)
    assert x.min().item() >= -2 and x.max().item() < 3 and abs(x.mean().item() - 0.5) < 0.15
    for fill in ("normal_", "exponential_", "cauchy_", "log_normal_"):
        torch.manual_seed(4)
        a = getattr(torch.empty(100, device="cuda"), fill)()
        torch.manual_seed(4)
        assert torch.equal(a, getattr(torch.empty(100, device="cuda"), fill)())
    raises(RuntimeError, "", lambda: x.random_(5, 3))
    raises(RuntimeError, "", lambda: x.normal_(0, -1))


def arrays_and_numbers_of_numpy_meet_tensors():
    x = torch.tensor([1.0, 2.0], device="cuda")
    assert (x * np.float32(2)).tolist() == (np.float64(2) * x).tolist() == [2, 4] and (x + np.int64(1)).is_cuda
    assert (
        x[np.int64(1)].item() == 2
        and x[np.array([1, 0])].tolist() == [2, 1]
        and torch.full((2,), np.float32(3), device="cuda").sum().item() == 6
    )
    assert x.sum().item() == np.float32(3) and x.cpu().numpy().dtype == np.float32 and x.tolist() == [1, 2]
    assert torch.tensor([x[0], x[1] * 2]).tolist() == [1, 4] and torch.tensor(
        [x[0].item(), np.float64(5)], device="cuda"
    ).tolist() == [1, 5]
    assert torch.tensor(np.array([[1, 2]], dtype=np.int16), device="cuda").dtype == torch.int16
    y = torch.zeros(3, device="cuda")
    y[1] = np.float64(4)
    y[2] = x[1]
    assert y.tolist() == [0, 4, 2] and x.new_tensor(np.ones(2)).is_cuda and round(float(x[0]), 1) == 1.0


def all_that_is_made_is_of_cuda_when_that_is_the_default():
    before = torch.get_default_dtype()
    torch.set_default_tensor_type(cuda.DoubleTensor)
    try:
        made = (
            torch.ones(2),
            torch.zeros(1),
            torch.rand(3),
            torch.randn(2),
            torch.eye(2),
            torch.linspace(0, 1, 3),
            torch.tensor([1.5]),
            torch.Tensor(2),
        )
        assert all(t.is_cuda and t.dtype == torch.double for t in made)
        assert torch.arange(3).is_cuda and torch.arange(3).dtype == torch.int64 and torch.randperm(4).is_cuda
        assert (
            torch.tensor([1, 2]).is_cuda
            and torch.from_numpy(np.ones(2)).is_cuda is False
            and torch.ones(1, device="cpu").is_cuda is False
        )
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.get_default_dtype() == before and not torch.ones(1).is_cuda
    for i in devices():
        with torch.device("cuda", i):
            assert torch.ones(1).get_device() == torch.arange(3).get_device() == torch.tensor(1).get_device() == i
            assert torch.ones(1, device="cpu").is_cuda is False
    assert not torch.ones(1).is_cuda


def storages_are_resized_filled_and_shared_by_tensors():
    for i in devices():
        with cuda.device(i):
            s = cuda.FloatStorage(6)
            s.fill_(3)
            assert s.tolist() == [3] * 6 and s.get_device() == i and s.size() == 6 and s.element_size() == 4
            t = cuda.FloatTensor(s)
            assert t.get_device() == i and t.data_ptr() == s.data_ptr()
            t[2] = 7
            assert s[2] == 7 and s.clone().tolist() == s.tolist()
            s[0] = -1
            assert t[0].item() == -1 and t.storage().data_ptr() == s.data_ptr()
            v = cuda.FloatTensor().set_(s, 1, (2, 2), (2, 1))
            assert v.tolist() == [[3, 7], [3, 3]]
            v.resize_(5, 2)
            assert v.shape == (5, 2) and v.storage().size() >= 11 and v.view(-1)[:4].tolist() == [3, 7, 3, 3]
            assert (
                s.cpu().tolist()[:6] == s.tolist()[:6] == [-1, 3, 7, 3, 3, 3] and s.type() == "torch.cuda.FloatStorage"
            )
            u = cuda.LongStorage([1, 2, 3])
            assert u.tolist() == [1, 2, 3] and u.double().tolist() == [1.0, 2.0, 3.0] and u[1:].tolist() == [2, 3]


def long_vectors_are_added_and_halved():
    n = 1 << 20
    x = torch.arange(n, device="cuda", dtype=torch.float32)
    assert torch.equal((x + x) / 2, x) and x[-1].item() == n - 1 and (x % 2).sum().item() == n // 2
    y = x.view(1024, 1024)
    assert torch.equal(y.t().contiguous().t(), y) and y.sum(1)[3].item() == sum(range(3072, 4096))
    z = torch.empty(n, dtype=torch.uint8, device="cuda").fill_(200)
    assert z.sum().item() == 200 * n and z.long().sum().item() == 200 * n and (z + z).max().item() == 144
    assert torch.equal(torch.cat([x[: n // 2], x[n // 2 :]]), x) and torch.equal(x.flip(0).sort()[0], x)
    assert x.cumsum(0, dtype=torch.double)[-1].item() == n * (n - 1) / 2 and x.nonzero().numel() == n - 1
