"""The kernels under the checker: no races, no memory of others, no reads of what nobody wrote."""

import os

# Each tensor has an allocation of its own, so that its end is known.
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"

import pytest
import torch
from torch._cuda import _native

X = torch.arange(1.0, 301.0).reshape(3, 100)


def elementwise():
    x = X.cuda()
    return [x + 1, x.t() * x.t(), torch.exp(x[:, 1:]), x > 5, torch.addcmul(x, x, x), x.half() * 2, x.int() // 3]


def lists():
    x = [X.cuda(), X[1].cuda(), X.cuda().half(), X.cuda()[:, 1:], torch.ones((), device="cuda")]
    torch._foreach_mul_([*x, *x], 2.0)
    return [*torch._foreach_sqrt(x), *torch._foreach_addcdiv(x, x, x, 0.5)]


def copies():
    x = X.cuda()
    return [
        x.t().contiguous(),
        x.to(torch.int8),
        x.bfloat16().double(),
        torch.where(x > 5, x, 0),
        torch.zeros(7, device="cuda"),
    ]


def reductions():
    x = X.cuda()
    parts = [x.sum(), x.sum(0), x.t().mean(0), x.max(1).values, x.argmin(), x.int().prod(1), x.var(1), (x > 5).any()]
    return [*parts, torch.arange(40_000.0, device="cuda").sum(), torch.cat([x, x], 1)]


def indices():
    x, at = X.cuda(), torch.tensor([2, 0, 2], device="cuda")
    many = at[:, None].expand(3, 100).contiguous()
    added = [
        torch.zeros(3, 100, device="cuda", dtype=t).index_add(0, at, x.to(t))
        for t in (torch.float32, torch.int8, torch.float16)
    ]
    return [
        x[at],
        x.index_select(1, at),
        x.gather(0, many),
        x.scatter_add(0, many, x),
        x.index_fill(1, at[:2], 3),
        *added,
    ]


def layers():
    x, operator = X.cuda(), torch._C._operator
    normal = [operator(name)(x, dim) for name in ("softmax", "log_softmax") for dim in (0, 1)]
    y, mean, invstd = operator("native_batch_norm")(x, x[0], x[1], None, None, True, 0.1, 1e-5)
    normal += [y, *operator("native_batch_norm_backward")(y, x, x[0], None, None, mean, invstd, True, 1e-5)]
    y, mean, rstd = operator("native_layer_norm")(x, [100], x[0], None, 1e-5)
    return [*normal, y, *operator("native_layer_norm_backward")(y, x, [100], mean, rstd, x[0], None)]


def products():
    x = X.cuda()
    halves = [x.to(t) for t in (torch.float16, torch.bfloat16)]
    return [
        *(h @ h.t() for h in halves),
        *(h.t() @ h for h in halves),
        *(h[:, 1:] @ h.t()[1:] for h in halves),
        *(h @ torch.ones(100, 64, device="cuda", dtype=h.dtype) for h in halves),
        x @ x.t(),
        x.t() @ x,
        x @ x[0],
        x[0].dot(x[1]),
        torch.ones(2, 3000, device="cuda") @ torch.ones(3000, 2, device="cuda"),
    ]


def planes():
    x, w, operator = X.reshape(1, 3, 10, 10).cuda(), torch.ones(4, 3, 3, 3, device="cuda"), torch._C._operator
    rest = ([2, 1], [1, 1], [1, 2], False, [0, 0], 1)
    y = operator("convolution")(x, w, None, *rest)
    pooled, won = operator("max_pool")(x, [3, 3], [2, 2], [1, 1], [1, 1], False, True)
    return [
        y,
        *operator("convolution_backward")(y, x, w, *rest, True, True, True),
        pooled,
        operator("max_pool_backward")(pooled, won, [10, 10], [3, 3], [2, 2], [1, 1], [1, 1]),
        operator("adaptive_avg_pool")(x, [4, 3]),
    ]


def losses():
    x, target, operator = X.cuda(), torch.tensor([3, 99, 7], device="cuda"), torch._C._operator
    scores = operator("log_softmax")(x, 1)
    loss, weight = operator("nll_loss_forward")(scores, target, None, 1, -100)
    return [loss, operator("nll_loss_backward")(loss, scores, target, None, 1, -100, weight)]


def findings_of(family, order):
    """What the checker says of a family's kernels, in an order of threads and blocks."""
    _native.configure(order=order)
    before = len(_native.findings())
    assert all(t.cpu() is not None for t in family())
    return _native.findings()[before:]


@pytest.mark.parametrize("order", [0, 5])
@pytest.mark.parametrize("family", [elementwise, copies, reductions, indices, layers, products, planes, losses])
def test_a_family_is_clean(family, order):
    assert findings_of(family, order) == []


def test_the_checker_looks():
    before = len(_native.findings())
    (torch.empty(10, device="cuda") + 1).cpu()
    kind, text = _native.findings()[before]
    assert (kind == "uninitialised" and text.startswith("add: ") and ".cu" in text) or ".h:" in text
    del _native.findings()[:]
