"""The picture of a training run: the loss of every batch, and the digits that the network got wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import digits
import matplotlib
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

matplotlib.use("Agg")

SHOWN = 32


def draw(
    path: Path, losses: list[float], history: list[dict[str, float]], test: TensorDataset, predicted: Tensor
) -> None:
    from matplotlib import pyplot as plt

    images, labels = test.tensors
    wrong = (predicted != labels).nonzero().flatten().tolist()
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    halves: Any = figure.subfigures(1, 2)
    left, right = halves

    axes = left.subplots()
    axes.plot(losses, color="tab:blue", alpha=0.3, linewidth=0.8, label="each batch")
    axes.plot(smoothed(losses), color="tab:blue", label="smoothed")
    per_epoch = len(losses) / max(len(history), 1)
    epochs = [entry["epoch"] * per_epoch for entry in history]
    axes.plot(epochs, [entry["loss"] for entry in history], "o-", color="tab:orange", label="unseen digits")
    axes.set(xlabel="batch", ylabel="negative log likelihood", yscale="log", title="Loss")
    axes.legend()

    right.suptitle(f"{len(wrong)} of {len(labels)} unseen digits wrong (label \N{RIGHTWARDS ARROW} guess)")
    for axes, i in zip(right.subplots(4, SHOWN // 4).flat, [*wrong[:SHOWN], *[None] * SHOWN]):
        axes.axis("off")
        if i is not None:
            pixels = images[i, 0] * digits.STD + digits.MEAN
            axes.imshow(pixels.tolist(), cmap="gray_r")
            axes.set_title(f"{int(labels[i])} \N{RIGHTWARDS ARROW} {int(predicted[i])}", fontsize=9)

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def smoothed(values: list[float], keep: float = 0.95) -> list[float]:
    """The exponential moving average, without the bias of its beginning."""
    average, curve = torch.zeros(()), []
    for n, value in enumerate(values, 1):
        average = keep * average + (1 - keep) * value
        curve.append(float(average / (1 - keep**n)))
    return curve
