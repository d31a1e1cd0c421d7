"""How far one tensor is from another, in one number.

>>> x = torch.tensor([3.0, 4.0])
>>> compute_sqnr(x, 0.9 * x), compute_normalized_l2_error(x, 0.9 * x), compute_cosine_similarity(x, 2 * x)
(tensor(20.0000), tensor(0.1000), tensor([1.]))
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["compute_cosine_similarity", "compute_normalized_l2_error", "compute_sqnr"]


def _numbers(x: Tensor) -> Tensor:
    return x.dequantize() if x.is_quantized else x


def compute_sqnr(x: Tensor, y: Tensor) -> Tensor:
    """Signal to noise in decibels: ``20 log10(|x| / |x - y|)``."""
    x, y = _numbers(x), _numbers(y)
    return 20 * torch.log10(torch.linalg.vector_norm(x) / torch.linalg.vector_norm(x - y))


def compute_normalized_l2_error(x: Tensor, y: Tensor) -> Tensor:
    """``|x - y| / |x|``."""
    x, y = _numbers(x), _numbers(y)
    return torch.sqrt(((x - y) ** 2).sum() / (x**2).sum())


def compute_cosine_similarity(x: Tensor, y: Tensor) -> Tensor:
    """The cosine of the angle between both, each taken as one row."""
    return torch.nn.functional.cosine_similarity(_numbers(x).reshape(1, -1), _numbers(y).reshape(1, -1))
