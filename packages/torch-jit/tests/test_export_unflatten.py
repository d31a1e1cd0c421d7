"""Exported programs as modules again: ``torch.export.unflatten`` and signatures that are preserved."""

import copy

import pytest
import torch
from test_export_numbers import again
from torch import nn
from torch.export import Dim, UserError, export, unflatten


class Part(nn.Module):
    def __init__(self, counts):
        super().__init__()
        self.linear, self.counts = nn.Linear(4, 4), counts
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, *, k=None):
        if self.counts:
            self.calls += 1
        return {"a": self.linear(x) + k * self.calls, "b": x * 2}


class Net(nn.Module):
    def __init__(self, counts=False):
        super().__init__()
        torch.manual_seed(0)
        self.part, self.act = Part(counts), nn.ReLU()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.layers[1].weight = self.layers[0].weight
        self.unused = nn.Linear(1, 1)

    def forward(self, x):
        first, second = self.part(x, k=x * 2), self.part(x + 1, k=x)
        for layer in self.layers:
            x = self.act(layer(x)) + torch.ones(x.shape[0], 1)
        return self.act(first["a"]) + self.act(second["a"] - second["b"]), x


@pytest.mark.parametrize("preserved", [(), ("part",), ("part", "layers.0")])
@pytest.mark.parametrize("moves", [False, True])
def test_modules_are_there_again_and_give_the_same(preserved, moves):
    net = Net(counts=not preserved)
    shapes = ({0: Dim("rows")},) if moves else None
    program = export(net, (torch.ones(3, 4),), dynamic_shapes=shapes, preserve_module_call_signature=preserved)
    x = torch.randn(7 if moves else 3, 4)
    wanted, buffers = (twin := copy.deepcopy(net))(x), dict(net.named_buffers())
    for each in (program, again(program)):
        parts = unflatten(each)
        torch.testing.assert_close(parts(x), wanted, rtol=0, atol=0)
        assert {n for n, _ in net.named_parameters()} <= {n for n, _ in parts.named_parameters(remove_duplicate=False)}
        assert torch.equal(parts.part.calls, twin.part.calls)
        with torch.no_grad():
            parts.part.calls.zero_()
        assert {"part", "part@1", "part.linear", "part@1.linear", "layers.0", "act@1"} <= dict(
            parts.named_modules()
        ).keys()
    assert not any(b.any() for b in buffers.values())


def test_a_module_that_was_preserved_may_be_replaced():
    net = Net()
    program = export(net, (torch.ones(3, 4),), preserve_module_call_signature=("part",))
    assert [e.fqn for e in program.module_call_graph if e.signature] == ["", "part", "part@1"]
    parts = unflatten(program)

    class Other(nn.Module):
        def forward(self, x, *, k=None):
            return {"a": x + k, "b": -x}

    x, second = torch.randn(3, 4), getattr(parts, "part@1")
    parts.part = Other()
    setattr(parts, "part@1", Other())
    torch.testing.assert_close(parts(x)[0], (x * 3).relu() + (x * 3 + 2).relu())
    with pytest.raises(TypeError, match="part@1: it was exported for arguments of the form"):
        second(x)


def test_parts_are_trained_with_one_tensor_for_shared_parameters():
    parts = unflatten(export(Net(), (torch.ones(3, 4),)))
    parts(torch.randn(3, 4))[1].sum().backward()
    assert parts.get_parameter("layers.1.weight") is parts.get_parameter("layers.0.weight")
    assert parts.get_parameter("layers.0.weight").grad is not None


def test_values_that_no_signature_says_are_named():
    program = export(Net(counts=True), (torch.ones(3, 4),), preserve_module_call_signature=("part",))
    with pytest.raises(NotImplementedError, match="module 'part' shares add with the program around it"):
        unflatten(program)
    with pytest.raises(UserError, match="the module has no submodule nothing"):
        export(Net(), (torch.ones(3, 4),), preserve_module_call_signature=("nothing",))


def test_arguments_of_another_form_are_brought_into_order():
    class Order(torch.export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return input_args[:1]

    net = Net()
    parts, x = unflatten(export(net, (torch.ones(3, 4),)), Order()), torch.randn(3, 4)
    assert torch.equal(parts(x, None)[0], net(x)[0])
    with pytest.raises(NotImplementedError, match="FlatArgsAdapter.adapt"):
        torch.export.FlatArgsAdapter().adapt(None, None, [])
    with pytest.raises(RuntimeError, match="2 inputs, its signature 3"):
        program = export(nn.Linear(2, 1, bias=False), (torch.ones(1, 2),))
        program.graph_signature.input_specs.append(program.graph_signature.input_specs[0])
        program.validate()


def test_training_what_unflatten_gives_leaves_the_program_as_it_is():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[1].weight = net[1].bias
    program = export(net, (torch.ones(4, 2),))
    before = {name: tensor.clone() for name, tensor in program.state_dict.items()}
    parts = unflatten(program)
    parts(torch.randn(4, 2)).sum().backward()
    with torch.no_grad():
        for each in parts.parameters():
            each -= each.grad
    assert not torch.equal(parts.get_buffer("1.running_mean"), before["1.running_mean"])
    assert parts.get_parameter("1.weight") is parts.get_parameter("1.bias")
    assert all(torch.equal(program.state_dict[name], before[name]) for name in before)


def test_a_module_beneath_another_keeps_the_tensors_that_the_program_around_it_uses():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.full((2,), 3.0))
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            return x * self.weight

    class Middle(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x) + 1

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.middle = Middle()

        def forward(self, x):
            y = self.middle(x)
            self.middle.inner.count.add_(1)
            return y + self.middle.inner.count * self.middle.inner.weight

    x = torch.randn(2)
    again, net = torch.export.unflatten(torch.export.export(Outer(), (x,))), Outer()
    for _ in range(2):
        assert torch.equal(again(x), net(x))


def test_arguments_of_a_preserved_module_that_were_dead_code_are_none():
    class Unused(nn.Module):
        def forward(self, x, a, b):
            return x + a, b

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Unused()

        def forward(self, x, y):
            a, b = torch.topk(y, 2)
            return self.part(x, a, b)[0]

    args = torch.randn(2), torch.randn(5)
    program = export(Net(), args, preserve_module_call_signature=("part",))
    program.graph.eliminate_dead_code()
    assert torch.equal(unflatten(program)(*args), Net()(*args))
