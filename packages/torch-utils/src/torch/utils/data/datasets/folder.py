"""Images in folders, one folder for each class; Pillow, where it is installed, decodes them when they are asked for."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..dataset import Dataset
from .files import BrokenFile, Check, plain_file

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")


def pillow_image(path: str) -> Any:
    """The image in a file as Pillow has it, in RGB.

    Raises:
        ModuleNotFoundError: without Pillow
        BrokenFile: for a file that Pillow cannot read
    """
    try:
        from PIL import Image
    except ImportError:
        raise ModuleNotFoundError(
            "decoding images needs Pillow: pip install pillow, or give a loader= that makes an image of a path"
        ) from None
    try:
        with warnings.catch_warnings(), open(path, "rb", opener=plain_file) as file:
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return image.convert("RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BrokenFile(path, f"so many pixels are an attack, or need a loader= of your own ({error})") from None
    except (FileNotFoundError, BrokenFile):
        raise
    except (OSError, SyntaxError, ValueError, EOFError) as error:  # Pillow raises SyntaxError for broken PNG chunks
        reason = re.sub(r" <_io\.\w+ [^>]*>", "", str(error))
        raise BrokenFile(path, f"no image that Pillow can read ({reason})") from None


def tensor_image(path: str) -> Tensor:
    """The image in a file, uint8 (3, H, W), decoded by Pillow; errors are those of `pillow_image`."""
    image = pillow_image(path)
    width, height = image.size
    return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(height, width, 3).permute(2, 0, 1)


class ImageFolder(Dataset):
    """Sample i is (image, class): the files below ``root/NAME/`` are the images of class NAME.

    Classes are numbered in the order of their names, samples are in the order of their paths. A file is decoded when
    its sample is asked for.

    Args:
        root: the folder of the folders
        transform: makes of what the loader gives what the sample shall hold
        target_transform: the same for a class, an int
        loader: makes an image of a path: `tensor_image` (uint8, (3, H, W)), `pillow_image`, or one of your own
        is_valid_file: says of a path whether it is an image; the default asks for the usual endings
        allow_empty: takes a folder without images for a class without samples

    Raises:
        FileNotFoundError: when there are no folders, or one has no images
    """

    def __init__(
        self,
        root: Any,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = tensor_image,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        self.root = Path(root)
        self.transform, self.target_transform, self.loader = transform, target_transform, loader
        if not self.root.is_dir():
            raise FileNotFoundError(f"ImageFolder: there is no folder {self.root}; it holds one folder for each class")
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"ImageFolder: {self.root} holds no folders, and needs one for each class")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        valid = is_valid_file or (lambda path: path.lower().endswith(EXTENSIONS))
        self.samples: list[tuple[str, int]] = []
        for name, label in self.class_to_idx.items():
            paths = sorted(filter(valid, _below(self.root / name)))
            if not paths and not allow_empty:
                kinds = "is_valid_file accepts none" if is_valid_file else f"no {', '.join(EXTENSIONS)}"
                raise FileNotFoundError(
                    f"ImageFolder: class {name!r} has no images in {self.root / name} ({kinds}); "
                    "allow_empty=True takes it for a class without samples"
                )
            self.samples += [(path, label) for path in paths]
        self.imgs = self.samples
        self.targets = [label for _, label in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        image = self.loader(path)
        if self.transform is not None:
            image = self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)

    def check(self) -> Check:
        """Loads every image once and tells which cannot be."""
        found = Check()
        for path, _ in self.samples:

            def test(path=path):
                if not os.path.getsize(path):
                    raise BrokenFile(path, "empty")
                self.loader(path)

            found.run(path, test)
        return found

    def __repr__(self) -> str:
        return f"ImageFolder({len(self)} images in {len(self.classes)} classes below {self.root})"


def _below(folder: Path):
    """Paths of the files below a folder, links followed, a folder that is reached again left out."""
    seen = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        for name in files:
            yield os.path.join(place, name)
