"""The header before everything that one rank sends to another: what it belongs to, and what its sender asked for."""

from struct import Struct
from typing import NamedTuple

MAGIC = 0x7D17
DATA, ABORT, BYE, NOTICE = range(4)
OPERATIONS = (
    "send", "broadcast", "all_reduce", "reduce", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all",
    "barrier", "monitored_barrier", "debug", "all_reduce of sparse tensors",
)  # fmt: skip
CODES = {name: code for code, name in enumerate(OPERATIONS)}
POINT_TO_POINT = 0
HEADER = Struct("<HBBIqIBBHQQ")
NO_ROOT = 0xFFFF


class Request(NamedTuple):
    """What one rank asks of a collective; all ranks must ask for the same."""

    operation: int
    dtype: int = 0
    reduce: int = 0
    root: int = NO_ROOT
    numel: int = 0

    def __str__(self):
        from .._reduce import KINDS
        from .memory import DTYPES

        parts = [f"{self.numel} elements of {DTYPES[self.dtype]}"] if self.dtype else []
        parts += [KINDS[self.reduce]] if self.reduce else []
        parts += [f"rank {self.root} of the group at its centre"] if self.root != NO_ROOT else []
        return f"{OPERATIONS[self.operation]}({', '.join(parts)})"


class Header(NamedTuple):
    kind: int
    request: Request
    group: int
    number: int  # of the collective in its group; the tag of send and recv
    step: int
    nbytes: int

    @property
    def key(self):
        """Messages of one key, from one peer, are received in the order in which they were sent."""
        return (self.group, self.request.operation == POINT_TO_POINT, self.number, self.step)

    def pack(self) -> bytes:
        operation, dtype, reduce, root, numel = self.request
        return HEADER.pack(
            MAGIC, self.kind, operation, self.group, self.number, self.step, dtype, reduce, root, numel, self.nbytes
        )

    @classmethod
    def unpack(cls, data) -> "Header":
        magic, kind, operation, group, number, step, dtype, reduce, root, numel, nbytes = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise ValueError("the stream is not one of this torch.distributed")
        return cls(kind, Request(operation, dtype, reduce, root, numel), group, number, step, nbytes)
