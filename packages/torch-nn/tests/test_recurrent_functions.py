"""torch.lstm and the like: recurrent layers as functions of their weights, held against the modules."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

MODULES = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}


def layer(name, **options):
    options |= {"nonlinearity": "relu"} if name == "rnn_relu" else {}
    torch.manual_seed(0)
    return MODULES[name](2, 3, num_layers=2, **options).double()


def states(module, batch):
    h = torch.randn(2 * (1 + module.bidirectional), batch, 3, dtype=torch.float64)
    return (h, h + 1) if isinstance(module, nn.LSTM) else h


def flat(output, state):
    return [output, *state] if isinstance(state, tuple) else [output, state]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_functions_compute_what_modules_of_the_same_weights_do(name, both_ways, bias):
    module = layer(name, bidirectional=both_ways, bias=bias, batch_first=True)
    x, hx = torch.randn(4, 5, 2, dtype=torch.float64), states(module, 4)
    expected = flat(*module(x, hx))
    weights = [w for place in module.all_weights for w in place]
    found = getattr(torch, name)(x, hx, weights, bias, 2, 0.0, True, both_ways, True)
    assert all(a.equal(b) for a, b in zip(found, expected, strict=True))
    wanted = torch.autograd.grad(sum(t.square().sum() for t in expected), weights)
    gradients = torch.autograd.grad(sum(t.square().sum() for t in found), weights)
    assert all(a.equal(b) for a, b in zip(gradients, wanted, strict=True))


@pytest.mark.parametrize("name", MODULES)
def test_functions_take_packed_sequences(name):
    module = layer(name)
    packed, hx = pack_padded_sequence(torch.randn(4, 3, 2, dtype=torch.float64), [4, 3, 1]), states(module, 3)
    output, state = module(packed, hx)
    weights = [w for place in module.all_weights for w in place]
    found = getattr(torch._VF, name)(packed.data, packed.batch_sizes, hx, weights, True, 2, 0.0, False, False)
    assert all(a.equal(b) for a, b in zip(found, flat(output.data, state), strict=True))


@pytest.mark.parametrize("name", MODULES)
def test_steps_compute_what_cells_do(name):
    kind = {"lstm": nn.LSTMCell, "gru": nn.GRUCell}.get(name, nn.RNNCell)
    cell = kind(2, 3, **({"nonlinearity": "relu"} if name == "rnn_relu" else {}))
    x, h = torch.randn(4, 2), torch.randn(4, 3)
    hx = (h, h + 1) if name == "lstm" else h
    found, expected = getattr(torch, f"{name}_cell")(x, hx, *cell.parameters()), cell(x, hx)
    assert torch.stack(flat(*found) if name == "lstm" else [found]).equal(
        torch.stack(flat(*expected) if name == "lstm" else [expected])
    )


def test_what_does_not_fit_is_named():
    x, h, w = torch.ones(3, 1, 2), torch.ones(1, 1, 3), [torch.ones(9, 2), torch.ones(9, 3)]
    with pytest.raises(RuntimeError, match="gru: expected 4 weights for each layer.*has_biases=True, got 2"):
        torch.gru(x, h, w, True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="gru: 2 weights cannot belong to 3 layers"):
        torch.gru(x, h, w, False, 3, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match=r"gru: expected states of shape \(2, batch, size\), got"):
        torch.gru(x, h, w * 2, False, 2, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="gru: expected a sequence of at least one step"):
        torch.gru(x[:0], h, w, False, 1, 0.0, False, False, False)
    with pytest.raises(TypeError, match="lstm: expected 9 arguments, got 1"):
        torch.lstm(x)
    with pytest.raises(RuntimeError, match="gru_cell: expected input"):
        torch.gru_cell(x, h, *w)


def test_states_layers_and_weights_of_the_wrong_number_are_named():
    x, w = torch.ones(2, 3), torch.ones(12, 3)
    with pytest.raises(RuntimeError, match=r"lstm_cell: expected two hidden states \(h, c\), got 1"):
        torch.lstm_cell(x, [x], w, w)
    with pytest.raises(RuntimeError, match=r"lstm: expected two hidden states \(h, c\), got 3"):
        torch.lstm(x[None], [x[None]] * 3, [w, w], False, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="rnn_tanh: expected num_layers of at least 1, got 0"):
        torch.rnn_tanh(x[None], x[None], [w, w], False, 0, 0.0, False, False, False)
    with pytest.raises(
        RuntimeError, match=r"gru_cell: expected weights of 3 \* 3 rows for a state of 3, got \(12, 3\) and \(12, 3\)"
    ):
        torch.gru_cell(x, x, w, w)
    assert [tuple(h.shape) for h in torch.lstm_cell(x, [x, x], w, w)] == [(2, 3), (2, 3)]
