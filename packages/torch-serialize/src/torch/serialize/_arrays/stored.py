"""A stored tensor before it is one: its storage, and whether a strided view of that stays inside.

A *storage* is a flat run of bytes that several tensors may share; `Stored` is a storage seen as elements of one type, which
is what a pickle's persistent id stands for.
"""

from __future__ import annotations

from .._errors import FileFormatError, brief
from .dtypes import ElementType

MAX_DIMS = 64  # NumPy's limit
_FAR = 1 << 63
NO_META = (
    "load: arrays have no device 'meta'; tensors without data need torch-core: pip install --no-index --find-links "
    "WHEELHOUSE torch-core"
)


class Stored:
    """The elements of one storage record: `data` (bytes) read as `row.name`, kept on device `location`."""

    __slots__ = ("data", "job", "location", "row", "wide")

    def __init__(self, data, row: ElementType, location: str = "cpu"):
        self.data = data
        self.job = None  # the future that fills `data`, where a thread does
        self.wide = None  # the elements as NumPy has them, by the type they were read as
        self.row = row
        self.location = location

    def typed(self, row: ElementType) -> Stored:
        """The same storage as elements of another type."""
        other = type(self)(self.data, row, self.location)
        other.job = self.job
        return other


class MetaStorage:
    """The size of a storage without its bytes: what map_location="meta" makes."""

    def __init__(self, size: int):
        self._size = size

    def __len__(self) -> int:
        return self._size

    nbytes = __len__


def check_bounds(nbytes: int, row: ElementType, offset: int, size, stride) -> None:
    """Raises unless every element of the strided view lies inside `nbytes` bytes."""
    if (
        len(size) != len(stride)
        or len(size) > MAX_DIMS
        or not all(type(n) is int and -_FAR <= n < _FAR for n in (offset, *size, *stride))
        or min(size, default=0) < 0
    ):
        raise FileFormatError(f"a tensor has offset {brief(offset)}, size {brief(size)} and stride {brief(stride)}")
    if 0 in size:
        low = high = 0
    else:
        reach = [(n - 1) * s for n, s in zip(size, stride)]
        low = offset + sum(r for r in reach if r < 0)
        high = offset + sum(r for r in reach if r > 0) + 1
    if low < 0 or high * row.itemsize > nbytes:
        raise FileFormatError(
            f"a tensor of size {brief(size)}, stride {brief(stride)}, offset {brief(offset)} and type {row.name} "
            f"reaches outside its storage of {nbytes} bytes"
        )
