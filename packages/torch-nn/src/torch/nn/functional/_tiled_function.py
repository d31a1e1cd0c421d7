"""The derivative of attention that is computed by tiles. Apart, since it needs torch.autograd, which torch.nn does not load."""

from __future__ import annotations

import torch
from torch.autograd import Function, grad

from ._tiled import tiles


class Tiled(Function):
    """The result of ``whole(query, key, value)``, and gradients that compute weights again.

    A backward pass that is recorded itself differentiates ``whole``, so that it has derivatives of any order.
    """

    @staticmethod
    def forward(ctx, whole, mask, is_causal, scale, query, key, value):
        ctx.whole, ctx.mask, ctx.is_causal, ctx.scale = whole, mask, is_causal, scale
        ctx.save_for_backward(query, key, value)
        out = query.new_empty(*query.shape[:-1], value.shape[-1])
        for rows, seen, weights, _ in tiles(query, key, mask, is_causal, scale):
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
        for rows, seen, weights, scaled in tiles(query, key, ctx.mask, ctx.is_causal, ctx.scale):
            dv[seen].add_(torch.matmul(weights.transpose(-2, -1), g[rows]))
            if not needs[0] and not needs[1]:
                continue
            of_weights = torch.matmul(g[rows], value[seen].transpose(-2, -1))
            of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
            dq[rows] = torch.matmul(of_scores, key[seen]).mul_(ctx.scale)
            dk[seen].add_(torch.matmul(of_scores.transpose(-2, -1), scaled))
        return (None, None, None, None, *(d if n else None for d, n in zip((dq, dk, dv), needs, strict=True)))
