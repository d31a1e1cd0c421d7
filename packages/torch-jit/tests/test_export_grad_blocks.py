"""Blocks of ``torch.no_grad()`` and ``set_grad_enabled`` within exported programs: a module made of one trains as the original."""

import copy

import pytest
import torch
from test_export_numbers import again
from torch import nn
from torch.export import Dim, export, unflatten

WRAP = torch.ops.higher_order.wrap_with_set_grad_enabled


class Target(nn.Module):
    """A loss against what the net gave itself, without gradients, and running means of a buffer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        out = self.net(x)
        with torch.no_grad():
            target = out.relu() + 1
            self.mean.mul_(0.9).add_(target.mean(0) * 0.1)
            rows = x.shape[0] * 2
        return (out - target) * self.mean, rows


def gradients(module, x):
    module.zero_grad()
    out = module(x)[0]
    out.square().sum().backward()
    return out.detach(), [p.grad for p in module.parameters()], [b.clone() for b in module.buffers()]


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_computed_without_gradients_has_none_in_the_exported_program(dynamic):
    net, x = Target(), torch.randn(4, 3)
    program = export(net, (x,), dynamic_shapes=({0: Dim("rows")},) if dynamic else None)
    program.validate()
    (block,) = (n for n in program.graph.nodes if n.target is WRAP)
    assert block.args[0] is False
    inner = getattr(program.graph_module, block.args[1].target)
    assert "aten.relu.default" in inner.code and "aten.linear.default" not in inner.code
    x = torch.randn(7 if dynamic else 4, 3)
    for made in (program.module(), again(program).module(), unflatten(program)):
        expected = gradients(copy.deepcopy(net), x)
        torch.testing.assert_close(gradients(made, x), expected, rtol=0, atol=0)
        assert made(x)[1] == 2 * len(x)
        made.mean.zero_()


def test_decorated_functions_and_modes_that_are_switched_are_such_blocks():
    class Net(nn.Module):
        @torch.no_grad()
        def part(self, x):
            return x.exp()

        def forward(self, x):
            a = self.part(x) * x
            torch.set_grad_enabled(False)
            b = x.sin()
            torch.set_grad_enabled(True)
            return a + b * x.cos()

    x = torch.randn(3, requires_grad=True)
    program = export(Net(), (torch.zeros(3),))
    assert sum(n.target is WRAP for n in program.graph.nodes) == 2
    (found,) = torch.autograd.grad(program.module()(x).sum(), x)
    (expected,) = torch.autograd.grad(Net()(x).sum(), x)
    torch.testing.assert_close(found, expected)
    assert torch.is_grad_enabled()


def test_a_program_exported_without_gradients_enables_them_where_it_says_so():
    class Net(nn.Module):
        def forward(self, x):
            with torch.enable_grad():
                return x * 2

    with torch.no_grad():
        program = export(Net(), (torch.ones(2),))
        result = program.module()(torch.ones(2, requires_grad=True))
    assert result.requires_grad
    assert not any(n.target is WRAP for n in export(Net(), (torch.ones(2),)).graph.nodes)


def test_blocks_are_gone_in_core_operators_where_nothing_trains():
    program = export(Target(), (torch.randn(4, 3),)).run_decompositions()
    program.validate()
    assert not any(n.op == "get_attr" or n.target is WRAP for n in program.graph.nodes)
    x = torch.randn(4, 3)
    torch.testing.assert_close(program.module()(x)[0], Target()(x)[0])


def test_a_branch_within_a_block_keeps_its_functions():
    class Net(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))
            return x * y

    program = export(Net(), (torch.ones(2),))
    for made in (program.module(), again(program).module(), program.run_decompositions().module()):
        for sign in (1, -1):
            x = sign * torch.ones(2)
            torch.testing.assert_close(made(x), Net()(x))


def test_the_grad_mode_may_be_set_by_its_inner_name():
    class Net(torch.nn.Linear):
        def forward(self, x):
            torch._C._set_grad_enabled(False)
            y = super().forward(x)
            torch._C._set_grad_enabled(True)
            return y + self.bias

    program = torch.export.export(Net(2, 2), (torch.ones(1, 2),)).module()
    program(torch.ones(1, 2)).sum().backward()
    assert program.weight.grad is None and torch.equal(program.bias.grad, torch.ones(2))
