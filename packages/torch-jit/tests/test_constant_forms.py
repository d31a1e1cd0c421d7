"""Weights of frozen programs are packed once: the numbers stay, and what changes is seen."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn


class Layers(nn.Module):
    """One for each kernel that packs: products, and convolutions of several ways."""

    def __init__(self):
        super().__init__()
        self.deep, self.wide = nn.Conv2d(32, 48, 3, padding=1), nn.Conv2d(3, 32, 5, stride=2)
        self.up, self.point = nn.ConvTranspose2d(48, 32, 4, 2, 1), nn.Conv2d(32, 200, 1)
        self.walk, self.out = nn.LSTM(200, 64, batch_first=True), nn.Linear(64, 300)

    def forward(self, x):
        y = self.point(torch.relu(self.up(torch.relu(self.deep(torch.relu(self.wide(x)))))))
        return self.out(self.walk(y.flatten(2).transpose(1, 2))[0])


def frozen_layers():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 19, 19)
    traced = torch.jit.trace(Layers().eval(), (x,))
    frozen = torch.jit.freeze(traced)
    gc.collect()
    return traced, frozen, x


@torch.no_grad()
def test_results_have_the_bits_of_a_program_that_packs_at_each_run():
    traced, frozen, _ = frozen_layers()  # the weights of a trace are attributes, which may be written to
    for size in (19, 27, 19):
        x = torch.randn(2, 3, size, size)
        expected = traced(x)
        for _ in range(4):
            assert torch.equal(frozen(x), expected)


@torch.no_grad()
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("channels", "outputs"), [(37, 100), (96, 70), (400, 41), (1000, 28)])
def test_the_last_positions_of_a_convolution_have_the_same_bits(channels, outputs, bias):
    """Packed weights sum a few positions beyond whole vectors along rows, weights as they lie along channels."""
    layer = nn.Conv2d(channels, outputs, 1, bias=bias).eval()
    for n, h, w in [(1, 7, 7), (2, 7, 7), (1, 14, 14), (1, 1, 19), (1, 4, 5), (3, 1, 7), (1, 33, 32), (1, 1, 39)]:
        x = torch.randn(n, channels, h, w)
        frozen = torch.jit.freeze(torch.jit.trace(layer, (x,)))
        expected = layer(x)
        for _ in range(4):
            assert torch.equal(frozen(x), expected)
        exact = torch.einsum("oc,nchw->nohw", layer.weight[:, :, 0, 0].double(), x.double())
        if bias:
            exact += layer.bias.double().view(-1, 1, 1)
        assert (expected - exact).abs().max() < 1e-4


@torch.no_grad()
def test_weights_are_packed_in_the_second_run_and_never_again():
    _, frozen, x = frozen_layers()
    held = []
    for _ in range(5):
        frozen(x)
        held.append(torch.memory.stats()["in_use"])
    assert held[1] - held[0] > 4 * 48 * 32 * 9 and held[2:] == held[1:2] * 3


def test_threads_that_pack_at_one_time_agree():
    traced, frozen, _ = frozen_layers()
    inputs = [torch.randn(2, 3, 19, 19) for _ in range(4)]

    def run(x):
        with torch.no_grad():
            return [frozen(x) for _ in range(6)]

    with torch.no_grad():
        expected = [traced(x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for results, y in zip(pool.map(run, inputs), expected, strict=True):
            assert all(torch.equal(x, y) for x in results)


@torch.no_grad()
@pytest.mark.parametrize("packed", [False, True])
def test_a_constant_that_is_written_to_counts_as_it_is(packed):
    frozen = torch.jit.freeze(torch.jit.trace(nn.Linear(40, 50).eval(), (torch.ones(20, 40),)))
    gc.collect()
    x = torch.randn(20, 40)
    before = [frozen(x) for _ in range(4 if packed else 1)][-1]
    weight = next(
        n.output().toIValue()
        for n in frozen.graph.findAllNodes("prim::Constant")
        if isinstance(n.output().toIValue(), torch.Tensor) and n.output().toIValue().dim() == 2
    )
    weight.mul_(2)
    after = frozen(x)
    assert not torch.equal(before, after)
    bias = frozen(torch.zeros(20, 40))
    torch.testing.assert_close(after - bias, 2 * (before - bias))


@torch.no_grad()
def test_a_tensor_that_the_program_shares_is_read_at_each_run():
    weight, x = torch.randn(50, 40), torch.randn(20, 40)
    traced = torch.jit.trace(lambda x: torch.relu(nn.functional.linear(x, weight)).sigmoid(), (x,))
    for _ in range(4):
        traced(x)
    weight.data.mul_(-1)  # past the version counter
    assert torch.equal(traced(x), torch.relu(nn.functional.linear(x, weight)).sigmoid())
    weight.numpy()[:] = 0.25
    assert torch.equal(traced(x), torch.relu(nn.functional.linear(x, weight)).sigmoid())
