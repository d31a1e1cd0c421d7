"""Attention whose scores and masks are Python functions of batch, head and places."""

from __future__ import annotations

import collections
import math

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

AuxOutput = collections.namedtuple("AuxOutput", ["lse", "max_scores"], defaults=[None, None])
AuxRequest = collections.namedtuple("AuxRequest", ["lse", "max_scores"], defaults=[False, False])


class FlexKernelOptions(dict):
    """Options for compiled kernels; accepted, and without effect here."""


#: places in a block, of queries and of keys
_DEFAULT_SPARSE_BLOCK_SIZE = 128


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that hides nothing."""
    return torch.ones((), dtype=torch.bool)


def and_masks(*mask_mods: Any) -> Any:
    """The mask that shows what all of ``mask_mods`` show."""
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b, h, q, kv):
        result = torch.ones((), dtype=torch.bool)
        for mask_mod in mask_mods:
            result = result & mask_mod(b, h, q, kv)
        return result

    return mask


def or_masks(*mask_mods: Any) -> Any:
    """The mask that shows what any of ``mask_mods`` shows."""
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b, h, q, kv):
        result = torch.zeros((), dtype=torch.bool)
        for mask_mod in mask_mods:
            result = result | mask_mod(b, h, q, kv)
        return result

    return mask


def _places(B, H, q_len, kv_len, device):
    """The four indices, of shapes that broadcast to (B, H, q_len, kv_len)."""
    return (
        torch.arange(B, device=device).view(B, 1, 1, 1),
        torch.arange(H, device=device).view(1, H, 1, 1),
        torch.arange(q_len, device=device).view(1, 1, q_len, 1),
        torch.arange(kv_len, device=device).view(1, 1, 1, kv_len),
    )


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: torch.device | str | int | None = None
) -> Tensor:
    """The mask ``mod_fn`` as a tensor (B, H, Q_LEN, KV_LEN); None for B or H stands for 1.

    ``mod_fn(b, h, q, kv)`` is called once, with index tensors that broadcast.
    """
    B, H = B or 1, H or 1
    return mod_fn(*_places(B, H, Q_LEN, KV_LEN, device)).expand(B, H, Q_LEN, KV_LEN)


class BlockMask:
    """Which blocks of (query, key) places are worth computing, and the mask within them.

    For row i of blocks, ``kv_indices[..., i, :kv_num_blocks[..., i]]`` are the columns with something to see.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        q_num_blocks: Tensor | None = None,
        q_indices: Tensor | None = None,
        full_q_num_blocks: Tensor | None = None,
        full_q_indices: Tensor | None = None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: Any = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        **unused: Any,
    ) -> None:
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | Sequence[int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Any = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | bool | None = None,
    ) -> Self:
        """The mask of which the columns to compute are known for each row; those of full blocks need no mask within.

        >>> counts, columns = torch.tensor([[[1, 2]]]), torch.tensor([[[[0, 1], [0, 1]]]])
        >>> BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=4).to_dense().tolist()
        [[[[1, 0], [1, 1]]]]
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both given or both None")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        rows, columns = kv_indices.shape[-2:]
        if seq_lengths is None:
            seq_lengths = (rows * size[0], columns * size[1])
        by_query = [None] * 4
        if compute_q_blocks:
            by_query[:2] = _listed(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_indices is not None:
                by_query[2:] = _listed(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *by_query,
            size,
            mask_mod or noop_mask,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:2], *self.seq_lengths)

    def to_dense(self) -> Tensor:
        """Ones for the blocks that are computed: (B, H, rows, columns)."""
        total = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            total = total + _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return total

    def sparsity(self) -> float:
        """The percentage of blocks that are left out."""
        dense = self.to_dense()
        return 100 * (1 - float(dense.sum()) / dense.numel())

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _dense(counts, indices):
    """Ones at the columns that are listed: in each row the first ``counts`` of ``indices``."""
    there = torch.arange(indices.shape[-1], device=indices.device) < counts.unsqueeze(-1)
    return torch.zeros_like(indices).scatter_add(-1, indices.long(), there.to(indices.dtype))


def _listed(blocks):
    """For each row the number of ones, and their columns first."""
    order = torch.argsort(blocks.to(torch.int64), dim=-1, descending=True, stable=True)
    return blocks.sum(-1), order


def create_block_mask(
    mask_mod: Any,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: torch.device | str | int | None = None,
    BLOCK_SIZE: int | Sequence[int] = 128,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> Any:
    """The :class:`BlockMask` of ``mask_mod``."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = math.ceil(Q_LEN / size[0]), math.ceil(KV_LEN / size[1])
    padded = mask.new_zeros(*mask.shape[:2], rows * size[0], columns * size[1])
    padded[..., :Q_LEN, :KV_LEN] = mask
    counts = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    full = (counts == size[0] * size[1]) if separate_full_blocks else torch.zeros_like(counts, dtype=torch.bool)
    partial = (counts > 0) & ~full
    listed = [*_listed(partial), *_listed(full)]
    turned = [*_listed(partial.transpose(2, 3)), *_listed(full.transpose(2, 3))]
    return BlockMask((Q_LEN, KV_LEN), *listed, *turned, BLOCK_SIZE=size, mask_mod=mask_mod)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Any = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: Any = None,
) -> Any:
    """``softmax(score_mod(Q K^T * scale, b, h, q, kv)) V`` where the mask shows: query (B, H, L, E), key and value (B, H, S, E).

    ``return_lse`` also gives the logarithm of each row's sum of exponentials.
    """
    if not query.dim() == key.dim() == value.dim() == 4:
        raise ValueError("Expected query, key, and value to be 4D tensors: (batch, heads, length, width)")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
        value = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
    if query.shape[1] != key.shape[1]:
        raise ValueError(f"query has {query.shape[1]} heads, key has {key.shape[1]}; enable_gqa=True repeats the key's")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = torch.matmul(query, key.transpose(2, 3)) * scale
    places = _places(*scores.shape, scores.device)
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if block_mask is not None:
        if tuple(block_mask.seq_lengths) != tuple(scores.shape[2:]):
            raise ValueError(
                f"block_mask is for lengths {tuple(block_mask.seq_lengths)}, not {tuple(scores.shape[2:])}"
            )
        mask = block_mask.mask_mod(*places).expand(scores.shape)
        scores = scores.masked_fill(~mask, -math.inf)
    top = scores.amax(-1)
    lse = torch.logsumexp(scores, -1)
    seen = lse > -math.inf
    weights = torch.where(
        seen.unsqueeze(-1), (scores - torch.where(seen, lse, torch.zeros_like(lse)).unsqueeze(-1)).exp(), 0.0
    )
    output = torch.matmul(weights.to(value.dtype), value)
    if return_aux is not None:
        return output, AuxOutput(lse if return_aux.lse else None, top if return_aux.max_scores else None)
    return (output, lse) if return_lse else output
