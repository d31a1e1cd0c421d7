"""Attention some rows of queries at a time, so that the scores are never held in full."""

from __future__ import annotations

import math

import torch
from torch.autograd import Function, grad

from ._ops import ops

_AT_ONCE = 1 << 20  # scores that are held at one time: 4 MB of float32
_LEAST_ROWS = 32  # of queries, for products that are worth their call


def pays(query, key, value, mask):
    """Whether there are more scores than are held at one time, of operands that can be cut: batches of one shape, no mask
    with a gradient."""
    batch = query.shape[:-2]
    return (
        query.is_cpu
        and len(batch) > 0
        and batch == key.shape[:-2] == value.shape[:-2]
        and math.prod(batch) * query.shape[-2] * key.shape[-2] > _AT_ONCE
        and not (mask is not None and mask.requires_grad)
    )


class Tiled(Function):
    """The result of ``whole(query, key, value)``, and gradients that compute weights again.

    A backward pass that is recorded itself differentiates ``whole``, so that it has derivatives of any order.
    """

    @staticmethod
    def forward(ctx, whole, mask, is_causal, scale, query, key, value):
        ctx.whole, ctx.mask, ctx.is_causal, ctx.scale = whole, mask, is_causal, scale
        ctx.save_for_backward(query, key, value)
        out = query.new_empty(*query.shape[:-1], value.shape[-1])
        for rows, seen, weights, _ in _tiles(query, key, mask, is_causal, scale):
            out[rows] = torch.matmul(weights, value[seen])
        return out

    @staticmethod
    def backward(ctx, g):
        query, key, value = ctx.saved_tensors
        needs = ctx.needs_input_grad[4:]
        if torch.is_grad_enabled():
            with torch.enable_grad():
                out = ctx.whole(query, key, value)
            wanted = [t for t, n in zip((query, key, value), needs, strict=True) if n]
            found = iter(grad(out, wanted, g, create_graph=True))
            return (None, None, None, None, *(next(found) if n else None for n in needs))
        dq, dk, dv = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(value)
        for rows, seen, weights, scaled in _tiles(query, key, ctx.mask, ctx.is_causal, ctx.scale):
            dv[seen].add_(torch.matmul(weights.transpose(-2, -1), g[rows]))
            if not needs[0] and not needs[1]:
                continue
            of_weights = torch.matmul(g[rows], value[seen].transpose(-2, -1))
            of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
            dq[rows] = torch.matmul(of_scores, key[seen]).mul_(ctx.scale)
            dk[seen].add_(torch.matmul(of_scores.transpose(-2, -1), scaled))
        return (None, None, None, None, *(d if n else None for d, n in zip((dq, dk, dv), needs, strict=True)))


def _tiles(query, key, mask, is_causal, scale):
    """For each tile the index of its queries, that of the keys that they may see, their weights and the scaled queries."""
    length, size = query.shape[-2], key.shape[-2]
    per_row = math.prod(query.shape[1:-2]) * size
    rows = max(_LEAST_ROWS, _AT_ONCE // max(1, per_row))
    examples = max(1, _AT_ONCE // (per_row * min(rows, length)))
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], length, size)  # a view: rows can be taken whatever it broadcasts over
    for i in range(0, query.shape[0], examples):
        batch = slice(i, i + examples)
        for first in range(0, length, rows):
            last = min(first + rows, length)
            end = min(last, size) if is_causal else size
            at, seen = (batch, ..., slice(first, last), slice(None)), (batch, ..., slice(end), slice(None))
            scaled = query[at] * scale
            scores = torch.matmul(scaled, key[seen].transpose(-2, -1))
            if is_causal and first < end:
                later = torch.ones(last - first, end - first, dtype=torch.bool).triu(1)
                scores[..., first:].masked_fill_(later, -math.inf)
            if mask is None:
                yield at, seen, ops.softmax(scores, -1), scaled
                continue
            part = mask[..., first:last, :]
            if mask.dim() == query.dim() and mask.shape[0] > 1:
                part = part[batch]
            scores = scores.masked_fill_(~part, -math.inf) if mask.dtype == torch.bool else scores + part
            yield at, seen, ops._safe_softmax(scores, -1), scaled
