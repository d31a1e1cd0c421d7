"""Functions whose results an export keeps as computations."""

from __future__ import annotations

import torch

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: torch.Tensor) -> torch.Tensor:
    """The shape of a tensor as a tensor of int64.

    >>> from torch.onnx.operators import shape_as_tensor
    >>> shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return torch.cat([torch.full((1,), size, dtype=torch.int64) for size in x.shape])


def reshape_from_tensor_shape(x: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    """The tensor in a shape that stands in a tensor.

    >>> torch.onnx.operators.reshape_from_tensor_shape(torch.arange(4), torch.tensor([2, 2]))
    tensor([[0, 1],
            [2, 3]])
    """
    return x.reshape(shape.tolist())
