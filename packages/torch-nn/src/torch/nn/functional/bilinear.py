"""Bilinear forms."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["bilinear"]


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y_k = x1^T W_k x2 + b_k``: (*, I), (*, J) and weight (K, I, J) give (*, K).

    RuntimeError when the leading dims differ, or the last ones do not fit the weight.

    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    return torch.bilinear(input1, input2, weight, bias)
