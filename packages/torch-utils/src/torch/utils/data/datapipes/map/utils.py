"""The first pipe of a chain."""

from __future__ import annotations

import copy
from typing import Any

from ..datapipe import MapDataPipe


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The samples of a sequence or a mapping, of which a copy is kept unless ``deepcopy`` is False."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
