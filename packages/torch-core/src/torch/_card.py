"""What a notebook shows of a tensor: its kind, its range, and a picture of it where it looks like one."""

from __future__ import annotations

import html
from base64 import b64encode
from struct import pack
from zlib import compress, crc32

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

SIDE = 128  # pixels of a picture's longer side, at most
_CELL = 'style="text-align:left;padding:1px 8px"'


def card(tensor: Tensor) -> str:
    """The table, the picture where there is one, and the text that prints.

    >>> "<td style" in card(torch.zeros(2, 3))
    True
    """
    rows = "".join(
        f"<tr><th {_CELL}>{name}</th><td {_CELL}>{html.escape(value)}</td></tr>" for name, value in facts(tensor)
    )
    image = picture(tensor)
    shown = f'<img alt="" style="image-rendering:pixelated" src="data:image/png;base64,{image}">' if image else ""
    return f"<div><table>{rows}</table>{shown}<pre>{html.escape(repr(tensor))}</pre></div>"


def facts(tensor: Tensor) -> list[tuple[str, str]]:
    """Shape, dtype and device, then what the values are: of NaN and infinity their number, and the range of the rest.

    >>> facts(torch.tensor([1.0, float("nan"), 3.0]))[3:]
    [('min, mean, max', '1, 2, 3'), ('NaN', '1')]
    """
    known = [("shape", str(tuple(tensor.shape))), ("dtype", str(tensor.dtype)), ("device", str(tensor.device))]
    if tensor.requires_grad:
        known.append(("requires_grad", "True"))
    if tensor.layout != _C.strided:
        return [*known, ("layout", str(tensor.layout))]
    if tensor.is_meta or not tensor.numel():
        return known
    values = tensor.detach().cpu()
    if values.dtype == _C.bool:
        return [*known, ("True", f"{int(values.sum())} of {values.numel()}")]
    if values.is_complex():
        nan, inf, finite = values.isnan(), values.isinf(), None
    else:
        values = values.to(_C.float64)
        nan, inf = values.isnan(), values.isinf()
        finite = values[~(nan | inf)]
    if finite is not None and finite.numel():
        known.append(
            ("min, mean, max", ", ".join(f"{float(v):.4g}" for v in (finite.min(), finite.mean(), finite.max())))
        )
    counts = (("NaN", int(nan.sum())), ("infinite", int(inf.sum())))
    return known + [(name, str(n)) for name, n in counts if n]


def picture(tensor: Tensor) -> str | None:
    """A PNG in base64 of a tensor (H, W), (C, H, W) or (H, W, C) with 1, 3 or 4 channels and sides of 8 and more.

    Bytes and floats in [0, 1] are shown as they are, other ranges from their smallest value to their largest.
    """
    shape = tuple(tensor.shape)
    if tensor.is_meta or tensor.layout != _C.strided or tensor.is_complex() or not 2 <= len(shape) <= 3:
        return None
    if len(shape) == 3 and shape[0] in (1, 3, 4) and min(shape[1:]) >= 8:
        x = tensor.detach().permute(1, 2, 0)
    elif len(shape) == 3 and shape[2] in (1, 3, 4) and min(shape[:2]) >= 8:
        x = tensor.detach()
    elif len(shape) == 2 and min(shape) >= 8:
        x = tensor.detach().unsqueeze(2)
    else:
        return None
    step = -(-max(x.shape[:2]) // SIDE)
    x = x[::step, ::step].cpu()
    plain = x.dtype == _C.uint8
    x = x.to(_C.float64).nan_to_num(0.0, 0.0, 0.0)
    if not plain:
        low, high = float(x.min()), float(x.max())
        if low < 0 or high > 1:
            x = (x - low) / ((high - low) or 1.0)
        x = x * 255
    height, width, channels = x.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    pixels = bytes(x.round().to(_C.uint8).flatten().tolist())
    line = width * channels
    lines = b"".join(b"\0" + pixels[i * line : (i + 1) * line] for i in range(height))
    header = pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", compress(lines)), (b"IEND", b""))
    chunks = (pack(">I", len(d)) + name + d + pack(">I", crc32(name + d)) for name, d in parts)
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()
