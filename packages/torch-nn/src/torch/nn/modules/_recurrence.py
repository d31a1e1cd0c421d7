"""One direction of one recurrent layer, unrolled over time.

The products of all inputs with the input weights are done at once, before the loop; a step then needs one product with
the hidden state. All steps are one operator where only a result is asked for, also of packed sequences, which are padded.
For those who see operators (traces, modes, classes of tensors, examples of ``vmap``), sequences of very unequal lengths and
projections they are made of steps: a step function takes the gates that come from the input, the state and the hidden
weights, and returns the new state, whose first tensor is the output.
"""

import torch
from torch import _seams

from .. import functional as F
from ..functional._ops import ops

__all__ = ["GATES", "STEPS", "run", "unroll"]


def product(x, weight, bias):
    """``x @ weight^T + bias``; a weight that is not held in floats is a function of ``x``, which adds its bias."""
    return weight(x) if callable(weight) else F.linear(x, weight, bias)


def lstm_step(gates, state, w_hh, b_hh, w_hr=None):
    """``c' = f c + i g``, ``h' = o tanh(c')`` (Hochreiter 1997, with the forget gate of Gers 1999); w_hr projects h'."""
    h, c = state
    of_state = product(h, w_hh, b_hh)
    if gates.is_cuda and (new := _seams.lstm_step_on_cuda(gates, of_state, c)) is not None:
        h, c = new
        return (h if w_hr is None else F.linear(h, w_hr)), c
    i, f, g, o = (gates + of_state).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return (h if w_hr is None else F.linear(h, w_hr)), c


def gru_step(gates, state, w_hh, b_hh, w_hr=None):
    """``h' = (1 - z) n + z h`` with ``n = tanh(W x + r (U h))`` (Cho 2014, reset after the product)."""
    (h,) = state
    of_state = product(h, w_hh, b_hh)
    if gates.is_cuda and (new := _seams.gru_step_on_cuda(gates, of_state, h)) is not None:
        return (new,)
    r_x, z_x, n_x = gates.chunk(3, 1)
    r_h, z_h, n_h = of_state.chunk(3, 1)
    z = torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return (n + z * (h - n),)


def tanh_step(gates, state, w_hh, b_hh, w_hr=None):
    """``h' = tanh(W x + U h)`` (Elman 1990)."""
    return (torch.tanh(gates + product(state[0], w_hh, b_hh)),)


def relu_step(gates, state, w_hh, b_hh, w_hr=None):
    """``h' = relu(W x + U h)``."""
    return (torch.relu(gates + product(state[0], w_hh, b_hh)),)


STEPS = {"LSTM": lstm_step, "GRU": gru_step, "RNN_TANH": tanh_step, "RNN_RELU": relu_step}
_KINDS = {step: kind for kind, step in STEPS.items()}
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def unroll(step, x, batch_sizes, first, weights, directions, dropout):
    """All layers and directions. ``first`` has the states to begin with, each (layers * directions, N, size), and ``weights``
    the five weights of each layer and direction; returns the outputs and the last states, stacked as they came."""
    states, last = list(zip(*(s.unbind(0) for s in first))), []
    for i in range(0, len(weights), directions):
        outputs = []
        for reverse in range(directions):
            output, state = run(step, x, batch_sizes, states[i + reverse], weights[i + reverse], bool(reverse))
            outputs.append(output)
            last.append(state)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout and i + directions < len(weights):
            x = F.dropout(x, dropout, True)
    return x, tuple(torch.stack(states) for states in zip(*last))


def run(step, x, batch_sizes, state, weights, reverse):
    """Unroll ``step`` over ``x``, (T, N, in) or packed (sum of batch_sizes, in); returns the outputs and the last state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    gates = product(x, w_ih, b_ih)
    whole = w_hr is None and not callable(w_hh) and _takes_whole(gates, *state, w_hh, *([] if b_hh is None else [b_hh]))
    if whole and (batch_sizes is None or _pays_padded(gates, batch_sizes)):
        run_whole = _whole if batch_sizes is None else _padded
        return run_whole(_KINDS[step], gates, batch_sizes, state, w_hh, b_hh, reverse)
    if batch_sizes is None:
        steps = gates.unbind(0)
        outputs = []
        for gate in reversed(steps) if reverse else steps:
            state = step(gate, state, w_hh, b_hh, w_hr)
            outputs.append(state[0])
        return torch.stack(outputs[::-1] if reverse else outputs), state
    steps = gates.split(batch_sizes)
    return (_packed_backwards if reverse else _packed_forwards)(step, steps, batch_sizes, state, w_hh, b_hh, w_hr)


def _takes_whole(*tensors):
    """Whether an operator takes all steps, with no one who would see it in their place."""
    first = tensors[0]
    return (
        first.dtype.is_floating_point
        and all(t.dtype is first.dtype and t.layout is torch.strided for t in tensors)
        and not _seams.is_seen(*tensors)
    )


def _whole(kind, gates, batch_sizes, state, w_hh, b_hh, reverse):
    """All steps as one operator: the outputs and the last state."""
    given = (gates, *state, w_hh) if b_hh is None else (gates, *state, w_hh, b_hh)
    keep = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    cell = state[1] if kind == "LSTM" else None
    output, last_cell, *_ = ops._recurrence(gates, state[0], cell, w_hh, b_hh, kind, reverse, keep)
    last = output[0 if reverse else -1]
    return output, (last,) if cell is None else (last, last_cell)


#: What a gate is where a sequence has ended: of LSTM the cell stays, of ReLU the state is 0, and others are bounded.
_PADDING = {"LSTM": (-torch.inf, torch.inf, 0, 0), "GRU": (0, 0, 0), "RNN_TANH": (0,), "RNN_RELU": (-torch.inf,)}


def _pays_padded(gates, batch_sizes):
    """Whether packed sequences of ``batch_sizes`` are taken whole, with padding behind them: a fifth of all at most, or a half
    on CUDA, where launches cost more, but not while a graph is captured, which takes no places from the host."""
    padded = len(batch_sizes) * batch_sizes[0]
    if gates.is_cuda:
        return padded <= 2 * len(gates) and not torch.cuda.is_current_stream_capturing()
    return padded <= 1.25 * len(gates)


def _padded(kind, gates, batch_sizes, state, w_hh, b_hh, reverse):
    """Packed sequences as one operator: each begins at the first step, from its end where it is gone through in ``reverse``."""
    sizes, most = torch.tensor(batch_sizes), batch_sizes[0]
    steps, examples = torch.arange(len(sizes)), torch.arange(most)
    lengths = (sizes[:, None] > examples).sum(0)
    time = steps.repeat_interleave(sizes)
    example = torch.arange(len(gates)) - (sizes.cumsum(0) - sizes)[time]
    places = (lengths[example] - 1 - time if reverse else time) * most + example
    ends = (lengths - 1) * most + examples
    places, ends = torch.cat((places, ends)).to(gates.device).split((len(gates), most))
    padding = gates.new_tensor(_PADDING[kind]).repeat_interleave(state[0].shape[1])
    padded = padding.expand(len(sizes) * most, -1).index_copy(0, places, gates).unflatten(0, (len(sizes), most))
    output, last = _whole(kind, padded, None, state, w_hh, b_hh, False)
    output = output.flatten(0, 1)
    return output[places], (output[ends], *last[1:])


def _packed_forwards(step, steps, batch_sizes, state, w_hh, b_hh, w_hr):
    """Sequences are sorted by length: those that end leave the batch at its tail, and their state is final."""
    outputs, finished = [], []
    for gate, size in zip(steps, batch_sizes):
        if size < state[0].shape[0]:
            finished.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(gate, state, w_hh, b_hh, w_hr)
        outputs.append(state[0])
    finished.append(state)
    return torch.cat(outputs), tuple(torch.cat(parts[::-1]) for parts in zip(*finished))


def _packed_backwards(step, steps, batch_sizes, state, w_hh, b_hh, w_hr):
    """From the end of the longest sequence: the others join the batch, with their first state, as they begin."""
    first = state
    state = tuple(s[: batch_sizes[-1]] for s in first)
    outputs = []
    for gate, size in zip(reversed(steps), reversed(batch_sizes)):
        have = state[0].shape[0]
        if size > have:
            state = tuple(torch.cat([s, f[have:size]]) for s, f in zip(state, first))
        state = step(gate, state, w_hh, b_hh, w_hr)
        outputs.append(state[0])
    return torch.cat(outputs[::-1]), state
