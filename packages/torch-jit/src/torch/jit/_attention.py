"""Attention in traces: one node, as in PyTorch's."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ._nodes import is_plain, operator

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["attention_in"]


def attention_in(own: Callable[..., Any], composed: Callable[..., Any], tracer_of: Callable[[], Any]) -> Any:
    """What stands for ``scaled_dot_product_attention`` while a trace is recorded; ``composed`` is of PyTorch's operators."""

    @functools.wraps(own)
    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
        scale: Any = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        tracer, masks = tracer_of(), [] if attn_mask is None else [attn_mask]
        call = lambda: own(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        if tracer is None:
            return call()
        if not is_plain(tracer, query, key, value, *masks):
            return composed(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        scaled = None if scale is None else float(scale)
        given = [query, key, value, attn_mask, float(dropout_p), bool(is_causal), scaled, bool(enable_gqa)]
        return operator(tracer, "aten::scaled_dot_product_attention", given, call)

    return attention
