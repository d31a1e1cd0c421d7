"""Models quantized as graphs: traced, watched, converted."""

import io

import pytest
import torch
from torch import nn

pytest.importorskip("torch.fx")

from torch.ao.nn import intrinsic as nni
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import qat as nniqat
from torch.ao.nn.intrinsic import quantized as nniq
from torch.ao.quantization import (
    QConfigMapping,
    default_dynamic_qconfig,
    default_qconfig,
    float_qparams_weight_only_qconfig,
    get_default_qat_qconfig_mapping,
    get_default_qconfig,
    get_default_qconfig_mapping,
)
from torch.ao.quantization.fx.custom_config import PrepareCustomConfig
from torch.ao.quantization.quantize_fx import convert_fx, fuse_fx, prepare_fx, prepare_qat_fx
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.side, self.relu = nn.Conv2d(2, 4, 1), nn.ReLU(inplace=True)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(4, 3)

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.side(x)
        return self.fc(torch.flatten(self.pool(self.relu(y)), 1))


def prepared(model, x, mapping=None, **options):
    torch.manual_seed(0)
    ready = prepare_fx(model.eval(), mapping or get_default_qconfig_mapping(), (x,), **options)
    ready(x)
    return ready


def targets(model):
    return [str(getattr(n.target, "__name__", n.target)) for n in model.graph.nodes if n.op.startswith("call")]


def test_a_residual_block_computes_with_integers_from_input_to_output():
    torch.manual_seed(0)
    model, x = Block().eval(), torch.randn(32, 2, 8, 8)
    small = convert_fx(prepared(model, x))
    kinds = {type(m) for m in small.modules()}
    assert {nniq.ConvReLU2d, nnq.Conv2d, nnq.Linear, nnq.Quantize} <= kinds and nn.Conv2d not in kinds
    assert targets(small).count("dequantize") == 1 and "add_relu" in targets(small)
    wanted = model(x)
    assert (small(x) - wanted).abs().max() < 0.05 * wanted.abs().max() + 0.01
    assert model.conv1.weight.dtype is torch.float32 and type(model.bn1) is nn.BatchNorm2d  # the model is as it was


def test_what_is_observed_is_what_integers_will_stand_for():
    ready = prepared(Block(), torch.randn(4, 2, 8, 8))
    observers = [n for n in ready.modules() if type(n).__name__ == "HistogramObserver"]
    assert len(observers) == 6  # the input, two results of one path, one of the other, their sum, the last layer's
    assert all(o.histogram.sum() > 0 for o in observers)


def test_configurations_by_name_type_and_order():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3), nn.Linear(3, 2))
    mapping = QConfigMapping().set_global(default_qconfig).set_module_name("2", None)
    small = convert_fx(prepared(model, torch.randn(8, 3), mapping))
    assert [type(small.get_submodule(n)) for n in "023"] == [nniq.LinearReLU, nn.Linear, nnq.Linear]
    mapping = QConfigMapping().set_object_type(nn.Linear, default_dynamic_qconfig)
    small = convert_fx(prepared(model, torch.randn(8, 3), mapping))
    assert type(small.get_submodule("2")) is nnq.dynamic.Linear
    mapping = QConfigMapping().set_module_name_regex("[02]", default_qconfig)
    small = convert_fx(prepared(model, torch.randn(8, 3), mapping))
    assert [type(small.get_submodule(n)) for n in "23"] == [nnq.Linear, nn.Linear]
    mapping = QConfigMapping().set_module_name_object_type_order("", nn.Linear, 1, default_qconfig)
    small = convert_fx(prepared(model, torch.randn(8, 3), mapping))
    assert [type(small.get_submodule(n)) for n in "23"] == [nn.Linear, nnq.Linear]
    assert QConfigMapping.from_dict(mapping.to_dict()).to_dict() == mapping.to_dict()


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(4))
        self.kernel = nn.Parameter(torch.randn(2, 1, 3))

    def forward(self, x, n: int = 2):
        y = F.relu(F.linear(x, self.weight, self.bias))
        z = F.conv1d(y[:, None], self.kernel, padding=1)
        z = torch.cat([z, z * z], 1).sigmoid()
        return (z.view(z.size(0), -1) + n).tanh(), z.amax()


def test_functions_become_layers_and_operators():
    torch.manual_seed(0)
    model, x = Functions().eval(), torch.randn(16, 3)
    small = convert_fx(prepared(model, x))
    assert {nniq.LinearReLU, nnq.Conv1d} <= {type(m) for m in small.modules()}
    assert {"mul", "cat", "sigmoid"} <= set(targets(small))
    for a, b in zip(small(x), model(x)):
        assert a.shape == b.shape and (a - b).abs().max() < 0.1


def test_tables_of_rows_are_quantized_where_their_configuration_says_so():
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2))
    mapping = QConfigMapping().set_object_type(nn.Embedding, float_qparams_weight_only_qconfig)
    small = convert_fx(prepared(model, torch.arange(6), mapping))
    assert type(small.get_submodule("0")) is nnq.Embedding
    assert torch.allclose(small(torch.arange(6)), model(torch.arange(6)), atol=0.05)


def test_inputs_and_results_may_be_quantized():
    model, x = nn.Sequential(nn.Linear(3, 2)), torch.randn(8, 3)
    config = PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
    small = convert_fx(prepared(model, x, prepare_custom_config=config))
    q = torch.quantize_per_tensor(x, 0.05, 128, torch.quint8)
    y = small(q)
    assert y.is_quantized and (y.dequantize() - model(x)).abs().max() < 0.1


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.small = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x):
        return {"a": self.fc(10 * self.fc(x)), "b": [self.small(x), self.small(x * 2)]}


def test_a_layer_that_is_called_twice_has_a_scale_for_each_result():
    torch.manual_seed(0)
    model, x = Twice().eval(), torch.randn(32, 3)
    mapping = QConfigMapping().set_global(default_qconfig).set_module_name("small", default_dynamic_qconfig)
    small = convert_fx(prepared(model, x, mapping))
    found, wanted = small(x), model(x)
    assert (found["a"] - wanted["a"]).abs().max() < 0.05 * wanted["a"].abs().max() + 0.1
    assert all((f - w).abs().max() < 0.1 for f, w in zip(found["b"], wanted["b"]))


class Private(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x  # which no tracer follows


def test_modules_that_cannot_be_traced_are_called_as_they_are():
    model, x = nn.Sequential(nn.Linear(3, 3), Private(), nn.Linear(3, 2)).eval(), torch.rand(8, 3)
    config = PrepareCustomConfig().set_non_traceable_module_classes([Private])
    small = convert_fx(prepared(model, x, prepare_custom_config=config))
    assert type(small.get_submodule("1")) is Private and (small(x) - model(x)).abs().max() < 0.1


def test_training_with_rounding_and_what_it_converts_to():
    torch.manual_seed(0)
    model, x = Block().train(), torch.randn(16, 2, 8, 8)
    before = model.bn1.running_mean.clone()
    ready = prepare_qat_fx(model, get_default_qat_qconfig_mapping(), (x,))
    assert torch.equal(model.bn1.running_mean, before)
    assert type(ready.get_submodule("conv1")) is nniqat.ConvBnReLU2d
    optimizer = torch.optim.SGD(ready.parameters(), 0.5)
    target = (x[:, 0].mean((1, 2)) > 0).long()
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(ready(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    ready.eval()
    small = convert_fx(ready)
    assert (small(x) - ready(x)).abs().mean() < 0.05 and type(small.get_submodule("conv1")) is nniq.ConvReLU2d


def test_a_linear_layer_with_a_norm_is_trained_with_rounding():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).train(), torch.randn(64, 3)
    ready = prepare_qat_fx(model, get_default_qat_qconfig_mapping(), (x,))
    assert type(ready.get_submodule("0")) is nniqat.LinearBn1d
    for _ in range(5):
        ready(x).square().mean().backward()
    ready.eval()
    small = convert_fx(ready)
    assert type(small.get_submodule("0")) is nnq.Linear and (small(x) - ready(x)).abs().max() < 0.1


def test_layers_are_fused_alone():
    model = Block().eval()
    one = fuse_fx(model)
    x = torch.randn(2, 2, 8, 8)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in one.modules()) and torch.allclose(one(x), model(x), atol=1e-5)


@pytest.mark.parametrize("dims, left", [(1, (nn.ConvTranspose1d, nn.ReLU)), (2, (nn.ConvTranspose2d, nni.BNReLU2d))])
def test_a_norm_behind_a_transposed_convolution_goes_with_the_relu_of_images(dims, left):
    layers = getattr(nn, f"ConvTranspose{dims}d")(1, 2, 2), getattr(nn, f"BatchNorm{dims}d")(2), nn.ReLU()
    model = nn.Sequential(*layers).eval()
    model[1].running_mean.fill_(0.5)
    one, x = fuse_fx(model), torch.randn(2, 1, *[3] * dims)
    assert tuple(type(m) for m in one.children()) == left and torch.allclose(one(x), model(x), atol=1e-6)


def test_what_cannot_be_is_named():
    model, x = nn.Sequential(nn.Linear(2, 2)), torch.ones(1, 2)
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        prepare_fx(Block().train(), get_default_qconfig_mapping(), (torch.randn(2, 2, 8, 8),))
    transposed = nn.Sequential(nn.ConvTranspose2d(1, 1, 1)).eval()
    with pytest.raises(AssertionError, match="Per channel weight observer is not supported yet for ConvTranspose"):
        prepare_fx(transposed, {"": get_default_qconfig("fbgemm")}, (torch.ones(1, 1, 2, 2),))
    with pytest.raises(TypeError, match="qconfig_mapping must be a QConfigMapping or a dict, got QConfig"):
        prepare_fx(model.eval(), default_qconfig, (x,))
    with pytest.raises(ValueError, match="unknown keys 'object'"):
        prepare_fx(model.eval(), {"object": []}, (x,))
    with pytest.raises(TypeError, match="convert_fx: expected the graph of prepare_fx, got Sequential"):
        convert_fx(model)
    with pytest.raises(NotImplementedError, match="not equalized"):
        prepare_fx(model.eval(), get_default_qconfig_mapping(), (x,), _equalization_config={"": 1})


def test_models_are_prepared_in_either_mode():
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2)
    ready = prepare_fx(model.train(), get_default_qconfig_mapping(), (x,))
    ready(x)
    assert ready.training and type(convert_fx(ready).get_submodule("0")).__name__ == "LinearReLU"
    layers = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)).eval()
    ready = prepare_qat_fx(layers, get_default_qat_qconfig_mapping(), (torch.ones(1, 1, 2, 2),))
    assert type(ready.get_submodule("0")).__name__ == "ConvBn2d" and not ready.training


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(torch.relu(0.5 + (self.a(x) * 2 + 1.5)))


@pytest.mark.parametrize("other", [2.0, torch.ones(1)])
def test_sums_of_multiples_stay_in_floats(other):
    class Multiple(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv1d(1, 1, 1)

        def forward(self, x):
            x = self.layer(x)
            return torch.add(x, x if isinstance(other, torch.Tensor) else other, alpha=3)

    torch.manual_seed(0)
    model, x = Multiple().eval(), torch.randn(2, 1, 8)
    watched = prepare_fx(model, get_default_qconfig_mapping(), (x,))
    watched(x)
    assert (convert_fx(watched)(x) - model(x)).abs().max() < 0.1


def test_sums_and_products_with_numbers_keep_integers():
    torch.manual_seed(0)
    model, x = Numbers().eval(), torch.randn(16, 4)
    ready = prepare_fx(model, get_default_qconfig_mapping(), (x,))
    ready(x)
    small = convert_fx(ready)
    assert [n.op for n in small.graph.nodes if n.op == "call_method"] == ["call_method"]  # floats at the end alone
    operators = [str(n.target) for n in small.graph.nodes if n.op == "call_function"]
    assert operators == ["quantized.mul", "quantized.add", "quantized.add_relu"]
    assert (small(x) - model(x)).abs().max() < 0.05 * model(x).abs().max()


class Apart(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.left(x), self.right(x)


@pytest.mark.parametrize("train", [False, True])
def test_layers_that_stay_in_floats_take_what_is_not_rounded(train):
    """Another layer's observer, and its rounding in training, is that layer's alone."""
    model, x = Apart().train(train), torch.randn(16, 4)
    mapping = (get_default_qat_qconfig_mapping if train else get_default_qconfig_mapping)().set_module_name(
        "left", None
    )
    ready = (prepare_qat_fx if train else prepare_fx)(model, mapping, (x,))
    assert torch.equal(ready(x)[0], model.left(x))
    small = convert_fx(ready.eval())
    assert torch.equal(small(x)[0], model.left(x)) and not torch.equal(small(x)[1], model.right(x))


class Upwards(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm = nn.ConvTranspose2d(2, 4, 3, stride=2, output_padding=1), nn.BatchNorm2d(4)
        self.kernel = nn.Parameter(torch.randn(4, 3, 2, 2) * 0.3)

    def forward(self, x):
        return F.conv_transpose2d(torch.tanh(self.norm(self.up(x))), self.kernel, stride=(2, 2))


def test_transposed_convolutions_are_quantized_and_joined_to_norms():
    torch.manual_seed(0)
    model, x = Upwards().eval(), torch.randn(2, 2, 5, 5)
    ready = prepare_fx(model, get_default_qconfig_mapping(), (x,))
    assert not any(isinstance(m, nn.BatchNorm2d) for m in ready.modules())
    ready(x)
    small = convert_fx(ready)
    kinds = [type(m).__name__ for m in small.modules()]
    assert kinds.count("ConvTranspose2d") == 2 and isinstance(small.up, torch.ao.nn.quantized.ConvTranspose2d)
    assert (small(x) - model(x)).abs().max() < 0.04 * model(x).abs().max()


class FunctionThenJoined(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.rest = nn.Parameter(torch.randn(3, 4)), nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x):
        return self.rest(F.linear(x, self.weight))


def test_functions_and_joined_layers_are_quantized_dynamically():
    model, x = FunctionThenJoined().eval(), torch.randn(5, 4)
    mapping = QConfigMapping().set_global(torch.ao.quantization.default_dynamic_qconfig)
    small = convert_fx(prepare_fx(model, mapping, (x,)))
    kinds = [str(type(m)) for m in small.modules()]
    assert sum("quantized.dynamic" in kind for kind in kinds) == 2
    assert type(small.get_submodule("rest.0")) is torch.ao.nn.intrinsic.quantized.dynamic.LinearReLU
    assert (small(x) - model(x)).abs().max() < 0.05 * model(x).abs().max() and small(x).min() == 0


def converted_dynamic():
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4)).eval(), {nn.Linear}), torch.randn(3, 8)


def converted_static():
    x = torch.randn(1, 3, 6, 6)
    model = prepare_fx(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval(), get_default_qconfig_mapping(), (x,))
    model(x)
    return convert_fx(model), x


@pytest.mark.parametrize("make", [converted_dynamic, converted_static])
def test_layers_that_have_not_run_are_traced(make):
    model, x = make()
    traced = torch.jit.trace(model, (x,))
    assert torch.equal(traced(x), model(x)) and torch.equal(torch.jit.freeze(traced)(x), model(x))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
def test_dynamic_linear_layers_are_compiled_saved_and_frozen(bias, dtype):
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4, bias), nn.ReLU()).eval(), dtype=dtype)
    x, file = torch.randn(3, 8), io.BytesIO()
    program = torch.jit.script(model)
    torch.jit.save(program, file)
    file.seek(0)
    for one in (program, torch.jit.load(file), torch.jit.freeze(program)):
        assert torch.equal(one(x), model(x))
    joined = torch.ao.quantization.fuse_fx(nn.Sequential(nn.Linear(8, 4, bias), nn.ReLU()).eval())
    joined = torch.ao.quantization.quantize_dynamic(joined, {torch.ao.nn.intrinsic.LinearReLU}, dtype=dtype)
    assert torch.equal(torch.jit.script(joined.get_submodule("0"))(x), joined(x))


def test_programs_refuse_weights_that_have_another_zero():
    layer = torch.ao.nn.quantized.dynamic.Linear(2, 1)
    layer.set_weight_bias(torch.quantize_per_tensor(torch.ones(1, 2), 0.5, 3, torch.qint8), None)
    assert layer(torch.ones(1, 2)).item() == 2
    with pytest.raises(RuntimeError, match="programs multiply bytes whose zero is 0"):
        torch.jit.script(layer)(torch.ones(1, 2))


def test_scales_of_sums_are_in_the_state_of_a_model():
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)

        def forward(self, x):
            y = self.first(x)
            return torch.cat([y + self.second(y), y * y], 1)

    def converted(x):
        prepared = prepare_fx(Sums().eval(), get_default_qconfig_mapping("x86"), (x,))
        prepared(x)
        return convert_fx(prepared)

    torch.manual_seed(0)
    x = torch.randn(4, 1, 6, 6)
    calibrated, other = converted(x), converted(x / 100)
    assert {"_scale_0", "_zero_point_0", "_scale_2"} <= set(calibrated.state_dict())
    assert not torch.equal(other(x), calibrated(x))
    other.load_state_dict(calibrated.state_dict())
    assert torch.equal(other(x), calibrated(x))
