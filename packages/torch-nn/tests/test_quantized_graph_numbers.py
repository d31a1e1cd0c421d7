"""Weights and results of graphs beside those of their quantized form."""

import copy

import pytest
import torch
from torch import nn

pytest.importorskip("torch.fx")

import torch.ao.ns._numeric_suite_fx as ns
import torch.ao.quantization as tq
from torch.ao.ns.fx.utils import compute_cosine_similarity, compute_normalized_l2_error, compute_sqnr
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu, self.fc, self.w = (
            nn.Conv2d(3, 4, 1),
            nn.ReLU(),
            nn.Linear(4, 2),
            nn.Parameter(torch.rand(3, 2)),
        )

    def forward(self, x):
        x = self.relu(self.conv(x))
        return F.linear(self.fc(F.relu(x + x)), self.w)


@pytest.fixture
def graphs():
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 3, 4, 4)
    ready = prepare_fx(net, tq.get_default_qconfig_mapping("x86"), (x,))
    ready(x)
    return ready, convert_fx(ready), x


def test_weights_of_graphs_stand_side_by_side(graphs):
    ready, whole, _ = graphs
    found = ns.extract_weights("floats", ready, "integers", whole)
    assert list(found) == ["conv", "fc", "linear"]
    for layer in found.values():
        (one,), (two,) = layer["weight"]["floats"], layer["weight"]["integers"]
        assert (one["values"][0] - two["values"][0].dequantize()).abs().max() < 0.01 and one["type"] == "weight"
    assert found["conv"]["weight"]["integers"][0]["fqn"] == "conv"
    assert torch.equal(found["fc"]["weight"]["floats"][0]["values"][0], ready.fc.weight)


def test_results_of_graphs_stand_side_by_side_and_are_compared(graphs):
    ready, whole, x = graphs
    wanted = ready(x), whole(x)
    models = ns.add_loggers("floats", copy.deepcopy(ready), "integers", copy.deepcopy(whole), ns.OutputLogger)
    assert all(torch.equal(model(x), y) for model, y in zip(models, wanted, strict=True))
    found = ns.extract_logger_info(*models, ns.OutputLogger, "floats")
    assert list(found) == ["conv", "add", "fc", "linear"]
    ns.extend_logger_results_with_comparison(found, "floats", "integers", compute_sqnr, "sqnr")
    for layer in found.values():
        (one,), (two,) = layer["node_output"]["floats"], layer["node_output"]["integers"]
        assert len(one["values"]) == 1 and two["values"][0].dtype is torch.quint8 and two["sqnr"][0] > 25
    assert torch.equal(found["linear"]["node_output"]["integers"][0]["values"][0].dequantize(), wanted[1])
    assert (found["add"]["node_output"]["floats"][0]["values"][0] >= 0).all()  # with its relu
    for call, kept in ((ns.loggers_set_enabled, 1), (ns.loggers_set_save_activations, 1)):
        call(models[0], False)
        models[0](x)
        call(models[0], True)
        assert (
            len(ns.extract_logger_info(*models, ns.OutputLogger, "floats")["fc"]["node_output"]["floats"][0]["values"])
            == kept
        )
    with pytest.raises(ValueError, match="no model is called 'int8'; there are 'floats', 'integers'"):
        ns.extract_logger_info(*models, ns.OutputLogger, "int8")
    with pytest.raises(ValueError, match="conv has no results of 'int8', but of 'floats', 'integers'"):
        ns.extend_logger_results_with_comparison(found, "floats", "int8", compute_sqnr, "sqnr")


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(4, 4))

    def forward(self, x):
        return F.linear(F.relu(F.linear(x, self.w)), self.w)


def test_functions_have_the_names_of_operators_and_no_path():
    x = torch.rand(2, 4)
    ready = prepare_fx(Functions().eval(), tq.get_default_qconfig_mapping("fbgemm"), (x,))
    ready(x)
    whole = convert_fx(ready)
    weights = ns.extract_weights("floats", ready, "integers", whole)
    models = ns.add_loggers("floats", ready, "integers", whole, ns.OutputLogger)
    assert [model(x).shape for model in models] == [x.shape] * 2
    results = ns.extract_logger_info(*models, ns.OutputLogger, "integers")
    assert list(weights) == list(results) == ["linear_relu", "linear"]
    said = {model: each[0] for model, each in weights["linear_relu"]["weight"].items()}
    assert said["floats"]["prev_node_name"] == said["floats"]["ref_node_name"] == "linear"
    assert said["integers"]["prev_node_name"] == said["integers"]["ref_node_name"] == "linear_relu"
    kinds = [kind for layer in (*weights.values(), *results.values()) for kind in layer.values()]
    assert all(entry["fqn"] == "" for kind in kinds for model in kind.values() for entry in model)


def test_dynamic_layers_stand_beside_those_of_the_model():
    net, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).eval(), torch.randn(2, 4)
    whole = convert_fx(prepare_fx(net, tq.QConfigMapping().set_global(tq.default_dynamic_qconfig), (x,)))
    assert len(ns.extract_weights("floats", net, "integers", whole)) == 2
    models = ns.add_loggers("floats", net, "integers", whole, ns.OutputLogger)
    for model in models:
        model(x)
    found = ns.extract_logger_info(*models, ns.OutputLogger, "integers")
    ns.extend_logger_results_with_comparison(found, "floats", "integers", compute_normalized_l2_error, "error")
    assert all(layer["node_output"]["integers"][0]["error"][0] < 0.05 for layer in found.values()) and len(found) >= 2


def test_what_is_not_compared_is_named(graphs):
    ready, whole, _ = graphs
    with pytest.raises(
        ValueError, match="add_loggers: conv is joined to a relu in one of 'a' and 'b', and not in the other"
    ):
        ns.add_loggers("a", Net().eval(), "b", whole, ns.OutputLogger)
    with pytest.raises(NotImplementedError, match="inputs are not logged"):
        ns.add_loggers("a", ready, "b", whole, ns.OutputLogger, should_log_inputs=True)
    with pytest.raises(NotImplementedError, match="add_shadow_loggers: graphs with shadows"):
        ns.add_shadow_loggers("a", ready, "b", whole, ns.OutputLogger)
    with pytest.raises(NotImplementedError, match="from no tables of one's own"):
        ns.extract_weights("a", ready, "b", whole, {"linear": set()})


def test_distances_are_those_of_their_formulas():
    x, y = torch.tensor([3.0, 4.0]), torch.tensor([3.0, 3.5])
    assert compute_sqnr(x, y) == pytest.approx(20.0) and compute_normalized_l2_error(x, y) == pytest.approx(0.1)
    assert compute_cosine_similarity(x, 2 * x) == pytest.approx(1.0)
