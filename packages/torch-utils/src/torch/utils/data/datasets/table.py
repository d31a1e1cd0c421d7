"""Tables in CSV files of any size: by index, with no more than the offsets of the rows in memory, or as a stream."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..dataset import Dataset, IterableDataset
from ..worker import get_worker_info
from .columns import MISSING, Column, Kind, Layout, guess, split
from .files import BrokenFile, Check
from .rows import rows_of, trimmed, whole_rows

GUESSED = 100  # rows that types are guessed from


class _Table:
    """What both forms of a table share."""

    def __init__(
        self,
        path: str,
        columns: Mapping[str, Kind | Column] | None = None,
        *,
        header: bool | Sequence[str] = True,
        delimiter: str = ",",
        quote: str | None = '"',
        missing: Sequence[str] = MISSING,
        target: str | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.path = Path(path)
        self.delimiter, self.quote, self.encoding = delimiter, quote, encoding
        self.transform, self.target_transform = transform, target_transform
        self._header = header is True
        first = []
        for _, data, ends in self._blocks():
            first = [self._fields(row, i) for i, row in zip(range(GUESSED + 1), rows_of(data, ends))]
            break
        if not first:
            raise BrokenFile(self.path, "empty, and a table needs at least a header or a row")
        if header is True:
            names = [name.strip() for name in first.pop(0)]
        elif header is False:
            names = [str(i) for i in range(len(first[0]))]
        else:
            names = list(header)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise BrokenFile(self.path, f"two columns are called {twice!r}; header=[...] names them anew")
        if columns is None:
            columns = dict(zip(names, guess(first, len(names), missing)))
        try:
            self.layout = Layout(names, columns, missing, target)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    @property
    def columns(self) -> dict[str, Column]:
        """The columns of a sample, and their types."""
        return self.layout.columns

    def _blocks(self) -> Iterator[tuple[int, bytes, list[int]]]:
        with gzip.open(self.path) if self.path.name.endswith(".gz") else open(self.path, "rb") as file:
            try:
                yield from whole_rows(self.path, file, self.quote)
            except (gzip.BadGzipFile, EOFError) as error:
                raise BrokenFile(self.path, f"damaged gzip data ({error})") from None

    def _fields(self, row: bytes, index: int) -> list[str]:
        try:
            return split(row.decode(self.encoding), self.delimiter, self.quote)
        except UnicodeDecodeError as error:
            raise BrokenFile(self.path, f"{self._called(index)} is not {self.encoding} ({error.reason})") from None
        except csv.Error as error:
            raise BrokenFile(self.path, f"{self._called(index)}: {error}") from None

    def _called(self, index: int) -> str:
        """The name of the index-th row of the file in a message; the header is none of the rows that users count."""
        return f"row {index - 1}" if self._header and index else "its header" if self._header else f"row {index}"

    def _values(self, row: bytes, index: int) -> dict[str, Any]:
        try:
            return self.layout.values(self._fields(row, index + self._header), index)
        except BrokenFile:
            raise
        except ValueError as error:
            raise BrokenFile(self.path, str(error)) from None

    def _sample(self, row: bytes, index: int) -> Any:
        values: Any = self._values(row, index)
        name = self.layout.target
        if name is None:
            return values if self.transform is None else self.transform(values)
        target = values.pop(name)
        inputs: Any = _numbers(values) if self.transform is None else self.transform(values)
        return inputs, target if self.target_transform is None else self.target_transform(target)


class CSV(_Table, Dataset):
    """The rows of a table by index; only where each row begins is held in memory, 8 bytes for each.

    Sample i is a dict of values by name. With a ``target`` it is (inputs, target): the other columns as a float32
    tensor, and that one. Rows of a file that a quote spans over several lines are one row; empty lines are none.

    Args:
        columns: types by name (see `Column`); only these are read. Without it all columns are read, and their types
            guessed from the first 100 rows
        header: whether the first row has the names; or the names
        quote: None where quotes are letters like others
        missing: texts that stand for no value
        target: the name of the column to predict
        transform: makes of the dict what the sample shall hold
        target_transform: the same for the target

    Raises:
        BrokenFile: names the row and the column of what cannot be read

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "flowers.csv"
        >>> _ = path.write_text("length,width,kind\\n5.1,3.5,setosa\\n,3.0,virginica\\n")
        >>> CSV(path)[1]
        {'length': nan, 'width': 3.0, 'kind': 'virginica'}
        >>> flowers = CSV(path, {"length": float, "kind": ["setosa", "virginica"]}, target="kind")
        >>> flowers[0]
        (tensor([5.1000]), 0)
    """

    def __init__(self, path: str, columns: Mapping[str, Kind | Column] | None = None, **options: Any) -> None:
        if str(path).endswith(".gz"):
            raise ValueError(f"{path}: rows of a gzipped file cannot be read by index; unpack it, or use CSVStream")
        self._file = None
        super().__init__(path, columns, **options)
        self._stamp = _stamp(os.stat(self.path))
        begins = [torch.tensor([base, *(base + end for end in ends)][:-1]) for base, _, ends in self._blocks()]
        self._begins = torch.cat([*begins, torch.tensor([self._stamp[0]])])[int(self._header) :]

    def __len__(self) -> int:
        return len(self._begins) - 1

    def __getitem__(self, index: int) -> Any:
        return self._sample(*self._row(index))

    def _row(self, index: int) -> tuple[bytes, int]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} is out of range for {len(self)} rows of {self.path}")
        index %= len(self)
        begin, end = self._begins[index : index + 2].tolist()
        # Reading at an offset moves no position: threads and forked processes may share the file.
        return trimmed(os.pread(self._open(), end - begin, begin)), index

    def _open(self) -> int:
        if self._file is None:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115
            if _stamp(os.fstat(file.fileno())) != self._stamp:
                file.close()
                raise BrokenFile(self.path, "changed since its rows were counted: make the CSV anew")
            self._file = file
        return self._file.fileno()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None}

    def tensor(self, *names: str, dtype: torch.dtype = torch.float32) -> Tensor:
        """Columns of numbers, all of them in order without names, as one tensor (N, number of columns)."""
        chosen = names or tuple(name for name in self.columns if name != self.layout.target)
        out = torch.empty(len(self), len(chosen), dtype=dtype)
        for begin in range(0, len(self), 4096):
            rows = (self._values(*self._row(i)) for i in range(begin, min(begin + 4096, len(self))))
            block = [[_number(row, name) for name in chosen] for row in rows]
            out[begin : begin + len(block)] = torch.tensor(block, dtype=dtype)
        return out

    def check(self, most: int = 10) -> Check:
        """Reads every row and tells of the first ones that cannot be read."""
        found, problems = Check(), []
        for i in range(len(self)):
            try:
                self._values(*self._row(i))
            except BrokenFile as error:
                problems.append(error.reason)
                if len(problems) == most:
                    break
        found.note(self.path, "; ".join(problems) or None)
        return found

    def __repr__(self) -> str:
        return f"CSV({self.path}, {len(self)} rows, columns {', '.join(f'{n}: {c}' for n, c in self.columns.items())})"


class CSVStream(_Table, IterableDataset):
    """The rows of a table from first to last, gzipped or not, in the memory of a few; arguments are those of `CSV`.

    Workers of a loader share the rows out between them.
    """

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        mine, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        index = -int(self._header)
        for _, data, ends in self._blocks():
            for row in rows_of(data, ends):
                if index >= 0 and index % workers == mine:
                    yield self._sample(row, index)
                index += 1


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _number(row: Mapping[str, Any], name: str) -> float:
    try:
        return float(row[name])
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} holds {row[name]!r}, which is no number: name the columns to read, or give it a type "
            "(float, or the list of its words)"
        ) from None


def _numbers(values: Mapping[str, Any]) -> Tensor:
    return torch.tensor([_number(values, name) for name in values], dtype=torch.float32)
