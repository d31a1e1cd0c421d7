"""Where sizes may change, those that the program itself tells are in the file: they are the same for any example."""

import pytest
import torch
from agreement import agree
from torch import nn
from torch.nn import functional as F
from torch.onnx._scripted import read

WEIGHT, KERNEL, TABLE = torch.randn(6, 4), torch.randn(6, 4, 3), torch.randn(9, 5)
SMALL, LARGE = torch.rand(2, 4, 5), torch.rand(3, 4, 8)
#: programs of a tensor of (n, 4, m), and the sizes of what they give: None may change
PROGRAMS = {
    "linear": (lambda x: F.linear(x.mT, WEIGHT), (None, None, 6)),
    "linear, by a weight that is computed": (lambda x: F.linear(x.mT, WEIGHT * 2), (None, None, 6)),
    "matmul": (lambda x: torch.matmul(x.mT, WEIGHT.t()), (None, None, 6)),
    "of a vector": (lambda x: WEIGHT[0] @ x, (None, None)),
    "addmm": (lambda x: torch.addmm(WEIGHT[:, 0], x[:, :, 0], WEIGHT.t()), (None, 6)),
    "bmm": (lambda x: torch.bmm(x, x.mT), (None, 4, 4)),
    "einsum": (lambda x: torch.einsum("bcm,dc->bdm", x, WEIGHT), (None, 6, None)),
    "attention": (lambda x: F.scaled_dot_product_attention(x.mT, x.mT, x.mT), (None, None, 4)),
    "convolution": (lambda x: F.conv1d(x, KERNEL * 2), (None, 6, None)),
    "transposed convolution": (lambda x: F.conv_transpose1d(x, KERNEL.transpose(0, 1), groups=2), (None, 12, None)),
    "pooling": (lambda x: F.max_pool2d(x, 2), (None, 2, None)),
    "pooling to a size": (lambda x: F.adaptive_avg_pool1d(x, 3), (None, 4, 3)),
    "pooling to a size of one dim": (lambda x: F.adaptive_avg_pool2d(x, (None, 2)), (None, 4, 2)),
    "sums": (lambda x: x.sum(0, keepdim=True) + x.amax((0, 2), keepdim=True), (1, 4, None)),
    "extremes": (lambda x: torch.max(x, 1)[0] + x.argmax(1), (None, None)),
    "all": (lambda x: x * x.std() + x.max(), (None, 4, None)),
    "an element of": (lambda x: x[:, 2], (None, None)),
    "spread over each other": (lambda x: x[:, :1] + x, (None, 4, None)),
    "spread over one": (lambda x: x[:1] + x, (None, 4, None)),
    "chosen": (lambda x: torch.where(x > 0.5, x, x.mean((0, 2), keepdim=True)), (None, 4, None)),
    "where": (lambda x: torch.stack(torch.where(x[0, :, 0] > 0.5)), (1, None)),
    "parts": (lambda x: x.split(3, 1)[1], (None, 1, None)),
    "parts by sizes": (lambda x: x.split([1, 3], 1)[1], (None, 3, None)),
    "chunks": (lambda x: x.chunk(2, 1)[0], (None, 2, None)),
    "a part": (lambda x: x[:, 1:, :2], (None, 3, None)),
    "a part from the end": (lambda x: x[:, -2:, 1:], (None, 2, None)),
    "as many": (lambda x: x.narrow(2, 1, 3), (None, 4, 3)),
    "largest": (lambda x: x.topk(2, 2)[0], (None, 4, 2)),
    "gated": (lambda x: F.glu(x, 1), (None, 2, None)),
    "padded": (lambda x: F.pad(x, (1, 0, 2, 1)), (None, 7, None)),
    "repeated": (lambda x: x.repeat(2, 3, 1), (None, 12, None)),
    "moved": (lambda x: x.permute(2, 1, 0).transpose(0, 1).movedim(0, 1).unsqueeze(1).squeeze(1), (None, 4, None)),
    "flat": (lambda x: x.permute(0, 2, 1).unsqueeze(3).flatten(2), (None, None, 4)),
    "flat, all": (lambda x: x.flatten(1), (None, None)),
    "viewed": (lambda x: x.reshape(x.shape[0], 2, 2, x.shape[2]), (None, 2, 2, None)),
    "unflattened": (lambda x: x.unflatten(1, (2, -1)), (None, 2, 2, None)),
    "of a rest": (lambda x: x[:, :, 0].sum(0).reshape(2, -1), (2, 2)),
    "of a rest that moves": (lambda x: x.reshape(2, -1), (2, None)),
    "expanded": (lambda x: x[:, :, :1].expand(-1, 4, 6), (None, 4, 6)),
    "expanded to a size": (lambda x: x[:1, :1].expand(x.shape[0], 3, -1), (None, 3, None)),
    "joined": (lambda x: torch.cat([x, x[:, :2]], 1), (None, 6, None)),
    "joined along what moves": (lambda x: torch.cat([x, x], 2), (None, 4, None)),
    "stacked": (lambda x: torch.stack([x, x], 1), (None, 2, 4, None)),
    "embedded": (lambda x: F.embedding((x * 4).long(), TABLE), (None, 4, None, 5)),
    "gathered": (lambda x: x.gather(2, torch.zeros(1, 2, 1, dtype=torch.long)), (1, 2, 1)),
    "added at places": (lambda x: x.index_add(1, torch.tensor([0, 3]), x[:, :2]), (None, 4, None)),
    "resized": (lambda x: F.interpolate(x, size=7), (None, 4, 7)),
    "resized by a factor": (lambda x: F.interpolate(x, scale_factor=2.0), (None, 4, None)),
    "sorted": (lambda x: x.sort(1)[1] + x.cumsum(1), (None, 4, None)),
    "normal": (lambda x: F.layer_norm(F.group_norm(x, 2).mT, (4,)).softmax(-1), (None, None, 4)),
}


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def sizes_of(function, example):
    """The sizes of all that a trace computes, in order; None for those that may change."""
    traced = torch.jit.trace(Program(function), (example,), check_trace=False)
    program = read(traced, (example,), ["x"], {0: {0: "n", 2: "m"}})
    values = [*(value for step in program.steps for value in step.results), *program.outputs]
    return [tuple(size if isinstance(size, int) else None for size in value.shape) for value in values]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_that_are_certain_are_so_for_every_example(name):
    function, expected = PROGRAMS[name]
    small = sizes_of(function, SMALL)
    assert small == sizes_of(function, LARGE)
    assert small[-1] == expected
    assert function(SMALL).dim() == len(expected)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 6, 3, padding=1))
        self.layers = nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True)
        self.last = nn.Linear(8, 6)

    def forward(self, x):
        y = self.last(self.layers(self.kernel(x).mT)[0])
        one, two = y.split(3, -1)
        return F.glu(y, -1) * one + two.median(-1, keepdim=True).values


@pytest.mark.parametrize("opset", [13, 20])
def test_a_trace_takes_apart_what_has_a_certain_size(opset):
    traced = torch.jit.trace(Mixer().eval(), (SMALL,))
    options = {"opset_version": opset, "dynamic_axes": {"x": [0, 2]}, "input_names": ["x"], "dynamo": False}
    agree(traced, SMALL, others=[(LARGE,), (torch.rand(1, 4, 1),)], **options)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 6), nn.Linear(4, 6)

    def forward(self, x):
        if x.sum() > 0:
            y = self.one(x)
        else:
            y = self.two(x)
        for _ in range(x.size(0)):
            one, two = y.split(3, 1)
            y = torch.cat([two, one * x[:, :3]], 1)
        return y.split(3, 1)[1]


class Growing(nn.Module):
    def forward(self, x, n: int):
        y = x
        z = x[:, :2]
        for _ in range(n):
            z = torch.cat([z, x[:1, :2]])
            y = torch.cat([y, y[:, :1]], 1)
        return y, z


def test_branches_that_give_one_size_give_it_surely():
    script = torch.jit.script(Branches())
    others = [(-torch.rand(5, 4),), (torch.rand(1, 4),)]
    agree(script, torch.rand(3, 4), others=others, dynamic_axes={"x": [0]}, input_names=["x"], dynamo=False)


def test_a_loop_that_grows_what_it_carries_has_no_certain_size_there():
    script = torch.jit.script(Growing())
    program = read(script, (torch.rand(3, 4), 2), ["x", "n"], {0: {0: "a"}})
    assert [isinstance(size, int) for value in program.outputs for size in value.shape] == [False, False, False, True]


class Heads(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2).contiguous().view(x.size(0), 2, -1, 4)


@pytest.mark.parametrize("read", [torch.jit.script, lambda module: torch.jit.trace(module, (torch.rand(2, 4, 6),))])
def test_what_contiguous_gives_is_viewed(read):
    agree(
        read(Heads()),
        torch.rand(2, 4, 6),
        others=[(torch.rand(3, 4, 2),)],
        dynamic_axes={"x": [0, 2]},
        input_names=["x"],
        dynamo=False,
    )
