"""Recurrent layers as programs: what scripts use in place of ``torch.nn``'s, and for ``torch.lstm`` of archives.

Weights come as in archives: for each layer, and within it for each direction, w_ih, w_hh and, with biases, b_ih, b_hh, and
w_hr where the state is projected.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .library import REPLACED, handles
from .values import Static

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]


def static_range(n):
    """``range(n)`` whose turns are compiled one by one."""
    return tuple(range(n))


@handles(static_range)
def _static_range(emitter, n):
    count = emitter.static(n, "the number of layers")
    if type(count) is not int or count > 1000:
        raise emitter.error(f"a recurrent layer of {count} layers")
    return Static(tuple(range(count)))


def _lstm_layer(x, h, c, weights, first, biases, projected, reverse):
    w_hh = weights[first + 1]
    b_ih = weights[first + 2] if biases else None
    b_hh = weights[first + 3] if biases else None
    gates_x = F.linear(x, weights[first], b_ih)
    outputs: list[Tensor] = []
    n = x.size(0)
    for t in range(n):
        at = n - 1 - t if reverse else t
        i, f, g, o = (gates_x[at] + F.linear(h, w_hh, b_hh)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        if projected:
            h = F.linear(h, weights[first + (4 if biases else 2)])
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), h, c


def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first=False, projected=False):
    """All layers of an LSTM: the outputs, the last states and cells."""
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    each = (4 if has_biases else 2) + (1 if projected else 0)
    hs: list[Tensor] = []
    cs: list[Tensor] = []
    for layer in static_range(num_layers):
        i = layer * directions
        forward, h, c = _lstm_layer(x, hx[0][i], hx[1][i], params, i * each, has_biases, projected, False)
        hs.append(h)
        cs.append(c)
        if bidirectional:
            backward, h, c = _lstm_layer(
                x, hx[0][i + 1], hx[1][i + 1], params, (i + 1) * each, has_biases, projected, True
            )
            hs.append(h)
            cs.append(c)
            forward = torch.cat([forward, backward], -1)
        x = forward
        if dropout > 0 and layer < num_layers - 1:
            x = F.dropout(x, dropout, train)
    return x.transpose(0, 1) if batch_first else x, torch.stack(hs), torch.stack(cs)


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


def _layer(step, x, h, weights, first, biases, reverse):
    w_hh = weights[first + 1]
    b_ih = weights[first + 2] if biases else None
    b_hh = weights[first + 3] if biases else None
    gates = F.linear(x, weights[first], b_ih)
    outputs: list[Tensor] = []
    n = x.size(0)
    for t in range(n):
        h = step(gates[n - 1 - t if reverse else t], h, w_hh, b_hh)
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), h


def _rnn(step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    hs: list[Tensor] = []
    for layer in static_range(num_layers):
        i = layer * directions
        forward, h = _layer(step, x, hx[i], params, i * each, has_biases, False)
        hs.append(h)
        if bidirectional:
            backward, h = _layer(step, x, hx[i + 1], params, (i + 1) * each, has_biases, True)
            hs.append(h)
            forward = torch.cat([forward, backward], -1)
        x = forward
        if dropout > 0 and layer < num_layers - 1:
            x = F.dropout(x, dropout, train)
    return x.transpose(0, 1) if batch_first else x, torch.stack(hs)


def gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first=False):
    """All layers of a GRU: the outputs and the last states."""
    return _rnn(_gru_step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first=False):
    """All layers of an RNN with tanh."""
    return _rnn(_tanh_step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def rnn_relu(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first=False):
    """All layers of an RNN with relu."""
    return _rnn(_relu_step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


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
    output, h, c = lstm(
        x, (h, c), _weights(self), self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        self.batch_first, self.proj_size > 0,
    )  # fmt: skip
    if input.dim() == 2:
        return output.squeeze(0 if self.batch_first else 1), (h.squeeze(1), c.squeeze(1))
    return output, (h, c)


def _rnn_forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
    x = _batch(self, input)
    places = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        batch = x.size(0 if self.batch_first else 1)
        h = torch.zeros(places, batch, self.hidden_size, dtype=x.dtype, device=x.device)
    else:
        h = hx.unsqueeze(1) if input.dim() == 2 else hx
    step = _tanh_step
    if self.mode == "GRU":
        step = _gru_step
    if self.mode == "RNN_RELU":
        step = _relu_step
    output, h = _rnn(
        step, x, h, _weights(self), self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first
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
