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
    if input1.shape[:-1] != input2.shape[:-1] or weight.dim() != 3:
        raise RuntimeError(
            f"bilinear: expected inputs (*, I), (*, J) and weight (K, I, J), got {tuple(input1.shape)}, "
            f"{tuple(input2.shape)} and {tuple(weight.shape)}"
        )
    if (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise RuntimeError(
            f"bilinear: last dims {input1.shape[-1]} and {input2.shape[-1]} of the inputs must equal dims 1 and 2 of "
            f"weight {tuple(weight.shape)}"
        )
    k, i, j = weight.shape
    batch = input1.shape[:-1]
    left = torch.matmul(input1.reshape(-1, i), weight.permute(1, 0, 2).reshape(i, k * j)).reshape(-1, k, j)
    output = torch.matmul(left, input2.reshape(-1, j, 1)).reshape(*batch, k)
    return output if bias is None else output + bias
