"""Attention over sequences of different lengths, joined without padding."""

from __future__ import annotations

import collections

import torch

from ..functional.attention import scaled_dot_product_attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]

AuxRequest = collections.namedtuple("AuxRequest", ["lse"], defaults=[False])


def varlen_attn(
    query: Any,
    key: Any,
    value: Any,
    cu_seq_q: Any,
    cu_seq_k: Any,
    max_q: Any,
    max_k: Any,
    *,
    return_aux: Any = None,
    scale: Any = None,
    window_size: Any = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Any = None,
    block_table: Any = None,
    num_splits: Any = None,
) -> Any:
    """Attention of each sequence by itself: query (total, H, E); sequence i is rows ``cu_seq_q[i]`` to ``cu_seq_q[i + 1]``.

    ``window_size`` (left, right): how far each place sees, -1 for any distance; (-1, 0) is causal.
    """
    if block_table is not None or return_aux is not None:
        raise NotImplementedError("varlen_attn: block_table and return_aux are not there")
    starts_q, starts_k = cu_seq_q.tolist(), cu_seq_k.tolist()
    used = None if seqused_k is None else seqused_k.tolist()
    left, right = window_size
    outputs = []
    for i in range(len(starts_q) - 1):
        q = query[starts_q[i] : starts_q[i + 1]].transpose(0, 1)
        end = starts_k[i + 1] if used is None else starts_k[i] + used[i]
        k, v = (x[starts_k[i] : end].transpose(0, 1) for x in (key, value))
        mask = None
        if left >= 0 or right >= 0:  # places are counted from the ends of both
            mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool, device=q.device)
            shift = k.shape[1] - q.shape[1]
            mask = mask.tril(shift + right) if right >= 0 else mask
            mask = mask.triu(shift - left) if left >= 0 else mask
        outputs.append(scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=enable_gqa).transpose(0, 1))
    return torch.cat(outputs)


def varlen_attn_out(
    out: Any, query: Any, key: Any, value: Any, cu_seq_q: Any, cu_seq_k: Any, max_q: Any, max_k: Any, **options: Any
) -> Any:
    """:func:`varlen_attn` written into ``out``."""
    return out.copy_(varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, **options))
