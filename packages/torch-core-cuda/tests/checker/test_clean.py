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
    y, mean, rstd = operator("native_layer_norm")(x, [100], x[0], None, 1e-5)
    return [*normal, y, *operator("native_layer_norm_backward")(y, x, [100], mean, rstd, x[0], None)]


@pytest.mark.parametrize("order", [0, 5])
@pytest.mark.parametrize("family", [elementwise, copies, reductions, indices, layers])
def test_a_family_is_clean(family, order):
    _native.configure(order=order)
    before = len(_native.findings())
    assert all(t.cpu() is not None for t in family())
    assert _native.findings()[before:] == []


def test_the_checker_looks():
    before = len(_native.findings())
    (torch.empty(10, device="cuda") + 1).cpu()
    kind, text = _native.findings()[before]
    assert (kind == "uninitialised" and text.startswith("add: ") and ".cu" in text) or ".h:" in text
    del _native.findings()[:]
