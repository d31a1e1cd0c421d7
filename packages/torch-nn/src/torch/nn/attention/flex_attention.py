"""Attention whose scores and masks are Python functions of batch, head and places."""

import collections
import math

import torch

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

AuxOutput = collections.namedtuple("AuxOutput", ["lse", "max_scores"], defaults=[None, None])
AuxRequest = collections.namedtuple("AuxRequest", ["lse", "max_scores"], defaults=[False, False])


class FlexKernelOptions(dict):
    """Options for compiled kernels; accepted, and without effect here."""


def noop_mask(batch, head, token_q, token_kv):
    """The mask that hides nothing."""
    return torch.ones((), dtype=torch.bool)


def and_masks(*mask_mods):
    """The mask that shows what all of ``mask_mods`` show."""
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b, h, q, kv):
        result = torch.ones((), dtype=torch.bool)
        for mask_mod in mask_mods:
            result = result & mask_mod(b, h, q, kv)
        return result

    return mask


def or_masks(*mask_mods):
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


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
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
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        q_num_blocks=None,
        q_indices=None,
        full_q_num_blocks=None,
        full_q_indices=None,
        BLOCK_SIZE=(128, 128),
        mask_mod=noop_mask,
        *,
        dq_write_order=None,
        dq_write_order_full=None,
        dq_kv_order=None,
        **unused,
    ):
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

    @property
    def shape(self):
        return (*self.kv_indices.shape[:2], *self.seq_lengths)

    def to_dense(self):
        """Ones for the blocks that are computed: (B, H, rows, columns)."""
        B, H, rows, columns = self.kv_indices.shape

        def dense(counts, indices):
            there = torch.arange(columns, device=indices.device) < counts.unsqueeze(-1)
            return torch.zeros_like(indices).scatter_add(-1, indices, there.to(indices.dtype))

        total = dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            total = total + dense(self.full_kv_num_blocks, self.full_kv_indices)
        return total

    def sparsity(self):
        """The percentage of blocks that are left out."""
        dense = self.to_dense()
        return 100 * (1 - float(dense.sum()) / dense.numel())

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _listed(blocks):
    """For each row the number of ones, and their columns first."""
    order = torch.argsort(blocks.to(torch.int64), dim=-1, descending=True, stable=True)
    return blocks.sum(-1), order


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=128,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
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
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
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
