"""Collectives that return new tensors, and are done when they return."""

import torch

from . import _collectives as collectives
from . import _world as world
from ._absent import absent_class, absent_function
from ._reduce import ReduceOp
from .device_mesh import DeviceMesh
from .distributed_c10d import _resolve_process_group

__all__ = ["all_gather_tensor", "all_reduce", "all_to_all_single", "broadcast", "reduce_scatter_tensor", "wait_tensor"]

AsyncCollectiveTensor = absent_class(__name__, "AsyncCollectiveTensor", "results are there when a function returns")


def _op(name) -> ReduceOp:
    return ReduceOp(name.upper())


def _group(group):
    """A process group from what programs name one by: itself, its name, ranks, lists of them, a mesh or one of its dims."""
    if isinstance(group, str):
        return _resolve_process_group(group)
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, (list, tuple)):
        rows = [row for row in group if isinstance(row, (list, tuple))]
        mine = next((row for row in rows if world.get_rank() in row), None) if rows else group
        if mine is None:
            raise ValueError(f"rank {world.get_rank()} is in none of the groups {group}")
        return world.of_ranks(mine)
    return group


def permute_tensor(self, src_dst, group=None, tag=""):
    """The tensor of the rank that ``src_dst`` names for this one: rank ``i`` sends to ``src_dst[i]``.

    >>> from torch.distributed._functional_collectives import permute_tensor
    >>> torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    >>> permute_tensor(torch.ones(2), [0])
    tensor([1., 1.])
    >>> torch.distributed.destroy_process_group()
    """
    size, rank = world.get_world_size(_group(group)), world.get_rank(_group(group))
    if sorted(src_dst) != list(range(size)):
        raise ValueError(f"permute_tensor: src_dst must hold each of {size} ranks once, got {list(src_dst)}")
    flat, result = self.detach().contiguous().flatten(), torch.empty_like(self).flatten()
    sent = [len(flat) if to == src_dst[rank] else 0 for to in range(size)]
    taken = [len(flat) if src_dst[who] == rank else 0 for who in range(size)]
    collectives.all_to_all_single(result, flat, taken, sent, _group(group))
    return result.view(self.shape)


def wait_tensor(tensor):
    """The tensor, which is there already."""
    return tensor


def all_reduce(self, reduceOp, group=None, tag=""):
    """The reduction (``"sum"``, ``"avg"``, ...) of all ranks' tensors."""
    result = self.detach().clone()
    collectives.all_reduce(result, _op(reduceOp), _group(group))
    return result


def broadcast(self, src, group=None, tag=""):
    """The tensor of rank ``src``."""
    result = self.detach().clone()
    collectives.broadcast(result, src, _group(group))
    return result


def all_gather_tensor(self, gather_dim, group=None, tag=""):
    """The tensors of all ranks, joined along a dim."""
    outputs = [torch.empty_like(self) for _ in range(world.get_world_size(_group(group)))]
    collectives.all_gather(outputs, self.detach(), _group(group))
    return torch.cat(outputs, gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group=None, tag=""):
    """Our piece, along a dim, of the reduction of all ranks' tensors."""
    pieces = [piece.contiguous() for piece in self.detach().chunk(world.get_world_size(_group(group)), scatter_dim)]
    result = torch.empty_like(pieces[0])
    collectives.reduce_scatter(result, pieces, _op(reduceOp), _group(group))
    return result


def all_to_all_single(self, output_split_sizes, input_split_sizes, group=None, tag=""):
    """What all ranks have for us, joined along dim 0."""
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    output = self.new_empty(rows, *self.shape[1:])
    collectives.all_to_all_single(output, self.detach(), output_split_sizes, input_split_sizes, _group(group))
    return output


all_to_all_single_autograd = absent_function(
    __name__, "all_to_all_single_autograd", "torch.distributed.nn.all_to_all_single has gradients"
)
