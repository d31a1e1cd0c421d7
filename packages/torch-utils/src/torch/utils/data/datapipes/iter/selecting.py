"""Some of the samples."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from .callable import _columns


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples of which ``filter_fn``, of the sample or of columns of it, is true."""

    def __init__(self, datapipe: Any, filter_fn: Any, input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Any:
        for sample in self.datapipe:
            keep = self.filter_fn(*((sample,) if self.input_col is None else _columns(sample, self.input_col)))
            if not isinstance(keep, bool):
                raise ValueError(f"filter: expected a bool from filter_fn, got {type(keep).__name__}")
            if keep:
                yield sample
