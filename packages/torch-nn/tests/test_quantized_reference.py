"""Float layers with weights that are quantized and brought back."""

import pytest
import torch
from torch import nn
from torch.ao import quantization as q
from torch.ao.nn.intrinsic.qat.modules.conv_fused import _ConvBnNd
from torch.ao.nn.qat.modules.conv import _ConvNd
from torch.ao.nn.quantized import reference
from torch.ao.nn.quantized.reference.modules import utils
from torch.ao.quantization import MinMaxObserver, default_qat_qconfig
from torch.ao.quantization.backend_config import BackendPatternConfig
from torch.ao.quantization.observer import _with_args

TENSOR = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.05, "zero_point": 3}
ROWS = {
    "qscheme": torch.per_channel_affine, "dtype": torch.quint8, "axis": 0, "scale": torch.tensor([0.05, 0.02, 0.01]),
    "zero_point": torch.tensor([100, 128, 90]),
}  # fmt: skip
PLAIN = {
    "qscheme": torch.per_tensor_symmetric, "dtype": torch.int8, "scale": 0.05, "zero_point": 0, "quant_min": -4, "quant_max": 4,
    "is_decomposed": True,
}  # fmt: skip
PLAIN_ROWS = {
    **PLAIN,
    "qscheme": torch.per_channel_symmetric,
    "axis": 0,
    "scale": ROWS["scale"],
    "zero_point": torch.zeros(3).long(),
}


def rounded(weight, how):
    """The formula of quantization, in float64."""
    low, high = {torch.qint8: (-128, 127), torch.quint8: (0, 255), torch.int8: (-4, 4)}[how["dtype"]]
    along = [-1] + [1] * (weight.dim() - 1)
    scale, point = (torch.as_tensor(how[name]).double().reshape(along) for name in ("scale", "zero_point"))
    return (((weight.double() / scale).round() + point).clamp(low, high) - point) * scale


@pytest.mark.parametrize("how", [TENSOR, ROWS, PLAIN, PLAIN_ROWS])
def test_a_weight_is_what_its_integers_say(how):
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    made = reference.Linear.from_float(layer, how)
    torch.testing.assert_close(made.get_weight().double(), rounded(layer.weight, how), rtol=1e-6, atol=1e-7)
    x = torch.randn(2, 4)
    torch.testing.assert_close(made(x), nn.functional.linear(x, made.get_weight(), layer.bias))
    assert made.get_quantized_weight().dtype is how["dtype"]
    assert str(made) == "QuantizedLinear(Reference)(in_features=4, out_features=3, bias=True)"


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_convolutions_compute_with_the_rounded_weight(kind, dims):
    torch.manual_seed(0)
    name = f"{kind}{dims}d"
    layer, x = getattr(nn, name)(2, 3, 3, stride=2, padding=1), torch.randn(1, 2, *[5] * dims)
    made = getattr(reference, name).from_float(layer, TENSOR)
    wanted = getattr(nn, name)(2, 3, 3, stride=2, padding=1)
    wanted.load_state_dict({"weight": rounded(layer.weight, TENSOR), "bias": layer.bias})
    torch.testing.assert_close(made(x), wanted(x), rtol=1e-5, atol=1e-6)


def test_tables_look_up_rounded_rows():
    torch.manual_seed(0)
    table, bags, index = nn.Embedding(3, 4), nn.EmbeddingBag(3, 4), torch.tensor([[0, 2], [1, 1]])
    found = reference.Embedding.from_float(table, ROWS)(index)
    torch.testing.assert_close(found.double(), rounded(table.weight, ROWS)[index], rtol=1e-6, atol=1e-7)
    found = reference.EmbeddingBag.from_float(bags, ROWS)(index)
    torch.testing.assert_close(found.double(), rounded(bags.weight, ROWS)[index].mean(1), rtol=1e-5, atol=1e-6)


def test_a_state_says_how_the_weight_is_quantized():
    made = reference.Linear.from_float(nn.Linear(4, 3), ROWS)
    state = made.state_dict()
    assert state["weight_qscheme"] is torch.per_channel_affine and state["weight_dtype"] is torch.quint8
    other = reference.Linear.from_float(nn.Linear(4, 3), {**ROWS, "scale": torch.ones(3)})
    other.load_state_dict(state)
    assert torch.equal(other.get_weight(), made.get_weight())


def test_schemes_without_a_form_are_refused():
    with pytest.raises(
        AssertionError, match="per_tensor_symmetric is not supported in reference quantized QuantizedLinear"
    ):
        reference.Linear.from_float(nn.Linear(4, 3), {**PLAIN, "is_decomposed": False})
    with pytest.raises(AssertionError, match="expected a Conv1d"):
        reference.Conv1d.from_float(nn.Linear(4, 3), TENSOR)
    with pytest.raises(ValueError, match="Unsupported dtype and qscheme: torch.float32, None"):
        utils._quantize_weight(torch.ones(1), None, torch.float32, torch.ones(1), torch.zeros(1))


def test_a_weight_that_is_no_integer_stays_or_is_halved():
    layer = nn.Linear(4, 3)
    assert reference.Linear.from_float(layer, {"qscheme": None, "dtype": torch.float32}).get_weight() is layer.weight
    made = reference.Linear.from_float(layer, {**TENSOR, "dtype": torch.float16})
    assert torch.equal(made.get_weight(), layer.weight.half().float())


# --- what classes of one's own derive from ---


class Plain(_ConvNd):
    def _conv_forward(self, input, weight, bias):
        return nn.functional.conv1d(input, weight, bias, self.stride, self.padding)


class Joined(_ConvBnNd):
    def _conv_forward(self, input, weight, bias):
        return nn.functional.conv1d(input, weight, bias, self.stride, self.padding)


def test_convolutions_of_ones_own_round_their_weight():
    given = 2, 3, (3,), (1,), (0,), (1,), False, (0,), 1, True, "zeros"
    torch.manual_seed(0)
    made, x = Plain(*given, default_qat_qconfig), torch.randn(1, 2, 5)
    wanted = nn.functional.conv1d(x, made.weight_fake_quant(made.weight), made.bias)
    torch.testing.assert_close(made(x), wanted)
    joined = Joined(*given, qconfig=default_qat_qconfig, dim=1).eval()
    joined.weight_fake_quant.disable_fake_quant()
    torch.testing.assert_close(joined(x), joined.bn(nn.functional.conv1d(x, joined.weight, joined.bias)))
    assert not Joined(*given, qconfig=default_qat_qconfig, dim=1, freeze_bn=True).bn.training
    with pytest.raises(AssertionError, match="Plain: qconfig must be provided"):
        Plain(*given)


def test_names_that_libraries_use():
    assert torch.ao.nn.qat.Conv2d._FLOAT_MODULE is nn.Conv2d
    assert _with_args(MinMaxObserver, dtype=torch.qint8)().dtype is torch.qint8
    assert BackendPatternConfig(nn.Linear)._set_input_type_to_index({"weight": 1})._input_type_to_index == {"weight": 1}


class Between(nn.Module):
    """A layer of floats between marks, as reference models have them."""

    def __init__(self, layer):
        super().__init__()
        self.quant, self.dequant, self.layer = q.QuantStub(), q.DeQuantStub(), layer
        self.quant_out, self.dequant_out = q.QuantStub(), q.DeQuantStub()

    def forward(self, x):
        return self.dequant_out(self.quant_out(self.layer(self.dequant(self.quant(x)))))


class Within(nn.Module):
    """The same layer of quantized tensors."""

    def __init__(self, layer):
        super().__init__()
        self.quant, self.layer, self.dequant = q.QuantStub(), layer, q.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.layer(self.quant(x)))


@pytest.mark.parametrize("by_channel", [True, False])
@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Linear(5, 4), (6, 5)),
        (nn.Conv1d(2, 4, 3), (2, 2, 6)),
        (nn.Conv2d(2, 4, 3), (2, 2, 6, 6)),
        (nn.Conv3d(2, 3, 2), (1, 2, 3, 4, 5)),
    ],
)
def test_a_reference_model_gives_what_the_quantized_one_gives(layer, shape, by_channel):
    torch.manual_seed(0)
    x, found = torch.randn(shape), []
    for model, is_reference in ((Between(layer), True), (Within(layer), False)):
        model.eval().qconfig = q.default_per_channel_qconfig if by_channel else q.default_qconfig
        ready = q.prepare(model)
        ready(x)
        found.append(q.convert(ready, is_reference=is_reference))
    reference, small = found
    kind = getattr(torch.ao.nn.quantized.reference, type(layer).__name__)
    assert type(reference.layer) is kind and type(reference.quant) is torch.ao.nn.quantized.Quantize
    assert torch.equal(reference.layer.get_quantized_weight().int_repr(), small.layer.weight().int_repr())
    step = reference.quant_out.scale.item()
    assert (reference(x) - small(x)).abs().max() < step * 1.01
    assert q.get_static_quant_module_class(type(layer), is_reference=True) is kind


def test_what_an_observer_found_is_a_dict():
    observer = q.PerChannelMinMaxObserver(ch_axis=1, dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
    observer(torch.tensor([[1.0, -2.0], [0.5, 1.0]]))
    found = q.utils.get_qparam_dict(observer)
    assert found["qscheme"] is torch.per_channel_affine and found["dtype"] is torch.qint8 and found["axis"] == 1
    assert torch.allclose(found["scale"], torch.tensor([1.0, 2.0]) / 127.5) and found["zero_point"].tolist() == [0, 0]
    assert (found["quant_min"], found["quant_max"]) == (-128, 127)
    half = q.utils.get_qparam_dict(q.PlaceholderObserver(dtype=torch.float16))
    assert half == {"qscheme": None, "dtype": torch.float16}


LAYERS = {
    "LSTM": ((3, 4, 2), {"bidirectional": True}),
    "GRU": ((3, 4), {"batch_first": True}),
    "LSTMCell": ((3, 4), {}),
    "GRUCell": ((3, 4), {"bias": False}),
    "RNNCell": ((3, 4), {"nonlinearity": "relu"}),
}


def recurrent(name):
    """A layer of floats, one whose matrices are rounded by the formula, and the reference layer."""
    torch.manual_seed(0)
    args, options = LAYERS[name]
    layer, want = getattr(nn, name)(*args, **options), getattr(nn, name)(*args, **options)
    how = {
        n: TENSOR
        if "ih" in n
        else {**ROWS, "scale": torch.full((p.shape[0],), 0.02), "zero_point": torch.full((p.shape[0],), 128)}
        for n, p in layer.named_parameters()
        if p.dim() == 2
    }
    want.load_state_dict({n: rounded(p, how[n]).float() if n in how else p for n, p in layer.state_dict().items()})
    return layer, want, getattr(reference, name).from_float(layer, {**how, "is_decomposed": False})


def tensors(value):
    return [value] if isinstance(value, torch.Tensor) else [part for each in value for part in tensors(each)]


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_compute_with_rounded_matrices(name):
    layer, want, made = recurrent(name)
    x = torch.randn(5, 3) if name.endswith("Cell") else torch.randn(5, 2, 3)
    for mine, theirs, floats in zip(tensors(made(x)), tensors(want(x)), tensors(layer(x)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)
        assert not torch.equal(mine, floats)
    assert str(made) == str(layer).replace(f"{name}(", f"Quantized{name}(Reference)(")
    first = next(n for n in layer.state_dict())
    assert set(made.state_dict()) - set(layer.state_dict()) >= {
        f"{first}_scale",
        f"{first}_zero_point",
        f"{first}_axis",
    }
    again = getattr(reference, name)(*LAYERS[name][0], **LAYERS[name][1])
    again.__dict__.update({k: v for k, v in made.__dict__.items() if k.endswith(("_qscheme", "_dtype"))})
    for n, buffer in made.named_buffers():  # one scale for all may have become one for each row
        again._buffers[n] = torch.empty_like(buffer)
    again.load_state_dict(made.state_dict())
    assert torch.equal(tensors(again(x))[0], tensors(made(x))[0])


def test_matrices_of_recurrent_layers_are_given_as_they_are_quantized():
    layer, want, made = recurrent("LSTM")
    found = made.get_quantized_weight_bias_dict()
    assert list(found) == [n for n, _ in layer.named_parameters()]
    assert found["weight_ih_l1_reverse"].dtype is torch.qint8 and found["weight_hh_l0"].dtype is torch.quint8
    for mine, theirs in zip(made.get_flat_weights(), want.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
    _, want, cell = recurrent("GRUCell")
    torch.testing.assert_close(cell.get_weight_hh(), want.weight_hh)
    assert cell.get_quantized_weight_ih().q_zero_point() == TENSOR["zero_point"]


def test_recurrent_layers_are_told_of_every_matrix():
    layer = nn.GRU(3, 4)
    with pytest.raises(
        AssertionError, match=r"QuantizedGRU\(Reference\): .* how weight_ih_l0, weight_hh_l0 .*, got weight_ih_l0"
    ):
        reference.GRU.from_float(layer, {"weight_ih_l0": TENSOR})
    with pytest.raises(AssertionError, match=r"LSTM.from_float: expected a LSTM, got GRU"):
        reference.LSTM.from_float(layer, {})
    with pytest.raises(AssertionError, match="per_tensor_symmetric is not supported"):
        reference.GRUCell(
            3, 4, weight_qparams_dict={key: {**PLAIN, "is_decomposed": False} for key in ("weight_ih", "weight_hh")}
        )


def test_recurrent_layers_of_graphs_have_references():
    pytest.importorskip("torch.fx")

    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.cell = nn.LSTM(3, 4), nn.GRUCell(4, 4)

        def forward(self, x):
            return self.cell(self.layer(x)[0][0])

    torch.manual_seed(0)
    x, half = torch.randn(2, 1, 3), q.float16_dynamic_qconfig
    for config in (q.default_dynamic_qconfig, half):
        mapping = q.QConfigMapping().set_object_type(nn.LSTM, config).set_object_type(nn.GRUCell, config)
        model = Steps().eval()
        prepared = q.quantize_fx.prepare_fx(model, mapping, (x,))
        made = q.quantize_fx.convert_to_reference_fx(prepared)
        assert isinstance(made.layer, reference.LSTM) and isinstance(made.cell, reference.GRUCell)
        assert 0 < (made(x) - model(x)).abs().max() < 0.02
        assert ("weight_ih_l0_scale" in made.layer.state_dict()) == (config is not half)
