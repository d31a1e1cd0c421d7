"""Programs of core ATen operators as ONNX models."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

pytest.importorskip("onnxruntime")
from agreement import run


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.up = nn.Conv2d(3, 4, 3, padding="same"), nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.norm, self.groups = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        self.norm.running_mean.normal_(), self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu6(self.groups(self.up(self.norm(self.conv(x)).square()))), 2)
        return F.adaptive_avg_pool2d(x, 1).flatten(1).softmax(-1), F.adaptive_avg_pool2d(x, (2, 3))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.wide, self.norm = nn.Linear(4, 12), nn.LayerNorm(4)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 2)).transpose(1, 2) for part in self.wide(self.norm(x)).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).log_softmax(-1), q @ k.mT


class Composed(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.norm = nn.LSTM(4, 3, 2, bidirectional=True), nn.LayerNorm(6)

    def forward(self, x):
        out = self.norm(self.layers(x)[0])
        image = torch.einsum("tni,tnj->tij", out, out)[None]
        sizes = {"scale_factor": 2}, {"size": (5, 7), "mode": "bilinear"}, {"scale_factor": 1.5, "mode": "bicubic"}
        return out, *(F.interpolate(image, **each) for each in sizes)


@pytest.mark.parametrize(("kind", "shape"), [(Composed, (3, 2, 4)), (Vision, (2, 3, 6, 6)), (Attention, (2, 5, 4))])
def test_a_program_of_core_operators_is_written(kind, shape):
    net, x = kind().eval(), torch.randn(shape)
    program = torch.export.export(net, (x,)).run_decompositions()
    called = {n.meta["operator"] for n in program.graph.nodes if "operator" in n.meta}
    assert {"convolution", "native_layer_norm"} & called
    proto = torch.onnx.export(program, (x,), dynamo=True).model_proto
    for found, wanted in zip(run(proto, x), net(x), strict=True):
        torch.testing.assert_close(torch.from_numpy(found), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "bias": False}, {"batch_first": True, "num_layers": 2}]
)
def test_recurrent_layers_over_texts_of_any_length_are_written_after_decompositions(kind, options):
    net = getattr(nn, kind)(3, 4, **options)
    any_length = ({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(net, (torch.randn(5, 2, 3),), dynamic_shapes=any_length).run_decompositions()
    proto = torch.onnx.export(program, dynamo=True).model_proto
    assert kind in {n.op_type for n in proto.graph.node}
    x = torch.randn(7, 3, 3)
    wanted, last = net(x)
    for found, each in zip(run(proto, x), (wanted, *(last if kind == "LSTM" else [last])), strict=True):
        torch.testing.assert_close(torch.from_numpy(found), each, rtol=1e-5, atol=1e-5)


class Encoder(nn.Module):
    def forward(self, x):
        made = torch.empty_like(x)
        return x + made.normal_(3.0, 0.5), made.uniform_(-1, 5) + x, torch.empty_like(x).exponential_(4.0)


def test_tensors_that_are_filled_with_random_numbers_are_written():
    x = torch.zeros(100, 100)
    proto = torch.onnx.export(Encoder(), (x,), dynamo=True).model_proto
    normal, uniform, exponential = (torch.from_numpy(t) for t in run(proto, x))
    assert abs(normal.mean() - 3) < 0.05 and abs(normal.std() - 0.5) < 0.05
    assert abs(uniform.mean() - 2) < 0.1 and -1 <= uniform.min() < -0.9 and 4.9 < uniform.max() <= 5
    assert abs(exponential.mean() - 0.25) < 0.02 and exponential.min() >= 0
