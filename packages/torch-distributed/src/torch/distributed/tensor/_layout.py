"""Where the piece of a rank lies in a spread tensor: pieces are those of ``torch.chunk``, dim of the mesh by dim."""

from dataclasses import dataclass, replace

import torch

from ..device_mesh import DeviceMesh
from .placement_types import Placement, Replicate, Shard, _StridedShard

__all__ = ["Spec", "chunk", "cutting_order", "local_layout", "settled"]


def chunk(length: int, parts: int, index: int) -> tuple:
    """Where piece ``index`` begins and ends; the last ones may be short or empty.

    >>> [chunk(5, 4, i) for i in range(4)]
    [(0, 2), (2, 4), (4, 5), (5, 5)]
    """
    size = -(-length // parts)
    return min(index * size, length), min((index + 1) * size, length)


def settled(placements, mesh, dims) -> tuple:
    """One placement for each dim of the mesh, with dims of the tensor counted from the front."""
    if placements is None:
        placements = [Replicate()] * mesh.ndim
    placements = list(placements)
    if len(placements) != mesh.ndim:
        raise ValueError(f"DTensor: a mesh of {mesh.ndim} dims needs as many placements, got {placements}")
    for i, placement in enumerate(placements):
        if not isinstance(placement, Placement):
            raise TypeError(f"DTensor: placements are Shard, Replicate or Partial, got {placement!r}")
        if isinstance(placement, Shard):
            if not -dims <= placement.dim < dims:
                raise ValueError(f"DTensor: {placement!r} of a tensor of {dims} dims")
            placements[i] = replace(placement, dim=placement.dim % dims)
    return tuple(placements)


def cutting_order(placements) -> list:
    """The dims of a mesh in the order in which they cut a tensor: from left to right, but for those that cut pieces.

    >>> cutting_order([_StridedShard(0, split_factor=2), Shard(0)])
    [1, 0]
    """
    return sorted(range(len(placements)), key=lambda dim: isinstance(placements[dim], _StridedShard))


def local_layout(shape, mesh, placements, coordinate=None) -> tuple:
    """The shape of a rank's piece, and the index of its first element in the whole."""
    coordinate = mesh.get_coordinate() if coordinate is None else coordinate
    sizes, offsets = list(shape), [0] * len(shape)
    for dim in cutting_order(placements):
        placement = placements[dim]
        if isinstance(placement, Shard):
            start, end = chunk(sizes[placement.dim], mesh.shape[dim], coordinate[dim])
            offsets[placement.dim] += start
            sizes[placement.dim] = end - start
    return tuple(sizes), tuple(offsets)


@dataclass(frozen=True)
class Spec:
    """How a tensor of ``shape`` lies on the ranks of a mesh."""

    mesh: DeviceMesh
    placements: tuple
    shape: torch.Size

    def with_placements(self, placements) -> "Spec":
        return Spec(self.mesh, tuple(placements), self.shape)

    @property
    def replicated(self) -> "Spec":
        return self.with_placements([Replicate()] * self.mesh.ndim)

    @property
    def of_pieces(self) -> "Spec":
        """With what the dims of the mesh have cut that cut pieces of others put together again."""
        return self.with_placements([Replicate() if isinstance(p, _StridedShard) else p for p in self.placements])

    def whole(self) -> bool:
        """Whether every rank holds all of it."""
        return all(isinstance(p, Replicate) for p in self.placements)
