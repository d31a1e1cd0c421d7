"""Handwritten digits and pieces of clothing: MNIST, FashionMNIST, and the IDX format of their files."""

from __future__ import annotations

import array
import math
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from .files import BrokenFile, Check, Unpacked, fetch_any, find, missing, test_digest
from .images import ImagesInMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# The third byte of an IDX file: dtype, and array's letter for elements of more than one byte (big-endian in the file).
KINDS = {
    0x08: (torch.uint8, None),
    0x09: (torch.int8, None),
    0x0B: (torch.int16, "h"),
    0x0C: (torch.int32, "i"),
    0x0D: (torch.float32, "f"),
    0x0E: (torch.float64, "d"),
}
DEFLATE = 1032  # no gzip file holds more than so many times its own bytes


def read_idx(path: str) -> Tensor:
    """The tensor in a file in IDX format, gzipped when its name ends in ``.gz``.

    Raises:
        BrokenFile: says what of header and size is wrong
    """
    path = Path(path)
    with Unpacked(path) as file:
        head = file.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in KINDS:
            raise BrokenFile(path, f"no IDX file: it begins with {head.hex() or 'nothing'}, not with 0000 and a type")
        dtype, letter = KINDS[head[2]]
        dims = file.read(4 * head[3])
        if len(dims) < 4 * head[3]:
            raise BrokenFile(path, f"it ends within its header of {head[3]} dims")
        shape = struct.unpack(f">{head[3]}I", dims)
        size = math.prod(shape) * dtype.itemsize
        on_disk = path.stat().st_size
        promise = f"its header promises {' x '.join(map(str, shape)) or 'one element'}"
        if not path.name.endswith(".gz") and on_disk != 4 + len(dims) + size:
            raise BrokenFile(path, f"{on_disk - 4 - len(dims)} bytes of data, {promise}")
        if size > DEFLATE * on_disk:
            raise BrokenFile(path, f"{on_disk} bytes on disk cannot hold what {promise[4:]}")
        data = bytearray(file.read(size + 1))
        if len(data) != size:
            raise BrokenFile(
                path, f"{'more than ' * (len(data) > size)}{min(len(data), size)} bytes of data, {promise}"
            )
    if size == 0:
        return torch.empty(shape, dtype=dtype)
    if letter is None:
        return torch.frombuffer(data, dtype=dtype).view(shape)
    numbers = array.array(letter, bytes(data))
    if sys.byteorder == "little":
        numbers.byteswap()
    return torch.frombuffer(numbers, dtype=dtype).view(shape)


class MNIST(ImagesInMemory):
    """Handwritten digits, 28 x 28: 60,000 to learn from and 10,000 to be tested on.

    Args:
        root: the folder of the four IDX files, as they are or gzipped; ``root/raw`` and ``root/MNIST/raw`` are looked
            into as well
        train: the digits to learn from, or those of the test
        transform: makes of an image, uint8 (1, 28, 28), what the sample shall hold
        target_transform: the same for a class, an int
        download: fetches the files that are not there

    Raises:
        FileNotFoundError: names the files and where they belong
        BrokenFile: names the file that is not what it should be

    Example:
        >>> MNIST("/nowhere")
        Traceback (most recent call last):
        ...
        FileNotFoundError: MNIST: /nowhere has no train-images-idx3-ubyte and no train-images-idx3-ubyte.gz; ...
    """

    mirrors = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://yann.lecun.com/exdb/mnist/")
    classes = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
    # The gzipped files as they were published.
    published = {
        "train-images-idx3-ubyte": ((60_000, 28, 28), "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        "train-labels-idx1-ubyte": ((60_000,), "md5:d53e105ee54ea40749a09fcbcd1e9432"),
        "t10k-images-idx3-ubyte": ((10_000, 28, 28), "md5:9fb629c4189551a2d022fa330f9573f3"),
        "t10k-labels-idx1-ubyte": ((10_000,), "md5:ec29112dd5afa0611ce80d1b7f02629c"),
    }

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        progress: bool = True,
    ) -> None:
        if download:
            self.download(root, progress=progress)
        part = "train" if train else "t10k"
        self.root, self.train = Path(root), train
        image_file, label_file = self._file(f"{part}-images-idx3-ubyte"), self._file(f"{part}-labels-idx1-ubyte")
        images, labels = read_idx(image_file), read_idx(label_file)
        if images.dim() != 3 or images.dtype != torch.uint8:
            raise BrokenFile(image_file, f"{tuple(images.shape)} of {images.dtype} are no images (N, H, W) of bytes")
        if labels.dim() != 1 or len(labels) != len(images):
            raise BrokenFile(
                label_file, f"labels {tuple(labels.shape)} do not go with {len(images)} images in {image_file.name}"
            )
        _test_labels(label_file, labels, len(self.classes))
        super().__init__(images.unsqueeze(1), labels.to(torch.int64), transform, target_transform)

    @classmethod
    def _folders(cls, root) -> list[Path]:
        root = Path(root)
        return [root, root / "raw", root / cls.__name__ / "raw", root / cls.__name__]

    @classmethod
    def _names(cls, name: str) -> list[str]:
        dotted = name.replace("-idx", ".idx")  # as some archives have it
        return [name, f"{name}.gz", dotted, f"{dotted}.gz"]

    def _file(self, name: str) -> Path:
        path = find(self._folders(self.root), self._names(name))
        if path is None:
            remedy = "put the files there, or give download=True where there is a network"
            raise missing(type(self).__name__, self.root, self._names(name)[:2], remedy)
        return path

    @classmethod
    def download(cls, root: Any, progress: bool = True) -> None:
        """Fetches the files that are not there, and compares their checksums."""
        for name, (_, digest) in cls.published.items():
            if find(cls._folders(root), cls._names(name)) is None:
                file = f"{name}.gz"
                fetch_any([mirror + file for mirror in cls.mirrors], Path(root) / file, digest, progress)

    @classmethod
    def check(cls, root: Any) -> Check:
        """Compares all files in a folder with the published ones: format, counts, labels, checksum of gzipped ones."""
        found = Check()
        for name, (shape, digest) in cls.published.items():
            path = find(cls._folders(root), cls._names(name))

            def test(path=path, shape=shape, digest=digest):
                if path is None:
                    raise FileNotFoundError
                data = read_idx(path)
                if tuple(data.shape) != shape or data.dtype != torch.uint8:
                    raise BrokenFile(path, f"{tuple(data.shape)} of {data.dtype}, and {shape} of torch.uint8 is right")
                if len(shape) == 1:
                    _test_labels(path, data, len(cls.classes))
                if path.name.endswith(".gz"):
                    test_digest(path, digest)

            found.run(path or Path(root) / name, test)
        return found


class FashionMNIST(MNIST):
    """Pieces of clothing in the format of MNIST: 60,000 to learn from and 10,000 to be tested on.

    Arguments and files are those of `MNIST`.
    """

    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    classes = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )
    published = {
        "train-images-idx3-ubyte": ((60_000, 28, 28), "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        "train-labels-idx1-ubyte": ((60_000,), "md5:25c81989df183df01b3e8a0aad5dffbe"),
        "t10k-images-idx3-ubyte": ((10_000, 28, 28), "md5:bef4ecab320f06d8554ea6380940ec79"),
        "t10k-labels-idx1-ubyte": ((10_000,), "md5:bb300cfdad3c16e7a12a480ee83cd310"),
    }


def _test_labels(path: Path, labels: Tensor, classes: int) -> None:
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        wrong = int(((labels < 0) | (labels >= classes)).nonzero()[0])
        raise BrokenFile(path, f"label {wrong} is {int(labels[wrong])}, not one of {classes} classes")
