"""Sampling images along a grid, as spatial transformers do (Jaderberg 2015)."""

from __future__ import annotations

import warnings

import torch
from torch._seams import in_float32

from .interpolate import _cubic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = ["affine_grid", "grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid at which an affine map reads an image: ``theta`` (N, 2, 3) with ``size`` (N, C, H, W) gives (N, H, W, 2);
    ``theta`` (N, 3, 4) with ``size`` (N, C, D, H, W) gives (N, D, H, W, 3).

    >>> torch.nn.functional.affine_grid(torch.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), align_corners=True)
    tensor([[[[-1., -1.],
              [ 1., -1.]],
    <BLANKLINE>
             [[-1.,  1.],
              [ 1.,  1.]]]])
    """
    size = tuple(size)
    n = len(size) - 2
    align_corners = _default("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: expected theta to have floating point type, but got {theta.dtype}")
    if n not in (2, 3):
        raise NotImplementedError(f"affine_grid: size must be (N, C, H, W) or (N, C, D, H, W), got {size}")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(f"affine_grid: expected theta (N, {n}, {n + 1}) for size {size}, got {tuple(theta.shape)}")
    if min(size) <= 0:
        raise ValueError(f"affine_grid: expected non-zero, positive output size, got {size}")
    axes = []
    for i, length in enumerate(reversed(size[2:])):  # x, y, z
        line = _line(length, align_corners, theta)
        shape = [1] * n
        shape[n - 1 - i] = length
        axes.append(line.reshape(shape).expand(size[2:]))
    points = torch.stack([*axes, torch.ones_like(axes[0])], -1).reshape(1, -1, n + 1)
    return torch.matmul(points, theta.transpose(1, 2)).reshape(size[0], *size[2:], n)


def _line(length, align_corners, like):
    if length <= 1:
        return torch.zeros(length, dtype=like.dtype, device=like.device)
    line = torch.linspace(-1, 1, length, dtype=like.dtype, device=like.device)
    return line if align_corners else line * ((length - 1) / length)


def _default(op, align_corners):
    if align_corners is None:
        warnings.warn(f"{op}: align_corners is False by default since 1.3; say which you mean", stacklevel=3)
    return bool(align_corners)


#: the numbers that torch.grid_sampler takes for the words of grid_sample
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def grid_sampler(input: Tensor, grid: Any, interpolation_mode: Any, padding_mode: Any, align_corners: bool) -> Tensor:
    """``grid_sample`` with numbers for words: ``torch.grid_sampler``."""
    for name, number, words in (
        ("interpolation_mode", interpolation_mode, MODES),
        ("padding_mode", padding_mode, PADDINGS),
    ):
        if number not in range(len(words)):
            raise RuntimeError(
                f"grid_sampler: {name} must be 0 to {len(words) - 1} for {', '.join(words)}, got {number}"
            )
    return grid_sample(input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


@in_float32
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Read ``input`` (N, C, H, W) at places ``grid`` (N, h, w, 2) in [-1, 1], x first; or (N, C, D, H, W) at (N, d, h, w, 3).

    ``mode``: 'bilinear', 'nearest' or, for images, 'bicubic'; ``padding_mode`` for places outside: 'zeros', 'border',
    'reflection'.

    >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> torch.nn.functional.grid_sample(image, torch.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[2.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', got {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got {padding_mode!r}")
    align_corners = _default("grid_sample", align_corners)
    n = input.dim() - 2
    if n not in (2, 3) or grid.dim() != input.dim() or grid.shape[0] != input.shape[0] or grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sample: expected input (N, C, H, W) with grid (N, h, w, 2), or (N, C, D, H, W) with (N, d, h, w, 3), "
            f"got {tuple(input.shape)} and {tuple(grid.shape)}"
        )
    if not torch.jit.is_scripting() and getattr(input, "is_quantized", False):  # compiled programs have no such images
        sampled = grid_sample(input.dequantize(), grid, mode, padding_mode, align_corners)
        return torch.quantize_per_tensor(sampled, input.q_scale(), input.q_zero_point(), input.dtype)
    if input.dtype != grid.dtype:
        raise RuntimeError(f"grid_sample: input is {input.dtype}, grid is {grid.dtype}; they must be equal")
    if mode == "bicubic" and n != 2:
        raise RuntimeError("grid_sample: bicubic exists only for images (4 dims)")
    if any(s == 0 for s in input.shape[2:]):
        raise RuntimeError(f"grid_sample: input has an empty spatial dim: {tuple(input.shape)}")
    if input.dtype in (torch.float16, torch.bfloat16):  # places need more digits than pixels
        return _sampled(input.float(), grid.float(), mode, padding_mode, align_corners).to(input.dtype)
    return _sampled(input, grid, mode, padding_mode, align_corners)


def _sampled(input, grid, mode, padding_mode, align_corners):
    n, sizes, flat = input.dim() - 2, input.shape[2:], input.flatten(2)
    places = [_place(grid[..., n - 1 - i], sizes[i], align_corners) for i in range(n)]  # z, y, x
    if mode == "bicubic":
        return _bicubic(flat, sizes, places, padding_mode, align_corners)
    places = [_fold_back(places[i], sizes[i], padding_mode, align_corners) for i in range(n)]
    if mode == "nearest":
        places = [p.round() for p in places]
        output = _read(flat, sizes, places)
        if not grid.requires_grad:
            return output
        # its gradient is zero, and not missing
        return output + torch.where(torch.tensor(False, device=grid.device), places[0], 0.0).unsqueeze(1)
    floors = [p.detach().floor() for p in places]
    output = _corner(flat, sizes, places, floors, 0)
    for corner in range(1, 2**n):
        output = output + _corner(flat, sizes, places, floors, corner)
    return output


def _corner(flat, sizes, places, floors, corner):
    """The pixels at one corner of the cells that places are in, weighed; the bits of ``corner`` say which."""
    at = [floors[i] + (corner >> i & 1) for i in range(len(floors))]
    weight = _nearness(places[0], floors[0], corner & 1)
    for i in range(1, len(floors)):
        weight = weight * _nearness(places[i], floors[i], corner >> i & 1)
    return _read(flat, sizes, at) * weight.unsqueeze(1)


def _nearness(place, floor, side):
    t = place - floor
    return t if side == 1 else 1 - t


def _place(x, size, align_corners):
    """From [-1, 1] to pixels."""
    return (x + 1) * 0.5 * (size - 1) if align_corners else ((x + 1) * size - 1) * 0.5


def _fold_back(place, size, padding_mode, align_corners):
    """Bring a real-valued place into the image, as the padding mode says."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, size * 1.0)
        if span <= 0:
            return place * 0
        offset = (place - low).abs()
        turns = (offset / span).detach().floor()
        extra = offset - turns * span
        place = torch.where(turns % 2 == 0, extra + low, span - extra + low)
    # What is not a number, and what cannot be reflected, is the first pixel.
    return torch.where(place.isnan(), 0.0, place.clamp(0, size - 1))


def _read(flat, sizes, at):
    """Pixels of ``flat`` (N, C, all) at whole places, zero where they are outside."""
    inside = _within(at[0], sizes[0])
    index = torch.where(inside, at[0], 0.0).to(torch.int64)
    for i in range(1, len(at)):
        here = _within(at[i], sizes[i])
        inside = inside & here
        index = index * sizes[i] + torch.where(here, at[i], 0.0).to(torch.int64)
    pixels = flat.gather(2, index.flatten(1).unsqueeze(1).expand(-1, flat.shape[1], -1))
    # where, and not a product: a weight that is no number does not reach the gradient of a pixel that was not read
    return torch.where(inside.unsqueeze(1), pixels.unflatten(2, index.shape[1:]), 0.0)


def _within(place, size):
    return (place >= 0) & (place < size)  # not a place that is no number


def _bicubic(flat, sizes, places, padding_mode, align_corners):
    y, x = places[0], places[1]
    y0, x0 = y.detach().floor(), x.detach().floor()
    rows = []
    for j in (-1, 0, 1, 2):
        row = []
        for i in (-1, 0, 1, 2):
            at = [
                _fold_back(y0 + j, sizes[0], padding_mode, align_corners).round(),
                _fold_back(x0 + i, sizes[1], padding_mode, align_corners).round(),
            ]
            row.append(_read(flat, sizes, at) * _cubic(x - x0 - i, -0.75).unsqueeze(1))
        rows.append((row[0] + row[1] + row[2] + row[3]) * _cubic(y - y0 - j, -0.75).unsqueeze(1))
    return rows[0] + rows[1] + rows[2] + rows[3]
