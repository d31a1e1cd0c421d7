"""Which layers are joined, one function for each kind of chain."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.ao.nn import intrinsic as nni

from .fuse_modules import CONVOLUTIONS, NORMS, TRANSPOSED, fused

__all__ = [
    "fuse_conv_bn",
    "fuse_conv_bn_relu",
    "fuse_convtranspose_bn",
    "fuse_linear_bn",
    "get_fuser_method",
    "get_fuser_method_new",
]


def fuse_conv_bn(is_qat: bool, conv: nn.Module, bn: nn.Module) -> nn.Module:
    """A convolution and the batch norm after it as one layer.

    >>> type(fuse_conv_bn(False, torch.nn.Conv1d(1, 2, 3).eval(), torch.nn.BatchNorm1d(2).eval())).__name__
    'Conv1d'
    """
    return fused(is_qat, [conv, bn])


def fuse_conv_bn_relu(is_qat: bool, conv: nn.Module, bn: nn.Module, relu: nn.Module) -> nn.Module:
    """A convolution, the batch norm and the relu after it as one layer."""
    return fused(is_qat, [conv, bn, relu])


def fuse_linear_bn(is_qat: bool, linear: nn.Module, bn: nn.Module) -> nn.Module:
    """A linear layer and the batch norm after it as one layer."""
    return fused(is_qat, [linear, bn])


def fuse_convtranspose_bn(is_qat: bool, convt: nn.Module, bn: nn.Module) -> nn.Module:
    """A transposed convolution and the batch norm after it as one layer, for inference."""
    return fused(is_qat, [convt, bn])


_METHODS: dict[tuple[Any, ...], Any] = {(nn.Linear, nn.BatchNorm1d): fuse_linear_bn}
for _conv, _d in CONVOLUTIONS.items():
    _norm = next(n for n, d in NORMS.items() if d == _d)
    _METHODS[_conv, _norm] = fuse_conv_bn
    _METHODS[_conv, _norm, nn.ReLU] = fuse_conv_bn_relu
    _METHODS[_conv, nn.ReLU] = lambda is_qat, conv, relu, _d=_d: getattr(nni, f"ConvReLU{_d}")(conv, relu)
for _conv, _d in TRANSPOSED.items():
    _METHODS[_conv, next(n for n, d in NORMS.items() if d == _d)] = fuse_convtranspose_bn
_METHODS[nn.Linear, nn.ReLU] = lambda is_qat, linear, relu: nni.LinearReLU(linear, relu)
for _d in ("2d", "3d"):
    _METHODS[getattr(nn, f"BatchNorm{_d}"), nn.ReLU] = lambda is_qat, bn, relu, _d=_d: getattr(nni, f"BNReLU{_d}")(
        bn, relu
    )


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Any:
    """The function that joins layers of these classes."""
    found = {**_METHODS, **(additional_fuser_method_mapping or {})}.get(tuple(op_list))
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found


def get_fuser_method_new(op_pattern: Any, fuser_method_mapping: Any) -> Any:
    """The function of a mapping that joins layers of these classes."""
    return get_fuser_method(op_pattern, fuser_method_mapping)
