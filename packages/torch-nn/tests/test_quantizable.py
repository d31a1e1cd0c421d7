"""Recurrent and attention layers that are watched in parts, and layers of one's own. Values marked so were recorded from PyTorch 2.13."""

import copy

import pytest
import torch
from torch import nn
from torch.ao import quantization as q
from torch.ao.nn import quantizable
from torch.ao.nn import quantized as nnq


class Marked(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.quant, self.layer, self.dequant = q.QuantStub(), layer, q.DeQuantStub()
        self.dequant_more = q.DeQuantStub()

    def forward(self, *inputs, **options):
        inputs = [self.quant(x) for x in inputs]
        y, more = self.layer(
            *(inputs if len(inputs) > 1 or isinstance(self.layer, RECURRENT) else inputs * 3), **options
        )
        more = tuple(map(self.dequant_more, more)) if isinstance(more, tuple) else self.dequant_more(more)
        return self.dequant(y), more


RECURRENT = (nn.LSTM, quantizable.LSTM)


def filled(layer):
    with torch.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(torch.linspace(-1, 1.1, p.numel()).add(i).cos().reshape(p.shape))
    return layer


def converted(layer, *inputs, qconfig=q.default_qconfig, **options):
    net = Marked(layer).eval()
    net.qconfig = qconfig
    ready = q.prepare(net)
    ready(*inputs, **options)
    return net, ready, q.convert(ready)


def test_an_lstm_gives_what_it_gives_in_pytorch():
    x = torch.linspace(-1, 2, 12).reshape(2, 2, 3)
    _, _, small = converted(filled(nn.LSTM(3, 2, bidirectional=True)), x)
    recorded = [
        -0.00741, -0.00741, 0.5703, 0.41106, -0.08147, -0.07406, 0.41106, 0.37403, 0.24812, 0.18146, 0.04074, 0.12221, 0.38143, 0.38884,
        -0.00741, 0.0,
    ]  # fmt: skip
    assert type(small.layer) is nnq.LSTM
    torch.testing.assert_close(small(x)[0].flatten(), torch.tensor(recorded), atol=6e-6, rtol=0)


@pytest.mark.filterwarnings("ignore:.*calibrate before")
def test_attention_gives_what_it_gives_in_pytorch():
    x = torch.linspace(-1, 2, 16).reshape(2, 2, 4)
    _, _, small = converted(filled(nn.MultiheadAttention(4, 2)), x)
    recorded = [
        -3.64827, 0.81073, 5.06704, 7.90458, 6.48581, -3.85095, -12.76893, -17.83597, 3.2429, -2.2295, -6.89117, -9.12066, 6.48581, -3.85095,
        -12.76893, -17.83597,
    ]  # fmt: skip
    assert type(small.layer) is nnq.MultiheadAttention
    torch.testing.assert_close(small(x)[0].flatten(), torch.tensor(recorded), atol=6e-6, rtol=0)


@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2}, {"bidirectional": True}, {"bidirectional": True, "num_layers": 2, "batch_first": True}, {"bias": False}],
)  # fmt: skip
def test_an_lstm_of_layers_is_the_lstm(options):
    torch.manual_seed(0)
    x = torch.randn(4, 3, 5)
    net, ready, small = converted(nn.LSTM(5, 6, **options), x)
    assert type(ready.layer) is quantizable.LSTM
    wanted, watched, found = net(x), ready(x), small(x)
    torch.testing.assert_close(watched, wanted)
    for a, b in zip((found[0], *found[1]), (wanted[0], *wanted[1])):
        assert a.shape == b.shape and (a - b).abs().max() < 0.06
    hidden = tuple(torch.randn_like(h) for h in wanted[1])
    torch.testing.assert_close(ready.layer(x, hidden), net.layer(x, hidden))
    assert copy.deepcopy(small)(x)[0].equal(found[0])
    _, _, other = converted(nn.LSTM(5, 6, **options), x)
    other.load_state_dict(small.state_dict())
    assert other(x)[0].equal(found[0])


@pytest.mark.filterwarnings("ignore:.*calibrate before")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_first": True},
        {"bias": False},
        {"add_bias_kv": True},
        {"add_zero_attn": True},
        {"kdim": 6, "vdim": 4},
    ],
)
@pytest.mark.parametrize("masks", ["none", "later", "scores", "keys", "causal", "heads"])
def test_attention_of_layers_is_attention(options, masks):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, **options)
    inputs = [torch.randn(3, 4, size) for size in (8, layer.kdim, layer.vdim)]
    steps, batch = (4, 3) if layer.batch_first else (3, 4)
    later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
    given = {
        "none": {},
        "later": {"attn_mask": later},
        "scores": {"attn_mask": torch.randn(steps, steps), "average_attn_weights": False},
        "keys": {"key_padding_mask": torch.tensor([[False] * (steps - 1) + [i == 1] for i in range(batch)])},
        "causal": {"attn_mask": later, "is_causal": False},
        "heads": {"attn_mask": torch.randn(2 * batch, steps, steps)},
    }[masks]
    net, ready, small = converted(layer, *inputs, **given)
    torch.testing.assert_close(ready(*inputs, **given), net(*inputs, **given))
    for a, b in zip(small(*inputs, **given), net(*inputs, **given)):
        assert a.shape == b.shape and (a - b).abs().max() < 0.06
    again = small.layer.dequantize()
    assert type(again) is nn.MultiheadAttention
    assert (again(*inputs, **given)[0] - net(*inputs, **given)[0]).abs().max() < 0.03
    if masks == "causal":
        found = ready.layer(*inputs, is_causal=True)[0]
        torch.testing.assert_close(found, ready.layer(*inputs, **given)[0])
        with pytest.raises(AssertionError, match="either attn_mask or is_causal"):
            ready.layer(*inputs, attn_mask=later, is_causal=True)
    assert ready.layer(*inputs, need_weights=False)[1] is None


@pytest.mark.filterwarnings("ignore:.*calibrate before")
@pytest.mark.parametrize("layer, steps", [(nn.LSTM(4, 3), 1), (nn.MultiheadAttention(4, 2), 5)])
def test_rounding_is_trained_in_parts(layer, steps):
    torch.manual_seed(0)
    net, x = Marked(layer).train(), torch.randn(steps, 2, 4)
    net.qconfig = q.get_default_qat_qconfig("fbgemm")
    ready = q.prepare_qat(net)
    ready(x)[0].pow(2).sum().backward()
    assert all(p.grad is not None for name, p in ready.named_parameters() if "weight" in name)
    small = q.convert(ready.eval().apply(q.disable_observer))
    assert type(small.layer) in (nnq.LSTM, nnq.MultiheadAttention) and (small(x)[0] - ready(x)[0]).abs().max() < 0.05


@pytest.mark.parametrize("kind, low", [(nn.Sigmoid, 0), (nn.Hardsigmoid, 0), (nn.Softmax, 0), (nn.Tanh, -1)])
def test_known_ranges_are_not_watched_in_training(kind, low):
    net = nn.Sequential(q.QuantStub(), kind(*[-1] * (kind is nn.Softmax))).train()
    net.qconfig = q.get_default_qat_qconfig("fbgemm")
    fake = q.prepare_qat(net)[1].activation_post_process
    assert type(fake) is q.FixedQParamsFakeQuantize
    scale, zero = fake.calculate_qparams()
    assert scale.item() == (1 - low) / 256 and zero.item() == -low * 128


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x)


class Observed(nn.Module):
    @classmethod
    def from_float(cls, other):
        made = cls()
        made.inner, made.qconfig = other.inner, other.qconfig
        return made

    def forward(self, x):
        return self.inner(x)


class Quantized(nn.Module):
    @classmethod
    def from_observed(cls, other):
        made = cls()
        made.post, other.inner.activation_post_process = other.activation_post_process, other.activation_post_process
        made.inner, other.inner.qconfig = other.inner, other.qconfig
        made.inner = nnq.Linear.from_float(other.inner)
        return made

    def forward(self, x):
        return self.inner(x)


def test_layers_of_ones_own_say_what_they_become():
    net, x = nn.Sequential(q.QuantStub(), nn.Sequential(Own()), q.DeQuantStub()).eval(), torch.randn(8, 3)
    net.qconfig = q.default_qconfig
    ready = q.prepare(net, prepare_custom_config_dict={"float_to_observed_custom_module_class": {Own: Observed}})
    assert type(ready[1][0]) is Observed and hasattr(ready[1][0], "activation_post_process")
    ready(x)
    custom = {"observed_to_quantized_custom_module_class": {Observed: Quantized}}
    small = q.convert(ready, convert_custom_config_dict=custom)
    assert type(small[1][0]) is Quantized and (small(x) - net(x)).abs().max() < 0.05
    assert not hasattr(small[1][0], "qconfig")


def test_first_states_are_of_the_kind_of_the_input():
    layer = filled(nn.LSTM(3, 2).double())
    layer.qconfig = q.default_qconfig
    x = torch.linspace(-1, 2, 12, dtype=torch.float64).reshape(2, 2, 3)
    torch.testing.assert_close(quantizable.LSTM.from_float(layer.eval())(x), layer(x))


@pytest.mark.filterwarnings("ignore:LSTM. dropout")
def test_dropout_is_there_in_training():
    x = torch.linspace(-1, 1, 24).reshape(4, 2, 3)
    layer = filled(nn.LSTM(3, 3, 2, dropout=1.0))
    layer.qconfig = q.default_qconfig
    made = quantizable.LSTM.from_float(layer.eval()).train()
    torch.testing.assert_close(made(x)[0], layer.train()(x)[0])
    attention = quantizable.MultiheadAttention(3, 1, dropout=1.0)
    assert attention(x, x, x)[1].count_nonzero() == 0 and attention.eval()(x, x, x)[1].count_nonzero() > 0


def test_states_beside_quantized_inputs_are_quantized():
    x = torch.linspace(-1, 2, 12).reshape(2, 2, 3)
    _, _, small = converted(filled(nn.LSTM(3, 2)), x)
    steps, state = torch.quantize_per_tensor(x, 0.05, 20, torch.quint8), torch.full((1, 2, 2), 0.3)
    with pytest.raises(RuntimeError, match="^LSTM: expected h and the input to be both quantized or both floats"):
        small.layer(steps, (state, state))
    rounded = torch.quantize_per_tensor(state, 0.1, 0, torch.quint8)
    output, (h, _) = small.layer(steps, (rounded, rounded))
    assert torch.equal(output[-1].dequantize(), h[0].dequantize()) and not torch.equal(
        output.dequantize(), small.layer(steps)[0].dequantize()
    )


def test_an_lstm_without_examples_is_refused():
    with pytest.raises(NotImplementedError, match=r"^LSTM: expected an input of 3 dims, .* got \(2, 3\)"):
        quantizable.LSTM(3, 2)(torch.ones(2, 3))
    with pytest.raises(NotImplementedError, match=r"^LSTMCell: expected an input of shape \(N, 3\), got \(3,\)"):
        quantizable.LSTMCell(3, 2)(torch.ones(3))


def test_wrong_layers_and_arguments_are_named():
    with pytest.raises(NotImplementedError, match="split_gates=True"):
        quantizable.LSTM(2, 3, split_gates=True)
    with pytest.raises(AssertionError, match="expected an nn.LSTM with a qconfig, got Linear"):
        quantizable.LSTM.from_float(nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="prepare and convert make it of an nn.LSTM"):
        nnq.LSTM.from_float(nn.LSTM(1, 1))
    with pytest.raises(AssertionError, match="from_observed: expected a .*quantizable.*LSTM, got LSTM"):
        nnq.LSTM.from_observed(nn.LSTM(1, 1))
    with pytest.raises(RuntimeError, match=r"LSTM: expected h of shape \(1, 2, 3\), got \(1, 3, 3\)"):
        quantizable.LSTM(2, 3)(torch.ones(4, 2, 2), (torch.ones(1, 3, 3), torch.ones(1, 3, 3)))
    layer = nn.LSTM(2, 3, proj_size=2)
    layer.qconfig = q.default_qconfig
    with pytest.raises(NotImplementedError, match="projections are not quantized"):
        quantizable.LSTM.from_float(layer)
    with pytest.raises(RuntimeError, match="expected query, key and value of 3 dims"):
        quantizable.MultiheadAttention(4, 2)(torch.ones(2, 4), torch.ones(2, 4), torch.ones(2, 4))
    cell = nn.LSTMCell(2, 3)
    cell.qconfig = q.default_qconfig
    x, state = torch.randn(4, 2), (torch.randn(4, 3), torch.randn(4, 3))
    torch.testing.assert_close(quantizable.LSTMCell.from_float(cell)(x, state), cell(x, state))
