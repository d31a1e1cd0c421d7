"""An LSTM whose steps are linear layers, activations and sums, each of which can be watched and quantized."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.ao.nn.quantized import FloatFunctional

__all__ = ["LSTM", "LSTMCell"]

State = tuple[Tensor, Tensor]


def _without_split(split_gates: bool) -> None:
    if split_gates:
        raise NotImplementedError("LSTM: the four gates are one linear layer (split_gates=True)")


def _observed(made: nn.Module, training: bool) -> nn.Module:
    """The layer with observers, or with rounding that is trained."""
    from torch.ao import quantization

    if training:
        return quantization.prepare_qat(made.train(), inplace=True)
    return quantization.prepare(made.eval(), inplace=True)


def _beside(x: Tensor, state: Tensor) -> Tensor:
    return state.to(x.device) if x.is_quantized else state.to(x)


class LSTMCell(nn.Module):
    """One step: input (N, input_dim) and ``(h, c)`` give ``(h', c')``.

    >>> h, c = LSTMCell(10, 20)(torch.zeros(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    _FLOAT_MODULE = nn.LSTMCell

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ):
        super().__init__()
        _without_split(split_gates)
        options = {"device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias, self.split_gates = input_dim, hidden_dim, bias, split_gates
        self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **options)
        self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **options)
        self.gates = FloatFunctional()
        self.input_gate, self.forget_gate, self.cell_gate, self.output_gate = (
            nn.Sigmoid(),
            nn.Sigmoid(),
            nn.Tanh(),
            nn.Sigmoid(),
        )
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()
        # of the first state, where the input is quantized: scale and zero point
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype = self.cell_state_dtype = torch.quint8

    def forward(self, x: Tensor, hidden: State | None = None) -> State:
        if x.dim() != 2:
            raise NotImplementedError(
                f"LSTMCell: expected an input of shape (N, {self.input_size}), got {tuple(x.shape)}"
            )
        h, c = self.started(x, hidden)
        gates = self.gates.add(self.igates(x), self.hgates(h))
        i, f, g, o = gates.chunk(4, 1)
        i, f, g, o = self.input_gate(i), self.forget_gate(f), self.cell_gate(g), self.output_gate(o)
        c = self.fgate_cx_igate_cgate.add(self.fgate_cx.mul(f, c), self.igate_cgate.mul(i, g))
        h = self.ogate_cy.mul(o, torch.tanh(c))
        return h, c

    def started(self, x: Tensor, hidden: State | None) -> State:
        """The state that a step begins with: zeros where there is none."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            first = self.initialize_hidden(x.shape[0], x.is_quantized)
            return _beside(x, first[0]), _beside(x, first[1])
        return hidden[0], hidden[1]

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> State:
        """Zeros for ``h`` and ``c``."""
        h = c = torch.zeros(batch_size, self.hidden_size)
        if is_quantized:
            h = torch.quantize_per_tensor(h, *self.initial_hidden_state_qparams, self.hidden_state_dtype)
            c = torch.quantize_per_tensor(c, *self.initial_cell_state_qparams, self.cell_state_dtype)
        return h, c

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(
        cls, wi: Tensor, wh: Tensor, bi: Tensor | None = None, bh: Tensor | None = None, split_gates: bool = False
    ) -> LSTMCell:
        """A cell with these weights."""
        if (bi is None) != (bh is None):
            raise AssertionError("LSTMCell.from_params: expected two biases or none")
        made = cls(wi.shape[1], wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for layer, weight, bias in ((made.igates, wi, bi), (made.hgates, wh, bh)):
            layer.weight = nn.Parameter(weight)
            if bias is not None:
                layer.bias = nn.Parameter(bias)
        return made

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False) -> LSTMCell:
        """The cell with the weights of a float one, and its ``qconfig``."""
        if type(other) is not cls._FLOAT_MODULE or not hasattr(other, "qconfig"):
            raise AssertionError(
                f"LSTMCell.from_float: expected an nn.LSTMCell with a qconfig, got {type(other).__name__}"
            )
        made = cls.from_params(
            other.weight_ih, other.weight_hh, getattr(other, "bias_ih", None), getattr(other, "bias_hh", None), split_gates
        )  # fmt: skip
        made.qconfig = other.qconfig
        for layer in (made.igates, made.hgates):
            layer.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(nn.Module):
    """One direction of one layer over time, (T, N, in)."""

    def __init__(self, input_dim: int, hidden_dim: int, bias: bool = True, **options: Any):
        super().__init__()
        self.cell = LSTMCell(input_dim, hidden_dim, bias, **options)

    def forward(self, x: Tensor, hidden: State | None = None) -> tuple[Tensor, State]:
        outputs, state = [], self.cell.started(x[0], hidden)
        for step in x.unbind(0):
            state = self.cell(step, state)
            outputs.append(state[0])
        return torch.stack(outputs, 0), state


class _LSTMLayer(nn.Module):
    """One layer, of one direction or two."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
        **options: Any,
    ):
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, bidirectional
        self.layer_fw = _LSTMSingleLayer(input_dim, hidden_dim, bias, **options)
        if bidirectional:
            self.layer_bw = _LSTMSingleLayer(input_dim, hidden_dim, bias, **options)

    def forward(self, x: Tensor, hidden: State | None = None) -> tuple[Tensor, State]:
        if self.batch_first:
            x = x.transpose(0, 1)
        if not self.bidirectional:
            if hidden is not None and hidden[0].dim() == 3:
                hidden = (hidden[0].squeeze(0), hidden[1].squeeze(0))
            y, state = self.layer_fw(x, hidden)
        else:
            first: State | None = None
            second: State | None = None
            if hidden is not None:
                first, second = (hidden[0][0], hidden[1][0]), (hidden[0][1], hidden[1][1])
            y, forwards = self.layer_fw(x, first)
            backwards, last = self.layer_bw(x.flip(0), second)
            y = torch.cat([y, backwards.flip(0)], y.dim() - 1)
            state = torch.stack([forwards[0], last[0]], 0), torch.stack([forwards[1], last[1]], 0)
        return y.transpose(0, 1) if self.batch_first else y, state


class LSTM(nn.Module):
    """``torch.nn.LSTM`` of layers that can be quantized; ``prepare`` puts it in place of that.

    >>> layer = torch.ao.nn.quantizable.LSTM(10, 20, num_layers=2)
    >>> output, (h, c) = layer(torch.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    _FLOAT_MODULE: Any = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ):
        super().__init__()
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0:
            warnings.warn("LSTM: dropout between layers is for training; a quantized LSTM has none", stacklevel=2)
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.training = False
        options = {"device": device, "dtype": dtype, "split_gates": split_gates}
        sizes = [input_size, *[hidden_size * (2 if bidirectional else 1)] * (num_layers - 1)]
        self.layers = nn.ModuleList(
            _LSTMLayer(size, hidden_size, bias, False, bidirectional, **options) for size in sizes
        )

    def forward(self, x: Tensor, hidden: State | None = None) -> tuple[Tensor, State]:
        if x.dim() != 3:
            raise NotImplementedError(
                f"LSTM: expected an input of 3 dims, one of them of examples, got {tuple(x.shape)}"
            )
        if self.batch_first:
            x = x.transpose(0, 1)
        first = self._first_states(x, hidden)
        last = []
        for i, layer in enumerate(self.layers):
            begun: State | None = None
            if first is not None:
                begun = (first[0][i], first[1][i])
            x, state = layer(x, begun)
            last.append(state)
            if self.dropout and self.training and i + 1 < self.num_layers:
                x = nn.functional.dropout(x, self.dropout, True)
        h, c = self._joined([state[0] for state in last]), self._joined([state[1] for state in last])
        return x.transpose(0, 1) if self.batch_first else x, (h, c)

    def _first_states(self, x: Tensor, hidden: State | None) -> State | None:
        """``h`` and ``c`` of all layers, each (layers, directions, N, hidden), or None."""
        if hidden is None:
            return None
        directions = 2 if self.bidirectional else 1
        wanted = [self.num_layers * directions, x.shape[1], self.hidden_size]
        parts = []
        for name, state in (("h", hidden[0]), ("c", hidden[1])):
            if list(state.shape) != wanted:
                shape = f"({wanted[0]}, {wanted[1]}, {wanted[2]})"
                raise RuntimeError(f"LSTM: expected {name} of shape {shape}, got {tuple(state.shape)}")
            if state.is_quantized != x.is_quantized:
                raise RuntimeError(
                    f"LSTM: expected {name} and the input to be both quantized or both floats, got {state.dtype} and {x.dtype}"
                )
            parts.append(state.reshape(self.num_layers, directions, x.shape[1], self.hidden_size))
        return parts[0], parts[1]

    def _joined(self, states: list[Tensor]) -> Tensor:
        """The last states of all layers; quantized ones take the scale of the first."""
        states = [s if s.dim() == 3 else s.unsqueeze(0) for s in states]
        if states[0].is_quantized:
            return torch.ops.quantized.cat(states, 0, states[0].q_scale(), states[0].q_zero_point())
        return torch.cat(states, 0)

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> Any:
        """The layer with the weights of a float one, prepared as its ``qconfig`` says."""
        if not isinstance(other, cls._FLOAT_MODULE) or not (hasattr(other, "qconfig") or qconfig):
            raise AssertionError(f"LSTM.from_float: expected an nn.LSTM with a qconfig, got {type(other).__name__}")
        if other.proj_size:
            raise NotImplementedError(f"LSTM: projections are not quantized (proj_size={other.proj_size})")
        made = cls(
            other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first, other.dropout, other.bidirectional,
            split_gates=split_gates,
        )  # fmt: skip
        made.qconfig = getattr(other, "qconfig", qconfig)
        for i, layer in enumerate(made.layers):
            for suffix, name in (("", "layer_fw"), ("_reverse", "layer_bw"))[: 2 if other.bidirectional else 1]:
                wanted = [f"{kind}_l{i}{suffix}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
                getattr(layer, name).cell = LSTMCell.from_params(*(getattr(other, w, None) for w in wanted))
        return _observed(made, other.training)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """NotImplementedError: this is the observed layer; ``torch.ao.nn.quantized.LSTM`` is made of it."""
        raise NotImplementedError(
            "quantizable.LSTM.from_observed: torch.ao.nn.quantized.LSTM is made of an observed layer"
        )
