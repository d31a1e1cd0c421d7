"""Recurrent layers as programs: what scripts use in place of ``torch.nn``'s.

Weights come as in archives: for each layer, and within it for each direction, w_ih, w_hh and, with biases, b_ih, b_hh, and
w_hr where the state is projected.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import rnn
from torch.nn.utils.rnn import PackedSequence

from . import operators, types
from .library import FORMS, REPLACED, handles
from .values import Static

__all__ = []


def _operator(name):
    """Calls of ``torch.lstm`` and the like are the operator's, but for packed sequences: ``(data, batch_sizes, hx, params, ...)``."""
    fn = getattr(torch, name)

    @handles(fn)
    def call(emitter, *args, **kwargs):
        if len(args) > 3 and emitter.type_of(args[3]).kind() == "ListType":
            return emitter.python_operator(name, operators.operator(f"packed_{name}"), list(args), kwargs)
        return emitter.row(name, list(args), kwargs)


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _operator(_name)


def _gru_step(gates, h, w_hh, b_hh):
    r_x, z_x, n_x = gates.chunk(3, 1)
    r_h, z_h, n_h = F.linear(h, w_hh, b_hh).chunk(3, 1)
    z = torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return n + z * (h - n)


def _tanh_step(gates, h, w_hh, b_hh):
    return torch.tanh(gates + F.linear(h, w_hh, b_hh))


def _relu_step(gates, h, w_hh, b_hh):
    return torch.relu(gates + F.linear(h, w_hh, b_hh))


# --- packed sequences ---


def _rows(name):
    """A function of operators of ATen about packed sequences, as scripts call it."""

    def call(*items):
        raise AssertionError(f"{name} is called in scripts only")

    @handles(call)
    def emit(emitter, *items, **kwargs):
        return emitter.python_operator(name, operators.operator(name), list(items), kwargs)

    return call


_pack_rows, _pad_rows = _rows("_pack_padded_sequence"), _rows("_pad_packed_sequence")


def _pack(input: Tensor, lengths: Tensor, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    order: Tensor | None = None
    back: Tensor | None = None
    if not enforce_sorted:
        lengths, places = torch.sort(lengths, descending=True)
        places = places.to(input.device)
        input = input.index_select(0 if batch_first else 1, places)
        order = places
        back = torch.argsort(places)
    data, batch_sizes = _pack_rows(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, back)


def _pad(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    padded, lengths = _pad_rows(sequence.data, sequence.batch_sizes, batch_first, padding_value, steps)
    back = sequence.unsorted_indices
    if back is not None:
        return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]
    return padded, lengths


def _stands_for(function, script):
    @handles(function)
    def call(emitter, *args, **kwargs):
        if function is rnn.pack_padded_sequence:
            args = [emitter.call_python(_lengths, [each], {}) if i == 1 and _is_list(emitter, each) else each
                    for i, each in enumerate(args)]  # fmt: skip
            given = kwargs.get("lengths")
            if given is not None and _is_list(emitter, given):
                kwargs["lengths"] = emitter.call_python(_lengths, [given], {})
        return emitter.call_python(script, list(args), kwargs)


def _lengths(lengths: list[int]) -> Tensor:
    return torch.tensor(lengths)


def _is_list(emitter, item):
    return not emitter.is_value(item) or emitter.type_of(item).kind() == "ListType"


def _pad_list(
    sequences: list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    longest = max([each.size(0) for each in sequences])
    rows: list[Tensor] = []
    for each in sequences:
        missing = each.new_full([longest - each.size(0)] + each.shape[1:], padding_value)
        rows.append(torch.cat([missing, each]) if padding_side == "left" else torch.cat([each, missing]))
    return torch.stack(rows, 0 if batch_first else 1)


_stands_for(rnn.pack_padded_sequence, _pack)
_stands_for(rnn.pad_packed_sequence, _pad)
_stands_for(rnn.pad_sequence, _pad_list)


# --- in place of the modules' own ---


def _names(module):
    """The names of the weights, in the order of archives."""


@handles(_names)
def _static_names(emitter, owner):
    python = owner.concrete.python
    found = []
    for layer in range(python.num_layers):
        for suffix in ("", "_reverse")[: 2 if python.bidirectional else 1]:
            kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * bool(python.bias)
            kinds += ["weight_hr"] * bool(python.proj_size)
            found += [f"{kind}_l{layer}{suffix}" for kind in kinds]
    return Static(tuple(found))


def _weights(self):
    return [getattr(self, name) for name in _names(self)]


def _batch(self, input):
    """The input as a batch, and whether it was one."""
    if input.dim() not in (2, 3):
        raise ValueError(f"{self.mode}: expected input to be 2D or 3D, got {input.dim()}D instead")
    if input.size(-1) != self.input_size:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
        )
    return input if input.dim() == 3 else input.unsqueeze(0 if self.batch_first else 1)


def _lstm_forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    x = _batch(self, input)
    places = self.num_layers * (2 if self.bidirectional else 1)
    batch = x.size(0 if self.batch_first else 1)
    if hx is None:
        h = torch.zeros(places, batch, self.proj_size or self.hidden_size, dtype=x.dtype, device=x.device)
        c = torch.zeros(places, batch, self.hidden_size, dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        if input.dim() == 2:
            h = h.unsqueeze(1)
            c = c.unsqueeze(1)
    output, h, c = torch.lstm(
        x, [h, c], _weights(self), self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first,
    )  # fmt: skip
    if input.dim() == 2:
        return output.squeeze(0 if self.batch_first else 1), (h.squeeze(1), c.squeeze(1))
    return output, (h, c)


def _lstm_packed(
    self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
) -> tuple[PackedSequence, tuple[Tensor, Tensor]]:
    order = input.sorted_indices
    back = input.unsorted_indices
    places = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        batch = int(input.batch_sizes[0])
        x = input.data
        h = torch.zeros(places, batch, self.proj_size or self.hidden_size, dtype=x.dtype, device=x.device)
        c = torch.zeros(places, batch, self.hidden_size, dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        if order is not None:
            h = h.index_select(1, order)
            c = c.index_select(1, order)
    output, h, c = torch.lstm(
        input.data, input.batch_sizes, [h, c], _weights(self), self.bias, self.num_layers, self.dropout, self.training,
        self.bidirectional,
    )  # fmt: skip
    if back is not None:
        h = h.index_select(1, back)
        c = c.index_select(1, back)
    return PackedSequence(output, input.batch_sizes, order, back), (h, c)


def _rnn_packed(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]:
    order = input.sorted_indices
    back = input.unsorted_indices
    places = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        batch = int(input.batch_sizes[0])
        h = torch.zeros(places, batch, self.hidden_size, dtype=input.data.dtype, device=input.data.device)
    else:
        h = hx if order is None else hx.index_select(1, order)
    run = torch.rnn_tanh
    if self.mode == "GRU":
        run = torch.gru
    if self.mode == "RNN_RELU":
        run = torch.rnn_relu
    output, h = run(
        input.data, input.batch_sizes, h, _weights(self), self.bias, self.num_layers, self.dropout, self.training,
        self.bidirectional,
    )  # fmt: skip
    if back is not None:
        h = h.index_select(1, back)
    return PackedSequence(output, input.batch_sizes, order, back), h


def _rnn_forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
    x = _batch(self, input)
    places = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        batch = x.size(0 if self.batch_first else 1)
        h = torch.zeros(places, batch, self.hidden_size, dtype=x.dtype, device=x.device)
    else:
        h = hx.unsqueeze(1) if input.dim() == 2 else hx
    run = torch.rnn_tanh
    if self.mode == "GRU":
        run = torch.gru
    if self.mode == "RNN_RELU":
        run = torch.rnn_relu
    output, h = run(
        x, h, _weights(self), self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first
    )  # fmt: skip
    if input.dim() == 2:
        return output.squeeze(0 if self.batch_first else 1), h.squeeze(1)
    return output, h


def _lstm_cell_forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if hx is None:
        h = torch.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
        c = h
    else:
        h, c = hx
        if input.dim() == 1:
            h = h.unsqueeze(0)
            c = c.unsqueeze(0)
    gates = F.linear(x, self.weight_ih, self.bias_ih) + F.linear(h, self.weight_hh, self.bias_hh)
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    if input.dim() == 1:
        return h.squeeze(0), c.squeeze(0)
    return h, c


def _cell_forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if hx is None:
        h = torch.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
    else:
        h = hx.unsqueeze(0) if input.dim() == 1 else hx
    gates = F.linear(x, self.weight_ih, self.bias_ih)
    if isinstance(self, nn.GRUCell):
        h = _gru_step(gates, h, self.weight_hh, self.bias_hh)
    elif self.nonlinearity == "relu":
        h = _relu_step(gates, h, self.weight_hh, self.bias_hh)
    else:
        h = _tanh_step(gates, h, self.weight_hh, self.bias_hh)
    return h.squeeze(0) if input.dim() == 1 else h


REPLACED.update(
    {
        (nn.LSTM, "forward"): _lstm_forward,
        (nn.GRU, "forward"): _rnn_forward,
        (nn.RNN, "forward"): _rnn_forward,
        (nn.LSTMCell, "forward"): _lstm_cell_forward,
        (nn.GRUCell, "forward"): _cell_forward,
        (nn.RNNCell, "forward"): _cell_forward,
    }
)

_PACKED = types.from_annotation(PackedSequence).annotation_str
FORMS.update({_lstm_forward: ("input", _PACKED, _lstm_packed), _rnn_forward: ("input", _PACKED, _rnn_packed)})
