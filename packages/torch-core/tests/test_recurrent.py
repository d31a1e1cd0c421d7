"""A recurrent layer's steps as one operator, against the equations of its step in NumPy."""

import numpy as np
import pytest
import torch
from torch._seams import operator

KINDS = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference(gates, h, c, w, b, kind, reverse):
    outputs = {}
    for t in reversed(range(len(gates))) if reverse else range(len(gates)):
        x, u = np.split(gates[t], KINDS[kind], 1), np.split(h @ w.T + b, KINDS[kind], 1)
        if kind == "LSTM":
            i, f, g, o = (p + q for p, q in zip(x, u, strict=True))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        elif kind == "GRU":
            r, z = sigmoid(x[0] + u[0]), sigmoid(x[1] + u[1])
            h = (1 - z) * np.tanh(x[2] + r * u[2]) + z * h
        else:
            h = np.tanh(x[0] + u[0]) if kind == "RNN_TANH" else np.maximum(x[0] + u[0], 0)
        outputs[t] = h
    return np.stack([outputs[t] for t in range(len(gates))]), c


def operands(kind, steps, batch, size, dtype=torch.float64):
    rows, draw = KINDS[kind] * size, np.random.default_rng(0).standard_normal
    shapes = (steps, batch, rows), (batch, size), (batch, size), (rows, size), (rows,)
    gates, h, c, w, b = (torch.tensor(draw(shape), dtype=dtype) for shape in shapes)
    w /= max(size, 1) ** 0.5
    return gates, h, c if kind == "LSTM" else None, w, b


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 1, 20), (4, 3, 17), (2, 40, 128)], ids=str)
def test_steps_follow_their_equations(kind, shape, reverse, keep, dtype):
    given = operands(kind, *shape, dtype)
    expected, cell = reference(*(None if t is None else t.double().numpy() for t in given), kind, reverse)
    output, last_cell, *_ = operator("_recurrence")(*given, kind, reverse, keep)
    near = 1e-12 if dtype is torch.float64 else 2e-5
    np.testing.assert_allclose(output.numpy(), expected, rtol=near, atol=near)
    if kind == "LSTM":
        np.testing.assert_allclose(last_cell.numpy(), cell, rtol=near, atol=near)


@pytest.mark.parametrize("kind", KINDS)
def test_operands_may_lie_in_any_order(kind):
    given = operands(kind, 4, 3, 8)
    strided = [None if t is None else t.transpose(0, -1).contiguous().transpose(0, -1) for t in given]
    plain, other = (operator("_recurrence")(*those, kind, False, False)[0] for those in (given, strided))
    assert torch.equal(plain, other)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_states_of_nothing_give_nothing(kind):
    for batch, size in ((0, 4), (3, 0)):
        given = operands(kind, 2, batch, size)
        output, *_, acted = operator("_recurrence")(*given, kind, False, True)
        assert output.shape == (2, batch, size) and acted.numel() == 0


def test_a_number_that_is_none_stays_one_behind_relu():
    gates, h, _, w, b = operands("RNN_RELU", 1, 1, 3)
    gates[0, 0, 1] = float("nan")
    output, *_ = operator("_recurrence")(gates, h, None, w, b, "RNN_RELU", False, False)
    assert output.isnan().tolist() == [[[False, True, False]]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_half_types_are_composed_and_keep_what_the_gradient_takes(kind, reverse):
    given = operands(kind, 3, 2, 4)
    half = [t if t is None else t.bfloat16() for t in given]
    for a, b in zip(
        operator("_recurrence")(*given, kind, reverse, True),
        operator("_recurrence")(*half, kind, reverse, True),
        strict=True,
    ):
        assert b.dtype == torch.bfloat16 and a.shape == b.shape and torch.allclose(b.double(), a, atol=0.05)
    saved = operator("_recurrence")(*half, kind, reverse, True)
    found = operator("_recurrence_backward")(saved[0], None, half[3], *saved[2:], kind, reverse)
    wide = [t.double() for t in (saved[0], half[3], *saved[2:])]
    for a, b in zip(operator("_recurrence_backward")(wide[0], None, *wide[1:], kind, reverse), found, strict=True):
        assert b.dtype == torch.bfloat16 and torch.allclose(b.double(), a, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"kind": "lstm"}, ValueError, "kind must be LSTM, GRU, RNN_TANH or RNN_RELU, got 'lstm'"),
        ({"gates": torch.zeros(2, 3, 5)}, RuntimeError, r"expected gates of size \(2, 3, 16\), got \(2, 3, 5\)"),
        ({"gates": torch.zeros(0, 3, 16)}, RuntimeError, "at least one step"),
        ({"gates": torch.zeros(3, 16)}, RuntimeError, r"expected gates \(T, N, G\)"),
        ({"gates": torch.zeros(2, 3, 16).int()}, NotImplementedError, "floating point, got torch.int32"),
        ({"weight": torch.zeros(4, 16)}, RuntimeError, r"expected weight of size \(16, 4\)"),
        ({"cell": None}, RuntimeError, "a cell belongs to LSTM"),
        ({"cell": torch.zeros(3, 4).double()}, RuntimeError, "cell of torch.float32 as the others, got torch.float64"),
        ({"bias": torch.zeros(4)}, RuntimeError, r"expected bias of size \(16,\), got \(4,\)"),
    ],
)
def test_operands_that_do_not_fit_are_named(change, error, text):
    given = {
        "gates": torch.zeros(2, 3, 16),
        "hidden": torch.zeros(3, 4),
        "cell": torch.zeros(3, 4),
        "weight": torch.zeros(16, 4),
        "bias": None,
        "kind": "LSTM",
        "reverse": False,
        "keep": False,
    }
    with pytest.raises(error, match=f"_recurrence: .*{text}"):
        operator("_recurrence")(*(given | change).values())


def test_what_was_not_kept_has_no_gradient_by_kernels():
    gates, h, c, w, b = operands("LSTM", 2, 3, 4)
    output, _, *kept = operator("_recurrence")(gates, h, c, w, b, "LSTM", False, False)
    with pytest.raises(RuntimeError, match="needs what _recurrence keeps with keep=True"):
        operator("_recurrence_backward")(output, None, w, *kept, "LSTM", False)


def test_without_memory_there_are_sizes():
    gates, h, c, w, b = (t.to("meta") for t in operands("LSTM", 2, 3, 4))
    output, last_cell, states, cells, acted = operator("_recurrence")(gates, h, c, w, b, "LSTM", False, True)
    assert output.shape == (2, 3, 4) and last_cell.shape == (3, 4) and output.is_meta
    assert states.shape == cells.shape == (3, 3, 4) and acted.shape == (2, 3, 16)
