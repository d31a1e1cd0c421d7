"""Recurrent layers and steps as functions of their weights: ``torch.lstm``, ``torch.gru_cell`` and the like.

>>> weights = torch.zeros(12, 2), torch.zeros(12, 3)
>>> state = torch.zeros(1, 4, 3)
>>> output, h, c = torch.lstm(torch.ones(5, 4, 2), (state, state), weights, False, 1, 0.0, False, False, False)
>>> output.shape, h.shape
(torch.Size([5, 4, 3]), torch.Size([1, 4, 3]))
"""

from __future__ import annotations

import torch

from . import functional as F
from .modules._recurrence import STEPS, unroll

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]


def _weights(name, params, has_biases, places):
    """The weights of each layer and direction: of the input and the state, their biases, and of a projection."""
    if not params or len(params) % places:
        raise RuntimeError(f"{name}: {len(params)} weights cannot belong to {places} layers and directions alike")
    each = len(params) // places
    if each not in ((4, 5) if has_biases else (2, 3)):
        raise RuntimeError(
            f"{name}: expected {4 if has_biases else 2} weights for each layer and direction with has_biases={has_biases}, "
            f"got {each}"
        )
    for i in range(0, len(params), each):
        pair, rest = tuple(params[i : i + 2]), tuple(params[i + 2 : i + each])
        biases = rest[:2] if has_biases else (None, None)
        yield (*pair, *biases, rest[-1] if each % 2 else None)


_GATES = {"LSTM": 4, "GRU": 3}


def _states(name, mode, hx):
    """The states of a layer or cell: of an LSTM two."""
    if mode != "LSTM":
        return (hx,)
    if isinstance(hx, torch.Tensor) or len(hx) != 2:
        given = "a tensor" if isinstance(hx, torch.Tensor) else f"{len(hx)}"
        raise RuntimeError(f"{name}: expected two hidden states (h, c), got {given}")
    return tuple(hx)


def _sequence(name, mode):
    def layers(*args: Any) -> Any:
        if len(args) != 9:
            raise TypeError(f"{name}: expected 9 arguments, got {len(args)}")
        packed = isinstance(args[1 if mode == "LSTM" else 2], torch.Tensor)
        if packed:
            x, sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
            sizes, batch_first = sizes.tolist(), False
        else:
            x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
            sizes = None
            if x.dim() != 3:
                raise RuntimeError(f"{name}: expected input of 3 dims, (steps, batch, size), got {tuple(x.shape)}")
        if (x.shape[1 if batch_first else 0]) == 0:
            raise RuntimeError(f"{name}: expected a sequence of at least one step, got {tuple(x.shape)}")
        if num_layers < 1:
            raise RuntimeError(f"{name}: expected num_layers of at least 1, got {num_layers}")
        directions = 2 if bidirectional else 1
        weights = list(_weights(name, params, has_biases, num_layers * directions))
        first = _states(name, mode, hx)
        if any(h.dim() != 3 or h.shape[0] != num_layers * directions for h in first):
            raise RuntimeError(
                f"{name}: expected states of shape ({num_layers * directions}, batch, size), got {[tuple(h.shape) for h in first]}"
            )
        x = x.transpose(0, 1) if batch_first else x
        output, last = unroll(STEPS[mode], x, sizes, first, weights, directions, dropout if train else 0)
        return (output.transpose(0, 1) if batch_first else output), *last

    return _named(
        layers,
        name,
        f"""Run the layers of a {mode} over a sequence, with the weights given: ``(input, hx, params, has_biases, num_layers,
        dropout, train, bidirectional, batch_first)``, or of a packed sequence ``(data, batch_sizes, hx, params, ...)``
        without ``batch_first``. Returns the outputs and the last state.""",
    )


def _cell(name, mode):
    def step(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        state = _states(name, mode, hx)
        if input.dim() != 2 or any(h.dim() != 2 or h.shape[0] != input.shape[0] for h in state):
            raise RuntimeError(
                f"{name}: expected input (batch, size) and states (batch, size) of the same batch, "
                f"got {tuple(input.shape)} and {[tuple(h.shape) for h in state]}"
            )
        hidden, gates = w_hh.shape[-1] if w_hh.dim() else 0, _GATES.get(mode, 1)
        if any(w.dim() != 2 or w.shape[0] != gates * hidden for w in (w_ih, w_hh)):
            raise RuntimeError(
                f"{name}: expected weights of {gates} * {hidden} rows for a state of {hidden}, got {tuple(w_ih.shape)} and "
                f"{tuple(w_hh.shape)}"
            )
        new = STEPS[mode](F.linear(input, w_ih, b_ih), state, w_hh, b_hh)
        return new if mode == "LSTM" else new[0]

    return _named(step, name, f"One step of a {mode}: input (N, in) and the state give the next state.")


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = "torch", doc
    return function


lstm, lstm_cell = _sequence("lstm", "LSTM"), _cell("lstm_cell", "LSTM")
gru, gru_cell = _sequence("gru", "GRU"), _cell("gru_cell", "GRU")
rnn_tanh, rnn_tanh_cell = _sequence("rnn_tanh", "RNN_TANH"), _cell("rnn_tanh_cell", "RNN_TANH")
rnn_relu, rnn_relu_cell = _sequence("rnn_relu", "RNN_RELU"), _cell("rnn_relu_cell", "RNN_RELU")
