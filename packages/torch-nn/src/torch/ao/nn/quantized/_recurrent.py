"""Recurrent layers of packed weights as functions: what programs of dynamically quantized models call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.modules._recurrence import GATES, STEPS, product, unroll


class CellParams:
    """The packed weights of one direction of one recurrent layer; the biases are within them."""

    script_class = "rnn.CellParamsBase"

    def __init__(self, kind: str, w_ih: Any, w_hh: Any, biases: tuple[Tensor, ...] = (), reduce_range: bool = True):
        self.kind, self.w_ih, self.w_hh, self.biases, self.reduce_range = kind, w_ih, w_hh, biases, reduce_range

    def state(self) -> tuple[Any, ...]:
        """What archives hold: kind, biases, nothing, whether a bit is left free, packed weights."""
        whole = self.kind == "quantized_dynamic"
        return self.kind, list(self.biases), [], [int(self.reduce_range)] * whole, [self.w_ih, self.w_hh]

    def matrices(self) -> tuple[Any, ...]:
        """Both weights as functions, in the place that steps have for tensors; no biases and no projection."""
        if self.kind == "quantized_fp16":
            run = torch.ops.quantized.linear_dynamic_fp16
            return (lambda x: run(x, self.w_ih)), (lambda x: run(x, self.w_hh)), None, None, None
        run = torch.ops.quantized.linear_dynamic
        ih, hh, reduce_range = self.w_ih, self.w_hh, self.reduce_range
        return (lambda x: run(x, ih, reduce_range)), (lambda x: run(x, hh, reduce_range)), None, None, None

    def __reduce__(self) -> Any:
        return CellParams, (self.kind, self.w_ih, self.w_hh, self.biases, self.reduce_range)


def make_quantized_cell_params_dynamic(
    w_ih: Any, w_hh: Any, bias_ih: Tensor, bias_hh: Tensor, reduce_range: bool = False
) -> CellParams:
    return CellParams("quantized_dynamic", w_ih, w_hh, (bias_ih, bias_hh), reduce_range)


def make_quantized_cell_params_fp16(w_ih: Any, w_hh: Any) -> CellParams:
    return CellParams("quantized_fp16", w_ih, w_hh)


def _shape(packed: Any) -> tuple[int, ...]:
    return tuple(packed.weight_int.shape if hasattr(packed, "weight_int") else packed.unpack()[0].shape)


def _check(mode: str, op: str, w_ih: Any, w_hh: Any, hidden: int) -> None:
    """Refuse weights of another kind of layer, or of another size than the state has."""
    gates = GATES[mode]
    of_input, of_state = _shape(w_ih), _shape(w_hh)
    if of_input[0] != gates * hidden or of_state != (gates * hidden, hidden):
        raise RuntimeError(
            f"{op}: expected weights ({gates} * {hidden}, input) and ({gates} * {hidden}, {hidden}) for states of {hidden}, got shapes "
            f"{of_input} and {of_state}"
        )


def _layers(mode: str, op: str, input: Tensor, states: Any, params: Any, sizes: Any, num_layers: int, dropout: float, bidirectional: bool) -> Any:  # fmt: skip
    directions = 2 if bidirectional else 1
    if len(params) != num_layers * directions or not all(isinstance(each, CellParams) for each in params):
        raise RuntimeError(
            f"{op}: expected packed weights for {num_layers} layers of {directions} directions, got {len(params)}"
        )
    if any(state.dim() != 3 or state.shape[0] != len(params) or state.shape != states[0].shape for state in states):
        shapes = ", ".join(str(tuple(state.shape)) for state in states)
        raise RuntimeError(f"{op}: expected states (layers * directions = {len(params)}, N, hidden), got {shapes}")
    for each in params:
        _check(mode, op, each.w_ih, each.w_hh, states[0].shape[-1])
    weights = [each.matrices() for each in params]
    return unroll(STEPS[mode], input, sizes, states, weights, directions, dropout)


def _run(mode: str, op: str, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Called with ``(input, hx, params, ..., batch_first)``, or with ``(data, batch_sizes, hx, params, ...)`` of packed sequences."""
    if isinstance(args[1], Tensor) and args[1].dim() == 1:
        data, sizes, hx, params, _, layers, dropout, train, bidirectional = args
        sizes, batch_first = sizes.tolist(), False
    else:
        data, hx, params, _, layers, dropout, train, bidirectional, batch_first = args
        sizes = None
    if sizes is None and data.dim() != 3:
        raise RuntimeError(f"{op}: expected an input of 3 dims, got shape {tuple(data.shape)}")
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    data = data.transpose(0, 1) if batch_first else data
    output, last = _layers(mode, op, data, states, params, sizes, layers, dropout if train else 0.0, bidirectional)
    return (output.transpose(0, 1) if batch_first else output, *last)


def quantized_lstm(*args: Any, dtype: Any = None, use_dynamic: bool = False) -> tuple[Tensor, ...]:
    """``(output, h, c)`` of LSTM layers of packed weights."""
    return _run("LSTM", "quantized_lstm", args)


def quantized_gru(*args: Any) -> tuple[Tensor, ...]:
    """``(output, h)`` of GRU layers of packed weights."""
    return _run("GRU", "quantized_gru", args)


def _cell(mode: str) -> Any:
    op = f"quantized_{mode.lower()}_cell_dynamic"

    def cell(input: Tensor, hx: Any, w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Any:
        _check(mode, op, w_ih, w_hh, (hx[0] if isinstance(hx, (list, tuple)) else hx).shape[-1])
        ih, hh, *_ = CellParams("quantized_dynamic", w_ih, w_hh).matrices()
        new = STEPS[mode](product(input, ih, None), hx if isinstance(hx, (list, tuple)) else [hx], hh, None)
        return new if mode == "LSTM" else new[0]

    return cell


FUNCTIONS = {
    "make_quantized_cell_params_dynamic": make_quantized_cell_params_dynamic,
    "make_quantized_cell_params_fp16": make_quantized_cell_params_fp16,
    "quantized_lstm": quantized_lstm,
    "quantized_gru": quantized_gru,
    "quantized_lstm_cell_dynamic": _cell("LSTM"),
    "quantized_gru_cell_dynamic": _cell("GRU"),
    "quantized_rnn_relu_cell_dynamic": _cell("RNN_RELU"),
    "quantized_rnn_tanh_cell_dynamic": _cell("RNN_TANH"),
}
