"""What operators are made of, by their formulas."""

from __future__ import annotations

import math
from typing import Any

import torch

from ._tables import register_decomposition

Tensor = torch.Tensor
aten = torch.ops.aten


def _registered(*names: str) -> Any:
    """Register a function for operators by name."""
    return register_decomposition([getattr(aten, name) for name in names])


# --- products ---


def _added(self: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


@_registered("addmm")
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * self + alpha * (mat1 @ mat2)``"""
    return _added(self, torch.mm(mat1, mat2), beta, alpha)


@_registered("addmv")
def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * self + alpha * (mat @ vec)``"""
    return _added(self, torch.mv(mat, vec), beta, alpha)


@_registered("baddbmm")
def baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * self + alpha * (batch1 @ batch2)``"""
    return _added(self, torch.bmm(batch1, batch2), beta, alpha)


@_registered("addcmul")
def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``self + value * tensor1 * tensor2``"""
    return self + (tensor1 * tensor2 if value == 1 else value * tensor1 * tensor2)


@_registered("addcdiv")
def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``self + value * tensor1 / tensor2``"""
    return self + (tensor1 / tensor2 if value == 1 else value * (tensor1 / tensor2))


# --- activations ---


@_registered("silu")
def silu(self: Tensor) -> Tensor:
    """``x * sigmoid(x)``"""
    return self * torch.sigmoid(self)


@_registered("gelu")
def gelu(self: Tensor, *, approximate: str = "none") -> Tensor:
    """``x * Phi(x)``, or with ``approximate="tanh"`` nearly."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self)
        return 0.5 * self * (1 + torch.tanh(inner))
    return self * 0.5 * (1 + torch.erf(self * math.sqrt(0.5)))


@_registered("hardsigmoid")
def hardsigmoid(self: Tensor) -> Tensor:
    """``relu6(x + 3) / 6``"""
    return torch.clamp(self + 3, 0, 6) / 6


@_registered("hardswish")
def hardswish(self: Tensor) -> Tensor:
    """``x * relu6(x + 3) / 6``"""
    return self * torch.clamp(self + 3, 0, 6) / 6


@_registered("leaky_relu")
def leaky_relu(self: Tensor, negative_slope: float = 0.01) -> Tensor:
    """``x`` where it is positive, else ``negative_slope * x``"""
    return torch.where(self > 0, self, self * negative_slope)


@_registered("elu")
def elu(self: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """``scale * x`` where it is positive, else ``scale * alpha * (exp(input_scale * x) - 1)``"""
    return torch.where(self > 0, self * scale, torch.expm1(self * input_scale) * (alpha * scale))


@_registered("softplus")
def softplus(self: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where that is above the threshold"""
    scaled = self * beta
    return torch.where(scaled > threshold, self, torch.log1p(torch.exp(scaled)) / beta)


@_registered("mish")
def mish(self: Tensor) -> Tensor:
    """``x * tanh(softplus(x))``"""
    return self * torch.tanh(softplus(self))


@_registered("threshold")
def threshold(self: Tensor, threshold: float, value: float) -> Tensor:
    """``x`` where it is above the threshold, else the value"""
    return torch.where(self <= threshold, value, self)


# --- losses ---


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


@_registered("mse_loss")
def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``(self - target) ** 2``"""
    return _reduced((self - target) ** 2, reduction)


@_registered("l1_loss")
def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``abs(self - target)``"""
    return _reduced(torch.abs(self - target), reduction)


# --- norms and softmax ---


@_registered("native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, the mean, and the reciprocal of the deviation"""
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    variance, mean = torch.var_mean(input, dims, correction=0, keepdim=True)
    reciprocal = torch.rsqrt(variance + eps)
    out = (input - mean) * reciprocal
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, reciprocal


@_registered("_softmax")
def _softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``exp(x - max) / sum(exp(x - max))``"""
    found = torch.exp(x - torch.amax(x, [dim], True))
    return found / torch.sum(found, [dim], True)


@_registered("_log_softmax")
def _log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``x - max - log(sum(exp(x - max)))``"""
    shifted = x - torch.amax(x, [dim], True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), [dim], True))


# --- shapes and element-wise ---


@_registered("t")
def t(self: Tensor) -> Tensor:
    """The dims the other way round."""
    return self if self.dim() < 2 else torch.transpose(self, 0, 1)


@_registered("square")
def square(self: Tensor) -> Tensor:
    """``x * x``"""
    return self * self


@_registered("rsub")
def rsub(self: Tensor, other: Any) -> Tensor:
    """``other - self``"""
    return other - self


@_registered("lerp")
def lerp(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``start + weight * (end - start)``"""
    return self + weight * (end - self)


@_registered("logaddexp")
def logaddexp(self: Tensor, other: Tensor) -> Tensor:
    """``log(exp(a) + exp(b))``"""
    largest = torch.maximum(self, other)
    same = torch.isinf(largest) & (self == other)
    return torch.where(same, largest, largest + torch.log1p(torch.exp(-torch.abs(self - other))))
