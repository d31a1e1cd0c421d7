"""Pictures and sound in summaries: PNG and WAV, written with what Python brings."""

from __future__ import annotations

import io
import math
import struct
import wave
import zlib

import torch

from . import proto
from .summary import as_tensor, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


PNG_COLOR = {1: 0, 2: 4, 3: 2, 4: 6}  # channels to PNG's colour type


def bytes_of_pixels(what: str, image: Any) -> torch.Tensor:
    """Bytes: floats in [0, 1] times 255, bytes as they are."""
    x = as_tensor(what, image)
    if x.dtype == torch.uint8:
        return x
    if x.dtype == torch.bool:
        return x.to(torch.uint8) * 255
    if not x.is_floating_point():
        raise TypeError(f"{what}: pixels are uint8 (0 to 255) or floats (0 to 1), got {x.dtype}")
    return (x.to(torch.float32).nan_to_num(0.0) * 255).clamp(0, 255).round().to(torch.uint8)


def in_rows(what: str, image: Any, dataformats: str) -> torch.Tensor:
    """The picture as (H, W, C) bytes; several pictures as one, in a grid."""
    x = bytes_of_pixels(what, image)
    letters = dataformats.upper()
    if len(letters) != x.dim() or len(set(letters)) != len(letters) or not {"H", "W"} <= set(letters) <= set("NCHW"):
        raise ValueError(
            f"{what}: dataformats {dataformats!r} does not name the dims of a picture of shape {tuple(x.shape)}"
        )
    if "C" not in letters:
        letters, x = letters + "C", x.unsqueeze(-1)
    if "N" not in letters:
        letters, x = "N" + letters, x.unsqueeze(0)
    return grid(x.permute(*(letters.index(c) for c in "NHWC")))


def grid(x: torch.Tensor, across: int = 8) -> torch.Tensor:
    """(N, H, W, C) as one (H', W', C), at most `across` side by side."""
    n, h, w, c = x.shape
    columns = min(n, across)
    rows = math.ceil(n / max(columns, 1))
    out = torch.zeros(rows * h, columns * w, c, dtype=x.dtype)
    for i in range(n):
        top, left = i // columns * h, i % columns * w
        out[top : top + h, left : left + w] = x[i]
    return out


def png(x: torch.Tensor) -> bytes:
    """A PNG file of (H, W, C) bytes with 1 to 4 channels: grey, grey and alpha, RGB, RGBA."""
    h, w, c = x.shape
    rows = torch.cat([torch.zeros(h, 1, dtype=torch.uint8), x.reshape(h, w * c)], 1)  # a filter byte before each row

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", w, h, 8, PNG_COLOR[c], 0, 0, 0)
    packed = zlib.compress(bytes(memoryview(rows.contiguous()).cast("B")), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def image(tag: str, image: Any, dataformats: str = "CHW", rescale: float = 1) -> bytes:
    """Image: height 1, width 2, colorspace 3, encoded_image_string 4."""
    what = f"add_image({tag!r})"
    x = in_rows(what, image, dataformats)
    h, w, c = x.shape
    if c not in PNG_COLOR or not h or not w:
        raise ValueError(f"{what}: a picture has 1 to 4 channels and some pixels, got {h} x {w} pixels of {c} channels")
    if rescale != 1:
        rows = (torch.arange(max(round(h * rescale), 1)) / rescale).long().clamp(max=h - 1)
        columns = (torch.arange(max(round(w * rescale), 1)) / rescale).long().clamp(max=w - 1)
        x = x[rows][:, columns]
        h, w = x.shape[:2]
    numbers = proto.integer(1, h) + proto.integer(2, w) + proto.integer(3, c)
    return value(tag, proto.data(4, numbers + proto.data(4, png(x))))


def with_boxes(what: str, image: Any, boxes: Any, labels: Any, dataformats: str) -> torch.Tensor:
    """(H, W, 3) bytes with a red frame for each (left, top, right, bottom), and its label in the frame's corner."""
    x = in_rows(what, image, dataformats)
    x = x.expand(-1, -1, 3).clone() if x.shape[2] == 1 else x[:, :, :3].clone()
    h, w, _ = x.shape
    frames = as_tensor(what, boxes).to(torch.float64).round().long()
    if frames.dim() == 1 and frames.numel() == 4:
        frames = frames[None]
    if frames.dim() != 2 or frames.shape[1] != 4:
        raise ValueError(f"{what}: box_tensor is (boxes, 4), got shape {tuple(frames.shape)}")
    if labels is not None:
        labels = [labels] * len(frames) if isinstance(labels, str) else list(labels)
        if len(labels) != len(frames):
            raise ValueError(f"{what}: {len(frames)} boxes and {len(labels)} labels")
    red = torch.tensor([255, 0, 0], dtype=torch.uint8)
    corners = []
    for left, top, right, bottom in frames.tolist():
        left, right = (min(max(v, 0), w - 1) for v in (left, right))
        top, bottom = (min(max(v, 0), h - 1) for v in (top, bottom))
        x[top, left : right + 1] = x[bottom, left : right + 1] = red
        x[top : bottom + 1, left] = x[top : bottom + 1, right] = red
        corners.append((left, top))
    return x if labels is None else _labelled(what, x, corners, labels)


def _labelled(what: str, x: torch.Tensor, corners: list, labels: list[str]) -> torch.Tensor:
    """White letters on red at each corner, drawn by Pillow."""
    PIL = pillow(what)
    drawing = PIL.Image.frombytes("RGB", (x.shape[1], x.shape[0]), memoryview(x.contiguous()).tobytes())
    pen = PIL.ImageDraw.Draw(drawing)
    for corner, label in zip(corners, labels):
        pen.rectangle(pen.textbbox(corner, str(label)), fill="red")
        pen.text(corner, str(label), fill="white")
    return torch.frombuffer(bytearray(drawing.tobytes()), dtype=torch.uint8).view(x.shape)


def pillow(what: str) -> Any:
    """The package PIL with Image and ImageDraw."""
    try:
        import PIL.Image
        import PIL.ImageDraw
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{what} needs Pillow: pip install pillow", name=error.name) from None
    return PIL


def figure(figures: Any) -> torch.Tensor:
    """(N, H, W, 3) bytes of matplotlib figures, drawn without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = []
    for one in figures:
        if not hasattr(one, "savefig"):
            raise TypeError(f"add_figure: expected a matplotlib figure, got {type(one).__name__}")
        canvas = FigureCanvasAgg(one)
        canvas.draw()
        drawn.append(torch.as_tensor(memoryview(canvas.buffer_rgba()))[:, :, :3])
    if len({tuple(d.shape) for d in drawn}) > 1:
        raise ValueError(f"add_figure: figures of one call have one size, got {[tuple(d.shape) for d in drawn]}")
    return torch.stack(drawn)


def audio(tag: str, sound: Any, sample_rate: int = 44100) -> bytes:
    """Audio: sample_rate 1, num_channels 2, length_frames 3, encoded_audio_string 4, content_type 5."""
    x = as_tensor(f"add_audio({tag!r})", sound).to(torch.float32)
    x = x.reshape(1, -1) if x.dim() < 2 else x
    if x.dim() != 2:
        raise ValueError(f"add_audio({tag!r}): a sound is (samples) or (channels, samples), got {tuple(x.shape)}")
    channels, frames = x.shape
    if not x.numel():
        raise ValueError(f"add_audio({tag!r}): there are no samples, the shape is {tuple(x.shape)}")
    samples = (x.clamp(-1, 1) * 32767).round().to(torch.int16).t().contiguous()
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes(bytes(memoryview(samples).cast("B")))
    numbers = proto.single(1, sample_rate) + proto.integer(2, channels) + proto.integer(3, frames)
    return value(tag, proto.data(6, numbers + proto.data(4, file.getvalue()) + proto.data(5, "audio/wav")))
