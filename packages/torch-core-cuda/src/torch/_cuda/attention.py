"""Attention as one kernel each way: two operators that stand where ``scaled_dot_product_attention`` would compose ten.

``torch_cuda::attention`` gives the result and the logarithm of each row's sum, from which its derivative computes the scores
again; neither keeps a matrix of scores. The derivative of the derivative is that of the composed formula.
"""

import math

import torch
from torch import library

from . import _native

ARGUMENTS = "Tensor query, Tensor key, Tensor value, Tensor? mask"

_library = library.Library("torch_cuda", "DEF")
_library.define(f"attention({ARGUMENTS}, bool is_causal, float scale, float dropout) -> (Tensor, Tensor, Tensor)")
_library.define(
    f"attention_backward(Tensor grad, {ARGUMENTS}, Tensor out, Tensor log, Tensor drawn, bool is_causal, float scale, "
    "float dropout, bool of_mask) -> (Tensor, Tensor, Tensor, Tensor?)"
)
_library.impl("attention", _native.attention, "CUDA")
_library.impl("attention_backward", _native.attention_backward, "CUDA")


def _beside(t):
    """The tensor with its columns beside each other."""
    return t if t.stride(-1) == 1 or t.shape[-1] <= 1 else t.contiguous()


def _dtype_of_sums(t):
    return t.dtype if t.dtype is torch.float64 else torch.float32


@library.register_fake("torch_cuda::attention")
def _shapes(query, key, value, mask, is_causal, scale, dropout):
    out = query.new_empty((*query.shape[:3], value.shape[3]))
    drawn = query.new_empty(2 if dropout else 0, dtype=torch.int64)
    return out, query.new_empty(query.shape[:3], dtype=_dtype_of_sums(query)), drawn


@library.register_fake("torch_cuda::attention_backward")
def _shapes_of_backward(grad, query, key, value, mask, out, log, drawn, is_causal, scale, dropout, of_mask):
    grad_mask = log.new_empty(mask.shape) if of_mask else None
    return *(t.new_empty(t.shape) for t in (query, key, value)), grad_mask


def composed(query, key, value, mask, is_causal, scale, kept=None, dropout=0.0):
    """The same in operators; ``kept`` says which weights dropout left."""
    scores = (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype is torch.bool else scores + mask
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    if kept is not None:
        weights = weights * kept * (0.0 if dropout == 1 else 1 / (1 - dropout))
    return weights @ value


def _save(ctx, inputs, output):
    *tensors, ctx.is_causal, ctx.scale, ctx.dropout = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors, *output)


def _backward(ctx, grad, *_):
    query, key, value, mask, out, log, drawn = ctx.saved_tensors
    if grad is None:
        return (None,) * 7
    settings = ctx.is_causal, ctx.scale, ctx.dropout, ctx.needs_input_grad[3]
    grads = torch.ops.torch_cuda.attention_backward(_beside(grad), query, key, value, mask, out, log, drawn, *settings)
    return *grads, None, None, None


library.register_autograd("torch_cuda::attention", _backward, setup_context=_save)


def _save_of_backward(ctx, inputs, output):
    *tensors, ctx.is_causal, ctx.scale, ctx.dropout, ctx.of_mask = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors[:5], tensors[7])


def _second(ctx, *grads):
    with torch.enable_grad():
        # as of (grad, query, key, value, mask): out and log follow from them
        *given, mask, drawn = ctx.saved_tensors
        sums = _dtype_of_sums(given[0])
        given = [t.detach().to(sums).requires_grad_() for t in given]
        if ctx.of_mask:
            mask = mask.detach().requires_grad_()
        sizes = [*given[1].shape[:3], given[2].shape[2]]
        kept = _native.attention_kept(drawn, sizes, ctx.dropout) if ctx.dropout else None
        out = composed(*given[1:], mask, ctx.is_causal, ctx.scale, kept, ctx.dropout)
        of = [*given, mask] if ctx.of_mask else given
        first = torch.autograd.grad(out, of[1:], given[0], create_graph=True)
        pairs = zip(first, grads[: len(first)], strict=True)
        total = sum((f * g.to(sums)).sum() for f, g in pairs if g is not None)
        found = torch.autograd.grad(total, of, allow_unused=True)
    dtype = ctx.saved_tensors[0].dtype
    of_mask = found[4] if ctx.of_mask else None
    return *(None if g is None else g.to(dtype) for g in found[:4]), of_mask, *(None,) * 7


library.register_autograd("torch_cuda::attention_backward", _second, setup_context=_save_of_backward)


def _by_groups(query, key, value, mask):
    """The same with a dim for the heads that share one of key and value, which are not repeated; None where they do not fit."""
    heads, shared = query.shape[-3], key.shape[-3]
    if not shared or value.shape[-3] != shared or heads % shared:
        return None
    if mask is not None and mask.dim() > 2:
        mask = mask.unsqueeze(-3) if mask.shape[-3] == 1 else mask.unflatten(-3, (shared, heads // shared))
    return query.unflatten(-3, (shared, heads // shared)), key.unsqueeze(-3), value.unsqueeze(-3), mask


def attend(query, key, value, mask, is_causal, scale, enable_gqa=False, dropout=0.0):
    """``scaled_dot_product_attention``, or None where the kernels do not take what is given."""
    if enable_gqa:
        fits = min(query.dim(), key.dim(), value.dim()) > 2 and (
            mask is None or mask.dim() < 3 or mask.shape[-3] in (1, query.shape[-3])
        )
        groups = _by_groups(query, key, value, mask) if fits else None
        if groups is None:
            return None  # the composed form names what does not fit
        out = attend(*groups, is_causal, scale, dropout=dropout)
        return None if out is None else out.flatten(-4, -3)
    length, width, size = query.shape[-2], query.shape[-1], key.shape[-2]
    fits = key.shape[-1] == width and value.shape[-2] == size and key.device == value.device == query.device
    if not fits or not width or not _native.has_attention(query.device.index, query.dtype, max(width, value.shape[-1])):
        return None
    if mask is not None:
        sums = _dtype_of_sums(query)
        if mask.device != query.device or mask.dtype not in (
            torch.bool,
            torch.float16,
            torch.bfloat16,
            torch.float32,
            sums,
        ):
            return None
        mask = mask if mask.dtype is torch.bool else mask.to(sums)
    try:
        batch = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        mask = None if mask is None else mask.expand(*batch, length, size)
        if dropout and torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]) != batch:
            return None  # heads of the value would have one draw for several
    except RuntimeError:
        return None  # the composed form names what does not fit

    *outer, heads = (1,) * (2 - len(batch)) + tuple(batch)

    def four(t):
        t = t[(None,) * (3 + len(outer) - t.dim())]
        return t.expand(*outer, *t.shape[-3:]).flatten(0, -4).expand(-1, heads, -1, -1)  # heads that share one stay one

    scale = 1 / math.sqrt(width) if scale is None else float(scale)
    parts = (_beside(four(t)) for t in (query, key, value))
    out, *_ = torch.ops.torch_cuda.attention(*parts, None if mask is None else four(mask), is_causal, scale, dropout)
    return out.reshape(*batch, length, value.shape[-1])
