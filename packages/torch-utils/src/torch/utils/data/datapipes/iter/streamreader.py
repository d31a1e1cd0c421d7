"""What stands in open files."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """Pairs of a path and the contents of its file, whole or in chunks."""

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Any:
        for path, stream in self.datapipe:
            while True:
                data = stream.read(self.chunk) if self.chunk is not None else stream.read()
                if not data and self.chunk is not None:
                    break
                yield path, data
                if self.chunk is None:
                    break
            stream.close()
