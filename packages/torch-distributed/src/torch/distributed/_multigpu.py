"""Collectives of 2018 in which each rank brings several tensors, one for each of its devices; here all are on the CPU."""

import torch

from . import _collectives as collectives
from . import _world as world
from ._reduce import ReduceOp

__all__ = [
    "all_gather_multigpu", "all_reduce_multigpu", "broadcast_multigpu", "reduce_multigpu", "reduce_scatter_multigpu",
]  # fmt: skip

PAIRS = {"SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum}


def _list(what, tensors):
    tensors = list(tensors)
    if not tensors or len({(t.shape, t.dtype) for t in tensors}) != 1:
        raise ValueError(
            f"{what}: takes a list of tensors of one shape and dtype, got {[tuple(t.shape) for t in tensors]}"
        )
    return tensors


def _folded(what, tensors, op):
    """The reduction of this rank's own tensors."""
    tensors = _list(what, tensors)
    if op.name not in PAIRS:
        raise ValueError(f"{what}: reduces by SUM, PRODUCT, MIN and MAX, not by {op!r}")
    total = tensors[0].detach().clone()
    for other in tensors[1:]:
        total = PAIRS[op.name](total, other.detach())
    return tensors, total


def _finish(async_op, what):
    if async_op:
        raise NotImplementedError(f"{what}: async_op of several tensors does not exist; use all_reduce and the like")


@torch.no_grad()
def broadcast_multigpu(tensor_list, src, group=None, async_op=False, src_tensor=0):
    """Fill all tensors of all ranks with tensor ``src_tensor`` of rank ``src``.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.broadcast_multigpu([x], 0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _finish(async_op, "broadcast_multigpu")
    tensors = _list("broadcast_multigpu", tensor_list)
    line = tensors[src_tensor].clone()
    collectives.broadcast(line, src, group)
    for tensor in tensors:
        tensor.copy_(line)


@torch.no_grad()
def all_reduce_multigpu(tensor_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce all tensors of all ranks, in place.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce_multigpu([x])
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _finish(async_op, "all_reduce_multigpu")
    tensors, total = _folded("all_reduce_multigpu", tensor_list, op)
    collectives.all_reduce(total, op, group)
    for tensor in tensors:
        tensor.copy_(total)


@torch.no_grad()
def reduce_multigpu(tensor_list, dst, op=ReduceOp.SUM, group=None, async_op=False, dst_tensor=0):
    """Reduce all tensors of all ranks into tensor ``dst_tensor`` of rank ``dst``.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.reduce_multigpu([x], 0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _finish(async_op, "reduce_multigpu")
    tensors, total = _folded("reduce_multigpu", tensor_list, op)
    collectives.reduce(total, dst, op, group)
    if world.get_rank() == dst:
        tensors[dst_tensor].copy_(total)


@torch.no_grad()
def all_gather_multigpu(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """Fill each list with all tensors of all ranks, those of rank 0 first.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> gathered = [[torch.zeros(2)]]
    >>> dist.all_gather_multigpu(gathered, [torch.ones(2)])
    >>> gathered
    [[tensor([1., 1.])]]
    >>> dist.destroy_process_group()
    """
    _finish(async_op, "all_gather_multigpu")
    inputs = _list("all_gather_multigpu", input_tensor_list)
    whole = torch.stack(inputs)
    everyone = [torch.empty_like(whole) for _ in range(world.get_world_size(group))]
    collectives.all_gather(everyone, whole, group)
    flat = [tensor for one in everyone for tensor in one]
    for outputs in output_tensor_lists:
        if len(outputs) != len(flat):
            raise ValueError(f"all_gather_multigpu: each list must have {len(flat)} tensors, got {len(outputs)}")
        for output, tensor in zip(outputs, flat, strict=True):
            output.copy_(tensor)


@torch.no_grad()
def reduce_scatter_multigpu(output_tensor_list, input_tensor_lists, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce the lists of all tensors of all ranks; the first results go to rank 0's tensors, the next to rank 1's."""
    _finish(async_op, "reduce_scatter_multigpu")
    outputs = _list("reduce_scatter_multigpu", output_tensor_list)
    ranks, count = world.get_world_size(group), len(outputs)
    totals = []
    for place in range(ranks * count):
        totals.append(_folded("reduce_scatter_multigpu", [inputs[place] for inputs in input_tensor_lists], op)[1])
    whole = torch.stack(totals)
    piece = torch.empty_like(whole[:count])
    collectives.reduce_scatter_tensor(piece, whole, op, group)
    for output, tensor in zip(outputs, piece, strict=True):
        output.copy_(tensor)
