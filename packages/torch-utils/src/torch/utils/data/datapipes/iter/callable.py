"""A function of each sample."""

from __future__ import annotations

from typing import Any

from ...collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe


def _put(sample, column, value):
    """A sample with another value in a column, or behind the last one with -1."""
    if isinstance(sample, tuple):
        return tuple(_put(list(sample), column, value))
    if column == -1 and isinstance(sample, list):
        return [*sample, value]
    sample = sample.copy()
    sample[column] = value
    return sample


def _columns(sample, columns):
    return tuple(sample[c] for c in columns) if isinstance(columns, (list, tuple)) else (sample[columns],)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """``fn`` of each sample; with ``input_col`` of some of its columns, whose first takes the result, or ``output_col``."""

    def __init__(self, datapipe: Any, fn: Any, input_col: Any = None, output_col: Any = None) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("map: output_col goes with input_col")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("map: output_col is one column")
            output_col = output_col[0]
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply(self, sample):
        if self.input_col is None:
            return self.fn(sample)
        value = self.fn(*_columns(sample, self.input_col))
        if self.output_col is not None:
            return _put(sample, self.output_col, value)
        columns = self.input_col
        if not isinstance(columns, (list, tuple)):
            return _put(sample, columns, value)
        sample = _put(sample, columns[0], value)
        for column in sorted(columns[1:], reverse=True):  # they went into the result
            kept = list(sample) if isinstance(sample, tuple) else sample
            del kept[column]
            sample = tuple(kept) if isinstance(sample, tuple) else kept
        return sample

    def __iter__(self) -> Any:
        for sample in self.datapipe:
            yield self._apply(sample)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors."""

    def __init__(self, datapipe: Any, conversion: Any = None, collate_fn: Any = None) -> None:
        if isinstance(conversion, dict):
            raise NotImplementedError("collate: conversions by column are for tables, which are not there")
        super().__init__(datapipe, fn=collate_fn or conversion or default_collate)
