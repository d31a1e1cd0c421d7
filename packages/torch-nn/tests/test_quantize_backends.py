"""What a ``BackendConfig`` decides, and graphs in floats for other machines."""

import warnings

import pytest
import torch
from torch import nn

pytest.importorskip("torch.fx")

import torch.ao.quantization as tq
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import qat as nnqat
from torch.ao.nn import quantized as nnq
from torch.ao.nn.quantized import reference as nnqr
from torch.ao.quantization.backend_config import (
    BackendConfig,
    BackendPatternConfig,
    DTypeConfig,
    DTypeWithConstraints,
    ObservationType,
    get_native_backend_config,
)
from torch.ao.quantization.quantize_fx import convert_fx, convert_to_reference_fx, fuse_fx, prepare_fx, prepare_qat_fx
from torch.nn import functional as F

BYTES = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
PLAIN = DTypeConfig(torch.quint8, torch.quint8)
SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT


def linear_config(dtypes=BYTES):
    made = BackendPatternConfig(nn.Linear).add_dtype_config(dtypes).set_root_module(nn.Linear)
    return made.set_reference_quantized_module(nnqr.Linear)


def backend(*configs):
    return BackendConfig("mine").set_backend_pattern_configs(list(configs))


def both(net, x, config=None, mapping=None):
    """The graph of a model with observers, the one of integers and the one of floats."""
    mapping = mapping or tq.get_default_qconfig_mapping("x86")
    ready = prepare_fx(net.eval(), mapping, (x,), backend_config=config)
    ready(x)
    return ready, convert_fx(ready, backend_config=config), convert_to_reference_fx(ready, backend_config=config)


def observers(graph):
    return [graph.get_submodule(n.target) for n in graph.graph.nodes if n.name.startswith("activation_post_process")]


class EveryKind(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()
        self.pool, self.fc, self.w = nn.MaxPool2d(2), nn.Linear(18, 4), nn.Parameter(torch.rand(3, 4))

    def forward(self, x):
        x = torch.flatten(self.pool(self.relu(self.bn(self.conv(x)))), 1)
        x = self.fc(x)
        return F.linear(torch.cat([x + torch.sigmoid(x), F.hardswish(x)]), self.w)


@pytest.mark.parametrize("is_qat", [False, True])
def test_a_reference_graph_rounds_in_floats_where_integers_stand(is_qat):
    torch.manual_seed(0)
    net, x = EveryKind().train(is_qat), torch.rand(4, 1, 8, 8)
    if is_qat:
        ready = prepare_qat_fx(net, tq.get_default_qat_qconfig_mapping("x86"), (x,))
        ready(x).sum().backward()
        ready.eval()
    else:
        ready = prepare_fx(net, tq.get_default_qconfig_mapping("x86"), (x,))
        ready(x)
    whole, numbers = convert_fx(ready), convert_to_reference_fx(ready)
    assert type(numbers.conv) is nni.ConvReLU2d and type(numbers.conv[0]) is nnqr.Conv2d
    assert type(numbers.fc) is nnqr.Linear and type(whole.fc) is nnq.Linear
    torch.testing.assert_close(numbers(x), whole(x), rtol=0, atol=1e-5)
    assert "torch.quantize_per_tensor(x, conv_input_scale_0" in numbers.code


@pytest.mark.parametrize("qconfig", [tq.default_dynamic_qconfig, tq.float16_dynamic_qconfig])
def test_a_reference_graph_of_dynamic_layers_rounds_inputs_as_they_come(qconfig):
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(5, 4)
    _, whole, numbers = both(net, x, None, tq.QConfigMapping().set_global(qconfig))
    assert type(numbers.get_submodule("2")) is nnqr.Linear
    torch.testing.assert_close(
        numbers(x), whole(x), rtol=0, atol=1e-3 if qconfig is tq.float16_dynamic_qconfig else 1e-6
    )


def test_layers_without_a_reference_form_are_named():
    ready = prepare_fx(
        nn.Sequential(nn.LSTM(4, 3)), tq.QConfigMapping().set_global(tq.default_dynamic_qconfig), (torch.rand(2, 1, 4),)
    )
    with pytest.raises(NotImplementedError, match="convert_to_reference_fx: there is no reference layer for LSTM"):
        convert_to_reference_fx(ready)


def test_functions_with_ranges_of_their_own_are_rounded():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 6)

        def forward(self, x):
            return F.layer_norm(F.leaky_relu(self.layer(x), 0.1), [6])

    torch.manual_seed(0)
    x = torch.randn(8, 4)
    ready, whole, _ = both(Net(), x)
    steps = whole(x) / observers(ready)[-1].calculate_qparams()[0]
    assert torch.allclose(steps, steps.round(), atol=1e-3)


def test_what_is_joined_has_one_observer_with_the_result():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 2)

        def forward(self, x):
            return torch.stack([self.a(x), 3 * self.b(x)]), torch.cat([self.a(x), torch.sigmoid(self.b(x))])

    x = torch.randn(8, 4)
    ready, whole, _ = both(Net(), x)
    stacked = next(n for n in ready.graph.nodes if n.target is torch.stack)
    joined = next(n for n in ready.graph.nodes if n.target is torch.cat)
    assert len({n.target for n in (*stacked.args[0], *stacked.users)}) == 1
    assert len({n.target for n in (*joined.args[0], *joined.users)}) == 3  # that of a sigmoid is known
    for got, wanted in zip(whole(x), Net.forward(ready, x), strict=True):
        assert (got - wanted).abs().max() < 0.2


def test_patterns_that_a_backend_adds_are_computed_between_integers():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 3), nn.Softplus()), torch.randn(6, 4)
    own = backend(linear_config(), BackendPatternConfig(nn.Softplus).add_dtype_config(PLAIN))
    ready, whole, numbers = both(net, x, own)
    assert len(set(observers(ready))) == 3 and type(whole.get_submodule("0")) is nnq.Linear
    steps = whole(x) / observers(ready)[2].calculate_qparams()[0]
    assert torch.allclose(steps, steps.round(), atol=1e-3) and torch.allclose(numbers(x), whole(x), atol=1e-6)
    shared = backend(
        linear_config(), BackendPatternConfig(nn.Softplus).add_dtype_config(PLAIN).set_observation_type(SHARED)
    )
    assert len(set(observers(both(net, x, shared)[0]))) == 2
    assert len(observers(both(net, x, backend(linear_config()))[0])) == 2
    around = BackendPatternConfig(nn.Softplus).set_observation_type(ObservationType.INPUT_OUTPUT_NOT_OBSERVED)
    assert len(observers(both(net, x, backend(linear_config(), around))[0])) == 2


def test_chains_of_a_backend_are_observed_as_one():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 3), nn.GELU()), torch.randn(6, 4)
    chain = BackendPatternConfig((nn.Linear, nn.GELU)).add_dtype_config(BYTES).set_root_module(nn.Linear)
    ready, whole, numbers = both(net, x, backend(chain.set_reference_quantized_module(nnqr.Linear)))
    assert len(observers(ready)) == 2 and type(whole.get_submodule("0")) is nnqr.Linear
    assert torch.equal(whole(x), numbers(x)) and not torch.equal(whole(x), net(x))


def test_layers_are_joined_by_the_function_of_a_backend():
    def join(is_qat, linear, relu):
        calls.append(is_qat)
        return nni.LinearReLU(linear, relu)

    calls, net, x = [], nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.randn(6, 4)
    chain = BackendPatternConfig((nn.Linear, nn.ReLU)).add_dtype_config(BYTES).set_fused_module(nni.LinearReLU)
    joined = BackendPatternConfig(nni.LinearReLU).add_dtype_config(BYTES).set_root_module(nn.Linear)
    config = backend(linear_config(), chain.set_fuser_method(join), joined)
    assert type(both(net, x, config)[1].get_submodule("0")).__name__ == "LinearReLU" and calls == [False]
    alone = both(net, x, backend(linear_config()))[0]
    assert type(alone.get_submodule("0")) is nn.Linear and len(observers(alone)) == 2
    assert type(fuse_fx(net.eval(), backend_config=config).get_submodule("0")) is nni.LinearReLU
    assert type(fuse_fx(net.eval(), backend_config=backend()).get_submodule("0")) is nn.Linear


@pytest.mark.parametrize(
    "dtypes, is_observed",
    [
        (BYTES, True),
        (DTypeConfig(torch.qint8, torch.qint8, torch.qint8, torch.float), False),
        (DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float, is_dynamic=True), False),
        (DTypeConfig(DTypeWithConstraints(torch.quint8, 0, 127), torch.quint8, torch.qint8, torch.float), True),
        (DTypeConfig(DTypeWithConstraints(torch.quint8, 0, 31), torch.quint8, torch.qint8, torch.float), False),
        (DTypeConfig(DTypeWithConstraints(torch.quint8, scale_min_lower_bound=2**-12), torch.quint8, torch.qint8, torch.float), False),
        (DTypeConfig(torch.quint8, DTypeWithConstraints(torch.quint8, scale_exact_match=1 / 256), torch.qint8, torch.float), False),
    ],
)  # fmt: skip
def test_dtypes_of_a_backend_decide(dtypes, is_observed):
    net, x = nn.Sequential(nn.Linear(4, 3)), torch.randn(6, 4)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ready = both(net, x, backend(linear_config(dtypes)))[0]
    assert len(observers(ready)) == 2 * is_observed
    assert is_observed or any("Linear stays in floats" in str(each.message) for each in said)


def test_the_native_backend_says_what_is_done_without_one():
    torch.manual_seed(0)
    net, x = EveryKind(), torch.rand(4, 1, 8, 8)
    ready, whole, _ = both(net, x)
    for config in (get_native_backend_config(), BackendConfig.from_dict(get_native_backend_config().to_dict())):
        other, again, _ = both(net, x, config)
        assert other.code == ready.code and torch.equal(again(x), whole(x))


def test_trained_layers_of_a_backend_take_the_place_of_layers():
    config = backend(linear_config().set_qat_module(nnqat.Linear))
    ready = prepare_qat_fx(
        nn.Sequential(nn.Linear(4, 2)).train(),
        tq.get_default_qat_qconfig_mapping(),
        (torch.rand(2, 4),),
        backend_config=config,
    )
    assert type(ready.get_submodule("0")) is nnqat.Linear
    plain = prepare_qat_fx(
        nn.Sequential(nn.Linear(4, 2)).train(), tq.get_default_qat_qconfig_mapping(), (torch.rand(2, 4),), backend_config=backend(linear_config())
    )  # fmt: skip
    assert type(plain.get_submodule("0")) is nn.Linear


def test_words_of_a_backend_that_cannot_be_are_named():
    net, x = nn.Sequential(nn.Linear(4, 3)), (torch.randn(6, 4),)
    mapping = tq.get_default_qconfig_mapping()
    nested = BackendPatternConfig()._set_pattern_complex_format((nn.ReLU, (torch.add, nn.Linear, nn.Linear)))
    with pytest.raises(NotImplementedError, match="prepare_fx: patterns that are no chains"):
        prepare_fx(net, mapping, x, backend_config=backend(nested))
    with pytest.raises(ValueError, match="BackendPatternConfig.from_dict: unknown keys 'patern'"):
        BackendConfig.from_dict({"name": "a", "configs": [{"patern": nn.Linear}]})
    with pytest.raises(TypeError, match="prepare_fx: expected a BackendConfig, got str"):
        prepare_fx(net, mapping, x, backend_config="mine")
