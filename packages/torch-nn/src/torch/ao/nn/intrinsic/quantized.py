"""Joined layers of quantized tensors."""

from torch import nn
from torch.ao.nn import quantized as nnq
from torch.ao.nn.quantized._layers import Rounds, numbers, observed

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


class _NormReLU(Rounds, nn.Module):
    def __init__(self, norm, scale, zero_point):
        super().__init__()
        self.norm = norm.eval()
        self._rounds_to(scale, zero_point)

    def forward(self, x):
        return self._rounded(self.norm(numbers(self, x)).relu())

    def train(self, mode=True):
        return super().train(False)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        return cls(mod[0], *observed(mod))


class BNReLU2d(_NormReLU):
    """``relu`` of a batch norm of quantized tensors (N, C, H, W)."""


class BNReLU3d(_NormReLU):
    """``relu`` of a batch norm of quantized tensors (N, C, D, H, W)."""
