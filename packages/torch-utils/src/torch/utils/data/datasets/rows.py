"""Where the rows of a CSV file begin and end, found block by block."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .files import BrokenFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


BLOCK = 1 << 20
LONGEST = 1 << 24  # bytes of a row
BOM = b"\xef\xbb\xbf"


def whole_rows(path: str, file: Any, quote: str | None) -> Iterator[tuple[int, bytes, list[int]]]:
    """Blocks of a file that begin and end with a row: where a block begins, its bytes, and where each row ends in it.

    A line feed ends a row when the number of quotes before it is even; empty lines belong to the row that follows.
    """
    mark = quote.encode() if quote is not None else None
    base, rest = 0, file.read(len(BOM))
    if rest == BOM:
        base, rest = len(BOM), b""
    more = True
    while more:
        block = file.read(BLOCK)
        more, data = bool(block), rest + block
        ends = _ends(data, mark, not more)
        if ends:
            yield base, data[: ends[-1]], ends
            base, data = base + ends[-1], data[ends[-1] :]
        rest = data
        if len(rest) > LONGEST:
            hint = f"; where {quote} is a letter like others, give quote=None" if mark and mark in rest else ""
            raise BrokenFile(path, f"the row that begins at byte {base} is longer than {LONGEST} bytes{hint}")
    if rest.strip(b"\r\n"):
        raise BrokenFile(
            path,
            f"a quote in the row that begins at byte {base} is never closed; "
            f"where {quote} is a letter like others, give quote=None",
        )


def rows_of(data: bytes, ends: list[int]) -> Iterator[bytes]:
    begin = 0
    for end in ends:
        yield trimmed(data[begin:end])
        begin = end


def trimmed(row: bytes) -> bytes:
    """A row without its line end and the empty lines before it."""
    return row.strip(b"\r\n")


def _ends(data: bytes, mark: bytes | None, last: bool) -> list[int]:
    """Where the rows of data end; data begin with a row. The last row of a file needs no line feed."""
    if not data:
        return []
    letters = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    feeds = letters == 10
    quoted = mark is not None and mark in data
    if mark is not None and quoted:
        feeds &= (letters == mark[0]).cumsum(0).bitwise_and_(1) == 0
    ends = (feeds.nonzero().flatten() + 1).tolist()
    after = ends[-1] if ends else 0
    if last and after < len(data) and not (mark is not None and data.count(mark, after) % 2):
        ends.append(len(data))
    if b"\n\n" in data or b"\n\r" in data or data[:1] in (b"\n", b"\r"):
        begins = [0, *ends]
        ends = [end for begin, end in zip(begins, ends) if trimmed(data[begin:end])]
    return ends
