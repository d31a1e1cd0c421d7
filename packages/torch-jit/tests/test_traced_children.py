"""Modules below a traced one: each has a forward of its own, traced when it is first asked for."""

import copy
import io

import pytest
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)

    def forward(self, x, scale=2):
        return self.norm(self.linear(x)).relu() * scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.part, self.layers = Part(), nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.words, self.unused = nn.Embedding(5, 3), nn.Linear(1, 1)

    def forward(self, x, words):
        return self.layers(self.part(x, 3) + self.words(words))


ARGS = torch.randn(2, 3), torch.tensor([1, 4])


def test_children_are_called_and_shown():
    net = Net().eval()
    traced = torch.jit.trace(net, ARGS)
    x = torch.randn(5, 3)
    assert torch.equal(traced.part(x), net.part(x, 3))
    assert torch.equal(traced.layers[0](x), net.layers[0](x)) and torch.equal(traced.words(ARGS[1]), net.words(ARGS[1]))
    assert "linear" in traced.part.code and traced.part.linear.graph.findNode("aten::linear")
    assert traced.part.forward(x).shape == (5, 3)
    assert not hasattr(traced.unused, "forward"), "what did not run has none"


def test_children_share_parameters_and_leave_buffers_and_random_numbers_alone():
    net = Net()
    traced = torch.jit.trace(net, ARGS, check_trace=False)
    buffers = copy.deepcopy(dict(net.named_buffers()))
    torch.manual_seed(0)
    wanted = torch.rand(1)
    torch.manual_seed(0)
    traced.part.graph
    assert torch.equal(torch.rand(1), wanted)
    assert all(torch.equal(b, buffers[name]) for name, b in net.named_buffers())
    with torch.no_grad():
        net.part.linear.weight.zero_()
        net.part.linear.bias.zero_()
    assert torch.equal(traced.part.linear(ARGS[0]), torch.zeros(2, 3))


def test_children_are_called_by_scripts_and_traces_and_saved():
    net = Net().eval()
    traced = torch.jit.trace(net, ARGS)

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = traced.part

        def forward(self, x):
            return self.part(x) + 1

    wanted = net.part(ARGS[0], 3) + 1
    assert torch.equal(torch.jit.script(Around())(ARGS[0]), wanted)
    assert torch.equal(torch.jit.trace(Around(), ARGS[0])(ARGS[0]), wanted)
    file = io.BytesIO()
    torch.jit.save(traced, file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    assert torch.equal(loaded(*ARGS), net(*ARGS)) and torch.equal(loaded.part(ARGS[0]) + 1, wanted)


def test_calls_by_name_have_no_program_of_their_own():
    class ByName(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part().eval()

        def forward(self, x):
            return self.part(x=x)

    traced = torch.jit.trace(ByName().eval(), ARGS[0])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        traced.part(ARGS[0])


def test_a_parametrized_layer_is_traced_but_not_while_it_is_cached():
    from torch.nn.utils import parametrize

    class Doubled(nn.Module):
        def forward(self, x):
            return x * 2

    layer, x = nn.Linear(2, 2), torch.ones(1, 2)
    parametrize.register_parametrization(layer, "weight", Doubled())
    traced = torch.jit.trace(layer, x)
    with torch.no_grad():
        layer.parametrizations.weight.original.zero_()
    assert torch.equal(traced(x), layer(x))
    with parametrize.cached():
        layer(x)
        with pytest.raises(RuntimeError, match="Cannot trace a model while caching .*weight"):
            torch.jit.trace(layer, x)
