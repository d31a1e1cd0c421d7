"""Regions of images, and convolutions whose places move: values between pixels."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from . import reader


@reader("RoiAlign")
def roi_align(x, boxes, batches, mode="avg", coordinate_transformation_mode=None, output_height=1, output_width=1,
              sampling_ratio=0, spatial_scale=1.0, *, opset):  # fmt: skip
    """Mask R-CNN's pooling: each cell of a box is the mean, or the greatest, of values at even places within it."""
    half = (coordinate_transformation_mode or ("half_pixel" if opset >= 16 else "output_half_pixel")) == "half_pixel"
    boxes = boxes * spatial_scale - (0.5 if half else 0.0)
    found = []
    for (left, top, right, bottom), batch in zip(boxes.unbind(), batches.tolist(), strict=True):
        rows, row_shares = _between(top, bottom, output_height, sampling_ratio, x.shape[2], half)
        columns, column_shares = _between(left, right, output_width, sampling_ratio, x.shape[3], half)
        # (channels, cell, sample, low or high) along each dim
        corners = x[batch][:, rows][..., columns]
        shares = row_shares[..., None, None, None] * column_shares
        values = corners * shares.to(x.dtype)
        if mode == "avg":
            found.append(values.sum((3, 6)).mean((2, 4)))
        else:  # of the corners' own shares, as the standard has it
            found.append(values.amax((2, 3, 5, 6)))
    shape = (0, x.shape[1], output_height, output_width)
    return torch.stack(found) if found else x.new_empty(shape)


def _between(start, end, cells, ratio, size, half):
    """For each cell and sample of a dim the two pixels around it, and their shares: (cells, samples, 2)."""
    length = end - start if half else (end - start).clamp(min=1)
    samples = ratio if ratio > 0 else max(math.ceil(float(length) / cells), 0)
    if not samples:  # a box without extent: nothing is sampled, and the mean is 0
        return torch.zeros(cells, 1, 2, dtype=torch.int64), start.new_zeros(cells, 1, 2)
    step = length / cells
    cell, sample = torch.arange(cells).unsqueeze(1), torch.arange(samples)
    place = start + cell * step + (sample + 0.5) * step / samples
    inside = (place >= -1) & (place <= size)
    place = place.clamp(0, size - 1)
    low = place.floor().long()
    share = place - low
    return torch.stack([low, (low + 1).clamp(max=size - 1)], -1), torch.stack(
        [1 - share, share], -1
    ) * inside.unsqueeze(-1)


@reader("MaxRoiPool")
def max_roi_pool(x, boxes, pooled_shape=(1, 1), spatial_scale=1.0):
    """Fast R-CNN's pooling: the greatest pixel of each cell, whose borders are whole numbers; 0 where a cell has none."""
    found = []
    for row in boxes:
        ends = row[1:] * spatial_scale
        batch, ends = int(row[0]), (ends + ends.sign() / 2).trunc().long().tolist()  # halves away from zero
        rows = _cells(ends[1], ends[3], pooled_shape[0], x.shape[2])
        columns = _cells(ends[0], ends[2], pooled_shape[1], x.shape[3])
        image = x[batch]
        cells = [
            image[:, top:bottom, left:right].amax((1, 2)) if bottom > top and right > left else x.new_zeros(x.shape[1])
            for top, bottom in rows
            for left, right in columns
        ]
        found.append(torch.stack(cells, -1).reshape(-1, *pooled_shape))
    return torch.stack(found) if found else x.new_empty(0, x.shape[1], *pooled_shape)


def _cells(start, end, count, size):
    step = max(end - start + 1, 1) / count
    held = lambda place: min(max(place + start, 0), size)
    return [(held(math.floor(i * step)), held(math.ceil((i + 1) * step))) for i in range(count)]


@reader("DeformConv")
def deform_conv(x, w, offset, b=None, mask=None, dilations=None, group=1, kernel_shape=None, offset_group=1, pads=None,
                strides=None):  # fmt: skip
    """A convolution that reads each place of its kernel beside its usual one, by an offset for each pixel (and a share)."""
    n = w.dim() - 2
    if n not in (2, 3):
        raise NotImplementedError(f"onnx.load: DeformConv over {n} dims: 2 and 3 are read")
    strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * (2 * n)
    kernel, out, batch = list(w.shape[2:]), list(offset.shape[2:]), x.shape[0]
    count = math.prod(kernel)
    offset = offset.reshape(batch * offset_group, count, n, *out)
    grid = []
    for dim in range(n):
        place = torch.arange(out[dim], dtype=x.dtype) * strides[dim] - pads[dim]
        tap = torch.arange(kernel[dim], dtype=x.dtype) * dilations[dim]
        along = [-1 if d == dim else 1 for d in range(n)]
        taps = tap.reshape(along).expand(kernel).reshape(count, *[1] * n)
        at = offset[:, :, dim] + taps + place.reshape(along)
        grid.append((2 * at + 1) / x.shape[2 + dim] - 1)
    grid = torch.stack(grid[::-1], -1)  # the last dim of the image stands first
    grid = grid.reshape(batch * offset_group, count * out[0], *out[1:], n)
    planes = x.reshape(batch * offset_group, -1, *x.shape[2:])
    columns = F.grid_sample(planes, grid, "bilinear", "zeros", False)
    columns = columns.reshape(batch, offset_group, -1, count, math.prod(out))
    if mask is not None:
        columns = columns * mask.reshape(batch, offset_group, 1, count, -1)
    columns = columns.reshape(batch, group, -1, math.prod(out))
    found = (w.reshape(1, group, w.shape[0] // group, -1) @ columns).reshape(batch, -1, *out)
    return found if b is None else found + b.reshape(-1, *[1] * n)
