"""Collectives as functions of tensors: each returns a new one, and its backward is the collective the other way round.

Every rank must run backward through them, in the reverse of the order of forward.
"""

from __future__ import annotations

import torch
from torch.autograd import Function

from .. import _collectives as collectives
from .. import _world as world
from .._reduce import ReduceOp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


def _place(group, rank):
    return world.get_group_rank(group, rank)


def _linear(what, op):
    if op.name not in ("SUM", "AVG"):
        raise NotImplementedError(f"torch.distributed.nn.{what}: the gradient exists for SUM and AVG, not for {op!r}")


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, tensor, op, group):
        ctx.op, ctx.group = op, group
        result = tensor.detach().clone(memory_format=torch.contiguous_format)
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        _linear("all_reduce", ctx.op)
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, tensor, src, group):
        ctx.src, ctx.group = src, group
        result = tensor.detach().clone(memory_format=torch.contiguous_format)
        collectives.broadcast(result, group=group, group_src=src)
        return result

    @staticmethod
    def backward(ctx, grad):
        total = _Reduce.apply(grad, ctx.src, ReduceOp.SUM, ctx.group)
        return (total if ctx.group.rank() == ctx.src else total * 0), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx, tensor, dst, op, group):
        ctx.dst, ctx.op, ctx.group = dst, op, group
        result = tensor.detach().clone(memory_format=torch.contiguous_format)
        collectives.reduce(result, op=op, group=group, group_dst=dst)
        return result

    @staticmethod
    def backward(ctx, grad):
        _linear("reduce", ctx.op)
        spread = _Broadcast.apply(grad, ctx.dst, ctx.group)
        return (spread / ctx.group.size() if ctx.op.name == "AVG" else spread), None, None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx, tensor, dst, group):
        ctx.dst, ctx.group = dst, group
        outputs = [torch.zeros_like(tensor, memory_format=torch.contiguous_format) for _ in range(group.size())]
        ours = group.rank() == dst
        collectives.gather(tensor.detach(), outputs if ours else None, group=group, group_dst=dst)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return _Scatter.apply(ctx.dst, ctx.group, *grads), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.src, ctx.group = src, group
        result = torch.zeros_like(tensors[0], memory_format=torch.contiguous_format)
        ours = group.rank() == src
        collectives.scatter(result, [t.detach() for t in tensors] if ours else None, group=group, group_src=src)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, *_Gather.apply(grad, ctx.src, ctx.group)


class _AllGather(Function):
    @staticmethod
    def forward(ctx, tensor, group):
        ctx.group = group
        outputs = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(group.size())]
        collectives.all_gather(outputs, tensor.detach(), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads), None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, *tensors):
        ctx.op, ctx.group = op, group
        result = torch.empty_like(tensors[group.rank()], memory_format=torch.contiguous_format)
        collectives.reduce_scatter(result, [t.detach() for t in tensors], op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        _linear("reduce_scatter", ctx.op)
        grads = _AllGather.apply(grad, ctx.group)
        return None, None, *(g / ctx.group.size() if ctx.op.name == "AVG" else g for g in grads)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, group, shapes, *tensors):
        ctx.group, ctx.shapes = group, [tuple(t.shape) for t in tensors]
        outputs = [tensors[0].new_empty(shape) for shape in shapes]
        collectives.all_to_all(outputs, [t.detach() for t in tensors], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Any:
    """A copy of rank ``src``'s tensor; backward adds the gradients of all ranks up there."""
    group = world.resolve(group)
    return _Broadcast.apply(tensor, _place(group, src), group)


def reduce(tensor: Tensor, dst: int, op: str = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction on rank ``dst``, the tensor itself elsewhere; backward spreads the gradient of ``dst``."""
    group = world.resolve(group)
    return _Reduce.apply(tensor, _place(group, dst), op, group)


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction of all ranks' tensors; backward does the same to the gradients.

    >>> import torch, torch.distributed as dist, torch.distributed.nn
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2, requires_grad=True)
    >>> (dist.nn.all_reduce(x) ** 2).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    >>> dist.destroy_process_group()
    """
    return _AllReduce.apply(tensor, op, world.resolve(group))


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> Any:
    """The tensors of all ranks on rank ``dst``, zeros elsewhere; backward sends each its gradient."""
    group = world.resolve(group)
    return _Gather.apply(tensor, _place(group, dst), group)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """The tensor at our place of rank ``src``'s list; backward gathers the gradients there."""
    group = world.resolve(group)
    return _Scatter.apply(_place(group, src), group, *tensors)


def all_gather(tensor: Tensor, group: Any = None) -> Any:
    """The tensors of all ranks; backward adds up, for each rank, what all did with its tensor."""
    return _AllGather.apply(tensor, world.resolve(group))


def _all_gather_base(output_tensor, input_tensor, group=None):
    """The tensors of all ranks as one, of the shape of ``output_tensor``."""
    return torch.cat([t.reshape(-1) for t in all_gather(input_tensor, group)]).view(output_tensor.shape)


def reduce_scatter(output: Any, input_list: Any, op: str = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction of the tensors at our place of all lists; backward gathers the gradients."""
    return _ReduceScatter.apply(op, world.resolve(group), *input_list)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> Any:
    """What every rank has for us, of the shapes of ``output_tensor_list``; backward sends the gradients back."""
    shapes = [tuple(t.shape) for t in output_tensor_list]
    return _AllToAll.apply(world.resolve(group), shapes, *input_tensor_list)


def all_to_all_single(
    output: Any, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Any:
    """Pieces of dim 0 from every rank, one behind the other, of the shape of ``output``."""
    group = world.resolve(group)
    going = input.split(input_split_sizes or [input.shape[0] // group.size()] * group.size())
    coming = output.split(output_split_sizes or [output.shape[0] // group.size()] * group.size())
    return torch.cat(_AllToAll.apply(group, [tuple(t.shape) for t in coming], *going))
