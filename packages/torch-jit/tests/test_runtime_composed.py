"""What programs call Python for has a form for the runtime without Python: it gives what the operators themselves give."""

from __future__ import annotations

import io

import pytest
import torch
from torch import Tensor, nn
from torch.jit import _ir
from torch.nn.utils import rnn

torch.manual_seed(0)
X, Y = torch.randn(4, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
SQUARE = torch.randn(3, 3, dtype=torch.float64)
BATCH = torch.randn(2, 1, 4, 3)


def loaded(compiled):
    out = io.BytesIO()
    torch.jit.save(compiled, out)
    return _ir._native.load_program(out.getvalue())


def distances(x, y, p: float):
    return torch.cdist(x, y, p)


def manhattan(x, y):
    return torch.cdist(x, y, p=1.0), torch.pdist(x, 1.0), torch.pdist(x), torch.pdist(x, 3.0), torch.cdist(x, y)


def renormed(x):
    return torch.renorm(x, 2, 0, 1.0), x.renorm(1, -1, 0.5), x.clone().renorm_(2, 1, 0.25)


def chained(x, y):
    return torch.chain_matmul(x, y.t(), y, x.t()), torch.chain_matmul(x)


def filled(x, value: float, wrap: bool):
    return x.clone().fill_diagonal_(value, wrap), x.clone().fill_diagonal_(2)


def chosen(x, r: int, again: bool):
    return torch.combinations(x, r, again), torch.combinations(x), torch.combinations(x, with_replacement=True)


def slopes(x, places):
    return (
        torch.gradient(x),
        torch.gradient(x, dim=-1),
        torch.gradient(x, dim=[1, 0], edge_order=2),
        torch.gradient(x, spacing=0.5),
        torch.gradient(x, spacing=[0.5, 2.0], dim=[0, 1]),
        torch.gradient(x, spacing=[places], dim=[0], edge_order=2),
        torch.gradient(x, spacing=[places], dim=0),
    )


def covariances(x):
    return torch.cov(x), torch.cov(x, correction=0), torch.corrcoef(x)


def learning(x):
    return x.clone().requires_grad_(True) * 2


CASES = {
    **{f"cdist of {p}": (distances, (X, Y, p)) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))},
    "cdist of NaN": (distances, (X.where(X > 0, float("nan")), Y, 0.0)),
    "cdist of batches": (distances, (BATCH, torch.randn(3, 2, 3), 2.0)),
    "cdist of no rows": (distances, (X[:0], Y, 2.0)),
    "cdist of other columns": (distances, (X, Y[:, :2], 2.0)),
    "cdist of numbers": (distances, (X[0, 0], Y, 2.0)),
    "cdist of negative p": (distances, (X, Y, -1.0)),
    "distances": (manhattan, (X, Y)),
    "renorm": (renormed, (X,)),
    "renorm of half": (renormed, (X.half(),)),
    "renorm of a vector": (renormed, (X[0],)),
    "chain_matmul": (chained, (X, Y)),
    "chain_matmul of batches": (chained, (BATCH, Y)),
    "fill_diagonal_": (filled, (X, 7.0, False)),
    "fill_diagonal_ of tall": (filled, (torch.zeros(9, 2), 7.0, True)),
    "fill_diagonal_ of cubes": (filled, (torch.zeros(3, 3, 3), 7.0, False)),
    "fill_diagonal_ of other cubes": (filled, (torch.zeros(3, 2, 3), 7.0, False)),
    "fill_diagonal_ of a vector": (filled, (X[0], 7.0, False)),
    **{f"combinations of {r}": (chosen, (torch.arange(4), r, again)) for r in range(6) for again in (False, True)},
    "combinations of nothing": (chosen, (torch.arange(0), 2, True)),
    "combinations of a matrix": (chosen, (X, 2, False)),
    "combinations of -1": (chosen, (torch.arange(4), -1, False)),
    "gradient": (slopes, (X, torch.tensor([0.0, 1.0, 3.0, 3.5]))),
    "gradient of ints": (slopes, (torch.arange(12).reshape(4, 3) ** 2, torch.tensor([0, 1, 3, 5]))),
    "gradient of short": (slopes, (X[:2], torch.tensor([0.0, 1.0]))),
    "cov": (covariances, (X,)),
    "requires_grad_": (learning, (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_composed_in_python_runs_without_it(name):
    function, args = CASES[name]
    module = loaded(torch.jit.script(function))
    try:
        expected = function(*args)
    except Exception as error:
        with pytest.raises(type(error)):
            module.run("forward", *args)
        return
    torch.testing.assert_close(
        plain(module.run("forward", *args)),
        plain(expected),
        rtol=1e-12 if args[0].dtype == torch.float64 else 1e-5,
        atol=1e-12,
        equal_nan=True,
    )


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value.detach()


def lowrank(x):
    U, S, V = torch.svd_lowrank(x, q=2)
    u, s, v = torch.pca_lowrank(x, q=2)
    return (U * S) @ V.mH, (u * s) @ v.mH


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_a_few_singular_values_are_found_without_python(dtype, shape):
    x = torch.randn(shape[0], 2, dtype=dtype) @ torch.randn(2, shape[1], dtype=dtype)
    whole, centred = loaded(torch.jit.script(lowrank)).run("forward", x)
    torch.testing.assert_close(whole, x)
    assert torch.linalg.matrix_rank(centred, rtol=1e-6) <= 2
    if dtype == torch.float64:
        torch.testing.assert_close(centred.sum(0), torch.zeros(shape[1], dtype=dtype), atol=1e-9, rtol=0)


class Tagger(nn.Module):
    def __init__(self, kind, **kwargs):
        super().__init__()
        self.layer = getattr(nn, kind)(3, 4, **kwargs)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, _ = self.layer(packed)
        return rnn.pad_packed_sequence(output, batch_first=True, padding_value=-1.0)


class States(Tagger):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = rnn.pack_padded_sequence(x, lengths)
        return self.layer(packed)[1]


class LongShortStates(Tagger):
    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = rnn.pack_padded_sequence(x, lengths)
        return self.layer(packed)[1]


KINDS = [
    ("LSTM", {}),
    ("LSTM", {"num_layers": 2, "bidirectional": True}),
    ("LSTM", {"proj_size": 2, "bidirectional": True}),
    ("LSTM", {"bias": False, "num_layers": 2}),
    ("GRU", {"num_layers": 2, "bidirectional": True}),
    ("GRU", {"bias": False}),
    ("RNN", {"bidirectional": True}),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_packed_sequences_go_through_layers_without_python(kind, options):
    torch.manual_seed(1)
    module = Tagger(kind, **options).eval()
    x, lengths = torch.randn(4, 6, 3), torch.tensor([2, 6, 1, 6])
    with torch.no_grad():
        expected = module(x, lengths)
        found = loaded(torch.jit.script(module)).run("forward", x, lengths)
    torch.testing.assert_close(tuple(found), tuple(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_states_after_packed_sequences_are_those_of_the_last_step_of_each(kind, options):
    torch.manual_seed(1)
    module = (LongShortStates if kind == "LSTM" else States)(kind, **options).eval()
    x, lengths = torch.randn(6, 4, 3), torch.tensor([6, 6, 2, 1])
    with torch.no_grad():
        expected = module(x, lengths)
        found = loaded(torch.jit.script(module)).run("forward", x, lengths)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 2, 3, 4], "must be sorted in decreasing order"),
        ([4, 3], "Expected `len.lengths.` to be equal to batch_size"),
        ([4, 3, 2, 0], "greater than 0"),
        ([9, 3, 2, 1], "lengths has 9"),
    ],
)
def test_lengths_that_do_not_fit_are_refused_without_python(lengths, message):
    module = loaded(torch.jit.script(States("GRU").eval()))
    with pytest.raises(RuntimeError, match=message):
        module.run("forward", torch.randn(6, 4, 3), torch.tensor(lengths))


def cells(x, h, gru: list[Tensor], lstm: list[Tensor], rnn: list[Tensor]):
    i, c = torch.lstm_cell(x, [h, h], lstm[0], lstm[1], lstm[2], lstm[3])
    a, b = torch.rnn_tanh_cell(x, h, rnn[0], rnn[1]), torch.rnn_relu_cell(x, h, rnn[0], rnn[1], rnn[2], rnn[3])
    return torch.gru_cell(x, h, gru[0], gru[1], gru[2], gru[3]), i, c, a, b


def test_cells_run_without_python():
    torch.manual_seed(2)
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    made = [nn.GRUCell(3, 4), nn.LSTMCell(3, 4), nn.RNNCell(3, 4)]
    weights = [[p.detach() for p in each.parameters()] for each in made]
    found = loaded(torch.jit.script(cells)).run("forward", x, h, *weights)
    plain_cell, relu_cell = nn.RNNCell(3, 4, bias=False), nn.RNNCell(3, 4, nonlinearity="relu")
    plain_cell.load_state_dict(dict(zip(["weight_ih", "weight_hh"], weights[2])))
    relu_cell.load_state_dict(made[2].state_dict())
    with torch.no_grad():
        expected = (made[0](x, h), *made[1](x, (h, h)), plain_cell(x, h), relu_cell(x, h))
    torch.testing.assert_close(tuple(found), expected)
