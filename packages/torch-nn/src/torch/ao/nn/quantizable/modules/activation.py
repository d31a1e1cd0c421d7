"""Attention whose projections can be watched and quantized; between them it computes in floats."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.ao.nn.quantized import FloatFunctional
from torch.nn import functional as F

from .rnn import _observed

__all__ = ["MultiheadAttention"]


class MultiheadAttention(nn.MultiheadAttention):
    """``torch.nn.MultiheadAttention`` of layers that can be quantized; ``prepare`` puts it in place of that.

    >>> layer = torch.ao.nn.quantizable.MultiheadAttention(8, 2)
    >>> x = torch.zeros(3, 1, 8)
    >>> layer(x, x, x)[0].shape
    torch.Size([3, 1, 8])
    """

    _FLOAT_MODULE = nn.MultiheadAttention

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
        device: Any = None,
        dtype: Any = None,
    ):
        from torch.ao.quantization import DeQuantStub, QuantStub

        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype
        )
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.linear_Q = nn.Linear(embed_dim, embed_dim, **options)
        self.linear_K = nn.Linear(self.kdim, embed_dim, **options)
        self.linear_V = nn.Linear(self.vdim, embed_dim, **options)
        self.out_proj = nn.Linear(embed_dim, embed_dim, **options)
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()
        for name in ("in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            self._parameters.pop(name, None)

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

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
        if attn_mask is not None and is_causal:
            raise AssertionError("MultiheadAttention: either attn_mask or is_causal, not both")
        if query.dim() != 3 or key.dim() != 3 or value.dim() != 3:
            raise RuntimeError(
                f"MultiheadAttention: expected query, key and value of 3 dims, got {tuple(query.shape)}, {tuple(key.shape)} and "
                f"{tuple(value.shape)}"
            )
        if self.batch_first:
            query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        steps, batch, _ = query.shape
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), 1 / math.sqrt(self.head_dim))
        q, k, v = self.dequant_q(q), self.dequant_k(self.linear_K(key)), self.dequant_v(self.linear_V(value))
        k, v, added = self._with_more_keys(k, v, batch)
        if is_causal:
            attn_mask = torch.ones(steps, key.shape[0], dtype=torch.bool, device=query.device).triu(1)
        q, k, v = (t.reshape(t.shape[0], batch * self.num_heads, self.head_dim).transpose(0, 1) for t in (q, k, v))
        weights = torch.bmm(q, k.transpose(1, 2)).reshape(batch, self.num_heads, steps, -1)
        if attn_mask is not None:
            weights = weights + F.pad(self._mask(attn_mask, batch, steps, False), (0, added))
        if key_padding_mask is not None:
            weights = weights + F.pad(self._mask(key_padding_mask, batch, steps, True), (0, added))
        weights = F.dropout(torch.softmax(weights, -1), self.dropout, self.training)
        output = torch.bmm(weights.flatten(0, 1), v).transpose(0, 1).reshape(steps, batch, self.embed_dim)
        output = self.out_proj(self.quant_attn_output(output))
        if self.batch_first:
            output = output.transpose(0, 1)
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return output, None
        return output, weights.mean(1) if average_attn_weights else weights

    def _with_more_keys(self, k: Tensor, v: Tensor, batch: int) -> tuple[Tensor, Tensor, int]:
        """Keys and values with the trained ones and the zeros behind them, and how many these are."""
        more = 0
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (torch.cat([t, b.repeat(1, batch, 1)]) for t, b in ((k, self.bias_k), (v, self.bias_v)))
            more += 1
        if self.add_zero_attn:
            k, v = (torch.cat([t, t.new_zeros(1, *t.shape[1:])]) for t in (k, v))
            more += 1
        return k, v, more

    def _mask(self, mask: Tensor, batch: int, steps: int, is_of_keys: bool) -> Tensor:
        """What is added to the scores (batch, heads, queries, keys)."""
        if mask.dtype is torch.bool:
            mask = torch.zeros(mask.shape, device=mask.device).masked_fill_(mask, -math.inf)
        if is_of_keys:
            return mask[:, None, None, :]
        return mask if mask.dim() == 2 else mask.reshape(batch, self.num_heads, steps, -1)

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """The layer with the weights of a float one, prepared as its ``qconfig`` says."""
        if type(other) is not cls._FLOAT_MODULE or not hasattr(other, "qconfig"):
            raise AssertionError(
                f"MultiheadAttention.from_float: expected an nn.MultiheadAttention with a qconfig, got {type(other).__name__}"
            )
        made = cls(
            other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None, other.bias_k is not None,
            other.add_zero_attn, other.kdim, other.vdim, other.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v, made.qconfig = other.bias_k, other.bias_v, other.qconfig
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        if other._qkv_same_embed_dim:
            weights = other.in_proj_weight.chunk(3)
        else:
            weights = other.q_proj_weight, other.k_proj_weight, other.v_proj_weight
        biases = [None] * 3 if other.in_proj_bias is None else other.in_proj_bias.chunk(3)
        for layer, weight, bias in zip((made.linear_Q, made.linear_K, made.linear_V), weights, biases):
            layer.weight = nn.Parameter(weight.detach().clone())
            layer.bias = None if bias is None else nn.Parameter(bias.detach().clone())
        return _observed(made, other.training)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The quantized layer."""
        from torch.ao.nn.quantized import MultiheadAttention as Quantized

        return Quantized.from_observed(other)

    def dequantize(self) -> nn.MultiheadAttention:
        """A float layer with the weights that the quantized ones stand for."""
        layers = self.linear_Q, self.linear_K, self.linear_V, self.out_proj
        pairs = [
            layer._weight_bias() if hasattr(layer, "_weight_bias") else (layer.weight, layer.bias) for layer in layers
        ]
        weights = [w.dequantize().detach() for w, _ in pairs]
        biases = [None if b is None else b.detach() for _, b in pairs]
        made = nn.MultiheadAttention(
            self.embed_dim, self.num_heads, self.dropout, biases[0] is not None, self.bias_k is not None, self.add_zero_attn, self.kdim,
            self.vdim, self.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v = self.bias_k, self.bias_v
        with torch.no_grad():
            if made._qkv_same_embed_dim:
                made.in_proj_weight.copy_(torch.cat(weights[:3]))
            else:
                for name, weight in zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), weights):
                    getattr(made, name).copy_(weight)
            made.out_proj.weight.copy_(weights[3])
            if biases[0] is not None:
                made.in_proj_bias.copy_(torch.cat(biases[:3]))
                made.out_proj.bias.copy_(biases[3])
        return made
