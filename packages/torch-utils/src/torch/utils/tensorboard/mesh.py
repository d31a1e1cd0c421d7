"""Meshes and clouds of points: one summary for the vertices, one for the faces and one for the colours."""

from __future__ import annotations

import json

import torch

from . import proto
from .summary import FLOAT, as_tensor, tensor, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


VERTEX, FACE, COLOR = 1, 2, 3  # of MeshPluginData's ContentType
NAMES = {VERTEX: "VERTEX", FACE: "FACE", COLOR: "COLOR"}


def mesh(tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: dict | None = None) -> bytes:
    """MeshPluginData: version 1, name 2, content_type 3, json_config 5, shape 6, components 7."""
    what = f"add_mesh({tag!r})"
    parts = {VERTEX: as_tensor(what, vertices)}
    parts |= {kind: as_tensor(what, x) for kind, x in ((FACE, faces), (COLOR, colors)) if x is not None}
    for kind, x in parts.items():
        if x.dim() != 3 or x.shape[2] != 3:
            raise ValueError(f"{what}: {NAMES[kind].lower()} values are (batch, n, 3), got shape {tuple(x.shape)}")
    count = parts[VERTEX].shape[1]
    for kind, x in parts.items():
        if len(x) != len(parts[VERTEX]) or (kind == COLOR and x.shape[1] != count):
            raise ValueError(
                f"{what}: vertices {tuple(parts[VERTEX].shape)} and {NAMES[kind].lower()} values {tuple(x.shape)}"
            )
    if FACE in parts and parts[FACE].numel() and not 0 <= int(parts[FACE].min()) <= int(parts[FACE].max()) < count:
        raise ValueError(f"{what}: faces are numbers of vertices from 0 to {count - 1}")
    components = sum(1 << kind for kind in parts)
    settings = json.dumps(config_dict or {}, sort_keys=True)
    content = b""
    for kind, x in parts.items():
        shape = b"".join(proto.integer(6, n) for n in x.shape)
        about = proto.integer(1, 0) + proto.data(2, tag) + proto.integer(3, kind) + proto.data(5, settings)
        floats = memoryview(x.to(torch.float32).contiguous()).tobytes()
        content += value(
            f"{tag}_{NAMES[kind]}",
            tensor(FLOAT, tuple(x.shape), proto.data(5, floats)),
            "mesh",
            about + shape + proto.integer(7, components),
        )
    return content
