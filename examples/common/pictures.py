"""Pictures in rows and columns, and curves, as PNG files."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from torch import Tensor

matplotlib.use("Agg")


def grid(path: Path, rows: dict[str, Tensor]) -> None:
    """Draw rows of gray images (N, H, W) of ink from 0 to 1, each with a name."""
    from matplotlib import pyplot as plt

    columns = max(len(images) for images in rows.values())
    figure, axes = plt.subplots(len(rows), columns, figsize=(columns, 1.15 * len(rows)), squeeze=False)
    for line, (name, images) in zip(axes, rows.items()):
        for axis, image in zip(line, images):
            axis.imshow(image.tolist(), cmap="gray_r", vmin=0, vmax=1)
        line[0].set_title(name, fontsize=8, loc="left")
    for axis in axes.flat:
        axis.axis("off")
    save(path, figure)


def curves(path: Path, lines: dict[str, tuple[Tensor, Tensor]], title: str = "") -> None:
    """Draw named lines of points (x, y)."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    for name, (x, y) in lines.items():
        axes.plot(x.tolist(), y.tolist(), label=name)
    axes.set_title(title)
    axes.legend()
    save(path, figure)


def attention(path: Path, pairs: list[tuple[str, str, Tensor]]) -> None:
    """Draw for each text that was written where in the one that was read each letter came from, (written, read)."""
    from matplotlib import pyplot as plt

    figure, all_axes = plt.subplots(len(pairs), figsize=(6, 3 * len(pairs)), squeeze=False, layout="constrained")
    for axes, (read, written, weights) in zip(all_axes.flat, pairs):
        axes.imshow(weights[: len(written), : len(read)].tolist(), cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks(range(len(read)), list(read))
        axes.set_yticks(range(len(written)), list(written))
    save(path, figure)


def save(path: Path, figure: matplotlib.figure.Figure) -> None:
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    print(f"picture in {path}")
