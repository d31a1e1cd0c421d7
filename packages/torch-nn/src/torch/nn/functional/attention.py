"""Attention (Vaswani 2017)."""

from __future__ import annotations

import math

import torch
from torch import _seams
from torch._seams import in_lower_precision

from ._ops import ops
from .dropout import dropout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


@in_lower_precision
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(Q K^T / sqrt(E)) V``: query (*, L, E), key (*, S, E), value (*, S, V) give (*, L, V).

    ``attn_mask`` (broadcast to (*, L, S)): True lets attend, numbers are added; ``is_causal``, which takes its place,
    lets place i see places up to i; ``enable_gqa`` repeats the heads of key and value (dim -3) to those of query.
    """
    if type(query) is not torch.Tensor:
        from torch.overrides import handle_torch_function, has_torch_function_variadic

        given = (query, key, value)
        if has_torch_function_variadic(*given):
            return handle_torch_function(
                scaled_dot_product_attention, given, *given, attn_mask, dropout_p, is_causal, scale, enable_gqa
            )
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: got attn_mask and is_causal=True; give one of them, or a mask with what lies "
            "above the diagonal masked as well"
        )
    if attn_mask is not None and attn_mask.dtype != torch.bool and not attn_mask.is_floating_point():
        raise RuntimeError(
            f"scaled_dot_product_attention: Expected attn_mask dtype to be bool or float, but got attn_mask.dtype: {attn_mask.dtype}"
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value must have at least 2 dims, got "
            f"{tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value must have one dtype, got "
            f"{query.dtype}, {key.dtype}, {value.dtype}"
        )
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """Attention of tensors that fit; a trace puts one node in the place of this function."""
    if query.is_cuda and 0 <= dropout_p <= 1:
        out = _seams.attention_on_cuda(query, key, value, attn_mask, is_causal, scale, enable_gqa, dropout_p)
        if out is not None:
            return out
    if dropout_p == 0 and not query.is_cuda and not _seams.is_dispatched(query, key, value):
        return _in_pieces(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    return _composed(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _in_pieces(query, key, value, attn_mask, is_causal, scale, enable_gqa):
    """Attention by the operator that holds the scores of some queries at a time."""
    shares = _shares(query, key) if enable_gqa else 1
    if enable_gqa and _shares(query, value) != shares:
        key, value, enable_gqa = _repeated(key, query), _repeated(value, query), False
    if enable_gqa:  # a dim of the heads that share one of the keys
        split = key.shape[-3], shares
        query, key, value = query.unflatten(-3, split), key.unsqueeze(-3), value.unsqueeze(-3)
        if attn_mask is not None and attn_mask.dim() > 2:
            own = attn_mask.shape[-3] > 1
            attn_mask = attn_mask.unflatten(-3, split) if own else attn_mask.unsqueeze(-3)
    scale, dtype = _scale(query) if scale is None else scale, query.dtype
    query, key, value = _wide(query, key, value)
    out = ops._attention(query, key, value, attn_mask, is_causal, scale).to(dtype)
    return out.flatten(-4, -3) if enable_gqa else out


def _composed(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """Attention with all scores at once, by operators."""
    if enable_gqa:
        key, value = _repeated(key, query), _repeated(value, query)
    scale, dtype = _scale(query) if scale is None else scale, query.dtype
    return _whole(*_wide(query, key, value), attn_mask, dropout_p, is_causal, scale).to(dtype)


def _shares(query, tensor):
    """How many heads of queries share one of keys or values (dim -3)."""
    heads, own = query.shape[-3], tensor.shape[-3]
    if own == 0 or heads % own:
        raise RuntimeError(
            f"scaled_dot_product_attention: enable_gqa wants heads of key and value (dim -3) that divide the {heads} of "
            f"query, got {own}"
        )
    return heads // own


def _repeated(tensor, query):
    return tensor.repeat_interleave(_shares(query, tensor), -3)


def _scale(query):
    return 1 / math.sqrt(query.shape[-1] or 1)


def _wide(*tensors):
    """Tensors in which scores are computed: they need more digits than the result."""
    return tensors if tensors[0].dtype not in (torch.float16, torch.bfloat16) else [t.float() for t in tensors]


def _whole(query, key, value, attn_mask, dropout_p, is_causal, scale):
    scores = torch.matmul(query * scale, key.transpose(-2, -1))
    if is_causal:
        length, size = scores.shape[-2:]
        attn_mask = torch.ones(length, size, dtype=torch.bool, device=query.device).tril()
    # a place that may see nothing gets nothing: _safe_softmax
    if attn_mask is None:
        weights = ops.softmax(scores, -1)
    elif attn_mask.dtype == torch.bool:
        weights = ops._safe_softmax(scores.masked_fill(~attn_mask, -float("inf")), -1)
    else:
        weights = ops._safe_softmax(scores + attn_mask, -1)
    if dropout_p != 0:
        weights = ops.dropout(weights, dropout_p, True)
    return torch.matmul(weights, value)


def _additive(mask, like, name):
    """A mask as numbers to add to the scores: True becomes -inf."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(mask, -float("inf"))
    if not mask.is_floating_point():
        raise AssertionError(f"multi_head_attention: {name} must be bool or floating point, got {mask.dtype}")
    return mask


def _in_projection_packed(q, k, v, w, b=None):
    """The three input projections from one weight (3E, E), with one product when the inputs are the same."""
    if q is k and k is v:
        return ops.linear(q, w, b).chunk(3, -1)
    w_q, w_k, w_v = w.chunk(3)  # in names, as scripts know no * of lists
    if b is None:
        return _in_projection(q, k, v, w_q, w_k, w_v)
    b_q, b_k, b_v = b.chunk(3)
    return _in_projection(q, k, v, w_q, w_k, w_v, b_q, b_k, b_v)


def _in_projection_separate(q, k, v, weights, b=None):
    """The three input projections from weights of their own, whose biases are one tensor (3E)."""
    w_q, w_k, w_v = weights
    if b is None:
        return _in_projection(q, k, v, w_q, w_k, w_v)
    b_q, b_k, b_v = b.chunk(3)
    return _in_projection(q, k, v, w_q, w_k, w_v, b_q, b_k, b_v)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """The three input projections, each from a weight of its own."""
    return ops.linear(q, w_q, b_q), ops.linear(k, w_k, b_k), ops.linear(v, w_v, b_v)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch, by the dims of the tensors; AssertionError where they do not agree, or a mask for each head
    has another shape.

    >>> x = torch.ones(5, 2, 8)
    >>> _mha_shape_check(x, x, x, None, None, 2), _mha_shape_check(x[:, 0], x[:, 0], x[:, 0], None, None, 2)
    (True, False)
    """
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"multi_head_attention: query should be unbatched 2D or batched 3D tensor, got shape {tuple(query.shape)}"
        )
    for name, tensor, fitting in (
        ("key", key, (dims,)),
        ("value", value, (dims,)),
        ("key_padding_mask", key_padding_mask, (dims - 1,)),
        ("attn_mask", attn_mask, (2, 3)),
    ):
        if tensor is not None and tensor.dim() not in fitting:
            raise AssertionError(
                f"multi_head_attention: expected {name} with {' or '.join(map(str, fitting))} dims for a query of shape "
                f"{tuple(query.shape)}, got shape {tuple(tensor.shape)}"
            )
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"multi_head_attention: expected attn_mask of shape {expected}, got {tuple(attn_mask.shape)}"
            )
    return dims == 3


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """AssertionError where a mask is not (batch, places of the keys).

    >>> torch.nn.functional._check_key_padding_mask(torch.zeros(2, 3), 4, 2)
    Traceback (most recent call last):
    AssertionError: multi_head_attention: expected key_padding_mask of shape (2, 4), got (2, 3)
    """
    if key_padding_mask.shape != (bsz, src_len):
        raise AssertionError(
            f"multi_head_attention: expected key_padding_mask of shape {(bsz, src_len)}, got {tuple(key_padding_mask.shape)}"
        )


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in ``num_heads`` subspaces: query (L, N, E), key and value (S, N, E) give (L, N, E) and weights.

    See :class:`torch.nn.MultiheadAttention`.  In masks True keeps from attending, numbers are added to the scores.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"multi_head_attention: expected query of width {embed_dim_to_check}, got {width}")
    if width % num_heads:
        raise AssertionError(f"multi_head_attention: embed_dim {width} is not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention: is_causal is a hint about attn_mask; give the mask as well")
    head = width // num_heads
    places = key.shape[0] if static_k is None else static_k.shape[1]
    if key.shape[:2] != value.shape[:2] or key.shape[1] != batch:
        raise AssertionError(
            f"multi_head_attention: key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}, or the batch "
            f"of query {tuple(query.shape)}"
        )
    if key_padding_mask is not None:
        _check_key_padding_mask(key_padding_mask, places, batch)
    shapes = (length, places), (batch * num_heads, length, places)
    if attn_mask is not None and tuple(attn_mask.shape) not in shapes:
        raise RuntimeError(
            f"multi_head_attention: the shape of attn_mask is {tuple(attn_mask.shape)}, but should be {shapes[0]} or, "
            f"for each head of the batch, {shapes[1]}"
        )
    mask = _additive(attn_mask, query, "attn_mask")
    padding = _additive(key_padding_mask, query, "key_padding_mask")

    if use_separate_proj_weight:
        if q_proj_weight is None or k_proj_weight is None or v_proj_weight is None:
            raise AssertionError(
                "multi_head_attention: use_separate_proj_weight needs q_, k_ and v_proj_weight, one is None"
            )
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _in_projection_separate(query, key, value, weights, in_proj_bias)
    else:
        if in_proj_weight is None:
            raise AssertionError(
                "multi_head_attention: in_proj_weight is None, and use_separate_proj_weight is not set"
            )
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None and mask.dim() == 2:
        mask = mask.unsqueeze(0)

    def widen(extra):
        nonlocal mask, padding
        mask = None if mask is None else torch.cat([mask, mask.new_zeros(*mask.shape[:-1], extra)], -1)
        padding = None if padding is None else torch.cat([padding, padding.new_zeros(batch, extra)], -1)

    if bias_k is not None:
        if bias_v is None:
            raise AssertionError("multi_head_attention: bias_k is given without bias_v")
        if static_k is not None or static_v is not None:
            raise AssertionError("multi_head_attention: bias_k and bias_v cannot be added to static_k and static_v")
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])
        widen(1)

    def split(x):  # (L, N, E) -> (N * heads, L, E / heads)
        return x.reshape(x.shape[0], batch * num_heads, head).transpose(0, 1)

    q = split(q)
    k = split(k) if static_k is None else static_k
    v = split(v) if static_v is None else static_v
    if add_zero_attn:
        k, v = (torch.cat([x, x.new_zeros(x.shape[0], 1, head)], 1) for x in (k, v))
        widen(1)
    size = k.shape[1]
    if padding is not None:
        padding = padding.view(batch, 1, 1, size).expand(batch, num_heads, 1, size).reshape(batch * num_heads, 1, size)
        mask = padding if mask is None else mask + padding

    dtype = q.dtype
    if dtype in (torch.float16, torch.bfloat16):  # scores need more digits than the result
        q, k, v = q.float(), k.float(), v.float()
    scores = torch.matmul(q * (1 / math.sqrt(head)), k.transpose(1, 2))
    if mask is None:
        weights = ops.softmax(scores, -1)
    elif need_weights:  # weights that are returned say NaN for a place that may see nothing, as in PyTorch
        weights = ops.softmax(scores + mask, -1)
    else:
        weights = ops._safe_softmax(scores + mask, -1)
    weights = dropout(weights, dropout_p, training) if dropout_p != 0 else weights
    output = torch.matmul(weights, v).to(dtype).transpose(0, 1).reshape(length * batch, width)
    output = ops.linear(output, out_proj_weight, out_proj_bias).reshape(length, batch, out_proj_weight.shape[0])
    if not batched:
        output = output.squeeze(1)
    if not need_weights:
        return output, None
    weights = weights.reshape(batch, num_heads, length, size)
    weights = (weights.mean(1) if average_attn_weights else weights).to(dtype)
    return output, weights if batched else weights.squeeze(0)


def _none_or_dtype(input):
    """The dtype of a tensor, or None for None."""
    if input is None or isinstance(input, torch.Tensor):
        return None if input is None else input.dtype
    raise RuntimeError(f"input to _none_or_dtype() must be None or torch.Tensor, got {type(input).__name__}")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask to be added to scores: -inf where a bool mask hides, floats as they are."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported, got {mask.dtype}")
    if check_other and other_type is not None and mask.dtype != other_type:
        import warnings

        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
