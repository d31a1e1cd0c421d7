"""The cross entropy of linear scores, some rows of the batch at a time, so that the scores are never held in full."""

from __future__ import annotations

import torch
from torch.autograd import Function, grad


class Chunked(Function):
    """The loss of each chunk from ``score(input, weight, bias, target)``, and gradients that compute chunks again.

    A backward pass that is recorded itself differentiates the whole, so that it has derivatives of any order.
    """

    @staticmethod
    def forward(ctx, score, rows, accumulate, input, weight, bias, target):
        ctx.score, ctx.rows, ctx.accumulate = score, rows, accumulate
        ctx.save_for_backward(input, weight, bias, target)
        return _joined([score(x, weight, bias, t) for x, t in _chunks(rows, input, target)])

    @staticmethod
    def backward(ctx, g):
        input, weight, bias, target = ctx.saved_tensors
        needs = ctx.needs_input_grad[3:]
        if torch.is_grad_enabled():
            given = (input, weight, bias, target)
            with torch.enable_grad():
                loss = ctx.score(*given)
            wanted = [t for t, n in zip(given, needs, strict=True) if n]
            found = iter(grad(loss, wanted, g, create_graph=True))
            return (None, None, None, *(next(found) if n else None for n in needs))
        sums: list = [None, None]
        rows_of: list = [[], []]
        first = 0
        for x, t in _chunks(ctx.rows, input, target):
            parts = [
                None if p is None else p.detach().requires_grad_(n)
                for p, n in zip((x, weight, bias, t), needs, strict=True)
            ]
            with torch.enable_grad():
                loss = ctx.score(*parts)
            piece = g if not loss.dim() else g[first : first + len(x)]
            first += len(x)
            wanted = [p for p, n in zip(parts, needs, strict=True) if n]
            found = iter(grad(loss, wanted, piece))
            for at, n in enumerate(needs):
                if n and at in (0, 3):
                    rows_of[at // 3].append(next(found))
                elif n:
                    new = next(found).to(ctx.accumulate or weight.dtype)
                    sums[at - 1] = new if sums[at - 1] is None else sums[at - 1].add_(new)
        of_input, of_target = (torch.cat(r) if r else None for r in rows_of)
        of_weight, of_bias = (None if s is None else s.to(weight.dtype) for s in sums)
        return None, None, None, of_input, of_weight, of_bias, of_target


def _chunks(rows, input, target):
    return zip(input.split(rows), target.split(rows), strict=True)


def _joined(losses):
    return torch.cat(losses) if losses[0].dim() else torch.stack(losses).sum()
