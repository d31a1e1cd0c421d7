"""Dropout: zeros at random places in training, nothing in evaluation."""

from __future__ import annotations

import warnings

import torch

from ._ops import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check(op, p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{op}: dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training each element is zero with probability ``p``, else divided by ``1 - p`` (Hinton 2012).

    ValueError when p is not in [0, 1].

    >>> dropout(torch.ones(3), p=0.5, training=False)
    tensor([1., 1., 1.])
    """
    if not 0.0 <= p <= 1.0:
        _check("dropout", p)
    return ops.dropout_(input, p, training) if inplace else ops.dropout(input, p, training)


def _channel_noise(op, input, p, training, inplace, fill):
    """Noise of one value for each channel: shape (N, C, 1, ...). ``fill(noise)`` makes the output."""
    _check(op, p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if input.dim() < 2:
        raise RuntimeError(f"{op}: input must have at least 2 dims (N, C, ...), got shape {tuple(input.shape)}")
    shape = (*input.shape[:2], *[1] * (input.dim() - 2))
    keep = torch.zeros(shape, dtype=input.dtype, device=input.device)
    output = fill(keep if p == 1 else keep.bernoulli_(1 - p))  # nothing is drawn where all is dropped
    return input.copy_(output) if inplace else output


def _dropout_channels(op, input, p, training, inplace):
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return _channel_noise(op, input, p, training, inplace, lambda keep: input * keep.mul_(scale))


def _warn_of_dims(op, input, usual):
    if input.dim() not in usual:
        expected = " or ".join(map(str, usual))
        shape = tuple(input.shape)
        warnings.warn(f"{op}: expected {expected} dims, got shape {shape}: dim 1 counts as channels", stacklevel=3)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ``input`` (N, C, L) or (C, L)."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: expected 2 or 3 dims, got shape {tuple(input.shape)}")
    return _unbatched(_dropout_channels, 3, "dropout1d", input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ``input`` (N, C, H, W).

    >>> torch.nn.functional.dropout2d(torch.ones(1, 100, 2, 2)).unique()
    tensor([0., 2.])
    """
    _warn_of_dims("dropout2d", input, (4,))
    return _dropout_channels("dropout2d", input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ``input`` (N, C, D, H, W) or (C, D, H, W).

    >>> torch.nn.functional.dropout3d(torch.ones(1, 100, 2, 2, 2)).unique()
    tensor([0., 2.])
    """
    _warn_of_dims("dropout3d", input, (4, 5))
    return _unbatched(_dropout_channels, 5, "dropout3d", input, p, training, inplace)


def _unbatched(drop, dims, op, input, p, training, inplace):
    if input.dim() != dims - 1:
        return drop(op, input, p, training, inplace)
    return drop(op, input.unsqueeze(0), p, training, inplace).squeeze(0)


# Where SELU sends minus infinity: -scale * alpha (Klambauer 2017, section 2).
_ALPHA = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717


def _alpha_mix(input, keep, p):
    """Dropped elements become ``_ALPHA``; the affine map restores mean 0 and variance 1."""
    if p == 1:
        return input * 0
    a = ((1 - p) * (1 + p * _ALPHA**2)) ** -0.5
    return (input * keep + (1 - keep) * _ALPHA) * a - a * p * _ALPHA


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU networks: keeps mean 0 and variance 1 (Klambauer 2017).

    >>> torch.nn.functional.alpha_dropout(torch.ones(2), p=0.5, training=False)
    tensor([1., 1.])
    """
    _check("alpha_dropout", p)
    if not training or p == 0 or input.numel() == 0:
        return input
    keep = torch.empty_like(input)
    output = _alpha_mix(input, keep if p == 1 else keep.bernoulli_(1 - p), p)
    return input.copy_(output) if inplace else output


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """:func:`alpha_dropout` of whole channels."""
    return _channel_noise("feature_alpha_dropout", input, p, training, inplace, lambda keep: _alpha_mix(input, keep, p))
