"""How a tensor lies on the ranks of a mesh."""

from dataclasses import dataclass, field

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

    def __str__(self):
        return f"S({self.dim})"

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

    def __str__(self):
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """The whole is the reduction of what the ranks hold."""

    reduce_op: str = "sum"

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Ranks hold pieces of what the dims of the mesh to the right have cut along the same dim already.

    So lie parameters that ``fully_shard`` cuts after ``parallelize_module``: each rank holds a piece of its own piece.

    >>> _StridedShard(0, split_factor=2), _StridedShard(0, split_factor=2) == Shard(0)
    (_StridedShard(dim=0, sf=2), False)
    """

    split_factor: int = field(default=1, kw_only=True)

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"
