"""LSTM, GRU and RNN: the usual ones by the operator of torch, others step by step as the standard writes them."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from . import reader

_ORDER = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}  # ONNX's gates in our order
_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


@reader("LSTM", "GRU", "RNN")
def recurrent(x, w, r, b=None, lengths=None, first_h=None, first_c=None, peepholes=None, hidden_size=None, direction="forward",
              linear_before_reset=0, activations=None, activation_alpha=None, activation_beta=None, clip=None, input_forget=0, layout=0,
              output_sequence=0, kind="RNN"):  # fmt: skip
    if layout:  # batches stand first
        x = x.transpose(0, 1)
        first_h, first_c = (s if s is None else s.transpose(0, 1) for s in (first_h, first_c))
    ways = 2 if direction == "bidirectional" else 1
    states = [s if s is not None else x.new_zeros(ways, x.shape[1], r.shape[2]) for s in (first_h, first_c)]
    states = states[: 2 if kind == "LSTM" else 1]
    relu = kind == "RNN" and activations == ["Relu"] * ways
    usual = activations in (None, _USUAL[kind] * ways) or relu
    plain = lengths is None and peepholes is None and not clip and not input_forget and direction != "reverse"
    if usual and plain and (kind != "GRU" or linear_before_reset):
        out, *last = _by_operator(x, w, r, b, states, kind, ways, relu)
    else:
        functions = _functions(activations or _USUAL[kind] * ways, activation_alpha, activation_beta)
        each = len(_USUAL[kind])
        outs, lasts = [], []
        for way in range(ways):
            part = [t if t is None else t[way] for t in (w, r, b, peepholes)]
            backward = direction == "reverse" or way == 1
            out, last = _by_steps(
                x, *part, lengths, [s[way] for s in states], kind, functions[each * way : each * (way + 1)], backward,
                linear_before_reset, clip, input_forget,
            )  # fmt: skip
            outs.append(out)
            lasts.append(last)
        out, last = torch.stack(outs, 1), [torch.stack(parts) for parts in zip(*lasts, strict=True)]
    if layout:
        return (out.permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in last))
    return (out, *last)


def _by_operator(x, w, r, b, states, kind, ways, relu):
    from torch.export._leaves import recurrent

    def gates(part):
        return torch.cat([part.chunk(len(_ORDER[kind]), 0)[i] for i in _ORDER[kind]], 0)

    weights = []
    for way in range(ways):
        weights += [gates(w[way]), gates(r[way])]
        if b is not None:
            weights += [gates(half) for half in b[way].chunk(2)]
    mode = kind if kind != "RNN" else "RNN_RELU" if relu else "RNN_TANH"
    out, *last = recurrent(x, states, weights, mode, 1, ways == 2, b is not None)
    return (out.reshape(*out.shape[:2], ways, -1).transpose(1, 2), *last)


def _functions(names, alphas, betas):
    """Functions by their names; some take alpha and beta from lists that go on from one to the next."""
    alphas, betas = list(alphas or ()), list(betas or ())
    take = lambda values, usual: values.pop(0) if values else usual
    made = []
    for name in names:
        key = name.lower()
        if key in ("tanh", "sigmoid", "relu", "softsign", "softplus"):
            made.append({"softsign": F.softsign, "softplus": F.softplus}.get(key) or getattr(torch, key))
        elif key == "leakyrelu":
            made.append(lambda x, a=take(alphas, 0.01): F.leaky_relu(x, a))
        elif key == "thresholdedrelu":
            made.append(lambda x, a=take(alphas, 1.0): torch.where(x > a, x, torch.zeros_like(x)))
        elif key == "elu":
            made.append(lambda x, a=take(alphas, 1.0): F.elu(x, a))
        elif key in ("affine", "scaledtanh", "hardsigmoid"):
            a, b = take(alphas, 0.2 if key == "hardsigmoid" else 1.0), take(betas, 0.5 if key == "hardsigmoid" else 0.0)
            made.append(
                {
                    "affine": lambda x, a=a, b=b: a * x + b,
                    "scaledtanh": lambda x, a=a, b=b: a * torch.tanh(b * x),
                    "hardsigmoid": lambda x, a=a, b=b: (a * x + b).clamp(0, 1),
                }[key]
            )
        else:
            raise NotImplementedError(f"onnx.load: activation {name!r} of a recurrent layer")
    return made


def _by_steps(
    x, w, r, b, peepholes, lengths, states, kind, functions, backward, linear_before_reset, clip, input_forget
):
    """One direction: all results, and the states behind the last step of each line."""
    turns, batch, _ = x.shape
    bias_w, bias_r = (x.new_zeros(len(w)), x.new_zeros(len(w))) if b is None else b.chunk(2)
    inputs = F.linear(x, w, bias_w)
    held = (lambda v: v) if not clip else (lambda v: v.clamp(-clip, clip))
    ends = torch.full((batch,), turns) if lengths is None else lengths.to(torch.int64)
    outs = [x.new_zeros(batch, r.shape[1])] * turns
    for turn in reversed(range(turns)) if backward else range(turns):
        if kind == "LSTM":
            new = _lstm(inputs[turn], r, bias_r, peepholes, states, functions, held, input_forget)
        elif kind == "GRU":
            new = [_gru(inputs[turn], r, bias_r, states[0], functions, held, linear_before_reset)]
        else:
            new = [functions[0](held(inputs[turn] + F.linear(states[0], r, bias_r)))]
        there = (turn < ends).unsqueeze(1)  # lines that are over keep their states
        states = [torch.where(there, n, s) for n, s in zip(new, states, strict=True)]
        outs[turn] = torch.where(there, new[0], torch.zeros_like(new[0]))
    return torch.stack(outs) if turns else x.new_zeros(0, batch, r.shape[1]), states


def _lstm(given, r, bias, peepholes, states, functions, held, input_forget):
    h, c = states
    f, g, k = functions
    i, o, forget, cell = (given + F.linear(h, r, bias)).chunk(4, -1)
    p_i, p_o, p_f = peepholes.chunk(3) if peepholes is not None else (0, 0, 0)
    i = f(held(i + p_i * c))
    forget = 1 - i if input_forget else f(held(forget + p_f * c))
    c = forget * c + i * g(held(cell))
    o = f(held(o + p_o * c))
    return [o * k(c), c]


def _gru(given, r, bias, h, functions, held, linear_before_reset):
    f, g = functions
    (z, reset, new), (r_z, r_r, r_n), (b_z, b_r, b_n) = given.chunk(3, -1), r.chunk(3), bias.chunk(3)
    z = f(held(z + F.linear(h, r_z, b_z)))
    reset = f(held(reset + F.linear(h, r_r, b_r)))
    hidden = reset * F.linear(h, r_n, b_n) if linear_before_reset else F.linear(reset * h, r_n, b_n)
    return (1 - z) * g(held(new + hidden)) + z * h
