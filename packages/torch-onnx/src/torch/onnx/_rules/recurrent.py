"""RNN, LSTM and GRU: one node for each layer, and a Scan for each direction of an LSTM with projections."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from . import rule

#: our gates in the order of ONNX: LSTM has i f g o there as i o f g, GRU r z n as z r n
_GATES = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN_TANH": [0], "RNN_RELU": [0]}


@rule("recurrent")
def recurrent(w, a, out):
    projected, dropout = getattr(a, "projected", False), getattr(a, "dropout", 0.0)
    ways, each = 2 if a.bidirectional else 1, (4 if a.bias else 2) + projected
    x, last = w.name(a.input), [[] for _ in a.states]
    hidden = a.weights[1].shape[1]
    for layer in range(a.layers):
        own = [a.weights[(layer * ways + way) * each :][:each] for way in range(ways)]
        if layer and dropout:
            x = w.op("Dropout", x, w.const(dropout, torch.float32), w.const(True))
        if projected:
            found = [
                _projected(w, a, x, weights, [w.slice(s, 0, place, place + 1) for s in a.states], bool(way))
                for way, (weights, place) in enumerate(zip(own, range(layer * ways, (layer + 1) * ways), strict=True))
            ]
            x = found[0][0] if ways == 1 else w.op("Concat", *(out for out, *_ in found), axis=-1)
            for total, states in zip(last, zip(*(states for _, *states in found), strict=True), strict=True):
                total += states
            continue
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


def _of_operator(mode):
    """The rule of ``lstm``, ``gru``, ``rnn_tanh`` and ``rnn_relu``, which take layers in the order of their own schema."""

    def layers(w, a, out):
        each = len(a.params) // (a.num_layers * (2 if a.bidirectional else 1))
        given = SimpleNamespace(
            input=w.permute(a.input, [1, 0, 2]) if a.batch_first else a.input,
            states=a.hx if mode == "LSTM" else [a.hx], weights=a.params, bias=a.has_biases, layers=a.num_layers,
            bidirectional=a.bidirectional, mode=mode, projected=each % 2 == 1, dropout=a.dropout if a.train else 0.0,
        )  # fmt: skip
        steps, *last = recurrent(w, given, out)
        return (w.permute(steps, [1, 0, 2]) if a.batch_first else steps, *last)

    return layers


for _mode in _GATES:
    rule(_mode.lower())(_of_operator(_mode))


def _projected(w, a, x, weights, states, backward):
    """One direction of an LSTM whose state is a projection of its output, which ONNX's LSTM lacks."""
    kernel, recurrence, *biases, projection = weights
    dtype = kernel.dtype
    gates = w.op("MatMul", x, w.permute(kernel, [1, 0]))
    for bias in biases:
        gates = w.op("Add", gates, bias)
    sizes = w.const([projection.shape[1]] * 4, torch.int64)
    recurrence, projection = w.permute(recurrence, [1, 0]), w.permute(projection, [1, 0])

    def turn(before, given):
        h, c = before
        i, f, g, o = w.op("Split", w.op("Add", given, w.op("MatMul", h, recurrence)), sizes, axis=-1, outputs=4)
        i, f, o = (w.op("Sigmoid", gate) for gate in (i, f, o))
        c = w.op("Add", w.op("Mul", f, c), w.op("Mul", i, w.op("Tanh", g)))
        h = w.op("MatMul", w.op("Mul", o, w.op("Tanh", c)), projection)
        return [h, c], h

    h, c, out = w.scan(turn, [w.squeeze(s, 0) for s in states], gates, dtype, backward)
    return out, w.unsqueeze(h, 0), w.unsqueeze(c, 0)


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
