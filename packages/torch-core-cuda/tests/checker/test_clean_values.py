"""Random numbers, scans, orders, masks, distances and triangles under the checker."""

import pytest
import torch
from test_clean import X, findings_of


def random():
    x, operator = X.cuda(), torch._C._operator
    filled = [
        getattr(torch.empty(333, dtype=t, device="cuda"), name)(*args)
        for t in (torch.float32, torch.float64)
        for name, args in {"uniform_": (), "normal_": (), "exponential_": (), "geometric_": (0.5,)}.items()
    ]
    drawn = [torch.randint(9, (77,), device="cuda"), torch.bernoulli(x / 300)]
    return [*filled, *drawn, *operator("native_dropout")(x, 0.5, True)]


def scans():
    x = X.cuda()
    long = torch.arange(40_000.0, device="cuda")
    return [
        x.cumsum(1),
        x.cumsum(0),
        x.cumprod(1),
        *x.cummax(1),
        x.logcumsumexp(1),
        long.cumsum(0),
        (x > 5).nonzero(),
        x.tril(5),
    ]


def orders():
    x = X.cuda()
    lines = torch.arange(3000, device="cuda").reshape(2, 1500) % 37
    found = [torch.searchsorted(x, x.flip(1)), torch.unique(lines), x[x > 7]]
    return [*x.sort(1), *x.t().sort(1), *lines.sort(1, stable=True), *x.topk(5, 1), *x.median(1), *x.mode(1), *found]


def distances():
    x = torch.arange(2 * 70 * 20.0, device="cuda").reshape(2, 70, 20).sin()
    forward, backward = (torch._C._operator(f"_cdist_{name}") for name in ("forward", "backward"))
    found = [forward(x, x[:, :5], p, None) for p in (1.0, 2.0)]
    return [*found, *(backward(d, x, x[:, :5], p, d) for p, d in zip((1.0, 2.0), found, strict=True))]


def triangles():
    a = torch.arange(2 * 70 * 70.0, device="cuda").reshape(2, 70, 70).sin() / 70 + torch.eye(70, device="cuda")
    b = torch.arange(2 * 70 * 150.0, device="cuda").reshape(2, 70, 150).cos()
    return [torch.linalg.solve_triangular(a, b, upper=upper) for upper in (True, False)]


@pytest.mark.parametrize("order", [0, 5])
@pytest.mark.parametrize("family", [random, scans, orders, distances, triangles])
def test_a_family_is_clean(family, order):
    assert findings_of(family, order) == []
