"""Padding of the last dims of a tensor."""

from __future__ import annotations

import torch
from torch._seams import in_float32

from ._ops import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["pad"]

_MODES = ("constant", "reflect", "replicate", "circular")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dims of ``input``: ``pad`` is (left, right, top, bottom, ...), beginning with the last dim.

    ``mode`` 'constant' writes ``value`` (0 by default) and pads any dims, negative amounts cut off; 'reflect',
    'replicate' and 'circular' continue the data of the last 1 to 3 dims.

    >>> pad(torch.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    pad = tuple(pad)
    if len(pad) % 2:
        raise RuntimeError(f"pad: padding comes in pairs (before, after) for each dim, got {len(pad)} numbers: {pad}")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: padding {pad} is for {len(pad) // 2} dims, input has shape {tuple(input.shape)}")
    if mode == "constant":
        return ops.constant_pad_nd(input, pad, 0 if value is None else value)
    if value:  # zero, which some libraries give with each mode, says nothing
        raise RuntimeError(f"pad: mode {mode!r} takes no value, got {value}")
    if mode not in _MODES:
        raise NotImplementedError(f"pad: unrecognised mode {mode!r}; use one of {', '.join(_MODES)}")
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or input.dim() not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"pad: mode {mode!r} pads the last 1, 2 or 3 dims of a tensor that has a channel dim, and may have a batch "
            f"dim, before them; got padding {pad} for shape {tuple(input.shape)}"
        )
    if any(n == 0 for n in input.shape[1:]):
        raise RuntimeError(f"pad: mode {mode!r} cannot continue an empty dim, got shape {tuple(input.shape)}")
    if mode == "replicate" or (mode == "reflect" and dims < 3):
        return _continued(input, pad, mode)
    return _continued.__wrapped__(input, pad, mode)


@in_float32
def _continued(input, pad, mode):
    """Pads with data of the input itself."""
    padded = input
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        if before != 0 or after != 0:
            places = _sources(mode, input.shape[-1 - i], before, after, pad, input)
            padded = padded.index_select(input.dim() - 1 - i, places)
    return input.clone() if all(n == 0 for n in pad) else padded


def _sources(mode, size, before, after, pad, input):
    """For each place of the padded dim, the place of the input that it repeats."""
    most = 2**63 - 1  # scripts have no larger numbers
    if not -most <= before <= most or size > most - max(0, after, before + after):
        raise RuntimeError(f"pad: padding {pad} makes more than 2^63 - 1 of a dim of shape {tuple(input.shape)}")
    if size + before + after <= 0:
        raise RuntimeError(f"pad: padding {pad} leaves nothing of shape {tuple(input.shape)}")
    if mode == "reflect" and (before >= size or after >= size):
        raise RuntimeError(
            f"pad: mode 'reflect' needs padding smaller than the dim, got {(before, after)} for {size} of shape "
            f"{tuple(input.shape)}"
        )
    if mode == "circular" and (before > size or after > size):
        raise RuntimeError(f"pad: mode 'circular' cannot wrap around twice, got {(before, after)} for {size}")
    if mode == "circular" and size + min(before, 0) + min(after, 0) <= 0:
        raise RuntimeError(f"pad: mode 'circular' has nothing to repeat where {(before, after)} cut off all {size}")
    places = torch.arange(-before, size + after, device=input.device)
    if mode == "replicate":
        return places.clamp(0, size - 1)
    if mode == "circular":  # what is cut off does not come back on the other side
        first, last = max(-before, 0), size + min(after, 0)
        return (places - first) % (last - first) + first
    return (size - 1) - ((size - 1) - places.abs()).abs()
