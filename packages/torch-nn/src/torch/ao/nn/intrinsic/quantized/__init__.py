"""Joined layers of quantized tensors."""

from torch import _seams
from torch.ao.nn import quantized as nnq

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


class LinearReLU(nnq.Linear):
    """``relu(x @ weight^T + bias)`` of quantized tensors."""

    relu = True


class ConvReLU1d(nnq.Conv1d):
    """``relu`` of a convolution of quantized tensors (N, C, L)."""

    relu = True


class ConvReLU2d(nnq.Conv2d):
    """``relu`` of a convolution of quantized tensors (N, C, H, W)."""

    relu = True


class ConvReLU3d(nnq.Conv3d):
    """``relu`` of a convolution of quantized tensors (N, C, D, H, W)."""

    relu = True


class BNReLU2d(nnq.BatchNorm2d):
    """``relu`` of a batch norm of quantized tensors (N, C, H, W)."""

    relu = True


class BNReLU3d(nnq.BatchNorm3d):
    """``relu`` of a batch norm of quantized tensors (N, C, D, H, W)."""

    relu = True


__getattr__, __dir__ = _seams.later(globals(), modules=("dynamic",))
