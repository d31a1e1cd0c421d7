"""Weights and results of quantized models beside those in floats, and what is done about their errors."""

import copy

import pytest
import torch
import torch.ao.quantization as tq
from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import quantized as nnq
from torch.ao.ns import _numeric_suite as ns
from torch.ao.quantization import _equalize as eq
from torch.ao.quantization._correct_bias import bias_correction


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.ReLU()
        self.sum, self.block, self.fc = (
            nnq.FloatFunctional(),
            nn.Sequential(nn.Linear(4, 4), nn.ReLU()),
            nn.Linear(4, 2),
        )

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        return self.dequant(self.fc(self.block(self.sum.add(x, x))))


@pytest.fixture
def models():
    """A model in floats with joined layers, its quantized form, and an input."""
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 3, 4, 4)
    tq.fuse_modules(net, [["conv", "bn", "relu"], ["block.0", "block.1"]], inplace=True)
    net.qconfig = tq.default_qconfig
    ready = tq.prepare(net)
    ready(x)
    return net, tq.convert(ready), x


def near(numbers, integers, most=0.15):
    return (numbers - integers.dequantize()).abs().max() < most


def test_weights_stand_side_by_side(models):
    net, quantized, _ = models
    found = ns.compare_weights(net.state_dict(), quantized.state_dict())
    assert set(found) == {"conv.weight", "block.0._packed_params._packed_params", "fc._packed_params._packed_params"}
    assert all(
        each["quantized"].is_quantized and near(each["float"], each["quantized"], 0.02) for each in found.values()
    )
    dynamic = tq.quantize_dynamic(nn.Sequential(net.fc))
    found = ns.compare_weights(nn.Sequential(net.fc).state_dict(), dynamic.state_dict())
    assert torch.equal(found["0._packed_params._packed_params"]["float"], net.fc.weight)


def test_results_of_layers_stand_side_by_side(models):
    net, quantized, x = models
    wanted = quantized(x)
    found = ns.compare_model_outputs(net, quantized, x)
    assert {"conv.stats", "sum.stats", "block.0.stats", "fc.stats", "quant.stats"} <= set(
        found
    ) and "conv.0.stats" not in found
    for each in found.values():
        assert len(each["float"]) == len(each["quantized"]) == 1 and near(each["float"][0], each["quantized"][0])
    assert torch.equal(found["fc.stats"]["quantized"][0].dequantize(), wanted)
    again = ns.compare_model_outputs(net, quantized, x)  # has loggers of its own
    assert len(again["fc.stats"]["float"]) == 1


def test_layers_have_shadows_in_floats(models):
    net, quantized, x = models
    wanted = quantized(x)
    found = ns.compare_model_stub(net, quantized, [nni.ConvReLU2d, nn.Linear, nnq.FloatFunctional], x)
    assert set(found) == {"conv.stats", "sum.stats", "fc.stats"} and torch.equal(quantized(x), wanted)
    for each in found.values():
        assert near(each["float"][0], each["quantized"][0]) and each["quantized"][0].is_quantized
    assert type(quantized.fc) is ns.Shadow and type(quantized.fc.shadow_module) is nn.Linear


def test_loggers_of_one_s_own_are_asked(models):
    class Greatest(ns.OutputLogger):
        def forward(self, x):
            self.stats["tensor_val"].append(x.dequantize().max() if x.is_quantized else x.max())
            return x

    net, quantized, x = models
    found = ns.compare_model_outputs(net, quantized, x, logger_cls=Greatest, allow_list={nn.Linear, nnq.Linear})
    assert set(found) == {"fc.stats"} and found["fc.stats"]["float"][0].dim() == 0


def test_channels_get_one_range_and_results_stay():
    torch.manual_seed(0)
    layers = nn.Conv2d(2, 3, 2), nni.ConvReLU2d(nn.Conv2d(3, 4, 1), nn.ReLU()), nn.Conv2d(4, 2, 1, bias=False)
    net, x = nn.Sequential(layers[0], nn.ReLU(), *layers[1:]).double(), torch.randn(2, 2, 5, 5, dtype=torch.float64)
    with torch.no_grad():
        layers[0].weight *= torch.tensor([1.0, 10, 100]).reshape(3, 1, 1, 1)
    wanted = net(x)
    same = eq.equalize(net, [["0", "2", "3"]])
    assert same is net and torch.allclose(net(x), wanted, rtol=1e-9)
    for first, second in ((net[0], net[2]), (net[2], net[3])):
        ranges = eq.channel_range(eq.get_module_weight(first)), eq.channel_range(eq.get_module_weight(second), 1)
        assert torch.allclose(*ranges, rtol=1e-3)
    copied = eq.equalize(net, [[net[0], net[2]]], inplace=False)
    assert copied is not net and torch.allclose(copied(x), wanted, rtol=1e-9)


@pytest.mark.parametrize(
    "first, second, error, message",
    [
        (nn.Linear(4, 3), nn.Linear(4, 2), TypeError, r"\(3, 4\) and \(2, 4\) have 3 along dim 0 and 4 along dim 1"),
        (nn.ReLU(), nn.Linear(4, 2), ValueError, "module type not supported: ReLU; there are Conv1d"),
    ],
)
def test_layers_that_are_not_equalized_are_named(first, second, error, message):
    with pytest.raises(error, match=message):
        eq.cross_layer_equalization(first, second)


def test_what_is_no_list_of_chains_is_named():
    net = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    with pytest.raises(ValueError, match=r"Group must have at least two modules, got \['0'\]"):
        eq.equalize(net, [["0"]])
    with pytest.raises(ValueError, match="module is not in the model: ReLU"):
        eq.equalize(net, [["0", nn.ReLU()]])
    with pytest.raises(ValueError, match="same set of names"):
        eq.converged({"a": net[0]}, {"b": net[0]})


def test_biases_lose_the_mean_error_of_their_layers():
    torch.manual_seed(0)
    net, x = (
        nn.Sequential(tq.QuantStub(), nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(12, 5), tq.DeQuantStub()).eval(),
        torch.randn(64, 2, 4, 4),
    )
    net.qconfig = tq.QConfig(tq.default_observer, tq.default_weight_observer.with_args(quant_min=-4, quant_max=3))
    ready = tq.prepare(net)
    ready(x)
    quantized = tq.convert(ready)
    before = (quantized(x) - net(x)).mean(0).abs()
    bias_correction(copy.deepcopy(net), quantized, [(x, None)])
    after = (quantized(x) - net(x)).mean(0).abs()
    assert before.sum() > 0.05 and after.sum() < 0.6 * before.sum()
    with pytest.raises(ValueError, match="was not called; img_data gives no batches"):
        bias_correction(copy.deepcopy(net), tq.convert(ready), [])


# -- layers that are trained with rounding, made by hand and brought back ------------------------------------------------------


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("relu", [False, True])
def test_joined_layers_are_made_by_hand_and_brought_back(dims, relu):
    from torch.ao.nn.intrinsic import qat as nniqat

    torch.manual_seed(0)
    kind = getattr(nniqat, f"ConvBn{'ReLU' * relu}{dims}d")
    layer = kind(2, 3, 1, qconfig=tq.default_qat_qconfig, freeze_bn=True, eps=1e-3)
    assert layer.bias is None and layer.bn.eps == 1e-3 and layer.training and not layer.bn.training
    x = torch.randn(4, 2, *[5] * dims)
    layer.train()(x).sum().backward()
    back = layer.eval().to_float()
    assert type(back) is (getattr(nni, f"ConvReLU{dims}d") if relu else getattr(nn, f"Conv{dims}d"))
    assert (back(x) - layer(x)).abs().max() < 0.05 and not back.training


def test_linear_layers_that_round_are_brought_back():
    from torch.ao.nn import qat as nnqat
    from torch.ao.nn.intrinsic import qat as nniqat

    torch.manual_seed(0)
    joined, x = nni.LinearReLU(nn.Linear(4, 3), nn.ReLU()), torch.randn(6, 4)
    joined.qconfig = joined[0].qconfig = tq.default_qat_qconfig
    back = nniqat.LinearReLU.from_float(joined).to_float()
    assert type(back) is nni.LinearReLU and torch.equal(back(x), joined(x))
    assert torch.equal(nnqat.Linear.from_float(joined[0]).to_float()(x), joined[0](x))
    normed = nniqat.LinearBn1d(4, 3, qconfig=tq.default_qat_qconfig)
    normed(x).sum().backward()
    assert (normed.eval().to_float()(x) - normed(x)).abs().max() < 0.05


def test_tables_that_are_trained_for_four_bits_have_four_bits():
    net = nn.Sequential(nn.Embedding(4, 3)).train()
    net[0].qconfig = tq.default_embedding_qat_qconfig_4bit
    ready = tq.prepare_qat(net, mapping=tq.get_embedding_qat_module_mappings())
    ready(torch.tensor([0, 3, 1]))
    table = tq.convert(ready.eval(), mapping=tq.get_embedding_static_quant_module_mappings())[0]
    assert table.weight().dtype is torch.quint4x2
    assert (table(torch.arange(4)) - net[0].weight).abs().max() < 0.3


def test_channels_of_zeros_are_not_scaled():
    net = nn.Sequential(nn.Linear(1, 3), nn.ReLU(), nn.Linear(3, 1))  # each channel of the first layer has one weight
    x = torch.rand(4, 1)
    wanted = net(x)
    assert eq.equalize(net, [["0", "2"]])(x).allclose(wanted, atol=1e-5)
    nn.init.constant_(net[0].weight, float("nan"))
    assert eq.equalize(net, [["0", "2"]])(x).isnan().all()


def test_pixels_of_quantized_tensors_are_taken_apart():
    q = torch.quantize_per_tensor(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 0.1, 3, torch.quint8)
    apart = torch.pixel_unshuffle(q, 2)
    assert apart.q_scale() == q.q_scale() and apart.dequantize().flatten().tolist() == q.dequantize().flatten().tolist()
