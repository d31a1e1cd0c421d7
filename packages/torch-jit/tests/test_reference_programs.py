"""Reference layers of ``torch.ao.nn.quantized.reference`` in programs: with weights that are rounded at each call."""

import pytest
import torch
from torch import nn
from torch.ao.nn.quantized import reference

HOW = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.1, "zero_point": 0}
DECOMPOSED = HOW | {"dtype": torch.int8, "quant_min": -128, "quant_max": 127}
X = torch.randn(5, 2, 3)


def made(kind, how, **options):
    torch.manual_seed(0)
    layer = kind(3, 4, **options)
    matrices = {name: how for name, held in layer.named_parameters() if held.dim() == 2}
    return getattr(reference, kind.__name__).from_float(layer, matrices | {"is_decomposed": how is DECOMPOSED})


def rounded(layer):
    """The same layer of floats, with the rounded weights."""
    kind = next(cls for cls in type(layer).__mro__ if cls.__module__ == "torch.nn.modules.rnn")
    found = kind(3, 4, layer.num_layers, batch_first=layer.batch_first, bidirectional=layer.bidirectional)
    state = {}
    for name, held in found.state_dict().items():
        weight = getattr(layer, name).detach()
        state[name] = weight if held.dim() == 1 else (weight / 0.1).round().clamp(-128, 127) * 0.1
    found.load_state_dict(state)
    return found


LAYERS = {
    "LSTM": lambda how: made(nn.LSTM, how),
    "LSTM of two layers and directions": lambda how: made(nn.LSTM, how, num_layers=2, bidirectional=True),
    "GRU, batch first": lambda how: made(nn.GRU, how, batch_first=True),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("how", [HOW, DECOMPOSED], ids=["quantized", "decomposed"])
def test_traces_of_recurrent_layers_compute_with_rounded_weights(name, how):
    layer = LAYERS[name](how)
    traced = torch.jit.trace(layer, (X,), check_trace=False)
    torch.testing.assert_close(traced(X), rounded(layer)(X))
    with torch.no_grad():
        layer.weight_ih_l0.mul_(2)
    torch.testing.assert_close(traced(X), rounded(layer)(X))  # at each call


@pytest.mark.parametrize("name", LAYERS)
def test_exported_recurrent_layers_compute_with_rounded_weights(name):
    layer = LAYERS[name](DECOMPOSED)
    torch.testing.assert_close(torch.export.export(layer, (X,)).module()(X), rounded(layer)(X))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_scripts_refuse_layers_whose_weights_they_would_not_round(kind):
    with pytest.raises(
        torch.jit.frontend.NotSupportedError,
        match=f"{kind.__name__} .* rounds its weights at each call.*torch.jit.trace",
    ):
        torch.jit.script(nn.Sequential(made(kind, HOW)))
