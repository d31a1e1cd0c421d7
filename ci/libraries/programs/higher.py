"""higher: gradients through steps of an optimizer."""

import higher
import torch
from common import fill, numbers
from torch import nn

DISTRIBUTIONS = ("higher",)


def _meta_gradient(make):
    net = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), 0.5)
    rate = torch.tensor(0.1, requires_grad=True)
    with higher.innerloop_ctx(net, make(net), copy_initial_weights=False, override={"lr": [rate]}) as (fast, optimizer):
        for i in range(3):
            optimizer.step((fast(numbers(5, 3, seed=i)) - 1).square().mean())
        fast(numbers(5, 3, seed=9)).square().mean().backward()
    return rate.grad, [p.grad for p in net.parameters()]


def descent():
    return _meta_gradient(lambda net: torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))


def adam():
    return _meta_gradient(lambda net: torch.optim.Adam(net.parameters(), lr=0.1))


def patched_module():
    net = fill(nn.Linear(3, 2))
    fast = higher.patch.monkeypatch(net, copy_initial_weights=False)
    return fast(numbers(4, 3), params=[torch.ones(2, 3), torch.zeros(2)])
