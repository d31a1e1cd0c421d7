"""Functions whose results an export keeps as computations."""

import torch

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x):
    """The shape of a tensor as a tensor of int64.

    >>> from torch.onnx.operators import shape_as_tensor
    >>> shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return torch.tensor(x.shape, dtype=torch.int64)


def reshape_from_tensor_shape(x, shape):
    """The tensor in a shape that stands in a tensor."""
    return x.reshape(shape.tolist())
