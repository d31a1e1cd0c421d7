"""Recurrent layers in traces: a call of a program with a loop, which takes sequences of any length."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ._script.recurrent import gru, lstm, rnn_relu, rnn_tanh

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["standing_in"]

_LAYERS = {"GRU": gru, "RNN_RELU": rnn_relu, "RNN_TANH": rnn_tanh}


@functools.cache
def _program(mode: str, biases: bool, layers: int, dropout: float, train: bool, both: bool, projected: bool) -> Any:
    """The compiled layers of one kind."""
    if mode == "LSTM":

        def lstm_layers(input: Tensor, h: Tensor, c: Tensor, weights: list[Tensor]):
            return lstm(input, (h, c), weights, biases, layers, dropout, train, both, False, projected)

        return torch.jit.script(lstm_layers)
    run = _LAYERS[mode]

    def layers_of(input: Tensor, h: Tensor, weights: list[Tensor]):
        return run(input, h, weights, biases, layers, dropout, train, both, False)

    return torch.jit.script(layers_of)


def _weights(layer: Any) -> list[Tensor]:
    found = []
    for k in range(layer.num_layers):
        for suffix in ("", "_reverse") if layer.bidirectional else ("",):
            names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if layer.bias else [])]
            names += ["weight_hr"] if layer.proj_size else []
            found += [getattr(layer, f"{name}_l{k}{suffix}") for name in names]
    return found


def standing_in(own: Callable[..., Any], tracer_of: Callable[[], Any]) -> Callable[..., Any]:
    """What runs the layers while a trace is recorded: ``own`` for packed sequences and in lower precision."""
    from torch import _seams

    def run(layer: Any, x: Tensor, batch_sizes: Any, first: Any) -> Any:
        weights = _weights(layer)
        tracer = tracer_of()
        whole = batch_sizes is None and not _seams.is_casting() and len({t.dtype for t in (x, *first, *weights)}) == 1
        if tracer is None or not whole:
            return own(layer, x, batch_sizes, first)
        program = _program(
            layer.mode, bool(layer.bias), layer.num_layers, float(layer.dropout), layer.training,
            layer.bidirectional, bool(layer.proj_size),
        )  # fmt: skip
        output, *state = program(x, *first, weights)
        return output, tuple(state)

    return run
