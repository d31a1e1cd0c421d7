"""Layers with weights of 8 and 4 bits as scripts, traces and exported programs: the same bits in files, and without Python."""

import io

import pytest
import torch
from torch import nn
from torch.jit import _ir


class Int8(nn.Module):
    def __init__(self, linear):
        super().__init__()
        weight = linear.weight.detach()
        self.register_buffer("scale", weight.abs().amax(1) / 127)
        self.register_buffer("weight", (weight / self.scale[:, None]).round().to(torch.int8))
        self.bias = linear.bias

    def forward(self, x):
        return (
            torch._weight_int8pack_mm(x.flatten(0, -2), self.weight, self.scale).unflatten(0, x.shape[:-1]) + self.bias
        )


class Int4(nn.Module):
    def __init__(self, linear, group: int = 16):
        super().__init__()
        parts = linear.weight.detach().unflatten(1, (-1, group))
        low, high = parts.amin(2), parts.amax(2)
        step = (high - low) / 15
        q = ((parts - low[..., None]) / step[..., None]).round().flatten(1).to(torch.int32)
        self.register_buffer("weight", torch._convert_weight_to_int4pack_for_cpu(q, 1))
        self.register_buffer("scales", torch.stack([step, low + 8 * step], 2).transpose(0, 1).contiguous())
        self.bias, self.group = linear.bias, group

    def forward(self, x):
        y = torch._weight_int4pack_mm_for_cpu(x.flatten(0, -2), self.weight, self.group, self.scales)
        return y.unflatten(0, x.shape[:-1]) + self.bias


FEW, MANY = torch.randn(1, 3, 64), torch.randn(5, 7, 64)  # rows that go through registers, and through floats
MAKE = {
    "script": lambda module, x: torch.jit.script(module),
    "trace": lambda module, x: torch.jit.trace(module, x),
    "export": lambda module, x: torch.export.export(module, (x,)),
}


@pytest.mark.parametrize("x", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("how", MAKE)
@pytest.mark.parametrize(("cls", "most"), [(Int8, 0.02), (Int4, 0.3)])
def test_weights_of_few_bits_run_from_files(cls, most, how, x):
    torch.manual_seed(0)
    linear = nn.Linear(64, 48)
    with torch.no_grad():
        module = cls(linear).eval()
        want = module(x)
        assert 0 < (want - linear(x)).abs().max() < most
        out = io.BytesIO()
        torch.jit.save(MAKE[how](module, x), out)
        assert torch.equal(_ir._native.load_program(out.getvalue()).run("forward", x), want)
        assert torch.equal(torch.jit.load(io.BytesIO(out.getvalue()))(x), want)


@pytest.mark.parametrize("cls", [Int8, Int4])
def test_a_script_chooses_by_the_number_of_rows_at_each_call(cls):
    torch.manual_seed(0)
    module = cls(nn.Linear(64, 48))
    script = torch.jit.script(module)
    with torch.no_grad():
        assert all(torch.equal(script(x), module(x)) for x in (FEW, MANY, FEW))
