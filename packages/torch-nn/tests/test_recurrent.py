"""Recurrent layers against the equations, packed sequences, attention."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import rnn as sequences

rng = np.random.default_rng(3)


def t(x):
    return torch.tensor(np.asarray(x).tolist(), dtype=torch.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(x, h, c, w, u, b):
    i, f, g, o = np.split(x @ w.T + h @ u.T + b, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def test_lstm_is_its_equations():
    lstm = nn.LSTM(3, 4).double()
    w, u = lstm.weight_ih_l0.detach().numpy(), lstm.weight_hh_l0.detach().numpy()
    b = (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach().numpy()
    x = rng.normal(size=(5, 2, 3))
    h = c = np.zeros((2, 4))
    outputs = []
    for step in x:
        h, c = lstm_step(step, h, c, w, u, b)
        outputs.append(h)
    output, (h_n, c_n) = lstm(t(x))
    assert torch.allclose(output, t(outputs))
    assert torch.allclose(h_n[0], t(h))
    assert torch.allclose(c_n[0], t(c))


def test_gru_is_its_equations():
    gru = nn.GRU(3, 4).double()
    w, u, bw, bu = (p.detach().numpy() for p in gru.all_weights[0])
    x = rng.normal(size=(5, 2, 3))
    h = np.zeros((2, 4))
    for step in x:
        (rx, zx, nx), (rh, zh, nh) = np.split(step @ w.T + bw, 3, 1), np.split(h @ u.T + bu, 3, 1)
        z, n = sigmoid(zx + zh), np.tanh(nx + sigmoid(rx + rh) * nh)
        h = (1 - z) * n + z * h
    assert torch.allclose(gru(t(x))[1][0], t(h))


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_rnn_is_its_equation(nonlinearity):
    rnn = nn.RNN(3, 4, nonlinearity=nonlinearity).double()
    w, u, bw, bu = (p.detach().numpy() for p in rnn.all_weights[0])
    f = np.tanh if nonlinearity == "tanh" else lambda v: np.maximum(v, 0)
    x, h = rng.normal(size=(5, 2, 3)), np.zeros((2, 4))
    for step in x:
        h = f(step @ w.T + bw + h @ u.T + bu)
    assert torch.allclose(rnn(t(x))[1][0], t(h))


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_cells_are_one_step_of_the_layers(kind):
    layer = kind(3, 4).double()
    cell = getattr(nn, kind.__name__ + "Cell")(3, 4).double()
    cell.load_state_dict({name[:-3]: value for name, value in layer.state_dict().items()})
    x = t(rng.normal(size=(1, 2, 3)))
    output = cell(x[0])
    output = output[0] if isinstance(output, tuple) else output
    assert torch.allclose(layer(x)[0][0], output)
    single = cell(x[0, 0])
    assert torch.allclose(single[0] if isinstance(single, tuple) else single, output[0])


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("batch_first", [False, True])
def test_shapes_of_deep_layers_in_both_directions(kind, batch_first):
    layer = kind(3, 4, 2, batch_first=batch_first, bidirectional=True, dropout=0.1)
    x = torch.randn(*((2, 5) if batch_first else (5, 2)), 3)
    output, state = layer(x)
    assert output.shape == (*x.shape[:2], 8)
    for h in state if kind is nn.LSTM else (state,):
        assert h.shape == (4, 2, 4)
    assert len(layer.all_weights) == 4
    assert "weight_hh_l1_reverse" in layer.state_dict()


def test_the_second_direction_reads_backwards():
    layer = nn.LSTM(3, 4, bidirectional=True).double()
    x = t(rng.normal(size=(5, 2, 3)))
    twin = nn.LSTM(3, 4).double()
    twin.load_state_dict({n: layer.state_dict()[n + "_reverse"] for n in twin.state_dict()})
    assert torch.allclose(layer(x)[0][..., 4:], twin(x.flip(0))[0].flip(0))


def test_projections_of_an_lstm():
    layer = nn.LSTM(3, 6, proj_size=2)
    output, (h, c) = layer(torch.randn(5, 2, 3))
    assert (output.shape, h.shape, c.shape) == ((5, 2, 2), (1, 2, 2), (1, 2, 6))
    with pytest.raises(ValueError, match="only supported for LSTM"):
        nn.GRU(3, 6, proj_size=2)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_give_what_each_gives_alone(kind, bidirectional):
    layer = kind(3, 4, 2, bidirectional=bidirectional).double()
    parts = [t(rng.normal(size=(n, 3))) for n in (2, 5, 3)]
    packed = sequences.pack_sequence(parts, enforce_sorted=False)
    output, state = layer(packed)
    outputs = sequences.unpack_sequence(output)
    state = state[0] if kind is nn.LSTM else state
    for i, part in enumerate(parts):
        alone, last = layer(part)
        assert torch.allclose(outputs[i], alone)
        assert torch.allclose(state[:, i], last[0] if kind is nn.LSTM else last)


def test_wrong_sizes_are_named():
    layer = nn.LSTM(3, 4)
    with pytest.raises(RuntimeError, match="Expected 3, got 5"):
        layer(torch.zeros(2, 1, 5))
    with pytest.raises(RuntimeError, match=r"expected h_0 of shape \(1, 1, 4\).*got \(1, 2, 4\)"):
        layer(torch.zeros(2, 1, 3), (torch.zeros(1, 2, 4), torch.zeros(1, 1, 4)))
    with pytest.raises(ValueError, match="expected input to be 2D or 3D, got 1D"):
        layer(torch.zeros(3))
    with pytest.raises(ValueError, match="Unknown nonlinearity 'sin'"):
        nn.RNN(1, 1, nonlinearity="sin")
    with pytest.raises(ValueError, match=r"dropout should be a number in range \[0, 1\], got 2"):
        nn.GRU(1, 1, dropout=2)
    with pytest.raises(RuntimeError, match=r"hidden has shape \(1, 3\), expected \(2, 4\)"):
        nn.GRUCell(3, 4)(torch.zeros(2, 3), torch.zeros(1, 3))


def test_packing_and_padding():
    padded = torch.tensor([[1, 4, 6], [2, 5, 0], [3, 0, 0]])
    packed = sequences.pack_padded_sequence(padded, [3, 2, 1])
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    back, lengths = sequences.pad_packed_sequence(packed, padding_value=-1, total_length=4)
    assert back[:, 2].tolist() == [6, -1, -1, -1]
    assert lengths.tolist() == [3, 2, 1]
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order"):
        sequences.pack_padded_sequence(padded, [1, 2, 3])
    with pytest.raises(RuntimeError, match="greater than 0"):
        sequences.pack_padded_sequence(padded, [3, 2, 0])
    with pytest.raises(ValueError, match="total_length=1 and max sequence length being 3"):
        sequences.pad_packed_sequence(packed, total_length=1)
    left = sequences.pad_sequence([torch.ones(1), torch.ones(3)], True, padding_side="left")
    assert left.tolist() == [[0, 0, 1], [1, 1, 1]]
    unpadded = sequences.unpad_sequence(left.t(), [1, 3])
    assert [len(s) for s in unpadded] == [1, 3]


def attention(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    s = s if mask is None else np.where(mask, s, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return (w / w.sum(-1, keepdims=True)) @ v


def test_scaled_dot_product_attention():
    q, k, v = (rng.normal(size=(2, n, 4)) for n in (3, 5, 5))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    assert torch.allclose(sdpa(t(q), t(k), t(v)), t(attention(q, k, v)))
    mask = rng.random(size=(3, 5)) > 0.3
    mask[:, 0] = True
    assert torch.allclose(sdpa(t(q), t(k), t(v), torch.tensor(mask.tolist())), t(attention(q, k, v, mask)))
    causal = np.tril(np.ones((3, 5), bool))
    assert torch.allclose(sdpa(t(q), t(k), t(v), is_causal=True), t(attention(q, k, v, causal)))


def test_multihead_attention_is_attention_of_slices():
    layer = nn.MultiheadAttention(6, 2).double()
    x = rng.normal(size=(4, 3, 6))
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    q, k, v = np.split(x @ w.T + b, 3, -1)
    heads = [attention(*(y[..., s].swapaxes(0, 1) for y in (q, k, v))) for s in (slice(0, 3), slice(3, 6))]
    joined = np.concatenate(heads, -1).swapaxes(0, 1)
    want = joined @ layer.out_proj.weight.detach().numpy().T + layer.out_proj.bias.detach().numpy()
    output, weights = layer(t(x), t(x), t(x))
    assert torch.allclose(output, t(want))
    assert torch.allclose(weights.sum(-1), torch.ones(3, 4, dtype=torch.float64))


def test_padding_masks_hide_keys():
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(2, 5, 4)
    mask = torch.tensor([[False, False, False, True, True]] * 2)
    output, weights = layer(x, x, x, key_padding_mask=mask)
    assert (weights[..., 3:] == 0).all()
    assert torch.allclose(layer(x[:, :3], x[:, :3], x[:, :3])[0], output[:, :3], atol=1e-6)


def test_a_causal_transformer_does_not_look_ahead():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    model = nn.TransformerEncoder(layer, 2).double()
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    x = t(rng.normal(size=(5, 1, 8)))
    changed = x.clone()
    changed[3:] += 1
    assert torch.allclose(model(x, mask)[:3], model(changed, mask)[:3])
    assert not torch.allclose(model(x)[:3], model(changed)[:3])


def test_transformer_shapes_and_errors():
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True, norm_first=True)
    assert model(torch.zeros(2, 5, 8), torch.zeros(2, 4, 8)).shape == (2, 4, 8)
    with pytest.raises(RuntimeError, match="batch number of src and tgt must be equal"):
        model(torch.zeros(1, 5, 8), torch.zeros(2, 4, 8))
    with pytest.raises(RuntimeError, match="must be equal to d_model 8"):
        model(torch.zeros(2, 5, 7), torch.zeros(2, 4, 8))
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not tanh"):
        nn.TransformerEncoderLayer(8, 2, activation="tanh")


CASTS = {"double": torch.float64, "float": torch.float32, "half": torch.float16, "long": torch.int64, "int": torch.int32,
         "short": torch.int16, "char": torch.int8, "byte": torch.uint8}  # fmt: skip


@pytest.mark.parametrize("start", CASTS)
@pytest.mark.parametrize("cast", CASTS)
def test_packed_sequences_cast_their_data_and_keep_their_order(start, cast):
    parts = [torch.tensor([3.0, 1.0]), torch.tensor([2.0, 5.0, 4.0])]
    packed = getattr(sequences.pack_sequence(parts, enforce_sorted=False), start)()
    done = getattr(packed, cast)()
    assert type(done) is sequences.PackedSequence
    assert done.data.dtype == CASTS[cast]
    assert done.data.tolist() == [2, 3, 5, 1, 4]
    assert torch.equal(done.unsorted_indices, packed.unsorted_indices)
    assert (done is packed) == (start == cast)


def test_masks_of_attention_have_the_shape_of_its_places():
    layer, x = nn.MultiheadAttention(4, 2, batch_first=True), torch.ones(2, 3, 4)
    with pytest.raises(AssertionError, match=r"expected key_padding_mask of shape \(2, 3\), got \(3, 2\)"):
        layer(x, x, x, key_padding_mask=torch.zeros(3, 2, dtype=torch.bool))
    with pytest.raises(RuntimeError, match=r"attn_mask is \(2, 3, 3\), but should be \(3, 3\) or, .*\(4, 3, 3\)"):
        layer(x, x, x, attn_mask=torch.zeros(2, 3, 3))
    with pytest.raises(RuntimeError, match=r"attn_mask is \(2, 2\), but should be \(3, 3\)"):
        layer(x, x, x, attn_mask=torch.zeros(2, 2))
    with pytest.raises(AssertionError, match="does not match value shape"):
        layer(x, x[:1], x)
    masked = layer(x, x, x, attn_mask=torch.zeros(4, 3, 3))[0]
    assert torch.equal(masked, layer(x, x, x)[0])


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
def test_arguments_of_the_wrong_kind_are_named(layer):
    for error, message, call in [
        (TypeError, "bias should be of type bool, got: int", lambda: layer(3, 5, bias=1)),
        (TypeError, "batch_first should be of type bool, got: str", lambda: layer(3, 5, batch_first="False")),
        (TypeError, "input_size should be of type int, got: float", lambda: layer(3.0, 5)),
        (ValueError, "input_size must be greater than zero, got 0", lambda: layer(0, 5)),
        (
            ValueError,
            "dtype torch.float64 and the weights torch.float32",
            lambda: layer(3, 5)(torch.zeros(2, 1, 3).double()),
        ),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_autocast_takes_an_input_of_another_dtype_than_the_weights():
    with torch.autocast("cpu", torch.bfloat16):
        output, _ = nn.GRU(3, 5)(torch.zeros(2, 1, 3, dtype=torch.bfloat16))
    assert output.shape == (2, 1, 5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_sequence_as_one_operator_is_that_of_its_steps(kind, monkeypatch):
    from torch.nn.modules import _recurrence

    torch.manual_seed(0)
    layer = getattr(nn, kind)(5, 7, 2, bidirectional=True).double()
    x = torch.randn(6, 3, 5, dtype=torch.float64, requires_grad=True)

    def results():
        output, last = layer(x)
        last = torch.cat(last) if kind == "LSTM" else last
        return output, last, *torch.autograd.grad(output.square().sum() + last.sin().sum(), [x, *layer.parameters()])

    whole, called = results(), []
    monkeypatch.setattr(_recurrence, "_takes_whole", lambda *given: called.append(given))
    for a, b in zip(whole, results(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    assert len(called) == 4


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(
    ("kind", "form"), [(nn.LSTM, {}), (nn.GRU, {}), (nn.RNN, {}), (nn.RNN, {"nonlinearity": "relu"})]
)
def test_packed_sequences_as_one_operator_are_those_of_their_steps(kind, form, bidirectional, monkeypatch):
    from torch.nn.modules import _recurrence

    torch.manual_seed(0)
    layer = kind(3, 4, 2, bidirectional=bidirectional, **form).double()
    parts = [torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in (6, 6, 5, 5, 4)]

    def results():
        output, last = layer(sequences.pack_sequence(parts))
        last = torch.cat(last) if kind is nn.LSTM else last
        total = output.data.square().sum() + last.sin().sum()
        first = torch.autograd.grad(total, [*parts, *layer.parameters()], create_graph=True)
        return output.data, last, *first, *torch.autograd.grad(sum(g.square().sum() for g in first), parts)

    whole, ways = results(), []
    monkeypatch.setattr(_recurrence, "_pays_padded", lambda *given: ways.append(given))
    for a, b in zip(whole, results(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)
    assert len(ways) == 2 * (1 + bidirectional)


def test_packed_sequences_of_very_unequal_lengths_are_not_padded():
    from torch.nn.modules import _recurrence

    assert _recurrence._pays_padded(torch.ones(8, 1), [3, 3, 2])
    assert not _recurrence._pays_padded(torch.ones(6, 1), [3, 2, 1])


def test_padding_of_a_growing_state_is_not_seen():
    layer, parts = nn.RNN(1, 1, nonlinearity="relu", bias=False), [torch.zeros(130, 1), torch.ones(101, 1)]
    with torch.no_grad():
        layer.weight_ih_l0.fill_(1), layer.weight_hh_l0.fill_(2.3)  # beyond float32 after 107 steps
    _, last = layer(sequences.pack_sequence(parts))
    last[0, 1, 0].backward()
    assert last[0, 0] == 0 and last[0, 1] > 1e36 and layer.weight_hh_l0.grad.isfinite()


def test_those_who_see_operators_see_steps():
    modes = pytest.importorskip("torch.utils._python_dispatch")

    class Seen(modes.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    layer, x = nn.LSTM(3, 4), torch.zeros(2, 1, 3)
    with Seen() as seen:
        layer(x)
    assert not any("recurrence" in name for name in seen.names) and len(seen.names) > 10
    one_by_one = torch.stack([layer(e)[0] for e in torch.ones(5, 2, 1, 3)])
    torch.testing.assert_close(torch.func.vmap(lambda e: layer(e)[0])(torch.ones(5, 2, 1, 3)), one_by_one)


def test_the_output_of_a_layer_may_be_changed_in_place():
    layer, x = nn.LSTM(3, 4), torch.ones(2, 1, 3, requires_grad=True)
    (expected,) = torch.autograd.grad((layer(x)[0] * 2).sum(), x)
    (found,) = torch.autograd.grad(layer(x)[0].mul_(2).sum(), x)
    assert torch.equal(found, expected)


def test_a_packed_sequence_that_is_where_it_should_be_stays_the_same():
    packed = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [3, 1])
    assert packed.cpu() is packed and packed.to("cpu", torch.float32) is packed
    assert packed.double().cpu().data.dtype == torch.float64
