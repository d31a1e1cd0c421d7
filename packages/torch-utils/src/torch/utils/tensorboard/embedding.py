"""Vectors for the projector: text files beside the event file, and one that lists them."""

from __future__ import annotations

import math
import os

import torch

from .media import bytes_of_pixels, grid, png
from .summary import as_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write(log_dir: str, tag: str, step: int, mat: Any, metadata: Any, label_img: Any, header: Any) -> None:
    what = f"add_embedding({tag!r})"
    rows = as_tensor(what, mat)
    if rows.dim() != 2:
        raise ValueError(f"{what}: mat is (vectors, dims), got shape {tuple(rows.shape)}")
    if metadata is not None and len(metadata) != len(rows):
        raise ValueError(f"{what}: {len(rows)} vectors and {len(metadata)} entries of metadata")
    if label_img is not None and len(label_img) != len(rows):
        raise ValueError(f"{what}: {len(rows)} vectors and {len(label_img)} pictures")
    place = f"{step:05}/{''.join(c if c.isalnum() or c in '._-' else '_' for c in tag)}"
    folder = os.path.join(log_dir, place)
    os.makedirs(folder, exist_ok=True)
    _write(folder, "tensors.tsv", "".join("\t".join(map(str, row)) + "\n" for row in rows.tolist()))
    entry = {"tensor_name": f"{tag}:{step:05}", "tensor_path": f"{place}/tensors.tsv"}
    if metadata is not None:
        lines = ["\t".join(map(str, header))] if header else []
        lines += ["\t".join(map(str, m)) if header else str(m) for m in metadata]
        _write(folder, "metadata.tsv", "\n".join(lines) + "\n")
        entry["metadata_path"] = f"{place}/metadata.tsv"
    sprite = ""
    if label_img is not None:
        pictures = bytes_of_pixels(what, label_img)  # (N, C, H, W)
        if pictures.dim() != 4:
            raise ValueError(f"{what}: label_img is (N, C, H, W), got shape {tuple(pictures.shape)}")
        across = math.ceil(math.sqrt(len(rows)))
        square = torch.zeros(across * across, *pictures.shape[1:], dtype=torch.uint8)
        square[: len(rows)] = pictures
        with open(os.path.join(folder, "sprite.png"), "wb") as file:
            file.write(png(grid(square.permute(0, 2, 3, 1), across)))
        height, width = pictures.shape[2:]
        sprite = f'  sprite {{\n    image_path: "{place}/sprite.png"\n    single_image_dim: {width}\n    single_image_dim: {height}\n  }}\n'
    text = "".join(f"  {key}: {_quoted(value)}\n" for key, value in entry.items())
    with open(os.path.join(log_dir, "projector_config.pbtxt"), "a") as file:
        file.write(f"embeddings {{\n{text}{sprite}}}\n")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf8") as file:
        file.write(text)
