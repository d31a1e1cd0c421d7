"""Moving elements between channels and space."""

from __future__ import annotations

import torch
from torch._prims_common import suggest_memory_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Tensor, upscale_factor: Any) -> Tensor:
    """From (*, C r^2, H, W) to (*, C, H r, W r): sub-pixel convolution's last step (Shi 2016, equation 4).

    RuntimeError when r^2 does not divide the channels.

    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).view(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    r = upscale_factor
    if input.dim() < 3:
        raise RuntimeError(f"pixel_shuffle: input must have at least 3 dims (C, H, W), got {tuple(input.shape)}")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle: upscale_factor must be positive, got {r}")
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle: {c} channels are not divisible by upscale_factor^2 = {r * r}")
    n = len(batch)
    x = input.reshape(*batch, c // (r * r), r, r, h, w)
    x = x.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return _copied(x, (*batch, c // (r * r), h * r, w * r), input, 1)


def pixel_unshuffle(input: Tensor, downscale_factor: Any) -> Tensor:
    """From (*, C, H r, W r) to (*, C r^2, H, W): the inverse of :func:`pixel_shuffle`."""
    r = downscale_factor
    if input.dim() < 3:
        raise RuntimeError(f"pixel_unshuffle: input must have at least 3 dims (C, H, W), got {tuple(input.shape)}")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle: downscale_factor must be positive, got {r}")
    *batch, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle: height {h} and width {w} must be divisible by downscale_factor {r}")
    n = len(batch)
    x = input.reshape(*batch, c, h // r, r, w // r, r)
    x = x.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return _copied(x, (*batch, c * r * r, h // r, w // r), input, 3)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Deal the channels of ``input`` (N, C, ...) out over ``groups`` (ShuffleNet, Zhang 2017)."""
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle: input must have at least 3 dims (N, C, ...), got {tuple(input.shape)}")
    n, c = input.shape[:2]
    if groups <= 0 or c % groups:
        raise RuntimeError(f"channel_shuffle: groups {groups} must be positive and divide the number of channels {c}")
    return _copied(input.reshape(n, groups, c // groups, *input.shape[2:]).transpose(1, 2), input.shape, input, 2)


def _copied(x, shape, input, channels):
    """A copy of ``x``, whose dims from 1 on are so many of channels, in one pass: it has ``shape`` and lies as ``input``.

    Never a view, also where nothing moves: the result may be written to.
    """
    if suggest_memory_format(input) == torch.contiguous_format:
        return x.clone(memory_format=torch.contiguous_format).reshape(shape)
    for _ in range(channels):
        x = x.movedim(1, -1)
    x = x.clone(memory_format=torch.contiguous_format)
    return x.reshape(shape[0], *shape[2:], shape[1]).movedim(-1, 1)
