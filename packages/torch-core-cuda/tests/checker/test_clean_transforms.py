"""Transforms, draws, sparse matrices, bytes, steps, attention, functions of complex numbers and fixed orders under the checker."""

import math

import pytest
import torch
from test_clean import X, findings_of


def transforms():
    x = torch.complex(X, X).cuda()
    lines = [torch.fft.fft(x[:, :n]) for n in (1, 7, 60, 97)]
    return [*lines, torch.fft.fft(x, dim=0), torch.fft.rfft(X.cuda()), torch.fft.irfft(x), torch.fft.fft(x, n=2310)]


def draws():
    x = X.cuda()
    gamma, dirichlet = (torch._C._operator(n)(x) for n in ("_standard_gamma", "_sample_dirichlet"))
    chosen = [torch.multinomial(x, n, replacement=r) for n, r in ((3, True), (1, False), (4, False))]
    half = torch._C._operator("native_dropout")(x.half(), 0.5, True)
    return [gamma, dirichlet, *chosen, *half, torch.poisson(x), torch.binomial(x, torch.full_like(x, 0.3))]


def sparse():
    at = torch.tensor([[2, 0, 2, 1], [1, 3, 1, 0]], device="cuda")
    s = torch.sparse_coo_tensor(at, torch.arange(4.0, device="cuda"), (3, 100))
    x = X.cuda()
    csr = s.to_sparse_csr()
    sampled = torch.sparse.sampled_addmm(csr, x, x[:1].t() @ x[:1]).values()
    most = torch._C._operator("_sparse_mm_reduce")(csr, x.t().contiguous(), "amax")
    return [s.coalesce().values(), s.to_dense(), s @ x.t(), csr @ x.t(), (s @ s.t()).to_dense(), sampled, most]


def bytes_with_scales():
    operator = torch._C._operator
    x = operator("_int8_quantize")(X.cuda(), 0.5, 7, False)
    w = torch.arange(500, device="cuda").reshape(5, 100).to(torch.int8)
    scale = torch.full((5,), 0.001, device="cuda")
    taps, few = w[:, :54].reshape(5, 6, 3, 3), scale[:5]
    return [
        operator("_int8_add")(x, x, 0.1, 3, 0.2, 4, 0.3, 5, True),
        operator("_int8_dequantize")(x, 0.5, 7),
        operator("_int8_dense")(x, w, scale, scale, 3, 4, True),
        operator("_int8_dense")(x[:1, :99], w[:, :99], scale, None, 3, 4, False),
        operator("_int8_linear")(X.cuda(), w, scale, scale),
        operator("_int8_convolution")(x.reshape(1, 6, 5, 10), taps, few, None, [1], [1], [1], 1, 3, 4, False),
    ]


def steps():
    native = torch._cuda._native
    tensors = [[torch.ones(n, device="cuda") for n in (5, 128, 17000)] for _ in range(5)]
    counts = [torch.ones(1, device="cuda") for _ in range(3)]
    scale, found = torch.full((1,), 2.0, device="cuda"), torch.zeros(1, device="cuda")
    native.fused_adam(*tensors, [], counts, 0.1, 0.9, 0.99, 0.1, 1e-8, True, False, True, scale, found)
    native.fused_sgd(*tensors[:3], 0.1, 0.9, 0.0, 0.1, True, False, False, None, None)
    return [t for some in tensors for t in some]


def attention():
    from torch._cuda import attention  # noqa: F401  (its operators)

    found = []
    mask = torch.zeros(1, 2, 70, 90, device="cuda")
    forms = ((None, True, False), (mask.bool().logical_not(), False, False), (mask, False, True))
    for dtype, width in ((torch.float32, 20), (torch.bfloat16, 20), (torch.float64, 20), (torch.bfloat16, 136)):
        q, k, v = (
            torch.linspace(-1, 1, 2 * n * width, device="cuda").reshape(1, 2, n, width).to(dtype) for n in (70, 90, 90)
        )
        for given, causal, of_mask in forms[: 1 if width > 20 else 3]:
            given = given.to(dtype) if of_mask and dtype is torch.float64 else given
            for dropout in (0.0, 0.4):
                kept = torch.ops.torch_cuda.attention(q, k, v, given, causal, 0.3, dropout)
                all = (kept[0], q, k, v, given, *kept, causal, 0.3, dropout, of_mask)
                found += [*kept, *(t for t in torch.ops.torch_cuda.attention_backward(*all) if t is not None)]
    return found


def cells():
    native = torch._cuda._native
    gates, state = (torch.linspace(-1, 1, 3 * n, device="cuda").reshape(3, n) for n in (400, 100))
    h, c, acted = native.lstm_cell(gates, gates, state)
    new, own = native.gru_cell(gates[:, :300], gates[:, :300], state)
    derivatives = [*native.lstm_cell_backward(h, None, acted, state, c), *native.gru_cell_backward(new, own, state)]
    found = [h, c, new, *derivatives]
    for kind, n in (("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1)):
        x, h, w, b = (
            torch.linspace(-1, 1, math.prod(s), device="cuda").reshape(s)
            for s in ((3, 5, n * 9), (5, 9), (n * 9, 9), (n * 9,))
        )
        cell = h if kind == "LSTM" else None
        out, last, *kept = torch._C._operator("_recurrence")(x, h, cell, w, b, kind, False, True)
        found += [out, *torch._C._operator("_recurrence_backward")(out, cell, w, *kept, kind, False)]
    return [*found, native.norms([gates, state, state[:1]], 2.0)]


def functions():
    z, x = torch.complex(X, -X).cuda() / 100, X.cuda() / 100
    names = ("exp", "log", "sqrt", "sin", "tanh", "asin", "atan", "acosh", "abs", "angle", "sgn")
    special = ("i0e", "bessel_j0", "airy_ai", "ndtri", "log_ndtr")
    return [
        *(getattr(torch, n)(z) for n in names),
        *(getattr(torch.special, n)(x) for n in special),
        z.pow(z),
        z.prod(1),
        z.logcumsumexp(1),
        torch.special.legendre_polynomial_p(x - 1, 1200),
        *torch.frexp(x),
        torch.arange(0, 5, 0.1, device="cuda"),
        torch.kaiser_window(30, device="cuda"),
    ]


def selections():
    lines = (torch.arange(6000, device="cuda") * 7919 % 5003).reshape(2, 3000)
    x = lines.float()
    return [*x.topk(5, 1), *lines.topk(1500, 1, largest=False), *x.kthvalue(70, 1), *x.median(1), *lines.median(1)]


def one_order():
    at, x = torch.tensor([2, 0, 2, 2], device="cuda"), X.cuda()
    many = at[:3, None].expand(3, 100).contiguous()
    torch.use_deterministic_algorithms(True)
    try:
        joined = [x.scatter_reduce(0, many, x, how) for how in ("sum", "prod", "amax", "mean")]
        return [*joined, x.scatter(0, many, x), torch.zeros(3, 100, device="cuda").index_add(0, at[:3], x)]
    finally:
        torch.use_deterministic_algorithms(False)


def joins():
    many = torch.tensor([2, 0, 2], device="cuda")[:, None].expand(3, 100).contiguous()
    types = (torch.float32, torch.float16, torch.int8, torch.float64, torch.bool)
    return [X.cuda().to(t).scatter_reduce(0, many, X.cuda().to(t), how) for t in types for how in ("prod", "amin")]


def pinned():
    p = X.pin_memory()
    there = p.to("cuda", non_blocking=True)
    back = torch.empty(3, 100, pin_memory=True)
    back.copy_(there, non_blocking=True)
    return [there + 1]


@pytest.mark.parametrize("order", [0, 5])
@pytest.mark.parametrize(
    "family",
    [
        transforms,
        draws,
        sparse,
        bytes_with_scales,
        steps,
        attention,
        cells,
        functions,
        selections,
        one_order,
        joins,
        pinned,
    ],
    ids=lambda f: f.__name__,
)
def test_a_family_is_clean(family, order):
    assert findings_of(family, order) == []
