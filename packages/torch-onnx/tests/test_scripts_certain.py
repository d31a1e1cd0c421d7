"""Where sizes may change, those that the program itself tells are in the file: they are the same for any example."""

import io

import pytest
import torch
from agreement import agree
from torch import nn
from torch.nn import functional as F
from torch.onnx._scripted import read

WEIGHT, KERNEL, TABLE = torch.randn(6, 4), torch.randn(6, 4, 3), torch.randn(9, 5)
SMALL, LARGE = torch.rand(2, 4, 5), torch.rand(3, 4, 8)
#: programs of a tensor of (n, 4, m), and what is known of the sizes of what they give
PROGRAMS = {
    "linear": (lambda x: F.linear(x.mT, WEIGHT), ("n", "m", 6)),
    "linear, by a weight that is computed": (lambda x: F.linear(x.mT, WEIGHT * 2), ("n", "m", 6)),
    "matmul": (lambda x: torch.matmul(x.mT, WEIGHT.t()), ("n", "m", 6)),
    "of a vector": (lambda x: WEIGHT[0] @ x, ("n", "m")),
    "addmm": (lambda x: torch.addmm(WEIGHT[:, 0], x[:, :, 0], WEIGHT.t()), ("n", 6)),
    "bmm": (lambda x: torch.bmm(x, x.mT), ("n", 4, 4)),
    "einsum": (lambda x: torch.einsum("bcm,dc->bdm", x, WEIGHT), ("n", 6, "m")),
    "attention": (lambda x: F.scaled_dot_product_attention(x.mT, x.mT, x.mT), ("n", "m", 4)),
    "convolution": (lambda x: F.conv1d(x, KERNEL * 2), ("n", 6, None)),
    "transposed convolution": (lambda x: F.conv_transpose1d(x, KERNEL.transpose(0, 1), groups=2), ("n", 12, None)),
    "pooling": (lambda x: F.max_pool2d(x, 2), ("n", 2, None)),
    "pooling to a size": (lambda x: F.adaptive_avg_pool1d(x, 3), ("n", 4, 3)),
    "pooling to a size of one dim": (lambda x: F.adaptive_avg_pool2d(x, (None, 2)), ("n", 4, 2)),
    "sums": (lambda x: x.sum(0, keepdim=True) + x.amax((0, 2), keepdim=True), (1, 4, "m")),
    "extremes": (lambda x: torch.max(x, 1)[0] + x.argmax(1), ("n", "m")),
    "all": (lambda x: x * x.std() + x.max(), ("n", 4, "m")),
    "an element of": (lambda x: x[:, 2], ("n", "m")),
    "spread over each other": (lambda x: x[:, :1] + x, ("n", 4, "m")),
    "spread over one": (lambda x: x[:1] + x, (None, 4, "m")),
    "chosen": (lambda x: torch.where(x > 0.5, x, x.mean((0, 2), keepdim=True)), ("n", 4, "m")),
    "where": (lambda x: torch.stack(torch.where(x[0, :, 0] > 0.5)), (1, None)),
    "parts": (lambda x: x.split(3, 1)[1], ("n", 1, "m")),
    "parts by sizes": (lambda x: x.split([1, 3], 1)[1], ("n", 3, "m")),
    "chunks": (lambda x: x.chunk(2, 1)[0], ("n", 2, "m")),
    "a part": (lambda x: x[:, 1:, :2], ("n", 3, None)),
    "a part from the end": (lambda x: x[:, -2:, 1:], ("n", 2, None)),
    "as many": (lambda x: x.narrow(2, 1, 3), ("n", 4, 3)),
    "largest": (lambda x: x.topk(2, 2)[0], ("n", 4, 2)),
    "gated": (lambda x: F.glu(x, 1), ("n", 2, "m")),
    "padded": (lambda x: F.pad(x, (1, 0, 2, 1)), ("n", 7, None)),
    "repeated": (lambda x: x.repeat(2, 3, 1), (None, 12, None)),
    "moved": (lambda x: x.permute(2, 1, 0).transpose(0, 1).movedim(0, 1).unsqueeze(1).squeeze(1), ("m", 4, "n")),
    "flat": (lambda x: x.permute(0, 2, 1).unsqueeze(3).flatten(2), ("n", "m", 4)),
    "flat, all": (lambda x: x.flatten(1), ("n", None)),
    "viewed": (lambda x: x.reshape(x.shape[0], 2, 2, x.shape[2]), ("n", 2, 2, "m")),
    "unflattened": (lambda x: x.unflatten(1, (2, -1)), ("n", 2, 2, "m")),
    "of a rest": (lambda x: x[:, :, 0].sum(0).reshape(2, -1), (2, 2)),
    "of a rest that moves": (lambda x: x.reshape(2, -1), (2, None)),
    "heads of a rest": (lambda x: x.mT.reshape(x.shape[0], x.shape[2], 2, -1), ("n", "m", 2, 2)),
    "rows of a rest": (lambda x: x.reshape(x.shape[0], 2, 2, -1), ("n", 2, 2, "m")),
    "flat of one": (lambda x: x[:, :1].flatten(1), ("n", "m")),
    "as another is": (lambda x: x.reshape(1, -1).view_as(x) + x.reshape(-1).reshape_as(x), ("n", 4, "m")),
    "filled": (lambda x: x.new_zeros(x.shape[2], x.shape[0]) + torch.ones(x.shape[2], 1), ("m", "n")),
    "expanded": (lambda x: x[:, :, :1].expand(-1, 4, 6), ("n", 4, 6)),
    "expanded to a size": (lambda x: x[:1, :1].expand(x.shape[0], 3, -1), ("n", 3, "m")),
    "joined": (lambda x: torch.cat([x, x[:, :2]], 1), ("n", 6, "m")),
    "joined along what moves": (lambda x: torch.cat([x, x], 2), ("n", 4, None)),
    "stacked": (lambda x: torch.stack([x, x], 1), ("n", 2, 4, "m")),
    "embedded": (lambda x: F.embedding((x * 4).long(), TABLE), ("n", 4, "m", 5)),
    "gathered": (lambda x: x.gather(2, torch.zeros(1, 2, 1, dtype=torch.long)), (1, 2, 1)),
    "added at places": (lambda x: x.index_add(1, torch.tensor([0, 3]), x[:, :2]), ("n", 4, "m")),
    "resized": (lambda x: F.interpolate(x, size=7), ("n", 4, 7)),
    "resized by a factor": (lambda x: F.interpolate(x, scale_factor=2.0), ("n", 4, None)),
    "sorted": (lambda x: x.sort(1)[1] + x.cumsum(1), ("n", 4, "m")),
    "normal": (lambda x: F.layer_norm(F.group_norm(x, 2).mT, (4,)).softmax(-1), ("n", "m", 4)),
}


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def sizes_of(function, example):
    """The sizes of all that a trace computes, in order: numbers, names of sizes of the argument, and None for what is neither."""
    traced = torch.jit.trace(Program(function), (example,), check_trace=False)
    program = read(traced, (example,), ["x"], {0: {0: "n", 2: "m"}})
    values = [*(value for step in program.steps for value in step.results), *program.outputs]
    known = lambda size: size if isinstance(size, int) or size in ("n", "m") else None
    return [tuple(map(known, value.shape)) for value in values]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_that_are_certain_are_so_for_every_example(name):
    function, expected = PROGRAMS[name]
    small = sizes_of(function, SMALL)
    assert small == sizes_of(function, LARGE)
    assert small[-1] == expected
    for x in (SMALL, LARGE):
        named = {"n": x.shape[0], "m": x.shape[2]}
        real = function(x).shape
        assert [
            named.get(size, size) if size is not None else n for n, size in zip(real, expected, strict=True)
        ] == list(real)


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


class Filter(nn.Module):
    def __init__(self, padding):
        super().__init__()
        self.padding = padding

    def forward(self, x, kernel):
        return F.conv1d(x, kernel, padding=self.padding)


def test_a_kernel_of_any_size_is_in_a_file():
    options = {"dynamic_axes": {"kernel": [2]}, "input_names": ["x", "kernel"], "dynamo": False}
    for padding in (0, 1, "valid"):
        kernels = [(SMALL, torch.rand(2, 4, n)) for n in (3, 1, 2)]
        agree(torch.jit.trace(Filter(padding), kernels[0]), *kernels[0], others=kernels[1:], **options)
    with pytest.raises(NotImplementedError, match="padding='same' of a kernel whose sizes may change"):
        torch.onnx.export(torch.jit.trace(Filter("same"), kernels[0]), kernels[0], **options)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: F.avg_pool1d(x[:, :, :4], [x.shape[0]]), "AveragePool of ONNX takes its kernel_shape"),
        (lambda x: F.max_pool1d(x[:, :, :4], [x.shape[0]]), "MaxPool of ONNX takes its kernel_shape"),
        (lambda x: F.conv1d(x, KERNEL, stride=x.shape[0]), "Conv of ONNX takes its strides"),
    ],
)
def test_sizes_that_may_change_where_onnx_wants_constants_are_named(function, what):
    traced = torch.jit.trace(Program(function), (SMALL,), check_trace=False)
    options = {"dynamic_axes": {"x": [0, 2]}, "input_names": ["x"], "dynamo": False}
    with pytest.raises(NotImplementedError, match=f"{what} as a constant: a size that may change"):
        torch.onnx.export(traced, (SMALL,), io.BytesIO(), **options)
