"""Masks over the blocks of least norm."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .base_sparsifier import BaseSparsifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor
    from torch.nn import Module

__all__ = ["WeightNormSparsifier"]


class WeightNormSparsifier(BaseSparsifier):
    """Of all blocks of a matrix, those of least mean norm (``sparsity_level`` of them) get ``zeros_per_block`` zeros each, in
    the place of their least elements; all of the block where that is None. ``sparsity_level=1, sparse_block_shape=(1, 4)``
    and two zeros give the 2:4 pattern.

    ``norm`` is 1 or 2, for ``|w|`` and ``w^2``, or a function of the weight. NotImplementedError for another number,
    ValueError for more zeros than a block has elements.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 1))
    >>> _ = model[0].weight.data.copy_(torch.tensor([[1.0, -4.0, 3.0, -2.0]]))
    >>> sparsifier = WeightNormSparsifier(sparsity_level=1.0, sparse_block_shape=(1, 4), zeros_per_block=2)
    >>> sparsifier.prepare(model, None)
    >>> sparsifier.step()
    >>> model[0].weight.tolist()
    [[0.0, -4.0, 3.0, -0.0]]
    """

    def __init__(
        self,
        sparsity_level: float = 0.5,
        sparse_block_shape: tuple[int, int] = (1, 4),
        zeros_per_block: int | None = None,
        norm: Callable[[Tensor], Tensor] | int | None = None,
    ) -> None:
        if zeros_per_block is None:
            zeros_per_block = sparse_block_shape[0] * sparse_block_shape[1]
        if norm is not None and norm not in (1, 2) and not callable(norm):
            raise NotImplementedError(f"WeightNormSparsifier: norm must be 1, 2 or a function, got {norm!r}")
        self.norm_fn = norm if callable(norm) else torch.abs if norm == 1 else torch.square
        super().__init__(
            {
                "sparsity_level": sparsity_level,
                "sparse_block_shape": sparse_block_shape,
                "zeros_per_block": zeros_per_block,
            }
        )

    def update_mask(
        self,
        module: Module,
        tensor_name: str,
        sparsity_level: float,
        sparse_block_shape: tuple[int, int],
        zeros_per_block: int,
        **kwargs: Any,
    ) -> None:
        height, width = sparse_block_shape
        if zeros_per_block > height * width:
            raise ValueError(
                f"WeightNormSparsifier: Number of zeros per block cannot be more than the total number of elements in that "
                f"block, got {zeros_per_block} for {height} x {width}"
            )
        mask = module.parametrizations[tensor_name][0].mask
        if sparsity_level <= 0 or zeros_per_block <= 0:
            mask.fill_(1)
            return
        norms = self.norm_fn(getattr(module, tensor_name))
        size = norms.shape
        norms = norms.reshape(-1, size[-1])
        # Blocks at the lower and right edge may be cut: what they lack is larger than everything.
        down, right = -norms.shape[0] % height, -norms.shape[1] % width
        whole = F.pad(norms, (0, right, 0, down), value=float("inf"))
        blocks = whole.unflatten(1, (-1, width)).unflatten(0, (-1, height)).transpose(1, 2).flatten(2)
        there = blocks.isfinite()
        means = blocks.where(there, 0).sum(2) / there.sum(2)
        count = min(round(sparsity_level * means.numel()), means.numel())
        chosen = torch.zeros(means.numel(), dtype=torch.bool, device=norms.device)
        chosen[means.flatten().argsort()[:count]] = True
        least = torch.zeros_like(there).scatter(2, blocks.argsort(2)[..., :zeros_per_block], True)
        zero = least & chosen.view_as(means).unsqueeze(2)
        zero = zero.unflatten(2, (height, width)).transpose(1, 2).flatten(2, 3).flatten(0, 1)
        mask.copy_(~zero[: norms.shape[0], : norms.shape[1]].reshape(size))
