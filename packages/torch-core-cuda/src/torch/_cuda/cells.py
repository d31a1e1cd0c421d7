"""Recurrent layers: a sequence as one kernel each way where the weights of its state have room in shared memory, else a step.

``torch_cuda::recurrence`` takes the gates of the input for all steps, the first state and the weights of the state; its derivative
gives gradients of gates, of which those of the weights are a product.

``torch_cuda::lstm_cell`` takes the gates that come from the input and from the state, and gives the new state and the gates as they
acted, from which its derivative is computed. The derivative of the derivative is that of the composed formula.
"""

import torch
from torch import library

from . import _native
from .attention import _library

__all__ = ["gru_step", "lstm_step", "recurrence"]

#: what the kernels compute
DTYPES = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))

_library.define("lstm_cell(Tensor x, Tensor h, Tensor c) -> (Tensor, Tensor, Tensor)")
_library.define(
    "lstm_cell_backward(Tensor? grad_h, Tensor? grad_c, Tensor acted, Tensor c, Tensor new_c, Tensor x, Tensor h) -> (Tensor, Tensor)"
)
_library.define("gru_cell(Tensor x, Tensor h, Tensor before) -> (Tensor, Tensor)")
_library.define(
    "gru_cell_backward(Tensor grad, Tensor acted, Tensor before, Tensor x, Tensor h) -> (Tensor, Tensor, Tensor)"
)
_library.impl("lstm_cell", _native.lstm_cell, "CUDA")
_library.impl("gru_cell", _native.gru_cell, "CUDA")
# x and h are for the second derivative only
_library.impl("lstm_cell_backward", lambda *a: _native.lstm_cell_backward(*a[:5]), "CUDA")
_library.impl("gru_cell_backward", lambda *a: _native.gru_cell_backward(*a[:3]), "CUDA")
_library.define(
    "recurrence(Tensor gates, Tensor h, Tensor? c, Tensor w, Tensor b, str kind, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)"
)
_library.define(
    "recurrence_backward(Tensor? grad, Tensor? grad_c, Tensor gates, Tensor h, Tensor? c, Tensor w, Tensor b, Tensor out, "
    "Tensor cells, Tensor acted, str kind, bool reverse) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
_library.impl("recurrence", _native.recurrence, "CUDA")


def _rows(t):
    """The matrix with its columns beside each other."""
    return t if t is None or t.stride(1) == 1 or t.shape[1] <= 1 else t.contiguous()


def _wide(t):
    return t.new_empty((t.shape[0], 4 * t.shape[1]))


library.register_fake("torch_cuda::lstm_cell", lambda x, h, c: (torch.empty_like(c), torch.empty_like(c), _wide(c)))
library.register_fake(
    "torch_cuda::lstm_cell_backward", lambda gh, gc, acted, c, new_c, x, h: (_wide(c), torch.empty_like(c))
)
library.register_fake("torch_cuda::gru_cell", lambda x, h, before: (torch.empty_like(before), _wide(before)))
library.register_fake(
    "torch_cuda::gru_cell_backward",
    lambda grad, acted, before, x, h: (torch.empty_like(x), torch.empty_like(h), torch.empty_like(before)),
)


def composed_lstm(x, h, c):
    """The same in operators."""
    i, f, g, o = (x + h).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def composed_gru(x, h, before):
    """The same in operators."""
    r_x, z_x, n_x = x.chunk(3, 1)
    r_h, z_h, n_h = h.chunk(3, 1)
    n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return (n + torch.sigmoid(z_x + z_h) * (before - n),)


def _save_lstm(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, output[1], output[2])


def _lstm_backward(ctx, grad_h, grad_c, grad_acted):
    x, h, c, new_c, acted = ctx.saved_tensors
    if grad_h is None and grad_c is None:
        return None, None, None
    gates, before = torch.ops.torch_cuda.lstm_cell_backward(_rows(grad_h), _rows(grad_c), acted, c, new_c, x, h)
    return gates, gates, before


def _save_gru(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, output[1])


def _gru_backward(ctx, grad, grad_acted):
    x, h, before, acted = ctx.saved_tensors
    if grad is None:
        return None, None, None
    return torch.ops.torch_cuda.gru_cell_backward(_rows(grad), acted, before, x, h)


def _second(formula, given, grads, weights):
    """Gradients of ``sum(weights * gradients of the formula)`` by what is given and by ``grads``."""
    with torch.enable_grad():
        given = [t.detach().requires_grad_() for t in given]
        grads = [None if g is None else g.detach().requires_grad_() for g in grads]
        pairs = [(o, g) for o, g in zip(formula(*given), grads, strict=False) if g is not None]
        first = torch.autograd.grad([o for o, _ in pairs], given, [g for _, g in pairs], create_graph=True)
        total = sum((f * w).sum() for f, w in zip(first, weights, strict=True) if w is not None)
        wanted = [*given, *(g for g in grads if g is not None)]
        found = iter(torch.autograd.grad(total, wanted, allow_unused=True))
    of_given = [next(found) for _ in given]
    return of_given, [None if g is None else next(found) for g in grads]


def _save_lstm_backward(ctx, inputs, output):
    grad_h, grad_c, _, c, _, x, h = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(grad_h, grad_c, x, h, c)


def _lstm_second(ctx, of_gates, of_before):
    grad_h, grad_c, *given = ctx.saved_tensors
    # the gradient of the gates is that of x and of h, of which one was given
    (x, h, c), (gh, gc) = _second(composed_lstm, given, (grad_h, grad_c), (of_gates, None, of_before))
    return gh, gc, None, c, None, x, h


def _save_gru_backward(ctx, inputs, output):
    grad, _, before, x, h = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(grad, x, h, before)


def _gru_second(ctx, *weights):
    grad, *given = ctx.saved_tensors
    (x, h, before), (g,) = _second(composed_gru, given, (grad,), weights)
    return g, None, before, x, h


def composed_recurrence(kind, reverse, gates, h, *rest):
    """The same in operators: outputs, and the last cell of LSTM."""
    *cells, w, b = rest
    steps, outputs = gates.unbind(0), []
    for gate in reversed(steps) if reverse else steps:
        of_state = torch.addmm(b, h, w.t())
        if kind == "LSTM":
            h, *cells = composed_lstm(gate, of_state, *cells)
        elif kind == "GRU":
            (h,) = composed_gru(gate, of_state, h)
        else:
            h = (torch.tanh if kind == "RNN_TANH" else torch.relu)(gate + of_state)
        outputs.append(h)
    return torch.stack(outputs[::-1] if reverse else outputs), *cells


def _no_cell(h):
    return h.new_empty((0, *h.shape[1:]))


@library.register_fake("torch_cuda::recurrence")
def _shapes(gates, h, c, w, b, kind, reverse):
    steps, batch, size = *gates.shape[:2], h.shape[1]
    last = _no_cell(h) if c is None else torch.empty_like(c)
    of_cells = gates.new_empty((0 if c is None else steps, batch, size))
    return (
        h.new_empty((steps, batch, size)),
        last,
        of_cells,
        h.new_empty((steps, batch, 0 if kind[:3] == "RNN" else 4 * size)),
    )


@library.register_fake("torch_cuda::recurrence_backward")
def _shapes_of_backward(grad, grad_c, gates, h, c, w, b, out, cells, acted, kind, reverse):
    return tuple(torch.empty_like(t) for t in (gates, h, _no_cell(h) if c is None else c, w, b))


def _run_backward(grad, grad_c, gates, h, c, w, b, out, *rest):
    of_gates, of_state, of_h, of_c = _native.recurrence_backward(grad, grad_c, gates, h, c, w, b, out, *rest)
    before = torch.cat([out[1:], h[None]] if rest[-1] else [h[None], out[:-1]])
    rows = of_state.flatten(0, 1)
    return of_gates, of_h, of_c, rows.t() @ before.flatten(0, 1), rows.sum(0)


_library.impl("recurrence_backward", _run_backward, "CUDA")


def _save_recurrence(ctx, inputs, output):
    *given, ctx.kind, ctx.reverse = inputs
    out, _, cells, acted = output
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*given, out, cells, acted)


def _recurrence_backward(ctx, grad, grad_c, *_):
    gates, h, c, w, b, out, cells, acted = ctx.saved_tensors
    grad_c = None if c is None else grad_c  # tangents have one of nothing, too
    if grad is None and grad_c is None:
        return (None,) * 7
    found = torch.ops.torch_cuda.recurrence_backward(
        grad, grad_c, gates, h, c, w, b, out, cells, acted, ctx.kind, ctx.reverse
    )
    of_gates, of_h, of_c, of_w, of_b = found
    return of_gates, of_h, None if c is None else of_c, of_w, of_b, None, None


def _save_recurrence_backward(ctx, inputs, output):
    ctx.kind, ctx.reverse = inputs[-2:]
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:7])


def _recurrence_second(ctx, *weights):
    grad, grad_c, *given = ctx.saved_tensors
    has_cell = given[2] is not None
    if not has_cell:
        del given[2]
        weights = (*weights[:2], *weights[3:])

    def formula(*tensors):
        return composed_recurrence(ctx.kind, ctx.reverse, *tensors)

    grads = (grad, grad_c) if has_cell else (grad,)
    of_given, of_grads = _second(formula, given, grads, weights)
    if not has_cell:
        of_given.insert(2, None)
        of_grads.append(None)
    return *of_grads, *of_given, *(None,) * 5


for _name, _backward, _setup in (
    ("lstm_cell", _lstm_backward, _save_lstm),
    ("lstm_cell_backward", _lstm_second, _save_lstm_backward),
    ("gru_cell", _gru_backward, _save_gru),
    ("gru_cell_backward", _gru_second, _save_gru_backward),
    ("recurrence", _recurrence_backward, _save_recurrence),
    ("recurrence_backward", _recurrence_second, _save_recurrence_backward),
):
    library.register_autograd(f"torch_cuda::{_name}", _backward, setup_context=_setup)


def _fit(state, *gates):
    return all(t.dtype is state.dtype and t.device == state.device and t.dim() == 2 for t in gates) and (
        state.dtype in DTYPES and state.dim() == 2
    )


def lstm_step(x, h, c):
    """The new h and c by gates (N, 4 size) of the input and the state, or None where the kernel does not take them."""
    return torch.ops.torch_cuda.lstm_cell(_rows(x), _rows(h), _rows(c))[:2] if _fit(c, x, h) else None


def gru_step(x, h, before):
    """The new state by gates (N, 3 size) of the input and the state, or None where the kernel does not take them."""
    return torch.ops.torch_cuda.gru_cell(_rows(x), _rows(h), _rows(before))[0] if _fit(before, x, h) else None


def recurrence(kind, gates, state, w, b, reverse):
    """Outputs and the last state of a layer by gates (T, N, gates) of the input, or None where the kernel does not take them."""
    h = state[0]
    if gates.dim() != 3 or not len(gates) or h.dtype not in DTYPES:
        return None
    if not all(t.dtype is h.dtype and t.device == h.device for t in (gates, *state, w)):
        return None
    if not _native.has_recurrence(h.device.index, h.dtype, kind, h.shape[1]):
        return None
    b = w.new_zeros(len(w)) if b is None else b
    c = state[1] if kind == "LSTM" else None
    out, last_cell, *_ = torch.ops.torch_cuda.recurrence(gates, h, c, w, b, kind, reverse)
    last = out[0 if reverse else -1]
    return out, (last,) if c is None else (last, last_cell)
