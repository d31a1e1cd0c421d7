"""Multi-head attention as a layer (Vaswani 2017)."""

from __future__ import annotations

import torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention in ``num_heads`` subspaces: query (L, N, E), key and value (S, N, E) give (L, N, E) and weights (N, L, S).

    With ``batch_first`` the batch comes first.  ``kdim`` and ``vdim`` are the widths of key and value where they are not
    ``embed_dim``.  In masks True keeps from attending, numbers are added to the scores.

    >>> attend = torch.nn.MultiheadAttention(8, 2)
    >>> x = torch.zeros(5, 3, 8)
    >>> output, weights = attend(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([5, 3, 8]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "MultiheadAttention: embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError(
                f"MultiheadAttention: embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        options = {"device": device, "dtype": dtype}

        def weight(*shape):
            return Parameter(torch.empty(shape, **options))

        same = self._qkv_same_embed_dim
        self.register_parameter("in_proj_weight", weight(3 * embed_dim, embed_dim) if same else None)
        self.register_parameter("q_proj_weight", None if same else weight(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if same else weight(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if same else weight(embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **options)
        self.register_parameter("bias_k", weight(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", weight(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        batched = query.dim() == 3
        if self.batch_first and batched:
            if query is key and key is value:  # stay one tensor: one projection does all three
                query = key = value = query.transpose(0, 1)
            else:
                query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if self.batch_first and batched else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one (N, heads, L, S) and the kind of it: 0 attention, 1 padding, 2 both, None neither."""
        if key_padding_mask is None:
            return attn_mask, None if attn_mask is None else 0
        padding = key_padding_mask.unsqueeze(1).unsqueeze(2).expand(-1, self.num_heads, -1, -1)
        if attn_mask is None:
            return key_padding_mask, 1
        mask = attn_mask if attn_mask.dim() == 3 else attn_mask.unsqueeze(0)
        return mask.unsqueeze(0) + padding, 2
