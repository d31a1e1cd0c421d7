"""Attention of opset 23 to 25: heads, caches, masks, windows, and the scores on the way."""

from __future__ import annotations

import math

import torch

from .._types import dtype_of
from . import reader


@reader("Attention")
def attention(q, k, v, mask=None, past_key=None, past_value=None, lengths=None, is_causal=0, kv_num_heads=0, q_num_heads=0,
              qk_matmul_output_mode=0, scale=None, softcap=0.0, softmax_precision=0, left_window_size=-1,
              right_window_size=-1, *, outputs):  # fmt: skip
    flat = q.dim() == 3
    if flat:
        q = _heads(q, q_num_heads)
        k, v = _heads(k, kv_num_heads), _heads(v, kv_num_heads)
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    present = k, v
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)

    half = math.sqrt(1 / math.sqrt(q.shape[3]) if scale is None else scale)
    scores = [(q * half) @ (k * half).mT]
    scores.append(torch.tanh(scores[0] / softcap) * softcap if softcap else scores[0])
    allowed = _allowed(q, k, past, lengths, bool(is_causal), left_window_size, right_window_size)
    if mask is not None:
        mask = _lengthened(mask, k.shape[2])
        if mask.dtype == torch.bool:
            allowed = mask if allowed is None else allowed & mask
            mask = None
    biased = scores[1] if mask is None else scores[1] + mask
    scores.append(biased if allowed is None else biased.masked_fill(~allowed, -math.inf))
    wide = scores[2] if not softmax_precision else scores[2].to(dtype_of(softmax_precision))
    shares = torch.softmax(wide, -1).to(q.dtype)
    # A query that sees nothing gets nothing.
    scores.append(shares.masked_fill((scores[2] == -math.inf).all(-1, keepdim=True), 0))
    y = scores[3] @ v
    if flat:
        y = y.transpose(1, 2).flatten(2)
    return y if outputs == 1 else (y, *present, scores[qk_matmul_output_mode])


def _heads(x, count):
    """(batch, length, heads x size) as (batch, heads, length, size)."""
    return x.unflatten(2, (count, -1)).transpose(1, 2)


def _lengthened(mask, length):
    """A mask for the first keys only, for all of them: the others are not seen."""
    missing = length - mask.shape[-1]
    if missing <= 0:
        return mask
    rest = mask.new_full((*mask.shape[:-1], missing), False if mask.dtype == torch.bool else -math.inf)
    return torch.cat([mask, rest], -1)


def _allowed(q, k, past, lengths, causal, left, right):
    """Which keys each query may see, by their places; None where it may see all."""
    queries, keys = torch.arange(q.shape[2]).unsqueeze(1), torch.arange(k.shape[2])
    start = past if lengths is None else (lengths - q.shape[2]).reshape(-1, 1, 1, 1)
    place = queries + start
    rules = []
    if lengths is not None:
        rules.append(keys < lengths.reshape(-1, 1, 1, 1))
    if causal:
        rules.append(keys <= place)
    if left >= 0:
        rules.append(keys >= place - left)
    if right >= 0:
        rules.append(keys <= place + right)
    found = None
    for rule in rules:
        found = rule if found is None else found & rule
    return found


@reader("TensorScatter")
def tensor_scatter(past, update, starts=None, axis=-2, mode="linear"):
    """A cache with new entries written from a place of its own for each sample."""
    axis %= past.dim()
    length, count = past.shape[axis], update.shape[axis]
    starts = torch.zeros(past.shape[0], dtype=torch.int64) if starts is None else starts
    places = starts.unsqueeze(1) + torch.arange(count)
    if mode == "circular":
        places = places % length
    shape = [1] * past.dim()
    shape[0], shape[axis] = places.shape
    return past.scatter(axis, places.reshape(shape).expand(update.shape), update)
