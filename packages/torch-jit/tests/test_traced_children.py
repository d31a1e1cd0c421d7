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


class Exporting(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.factors = nn.Linear(3, 3), [2, 3]

    @torch.jit.export
    def chosen(self, x, k: int = 1):
        if bool(x.sum() > 0):
            return x * self.factors[k]
        return self.linear(x)

    def forward(self, x):
        return self.linear(x)


class AroundExporting(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.norm = Exporting(), nn.BatchNorm1d(3)

    @torch.jit.export
    def both(self, x):
        return self.part.chosen(x, 0) + self.part.chosen(-x)

    def forward(self, x):
        return self.norm(self.part(x))


def test_exported_methods_are_scripts_beside_what_is_traced():
    net = AroundExporting().eval()
    x = torch.rand(2, 3)
    traced = torch.jit.trace(net, x)
    traced.part(x)  # what is asked for goes into the file
    file = io.BytesIO()
    torch.jit.save(traced, file)
    for each in (traced, torch.jit.load(io.BytesIO(file.getvalue()))):
        assert torch.equal(each(x), net(x)) and torch.equal(each.both(x), net.both(x))
        assert torch.equal(each.both(-x), net.both(-x)) and torch.equal(each.part.chosen(x), x * 3)
        assert torch.equal(each.part(x), net.part(x))
    with torch.no_grad():
        net.part.linear.weight.zero_()
    assert torch.equal(traced.both(x), net.both(x)) and torch.equal(traced(x), net(x))

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = traced

        def forward(self, x):
            return self.inner(x) + self.inner.both(x)

    assert torch.equal(torch.jit.script(Outer())(x), net(x) + net.both(x))


class WithState(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 3

    @torch.jit.export
    def __getstate__(self):
        return self.a, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[int, bool]):
        self.a = state[0] + 1
        self.training = state[1]

    @torch.jit.export
    def number(self) -> int:
        return self.a

    def forward(self, x):
        return x + self.a


def test_a_traced_module_is_saved_by_its_own_methods():
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(WithState(), torch.ones(1)), file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    assert loaded.number() == 4 and loaded(torch.ones(1)).item() == 4


class Odd(Exporting):
    @torch.jit.export
    def broken(self, x):
        return x.there_is_no_such_thing()


def test_an_exported_method_that_does_not_compile_says_so_when_its_module_is_traced():
    with pytest.raises(RuntimeError, match="there_is_no_such_thing"):
        torch.jit.trace(Odd(), torch.rand(2, 3))
