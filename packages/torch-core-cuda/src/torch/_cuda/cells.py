"""Steps of recurrent layers. A whole sequence is the core's ``_recurrence`` (core/src/cuda/recurrence.cpp).

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


for _name, _backward, _setup in (
    ("lstm_cell", _lstm_backward, _save_lstm),
    ("lstm_cell_backward", _lstm_second, _save_lstm_backward),
    ("gru_cell", _gru_backward, _save_gru),
    ("gru_cell_backward", _gru_second, _save_gru_backward),
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
    """None: torch-nn 0.1.0 asks for a sequence here, and goes step by step; later ones call the core's ``_recurrence``."""
