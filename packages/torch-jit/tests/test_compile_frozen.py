"""``freezing``: weights are constants of compiled functions where no gradients are recorded, for as long as nobody writes to them."""

import gc

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn
from torch._inductor import config

FREEZING = {"freezing": True}


def kinds(compiled, number=0):
    return [n.kind() for n in compiled._compiled.programs[number].graph.nodes() if n.kind() != "prim::Constant"]


def held(compiled, x):
    """Bytes in use after each of some calls."""
    found = []
    for _ in range(5):
        compiled(x)
        gc.collect()
        found.append(torch.memory.stats()["in_use"])
    return found


@torch.no_grad()
def test_weights_are_packed_once_where_that_is_asked_for():
    layer, x = nn.Linear(300, 200).eval(), torch.randn(16, 300)
    for options, packs in ((None, False), (FREEZING, True)):
        compiled = torch.compile(layer, options=options)
        assert torch.equal(compiled(x), layer(x))
        found = held(compiled, x)
        assert (found[-1] - found[0] >= 4 * 300 * 200) is packs and found[-2:] == found[-1:] * 2
        assert torch.equal(compiled(x), layer(x))


@torch.no_grad()
def test_a_setting_asks_for_it_as_well():
    layer, x = nn.Linear(3, 2), torch.randn(1, 3)
    with config.patch("freezing", True):
        compiled = torch.compile(layer)
        compiled(x)
    weight = list(compiled._compiled.programs[0].graph.inputs())[1]
    assert not weight.uses() and torch.equal(compiled(x), layer(x))


@torch.no_grad()
def test_a_batch_norm_behind_a_convolution_becomes_part_of_it():
    net = nn.Sequential(nn.Conv2d(3, 5, 3, bias=False), nn.BatchNorm2d(5), nn.ReLU()).eval()
    net[1].running_mean.copy_(torch.arange(5.0))
    compiled, x = torch.compile(net, options=FREEZING), torch.randn(2, 3, 8, 8)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), net(x))
    assert "aten::conv2d" in kinds(compiled) and "aten::batch_norm" not in kinds(compiled)


class WritesToItsWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("seen", self.weight.detach()[:2])

    def forward(self, x, given):
        (self.seen if given is None else given).add_(1)
        return self.weight + x


@torch.no_grad()
@pytest.mark.parametrize("of_weight", [False, True], ids=["buffer", "argument"])
def test_weights_that_a_program_writes_to_by_another_name_are_read(of_weight):
    net, plain = WritesToItsWeight(), WritesToItsWeight()
    given = [each.weight.detach()[1:] if of_weight else None for each in (net, plain)]
    compiled = torch.compile(net, options=FREEZING)
    for _ in range(4):
        assert torch.equal(compiled(torch.ones(3), given[0]), plain(torch.ones(3), given[1]))


@torch.no_grad()
def test_weights_stay_inputs_where_a_function_records_their_gradients():
    layer, x = nn.Linear(3, 2), torch.arange(3.0)

    def recorded(x):
        with torch.enable_grad():
            return layer(x)

    compiled = torch.compile(recorded, options=FREEZING)
    for _ in range(3):
        layer.zero_grad()
        compiled(x).backward(torch.ones(2))
        assert layer.weight.grad.tolist() == [[0, 1, 2], [0, 1, 2]]


CHANGES = {
    "written to": lambda net: net.weight.mul_(2),
    "a part of it": lambda net: net.weight[0].zero_(),
    "other memory": lambda net: setattr(net.weight, "data", torch.ones(2, 3)),
    "another parameter": lambda net: setattr(net, "weight", nn.Parameter(torch.ones(2, 3))),
    "loaded": lambda net: net.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)}),
    "a step": lambda net: torch._foreach_add_([net.weight], [torch.ones(2, 3)], alpha=-0.1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_weights_that_change_are_captured_again(name):
    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    compiled, _kept = torch.compile(net, options=FREEZING), net.weight  # else the program goes with it
    with torch.no_grad():
        before = [compiled(x), compiled(x)][1]
        CHANGES[name](net)
        assert not torch.equal(compiled(x), before)
        assert torch.equal(compiled(x), net(x)) and compiled._compiled.captures == 2
        why = compiled._compiled.programs[1].guards.why((x,), {})
        assert "was written to, and is a constant" in why or "is another object" in why


def test_where_gradients_are_recorded_weights_stay_inputs():
    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    compiled = torch.compile(net, options=FREEZING)
    for _ in range(2):
        found = torch.autograd.grad(compiled(x).sum(), net.weight)[0]
        assert torch.equal(found, torch.autograd.grad(net(x).sum(), net.weight)[0])
    with torch.inference_mode():
        assert torch.equal(compiled(x), net(x))
    assert compiled(x).requires_grad


@torch.no_grad()
def test_what_a_call_writes_to_or_gives_away_is_the_module_s():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.given = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count += 1
            return x * self.weight + self.count, self.given[1:]

    net, x = Net(), torch.ones(3)
    compiled = torch.compile(net, options=FREEZING)
    for n in range(1, 5):
        found, given = compiled(x)
        assert net.count.item() == n and torch.equal(found, torch.full((3,), 1.0 + n))
        assert given.data_ptr() == net.given[1:].data_ptr()
    assert compiled._compiled.captures == 1
