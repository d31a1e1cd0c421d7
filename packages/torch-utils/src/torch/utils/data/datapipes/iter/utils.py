"""The first pipe of a chain."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ..datapipe import IterDataPipe


class IterableWrapperIterDataPipe(IterDataPipe):
    """The samples of an iterable, which is copied for each pass unless ``deepcopy`` is False or it cannot be."""

    def __init__(self, iterable: Any, deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Any:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn("IterableWrapper: the iterable cannot be copied, and is read itself", stacklevel=2)
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)
