"""Causal masks for sequences of different lengths."""

from __future__ import annotations

import enum

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the triangle of the mask begins: at the upper left corner, or so that it ends at the lower right one."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A causal mask (seq_len_q, seq_len_kv), True where a place may be seen; usable as ``attn_mask``."""

    __torch_function__ = _seams.no_torch_function

    def __new__(cls, variant: Any, seq_len_q: Any, seq_len_kv: Any) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        offset = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        mask = torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool).tril(offset)
        bias = torch.Tensor._make_subclass(cls, mask)
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        return bias


def causal_upper_left(*size: Any) -> Any:
    """The mask (L, S) whose row i sees places 0 to i."""
    if len(size) != 2:
        raise AssertionError(f"causal_upper_left only supports 2D tensors, got size {size}")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: Any) -> Any:
    """The mask (L, S) whose last row sees all places."""
    if len(size) != 2:
        raise AssertionError(f"causal_lower_right only supports 2D tensors, got size {size}")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
