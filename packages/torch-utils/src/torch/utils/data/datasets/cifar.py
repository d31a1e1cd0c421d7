"""CIFAR-10: 60,000 photographs of 32 x 32 pixels in ten classes, in the binary or in Python's version of its files."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from .files import BrokenFile, Check, fetch_any, missing, test_digest
from .images import ImagesInMemory
from .pickled import PickledArray, read_pickle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
RECORD = 1 + PIXELS
IN_FILE = 10_000
TRAIN = tuple(f"data_batch_{i}" for i in range(1, 6))
TEST = ("test_batch",)


class CIFAR10(ImagesInMemory):
    """Photographs, 3 x 32 x 32, in ten classes: 50,000 to learn from and 10,000 to be tested on.

    The binary files (``data_batch_1.bin``) and Python's pickles (``data_batch_1``) give the same samples. Pickles are
    read as data: nothing in them is executed.

    Args:
        root: the folder with the files, or the one that holds ``cifar-10-batches-bin`` or ``cifar-10-batches-py``
        train: the images to learn from, or those of the test
        transform: makes of an image, uint8 (3, 32, 32), what the sample shall hold
        target_transform: the same for a class, an int
        download: fetches and unpacks the files when they are not there; an archive in ``root`` is used if it is right

    Raises:
        FileNotFoundError: names the files and where they belong
        BrokenFile: names the file that is not what it should be
    """

    classes = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    mirrors = ("https://www.cs.toronto.edu/~kriz/",)
    archive = ("cifar-10-python.tar.gz", "md5:c58f30108f718f92721af3b95e74349a")
    published = {
        "data_batch_1": "md5:c99cafc152244af753f735de768cd75f",
        "data_batch_2": "md5:d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "md5:54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "md5:634d18415352ddfa80567beed471001a",
        "data_batch_5": "md5:482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "md5:40351d587109b95175f43aff81a1287e",
        "batches.meta": "md5:5ff9c542aee3614f3951f8cda6e48888",
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
        self.root, self.train = Path(root), train
        folder, ending = self._place(root)
        parts = [_read(folder / (name + ending)) for name in (TRAIN if train else TEST)]
        images, labels = (torch.cat(both) for both in zip(*parts))
        super().__init__(images, labels, transform, target_transform)

    @classmethod
    def _place(cls, root) -> tuple[Path, str]:
        """The folder that has the files, and the ending of their names."""
        root = Path(root)
        for folder in (root, root / "cifar-10-batches-bin", root / "cifar-10-batches-py"):
            for ending in (".bin", ""):
                if any((folder / (name + ending)).is_file() for name in TRAIN + TEST):
                    return folder, ending
        names = ["data_batch_1.bin", "data_batch_1", "folder cifar-10-batches-bin or cifar-10-batches-py"]
        remedy = f"unpack {cls.archive[0]} there, or give download=True where there is a network"
        raise missing(cls.__name__, root, names, remedy)

    @classmethod
    def download(cls, root: Any, progress: bool = True) -> None:
        """Fetches Python's version and unpacks it, unless there are files already."""
        try:
            cls._place(root)
        except FileNotFoundError:
            name, digest = cls.archive
            archive = Path(root) / name
            fetch_any([mirror + name for mirror in cls.mirrors], archive, digest, progress)
            _unpack(archive, Path(root) / "cifar-10-batches-py", cls.published)

    @classmethod
    def check(cls, root: Any) -> Check:
        """Compares all files with the published ones: sizes, counts, labels, and checksums of Python's version."""
        found = Check()
        folder, ending = cls._place(root)
        for name in (*TRAIN, *TEST):
            path = folder / (name + ending)

            def test(path=path, digest=None if ending else cls.published[name]):
                images, _ = _read(path)
                if len(images) != IN_FILE:
                    raise BrokenFile(path, f"{len(images)} images, and {IN_FILE} are right")
                test_digest(path, digest)

            found.run(path, test)
        return found


def _read(path: Path) -> tuple[Tensor, Tensor]:
    """Images (N, 3, 32, 32) of uint8 and labels (N) of int64 in one file."""
    images, labels = _binary(path) if path.suffix == ".bin" else _python(path)
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) <= 9:
        wrong = int(((labels < 0) | (labels > 9)).nonzero()[0])
        raise BrokenFile(path, f"image {wrong} is of class {int(labels[wrong])}, and classes are 0 to 9")
    return images.view(-1, *SHAPE), labels


def _binary(path: Path) -> tuple[Tensor, Tensor]:
    data = bytearray(path.read_bytes())
    if not data or len(data) % RECORD:
        raise BrokenFile(path, f"{len(data)} bytes, not a multiple of {RECORD} (a label and {PIXELS} pixels)")
    records = torch.frombuffer(data, dtype=torch.uint8).view(-1, RECORD)
    return records[:, 1:].contiguous(), records[:, 0].to(torch.int64)


def _python(path: Path) -> tuple[Tensor, Tensor]:
    content = read_pickle(path)
    if not isinstance(content, dict):
        raise BrokenFile(path, f"its pickle holds a {type(content).__name__}, not a dict with 'data' and 'labels'")
    data, labels = (content.get(key, content.get(key.encode())) for key in ("data", "labels"))
    if not isinstance(data, PickledArray) or data.type not in ("u1", "uint8") or data.fortran:
        raise BrokenFile(path, "its pickle has no array of bytes under 'data'")
    if not isinstance(labels, list) or not all(type(label) is int and -1 < label < 256 for label in labels):
        raise BrokenFile(path, "its pickle has no list of classes under 'labels'")
    if data.shape != (len(labels), PIXELS) or len(data.data) != len(labels) * PIXELS:
        raise BrokenFile(
            path,
            f"{len(data.data)} bytes of an array {data.shape} do not go with {len(labels)} labels x {PIXELS} pixels",
        )
    if not labels:
        return torch.empty(0, PIXELS, dtype=torch.uint8), torch.empty(0, dtype=torch.int64)
    return torch.frombuffer(bytearray(data.data), dtype=torch.uint8), torch.tensor(labels, dtype=torch.int64)


def _unpack(archive: Path, folder: Path, names) -> None:
    """The regular files of these names, and nothing else that an archive may hold, into one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    left = set(names)
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = member.name.rpartition("/")[2]
                source = tar.extractfile(member) if name in left and member.isreg() else None
                if source is not None:
                    with source, tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}-", delete=False) as file:
                        try:
                            shutil.copyfileobj(source, file, 1 << 20)
                        except BaseException:
                            os.unlink(file.name)
                            raise
                    os.chmod(file.name, 0o644)
                    os.replace(file.name, folder / name)
                    left.discard(name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BrokenFile(archive, f"could not be unpacked ({error})") from None
    if left:
        raise BrokenFile(archive, f"{', '.join(sorted(left))} is not in it")
