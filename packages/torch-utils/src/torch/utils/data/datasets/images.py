"""Images that are small enough to be held in memory all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ..dataset import Dataset


class ImagesInMemory(Dataset):
    """Sample i is (image, class): a tensor of uint8 (C, H, W) and an int, each after its transform.

    ``data`` and ``targets`` hold all of them: uint8 (N, C, H, W) and int64 (N).
    """

    classes: Sequence[str] = ()

    def __init__(
        self, data: Tensor, targets: Tensor, transform: Callable | None, target_transform: Callable | None
    ) -> None:
        self.data, self.targets = data, targets
        self.transform, self.target_transform = transform, target_transform

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image: Any = self.data[index]
        target: Any = int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} images of {' x '.join(map(str, self.data.shape[1:]))})"
