"""Masks along the diagonal."""

from __future__ import annotations

import torch

from .base_sparsifier import BaseSparsifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch.nn import Module

__all__ = ["NearlyDiagonalSparsifier"]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Keeps the diagonal of a matrix and ``(nearliness - 1) / 2`` lines at each side of it.

    ValueError for an even ``nearliness``.

    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    >>> sparsifier = NearlyDiagonalSparsifier(nearliness=1)
    >>> sparsifier.prepare(model, None)
    >>> sparsifier.step()
    >>> model[0].parametrizations.weight[0].mask
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__({"nearliness": nearliness})

    def update_mask(self, module: Module, tensor_name: str, nearliness: int, **kwargs: Any) -> None:
        mask = module.parametrizations[tensor_name][0].mask
        if nearliness <= 0 or nearliness % 2 == 0:
            raise ValueError(f"NearlyDiagonalSparsifier: nearliness can only be an odd number, got {nearliness}")
        beside = nearliness // 2
        mask.copy_(torch.ones_like(mask).tril(beside).triu(-beside))
