"""Gradients in 8 bits: each rank sends whole numbers from 0 to 255, and the scale and zero they are counted in."""

import torch

from ... import _collectives as collectives
from ._lane import lane_of

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]


def _average_of_bytes(group, line, width):
    """The mean over all ranks, of which each ``width`` elements travel in 8 bits with a scale and a lowest value."""
    rows = torch.cat([line, line.new_zeros(-line.numel() % width)]).view(-1, width)
    low, high = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    scale = (high - low) / 255
    bytes_ = ((rows - low) / torch.where(scale > 0, scale, torch.ones_like(scale))).round().to(torch.uint8)
    settings = torch.cat([scale, low], 1)
    all_settings = [torch.empty_like(settings) for _ in range(group.size())]
    all_bytes = [torch.empty_like(bytes_) for _ in range(group.size())]
    collectives.all_gather(all_settings, settings, group=group)
    collectives.all_gather(all_bytes, bytes_, group=group)
    total = torch.zeros_like(rows)
    for theirs, (their_scale, their_low) in zip(all_bytes, (s.split(1, 1) for s in all_settings), strict=True):
        total += theirs.to(rows.dtype) * their_scale + their_low
    return line.copy_((total / group.size()).view(-1)[: line.numel()])


def quantization_pertensor_hook(process_group, bucket):
    """The average, with one scale for a bucket; a future."""
    line = bucket.buffer()
    return lane_of(process_group).put(_average_of_bytes, line, line.numel())


def quantization_perchannel_hook(process_group, bucket, bucket_size=512):
    """The average, with a scale for each ``bucket_size`` elements; a future."""
    return lane_of(process_group).put(_average_of_bytes, bucket.buffer(), bucket_size)
