"""Resize: each axis by itself, at the places that a rule of coordinates gives, with the weights of a kernel."""

from __future__ import annotations

import math

import torch

from . import reader
from .shapes import ints


@reader("Resize")
def resize(x, roi=None, scales=None, sizes=None, antialias=0, axes=None, coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.75,
           exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy="stretch", mode="nearest",
           nearest_mode="round_prefer_floor"):  # fmt: skip
    axes = list(range(x.dim())) if axes is None else [axis % x.dim() for axis in axes]
    have = [x.shape[axis] for axis in axes]
    if sizes is not None and sizes.numel():
        lengths = ints(sizes)
        factors = [out / size for out, size in zip(lengths, have, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            factor = (min if keep_aspect_ratio_policy == "not_larger" else max)(factors)
            factors = [factor] * len(axes)
            lengths = [math.floor(size * factor + 0.5) for size in have]
    else:
        factors = ints(scales)
        lengths = [math.floor(size * factor) for size, factor in zip(have, factors, strict=True)]
    ends = None if roi is None or not roi.numel() else ints(roi)
    y = x if x.is_floating_point() else x.float()
    for i, axis in enumerate(axes):
        part = (0.0, 1.0) if ends is None else (ends[i], ends[i + len(axes)])
        if factors[i] == 1 and (coordinate_transformation_mode != "tf_crop_and_resize" or part == (0.0, 1.0)):
            continue
        place = _places(coordinate_transformation_mode, have[i], lengths[i], factors[i], part)
        if mode == "nearest":
            taps, weights = _nearest(place, nearest_mode).unsqueeze(0), None
        else:
            taps, weights = _taps(place, mode, factors[i] if antialias else 1.0, cubic_coeff_a)
        inside = (taps >= 0) & (taps < have[i])
        taps = taps.clamp(0, have[i] - 1).long()
        if exclude_outside and weights is not None:
            weights = weights * inside
            weights = weights / weights.sum(0)
        shape = [1] * y.dim()
        shape[axis] = lengths[i]
        found = 0
        for at in range(len(taps)):
            line = y.index_select(axis, taps[at])
            found = line if weights is None else found + line * weights[at].to(y.dtype).reshape(shape)
        y = found
        if coordinate_transformation_mode == "tf_crop_and_resize":
            outside = (place < 0) | (place > have[i] - 1)
            y = y.masked_fill(outside.reshape(shape), extrapolation_value)
    return y if x.is_floating_point() else y.round().to(x.dtype) if mode != "nearest" else y.to(x.dtype)


def _places(rule, size, out, scale, part):
    """Where the outputs of an axis lie in its input."""
    i = torch.arange(out, dtype=torch.float64)
    length = scale * size  # of the output, which may be a fraction
    if rule == "align_corners":
        return i * 0 if length == 1 else i * ((size - 1) / (length - 1))
    if rule == "asymmetric":
        return _quotient(i, scale)
    if rule == "tf_crop_and_resize":
        start, end = part
        if out == 1:
            return i + 0.5 * (start + end) * (size - 1)
        return start * (size - 1) + i * (end - start) * (size - 1) / (length - 1)
    if rule == "pytorch_half_pixel" and out == 1:
        return i * 0
    shift = 0.0
    if rule == "half_pixel_symmetric":
        shift = size / 2 * (1 - out / length)
    return shift + _quotient(i + 0.5, scale) - 0.5


def _quotient(i, scale):
    """In the precision of the scale, a float32 in the file: 8 / 1.6 is 5 there, and a little less for the double of that 1.6."""
    return (i / scale).float().double()


def _nearest(place, rule):
    if rule == "floor":
        return place.floor()
    if rule == "ceil":
        return place.ceil()
    return (place - 0.5).ceil() if rule == "round_prefer_floor" else (place + 0.5).floor()


def _taps(place, mode, scale, a):
    """Places around each output and their weights, both (taps, outputs); below a scale of 1 the kernel is widened."""
    scale = min(scale, 1.0)
    reach = (1 if mode == "linear" else 2) / scale
    first = math.floor(-reach) + 1
    low = place.floor()
    taps = low + torch.arange(first, first + 2 - 2 * first, dtype=torch.float64).unsqueeze(1)
    far = ((taps - place) * scale).abs()
    if mode == "linear":
        weights = (1 - far).clamp(min=0)
    else:
        near = ((a + 2) * far - (a + 3)) * far * far + 1
        rest = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
        weights = torch.where(far <= 1, near, torch.where(far < 2, rest, torch.zeros_like(far)))
    return taps, weights / weights.sum(0)
