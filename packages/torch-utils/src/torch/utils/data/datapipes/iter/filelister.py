"""Names of files."""

from __future__ import annotations

import fnmatch
import os
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from .utils import IterableWrapperIterDataPipe


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe):
    """The paths of files in folders, of names that match ``masks``, in order."""

    def __init__(
        self, root: Any = ".", masks: Any = "", *, recursive: bool = False, abspath: bool = False, non_deterministic: bool = False,
        length: int = -1,
    ) -> None:  # fmt: skip
        roots = [root] if isinstance(root, (str, os.PathLike)) else root
        self.datapipe = roots if isinstance(roots, IterDataPipe) else IterableWrapperIterDataPipe(roots)
        self.masks = [masks] if isinstance(masks, str) else list(masks)
        self.recursive, self.abspath, self.length = recursive, abspath, length

    def __iter__(self) -> Any:
        for root in self.datapipe:
            root = os.path.abspath(root) if self.abspath else os.fspath(root)
            if os.path.isfile(root):
                yield root
                continue
            for base, folders, files in os.walk(root):
                folders.sort()
                for name in sorted(files):
                    if not any(self.masks) or any(fnmatch.fnmatch(name, mask) for mask in self.masks):
                        yield os.path.join(base, name)
                if not self.recursive:
                    break

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length
