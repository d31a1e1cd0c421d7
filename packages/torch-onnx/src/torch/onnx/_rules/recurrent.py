"""RNN, LSTM and GRU: one node for each layer."""

from __future__ import annotations

import torch

from . import rule

#: our gates in the order of ONNX: LSTM has i f g o there as i o f g, GRU r z n as z r n
_GATES = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN_TANH": [0], "RNN_RELU": [0]}


@rule("recurrent")
def recurrent(w, a, out):
    ways, each = 2 if a.bidirectional else 1, 4 if a.bias else 2
    x, last = w.name(a.input), [[] for _ in a.states]
    hidden = a.weights[1].shape[1]
    for layer in range(a.layers):
        own = [a.weights[(layer * ways + way) * each :][:each] for way in range(ways)]
        kernel, state = (_joined(w, [_gates(w, weights[i], a.mode) for weights in own]) for i in (0, 1))
        bias = None
        if a.bias:
            bias = _joined(
                w, [w.op("Concat", *(_gates(w, weights[i], a.mode) for i in (2, 3)), axis=0) for weights in own]
            )
        first = [w.slice(s, 0, layer * ways, (layer + 1) * ways) for s in a.states]
        attributes = {"hidden_size": hidden, "direction": "bidirectional" if ways == 2 else "forward"}
        if a.mode == "GRU":
            attributes["linear_before_reset"] = 1
        elif a.mode != "LSTM":
            attributes["activations"] = ["Tanh" if a.mode == "RNN_TANH" else "Relu"] * ways
        kind = a.mode.partition("_")[0]
        steps, *states = w.op(kind, x, kernel, state, bias, None, *first, outputs=1 + len(first), **attributes)
        # (T, ways, N, hidden) -> (T, N, ways * hidden)
        x = w.squeeze(steps, 1) if ways == 1 else w.op(
            "Reshape", w.op("Transpose", steps, perm=[0, 2, 1, 3]), w.const([0, 0, -1], torch.int64)
        )  # fmt: skip
        for total, found in zip(last, states, strict=True):
            total.append(found)
    return (x, *(_along(w, parts) for parts in last))


def _gates(w, weight, mode):
    """A weight or bias with its gates in ONNX's order, at once where it is the model's own."""
    order, name = _GATES[mode], w.name(weight)
    if len(order) == 1:
        return name
    held = w.initializers.get(name)
    if held is not None and w.fold:
        made = torch.cat([held.chunk(len(order), 0)[i] for i in order], 0)
        return w.const(made)
    size = weight.shape[0] // len(order)
    parts = w.op("Split", name, w.const([size] * len(order), torch.int64), axis=0, outputs=len(order))
    return w.op("Concat", *(parts[i] for i in order), axis=0)


def _joined(w, parts):
    """The directions as one tensor with a new first dim."""
    held = [w.initializers.get(p) for p in parts]
    if w.fold and all(h is not None for h in held):
        return w.const(torch.stack(held))
    return _along(w, [w.unsqueeze(p, 0) for p in parts])


def _along(w, parts):
    return parts[0] if len(parts) == 1 else w.op("Concat", *parts, axis=0)
