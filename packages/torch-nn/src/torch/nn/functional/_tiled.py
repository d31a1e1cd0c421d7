"""Attention some rows of queries at a time, so that the scores are never held in full."""

from __future__ import annotations

import math

import torch
from torch import _seams

from ._ops import ops

_AT_ONCE = 1 << 20  # scores that are held at one time: 4 MB of float32
_LEAST_ROWS = 32  # of queries, for products that are worth their call


def pays(query, key, value, mask):
    """Whether there are more scores than are held at one time, of operands that can be cut: batches of one shape, no mask
    with a gradient. Nothing is cut where a trace or a mode would see the pieces."""
    batch = query.shape[:-2]
    return (
        query.is_cpu
        and len(batch) > 0
        and batch == key.shape[:-2] == value.shape[:-2]
        and math.prod(batch) * query.shape[-2] * key.shape[-2] > _AT_ONCE
        and not (mask is not None and mask.requires_grad)
        and not _seams.is_watched(query, key, value)
    )


def tiles(query, key, mask, is_causal, scale):
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
