"""Products with jagged tensors: with plain matrices on the packed values, of nested ones row by row."""

from __future__ import annotations

from .. import _C
from ._jagged import Jagged
from ._jagged_rules import handles, like


@handles("linear")
def linear(func, self, weight, bias=None):
    if isinstance(weight, Jagged) or isinstance(bias, Jagged):
        raise RuntimeError("linear: the weights are plain tensors, and the input may be nested")
    if self._ragged == self.dim() - 1:
        raise RuntimeError(f"linear: the last dim of the nested input {tuple(self.shape)} is ragged")
    return like(self, func(self._values, weight, bias))


@handles("embedding")
def embedding(func, *args, **kwargs):
    at = next(i for i, a in enumerate(args) if isinstance(a, Jagged))
    template = args[at]
    made = func(*args[:at], template._values, *args[at + 1 :], **kwargs)
    return like(template, made)


@handles("matmul", "bmm", "__matmul__", "__rmatmul__")
def matmul(func, self, other):
    """Rows times a matrix, or row by row. A product over the ragged dim is a plain tensor."""
    func = _C._operator("matmul")
    template = self if isinstance(self, Jagged) else other
    if not isinstance(other, Jagged) and other.dim() <= 2 and self._ragged == self.dim() - 2:
        return like(self, func(self._values, other))
    if self.dim() != other.dim() or self.dim() < 3 or self.shape[0] != other.shape[0]:
        raise RuntimeError(f"matmul: not between {tuple(self.shape)} and {tuple(other.shape)}")
    last = self.dim() - 1
    rows = isinstance(self, Jagged) and self._ragged == last - 1
    columns = isinstance(other, Jagged) and other._ragged == last
    inside = [
        isinstance(self, Jagged) and self._ragged == last,
        isinstance(other, Jagged) and other._ragged == last - 1,
    ]
    if rows and columns:
        raise RuntimeError(
            f"matmul: the product of {tuple(self.shape)} and {tuple(other.shape)} has two ragged dims: use layout torch.strided"
        )
    if isinstance(self, Jagged) and isinstance(other, Jagged) and self._length is not other._length:
        raise RuntimeError(
            f"matmul: nested tensors of shapes {tuple(self.shape)} and {tuple(other.shape)} have other rows"
        )
    made = [func(a, b) for a, b in zip(self.unbind(), other.unbind(), strict=True)]
    if all(inside):
        return _C._operator("stack")(made)
    if not (rows or columns) or any(inside):
        raise RuntimeError(f"matmul: not between {tuple(self.shape)} and {tuple(other.shape)}")
    ragged = last - 1 if rows else last
    return like(template.contiguous(), _C._operator("cat")(made, ragged - 1), ragged)


@handles("scaled_dot_product_attention")
def attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Attention of each row to itself or to another's: (B, heads, ragged, features)."""
    for what, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Jagged) or tensor._ragged != tensor.dim() - 2:
            raise RuntimeError(
                f"scaled_dot_product_attention: {what} must be nested with its dim -2 ragged, as the others are, got {tuple(tensor.shape)}"
            )
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: nested tensors take no attn_mask")
    rows = [
        func(q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    ]
    packed = query if query._lengths is None else query.contiguous()
    return like(packed, _C._operator("cat")(rows, query._ragged - 1))
