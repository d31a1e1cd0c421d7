"""What a ``BackendConfig`` decides, and graphs in floats for other machines."""

import copy
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
from torch.ao.quantization.fx.custom_config import ConvertCustomConfig, PrepareCustomConfig
from torch.ao.quantization.fx.reference import reference_layer
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
    with pytest.raises(
        NotImplementedError, match="convert_to_reference_fx: there is no reference layer for RNN; leave"
    ):
        reference_layer(nn.RNN(4, 3), tq.default_dynamic_qconfig)


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


# -- what is said beside configurations ---------------------------------------------------------------------------------------


class Observed(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)

    @classmethod
    def from_float(cls, layer):
        return cls(layer)

    from_observed = from_float


class Doubled(Observed):
    def forward(self, x):
        return 2 * self.layer.layer(x)


class Own(nn.Linear):
    pass


@pytest.mark.parametrize("quant_type", [tq.QuantType.STATIC, tq.QuantType.DYNAMIC])
def test_custom_configurations_are_dicts_and_back(quant_type):
    prepare = PrepareCustomConfig().set_float_to_observed_mapping(Own, Observed, quant_type)
    prepare.set_input_quantized_indexes([0]).set_preserved_attributes(["kept"])
    prepare.set_standalone_module_name("a", tq.QConfigMapping().set_global(None), (1,), PrepareCustomConfig(), None)
    said = prepare.to_dict()
    name = quant_type.name.lower()
    assert said["float_to_observed_custom_module_class"] == {name: {Own: Observed}}
    assert said["standalone_module_name"][0][0] == "a" and said["standalone_module_name"][0][3] == {}
    assert PrepareCustomConfig.from_dict(said).to_dict() == said and "output_quantized_idxs" not in said
    convert = ConvertCustomConfig().set_observed_to_quantized_mapping(Observed, Doubled, quant_type)
    assert convert.to_dict() == {"observed_to_quantized_custom_module_class": {name: {Observed: Doubled}}}
    net, x = nn.Sequential(Own(4, 3)), torch.randn(2, 4)
    del said["standalone_module_name"], said["preserved_attributes"], said["input_quantized_idxs"]
    ready = prepare_fx(net.eval(), tq.QConfigMapping(), (x,), prepare_custom_config=said)
    assert torch.equal(convert_fx(ready, convert_custom_config=convert.to_dict())(x), 2 * net(x))
    with pytest.raises(ValueError, match="a mapping of classes has 'statc'"):
        ConvertCustomConfig.from_dict({"observed_to_quantized_custom_module_class": {"statc": {Observed: Doubled}}})


def test_modules_are_graphs_of_their_own():
    torch.manual_seed(0)
    x, dynamic = torch.randn(6, 4), tq.QConfigMapping().set_global(tq.default_dynamic_qconfig)
    net = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 3)).eval()
    config = PrepareCustomConfig().set_standalone_module_name("0", dynamic, (x,), None, None)
    ready = prepare_fx(net, tq.get_default_qconfig_mapping("x86"), (x,), prepare_custom_config=config)
    ready(x)
    whole = convert_fx(ready)
    assert type(whole.get_submodule("0.0")).__module__.startswith("torch.ao.nn.intrinsic.quantized.dynamic")
    assert (
        type(whole.get_submodule("1")) is nnq.Linear
        and type(convert_to_reference_fx(ready).get_submodule("1")) is nnqr.Linear
    )
    assert (whole(x) - net(x)).abs().max() < 0.1
    by_class = PrepareCustomConfig().set_standalone_module_class(nn.Sequential, None, (x,), None, None)
    outer = nn.Module.__new__(Observed)
    Observed.__init__(outer, net[0])
    ready = prepare_fx(outer.eval(), tq.get_default_qconfig_mapping("x86"), (x,), prepare_custom_config=by_class)
    ready(x)
    assert type(convert_fx(ready).get_submodule("layer.0")).__name__ == "LinearReLU"
    quantized = PrepareCustomConfig().set_output_quantized_indexes([0])
    config = PrepareCustomConfig().set_standalone_module_name("0", None, (x,), quantized, None)
    with pytest.raises(NotImplementedError, match="prepare_fx: 0 is a graph of its own, which takes and gives floats"):
        prepare_fx(net, dynamic, (x,), prepare_custom_config=config)


@pytest.mark.parametrize("qconfig", [tq.float16_static_qconfig, tq.float_qparams_weight_only_qconfig])
def test_dtypes_that_no_layer_has_leave_it_in_floats(qconfig):
    net, x = nn.Sequential(nn.Linear(4, 3)).eval(), torch.randn(2, 4)
    with pytest.warns(UserWarning, match="Linear stays in floats"):
        ready = prepare_fx(net, tq.QConfigMapping().set_global(qconfig), (x,))
    assert torch.equal(convert_fx(ready)(x), net(x))


def test_layers_that_convert_is_told_to_leave_stay_in_floats():
    net, x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3)).eval(), torch.randn(6, 4)
    mapping = tq.get_default_qconfig_mapping("x86")
    ready = prepare_fx(net, mapping, (x,))
    ready(x)
    left = convert_fx(ready, qconfig_mapping=tq.get_default_qconfig_mapping("x86").set_module_name("0", None))
    assert type(left.get_submodule("0")) is nn.Linear and type(left.get_submodule("1")) is nnq.Linear
    assert (left(x) - net(x)).abs().max() < 0.1


def test_a_weight_that_a_function_shares_with_a_layer_is_kept():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return torch.tanh(F.linear(self.layer(x), self.layer.weight, self.layer.bias) @ self.layer.weight)

    net, x = Tied().eval(), torch.randn(6, 4)
    for mapping in (
        tq.get_default_qconfig_mapping("x86"),
        tq.QConfigMapping().set_object_type(nn.Linear, tq.get_default_qconfig("x86")),
    ):
        _, whole, numbers = both(net, x, None, mapping)
        assert (whole(x) - net(x)).abs().max() < 0.1 and (numbers(x) - whole(x)).abs().max() < 0.02


def test_fuse_fx_is_for_models_that_do_not_train():
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        fuse_fx(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)).train())


def layers_in_a_row():
    """A layer behind a linear layer or a convolution, and the form of the input."""
    flat, image = nn.Linear(4, 4), nn.Conv2d(4, 4, 1)
    for layer in (
        nn.LayerNorm(4),
        nn.PReLU(),
        nn.Sigmoid(),
        nn.Softmax(1),
        nn.Tanh(),
        nn.Hardswish(),
        nn.ELU(),
        nn.LeakyReLU(),
    ):
        yield flat, layer, (4, 4)
    for layer in (
        nn.GroupNorm(2, 4),
        nn.InstanceNorm2d(4),
        nn.BatchNorm2d(4),
        nn.ConvTranspose2d(4, 4, 1),
        nn.MaxPool2d(2),
    ):
        yield image, layer, (2, 4, 4, 4)


@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack"])
@pytest.mark.parametrize("first, layer, shape", list(layers_in_a_row()), ids=lambda each: type(each).__name__)
def test_the_native_backend_is_that_of_calls_without_one(first, layer, shape, engine):
    net, x = nn.Sequential(first, nn.ReLU(), layer, nn.ReLU6()).eval(), torch.randn(shape)

    def nodes(config):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="prepare_fx")
            ready = prepare_fx(copy.deepcopy(net), tq.get_default_qconfig_mapping(engine), (x,), backend_config=config)
            ready(x)
            graph = convert_fx(ready, backend_config=config)
        modules = dict(graph.named_modules())
        return [(n.name, type(modules.get(n.target)).__name__) for n in graph.graph.nodes]

    assert nodes(get_native_backend_config()) == nodes(None)


@pytest.mark.parametrize("mapping", [tq.get_default_qconfig_mapping(), tq.get_default_qat_qconfig_mapping()])
@pytest.mark.parametrize("kind", [nn.LayerNorm, F.layer_norm])
def test_norms_of_layers_have_float_weights(mapping, kind):
    found = mapping.object_type_qconfigs[kind]
    assert found.weight().dtype is torch.float32 and found.activation == mapping.global_qconfig.activation
