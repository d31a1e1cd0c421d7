"""Traces within scripts and scripts within traces, and archives of both."""

import io

import torch
from torch import nn


def saved(compiled):
    out = io.BytesIO()
    torch.jit.save(compiled, out)
    return torch.jit.load(io.BytesIO(out.getvalue()))


def test_a_script_calls_a_traced_function_with_other_sizes():
    def double_tanh(x):
        return torch.tanh(x) * 2

    traced = torch.jit.trace(double_tanh, torch.ones(2))

    @torch.jit.script
    def run(x, n: int):
        for _ in range(n):
            x = traced(x) + 1
        return x

    x = torch.ones(5)
    assert torch.allclose(run(x, 2), double_tanh(double_tanh(x) + 1) + 1)


def test_a_trace_keeps_the_branches_of_a_script():
    @torch.jit.script
    def halved(x):
        if bool(x.sum() > 3):
            x = x * 0.5
        else:
            x = x + 1
        return x

    traced = torch.jit.trace(lambda x: halved(x) * 2, torch.ones(2))
    for x in (torch.zeros(2), torch.full((2,), 8.0)):
        assert torch.equal(traced(x), halved(x) * 2)


def test_a_module_with_a_traced_child_is_compiled_and_saved():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.traced = torch.jit.trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2))

        def forward(self, x, n: int):
            for _ in range(n):
                x = self.traced(x)
            return x

    net = Net()
    compiled, x = torch.jit.script(net), torch.ones(3, 2)
    assert torch.equal(compiled(x, 2), net(x, 2)) and torch.equal(saved(compiled)(x, 2), net(x, 2))
