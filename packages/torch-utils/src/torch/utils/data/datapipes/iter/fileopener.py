"""Open files."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe):
    """Pairs of a path and the open file."""

    def __init__(self, datapipe: Any, mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Any:
        mode = self.mode if self.mode.startswith("r") else "r" + self.mode
        for path in self.datapipe:
            yield path, open(path, mode, encoding=self.encoding)  # noqa: SIM115  (the reader closes it)

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length
