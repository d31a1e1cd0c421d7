"""How a tensor lies on the ranks of a mesh."""

from dataclasses import dataclass

from .._absent import absent_class

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """One of Shard, Replicate, Partial."""

    def is_shard(self, dim=None) -> bool:
        """Whether ranks hold pieces (along ``dim``)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every rank holds the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None) -> bool:
        """Whether the whole is a reduction of what the ranks hold."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Ranks hold pieces along a dim.

    >>> Shard(1).is_shard(1), Shard(1).is_replicate()
    (True, False)
    """

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """How long the piece of a rank is, and where it begins: all but the last pieces are of one length.

        >>> [Shard.local_shard_size_and_offset(10, 4, rank) for rank in range(4)]
        [(3, 0), (3, 3), (3, 6), (1, 9)]
        """
        length = -(-curr_local_size // num_chunks)
        begin = min(length * rank, curr_local_size)
        return min(length, curr_local_size - begin), begin

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return Shard.local_shard_size_and_offset(curr_local_size, num_chunks, rank)


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank holds the whole."""


@dataclass(frozen=True)
class Partial(Placement):
    """The whole is the reduction of what the ranks hold."""

    reduce_op: str = "sum"

    def __repr__(self):
        return f"Partial({self.reduce_op})"


_StridedShard = absent_class(__name__, "_StridedShard", "pieces are cut in one go", Shard)
