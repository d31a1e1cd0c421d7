"""Sizes, places and keys of scripts that only a run tells: the file computes them, or says that it cannot."""

import pytest
import torch
from test_scripts import agrees
from torch import nn
from torch.onnx._known import Computed, Known
from torch.onnx._program import Value
from torch.onnx.errors import SymbolicValueError

X = torch.arange(6.0).reshape(3, 2)
OTHER = X.flip(0) - 2


class Length(nn.Module):
    def forward(self, x):
        return x * len(x)


class Cut(nn.Module):
    def forward(self, x):
        n = int(x.argmax())
        return x.flatten()[:n], torch.arange(n)


class Chosen(nn.Module):
    def forward(self, x):
        n = x[x > 1].size(0) + x.nonzero().size(0)
        return x * n, torch.unique(x.clamp(min=0)).numel()


class Grown(nn.Module):
    def forward(self, x):
        y = x
        while bool(y.sum() < 40):
            y = torch.cat([y, y])
        return y * y.size(0)


class Halved(nn.Module):
    def forward(self, x):
        if bool(x[0, 0] > 0):
            y = x[:2]
        else:
            y = x
        return y * y.size(0)


class Keyed(nn.Module):
    def forward(self, x):
        of = {5: x + 1, x.size(0): x}
        return of[5]


class Powers(nn.Module):
    def forward(self, x):
        return x * x.size(0) ** 2, x * 2.0 ** x.size(1)


class Traced(nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0] * 2 // 2, -1, 1), x.new_zeros(int(x.shape[1] * 1.5))


def doubled(n: int):
    return n * 2


class OfNumbers(nn.Module):
    def forward(self, x, n):
        with torch.autograd.profiler.record_function("named"):
            y = x * doubled(n)
        return y, x.view(n, -1), x.narrow(0, 0, n)


def test_tensors_stand_for_numbers_and_ranges_of_the_profiler_are_left_out():
    agrees(OfNumbers(), (X, torch.tensor(2)), [(X, torch.tensor(3)), (OTHER, torch.tensor(1))])


def test_the_length_of_a_tensor_moves():
    agrees(Length(), (X,), [(torch.rand(5, 4),), (torch.rand(1, 2),)], dynamic_axes={"x": {0: "n", 1: "m"}})


def test_powers_of_sizes():
    agrees(Powers(), (X,), [(torch.rand(5, 4),)], dynamic_axes={"x": {0: "n", 1: "m"}})


@pytest.mark.parametrize("module", [Cut(), Chosen(), Grown(), Halved()], ids=lambda m: type(m).__name__)
def test_sizes_that_values_decide_are_computed_where_the_inputs_have_fixed_ones(module):
    agrees(module, (X,), [(OTHER,)], opset_version=17)


def test_a_dict_whose_keys_a_run_would_choose_is_refused():
    with pytest.raises(SymbolicValueError, match="a dict with a key that is computed"):
        torch.onnx.export(torch.jit.script(Keyed()), (X,), dynamic_axes={"x": {0: "n"}})
    agrees(Keyed(), (torch.rand(5, 2),), [])


def test_sizes_that_a_trace_computes_are_constants():
    traced = torch.jit.trace(Traced(), X)
    proto = torch.onnx.export(traced, (X,)).model_proto
    assert {node.op_type for node in proto.graph.node} <= {"Reshape", "Constant", "Identity", "Expand", "Unsqueeze"}


def test_what_a_run_tells_is_no_constant():
    computed = Known(3, Value("n", torch.int64, (), number=True))
    assert computed.example == 3 and Known(3).fixed == 3
    with pytest.raises(Computed):
        _ = computed.fixed


class ByNumbers(nn.Module):
    def forward(self, x):
        most, total = float(x.max()), int(x.sum())
        y, turns = x, 0
        while float(y.abs().max()) > 0.1 and turns < 9:
            y, turns = y * 0.5, turns + 1
        return x / (most + 1), x.clamp(max=most) + total, y * turns, x + x.min().item(), x.new_full((2,), most)


def test_numbers_of_tensors_are_those_of_the_run():
    agrees(ByNumbers(), (X,), [(OTHER,), (X * 0,)], input_names=["x"], dynamic_axes={"x": [0]})


IMAGE = torch.rand(2, 4, 4, 4)
LAYERS = {
    "rms norm": nn.RMSNorm(4),
    "patches": nn.Unfold(2),
    "patches put back": nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((4, 4), 2, stride=2)),
    "channels": nn.ChannelShuffle(2),
    "responses": nn.LocalResponseNorm(2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_are_composed_take_sizes_that_change(name):
    agrees(LAYERS[name], (IMAGE,), [(torch.rand(3, 4, 4, 4),)], input_names=["x"], dynamic_axes={"x": [0]})


class Similar(nn.Module):
    def forward(self, x):
        for _ in range(x.size(0)):
            x = x * nn.functional.cosine_similarity(x, x + 1, 1).unsqueeze(1)
        return x, nn.functional.unfold(x[None, None], 2)


class OfASize(nn.Module):
    def forward(self, x):
        return nn.functional.rms_norm(x, (x.size(0),))


def test_what_is_composed_stands_in_loops_and_takes_no_size_as_a_constant():
    agrees(Similar(), (X,), [(torch.rand(5, 2),)], input_names=["x"], dynamic_axes={"x": [0]})
    with pytest.raises(SymbolicValueError, match="rms_norm cannot be written where sizes change.* with numbers"):
        torch.onnx.export(
            torch.jit.script(OfASize()),
            (torch.rand(2, 2),),
            input_names=["x"],
            dynamic_axes={"x": [0, 1]},
            dynamo=False,
        )
