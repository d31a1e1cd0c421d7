"""What compiling keeps of a module: its class and plain attributes, none of its tensors."""

import gc
import weakref

import pytest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.l, self.rest, self.shift = nn.Linear(n, n), nn.ModuleList([nn.Linear(n, n), nn.ReLU()]), self.shifted
        self.register_buffer("mean", torch.zeros(n))
        self.scale = 2.0

    def shifted(self, x):
        return x + self.mean

    def forward(self, x):
        for each in self.rest:
            x = each(x)
        return self.shifted(self.l(x)) * self.scale

    @torch.jit.export
    def total(self):
        return sum([p.sum() for p in self.parameters()])


def scripted(n):
    module = Net(n)
    return module, torch.jit.script(module)


def test_modules_may_go_once_nothing_but_the_compiler_knows_them():
    known = []
    for n in (3, 3, 4, 3, 5):
        module, compiled = scripted(n)
        assert torch.equal(compiled(torch.ones(n)), module(torch.ones(n)))
        known += [weakref.ref(each) for each in (module, module.l.weight, module.rest[0].weight, module.mean)]
        del module, compiled
    gc.collect()
    assert [each() for each in known] == [None] * len(known)


def test_modules_of_one_kind_share_a_type_after_the_first_has_gone():
    module, first = scripted(3)
    kind = first._c._type()
    del module, first
    gc.collect()
    module, second = scripted(3)
    assert second._c._type() == kind
    assert second.total() == sum(p.sum() for p in module.parameters())


@pytest.mark.parametrize("layer", [nn.LSTM(2, 3, 2, bidirectional=True), nn.ParameterList([torch.ones(2)] * 2)])
def test_methods_are_compiled_when_the_first_module_has_gone(layer):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layer

        def forward(self, x):
            return x + 1

    torch.jit.script(Outer())
    gc.collect()
    again = torch.jit.script(Outer())
    again.define("def count(self): return len([p for p in self.parameters()])")
    assert again.count() == len(list(again.parameters())) == len(list(layer.parameters()))
