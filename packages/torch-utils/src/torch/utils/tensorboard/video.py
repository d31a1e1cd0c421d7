"""Moving pictures, as GIF: what TensorBoard plays among the images. Pillow encodes them."""

from __future__ import annotations

import io

import torch

from . import proto
from .media import bytes_of_pixels, grid, pillow
from .summary import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def video(tag: str, frames: Any, fps: float = 4) -> bytes:
    """One picture of (N, T, C, H, W): N clips side by side, T pictures each."""
    what = f"add_video({tag!r})"
    x = bytes_of_pixels(what, frames)
    if x.dim() != 5 or x.shape[2] not in (1, 3) or not x.numel():
        raise ValueError(f"{what}: clips are (N, T, C, H, W) with 1 or 3 channels, got shape {tuple(x.shape)}")
    if not fps > 0:
        raise ValueError(f"{what}: fps is {fps}, not above zero")
    pictures = [grid(x[:, t].permute(0, 2, 3, 1).expand(-1, -1, -1, 3)) for t in range(x.shape[1])]
    height, width, channels = pictures[0].shape
    numbers = proto.integer(1, height) + proto.integer(2, width) + proto.integer(3, channels)
    return value(tag, proto.data(4, numbers + proto.data(4, gif(what, pictures, fps))))


def gif(what: str, pictures: list[torch.Tensor], fps: float) -> bytes:
    """An endless GIF of (H, W, 3) bytes."""
    Image = pillow(what).Image
    first, *others = (
        Image.frombytes("RGB", (p.shape[1], p.shape[0]), memoryview(p.contiguous()).tobytes()) for p in pictures
    )
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=1000 / fps, loop=0)
    return file.getvalue()
