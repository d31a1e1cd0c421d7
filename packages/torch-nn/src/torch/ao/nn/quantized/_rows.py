"""Tables of rows of small integers: as quantized tensors, or packed with the scale and the least number of each row.

A packed row of 8 bits is its integers, then the scale and the least number as floats; one of 4 or 2 bits has two or four integers to a byte, the
first in the lowest bits, then the scale and the least number in half precision. That is the format of PyTorch's ``embedding_bag_*_prepack``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def packed_rows(weight: Tensor, bits: int) -> Tensor:
    """Rows of floats as packed rows."""
    if weight.dtype not in (torch.float32, torch.float16) or weight.dim() < 2:
        raise RuntimeError(
            f"embedding_bag_prepack: expected rows of float32 or float16, got {weight.dtype} of shape {tuple(weight.shape)}"
        )
    x = weight.detach().to(torch.float32)
    per, most = 8 // bits, 2**bits - 1
    if x.shape[-1] % per:
        raise RuntimeError(
            f"embedding_bag_prepack: {bits}-bit rows hold a multiple of {per} numbers, got {x.shape[-1]}"
        )
    least, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    if bits == 8:
        scale = (high - least) / most
        q = ((x - least) * (most / (high - least + 1e-8))).round().clamp(0, most)
        return torch.cat(
            [q.to(torch.uint8), scale.contiguous().view(torch.uint8), least.contiguous().view(torch.uint8)], -1
        )
    least = least.half().to(torch.float32)
    scale = ((high - least) / most).half().to(torch.float32)
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    q = ((x - least) / scale).round().clamp(0, most).to(torch.int32).reshape(*x.shape[:-1], -1, per)
    bytes_ = sum(q[..., i] << (bits * i) for i in range(per)).to(torch.uint8)
    return torch.cat([bytes_, scale.half().view(torch.uint8), least.half().view(torch.uint8)], -1)


def _unpacked(rows: Tensor, bits: int) -> Tensor:
    tail = 8 if bits == 8 else 4
    if rows.dtype is not torch.uint8 or rows.shape[-1] <= tail:
        raise RuntimeError(
            f"embedding_bag: expected packed rows of torch.uint8, got {rows.dtype} of shape {tuple(rows.shape)}"
        )
    half = tail // 2
    kind = torch.float32 if bits == 8 else torch.float16
    scale = rows[..., -tail:-half].contiguous().view(kind).to(torch.float32)
    least = rows[..., -half:].contiguous().view(kind).to(torch.float32)
    q = rows[..., :-tail]
    if bits != 8:
        q = torch.stack([(q >> (bits * i)) & (2**bits - 1) for i in range(8 // bits)], -1).flatten(-2)
    return q.to(torch.float32) * scale + least


def rows_of(table: Tensor, indices: Tensor | None, bits: int = 8) -> Tensor:
    """The numbers of some rows, or of all."""
    if not getattr(table, "is_quantized", False):
        return _unpacked(table if indices is None else F.embedding(indices, table), bits)
    if indices is None:
        return table.dequantize()
    integers = F.embedding(indices, table.as_subclass(Tensor)).to(torch.float32)
    if table.qscheme() is torch.per_tensor_affine:
        return (integers - table.q_zero_point()) * table.q_scale()
    scale, zero = table.q_per_channel_scales()[indices], table.q_per_channel_zero_points()[indices]
    scale, zero = scale[..., None].to(torch.float32), zero[..., None]
    return integers * scale - zero * scale if zero.dtype.is_floating_point else (integers - zero) * scale


def sums_of_rows(
    table: Tensor, indices: Tensor, offsets: Tensor | None, mode: int, weights: Tensor | None, last: bool, bits: int = 8, places_of: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Sums (mode 0) or means (1) of rows; only those that are named become floats. ``places_of`` says where the rows of a pruned table lie,
    with -1 for those that are gone and add nothing."""
    if mode not in (0, 1):
        raise NotImplementedError(f"embedding_bag: rows are added up or averaged, got mode {mode}")
    if places_of is not None and places_of.tolist() != [0]:  # so PyTorch writes that there are all
        indices = places_of[indices.long()].to(indices.dtype)
    else:
        places_of = None
    used, places = indices.unique(return_inverse=True)
    rows = rows_of(table, used if places_of is None else used.clamp(min=0), bits)
    if places_of is not None:
        rows = rows.masked_fill((used < 0).unsqueeze(-1), 0.0)
    return F.embedding_bag(
        places.reshape(indices.shape).to(indices.dtype), rows, offsets, mode=("sum", "mean")[mode], per_sample_weights=weights, include_last_offset=last
    )  # fmt: skip
