"""One pipe of several."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe


class _OfSeveral(MapDataPipe):
    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError(f"{type(self).__name__}: expected at least one pipe")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_OfSeveral):
    """The samples of one behind those of another."""

    def __getitem__(self, index: Any) -> Any:
        at = index
        for datapipe in self.datapipes:
            if at < len(datapipe):
                return datapipe[at]
            at -= len(datapipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(_OfSeveral):
    """Tuples of a sample of each."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and index >= len(self):
            raise IndexError(f"Index {index} is out of range.")
        return tuple(datapipe[index] for datapipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))
