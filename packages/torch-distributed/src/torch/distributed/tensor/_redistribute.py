"""From one placement to another: the steps, each along one dim of the mesh, with the step back as its gradient.

The gradient of a piece is that piece of the gradient, and the gradient of a summand that of the sum.
"""

import torch
from torch.autograd import Function

from .. import _collectives as collectives
from .._reduce import ReduceOp
from ._debug import sends
from ._layout import chunk, cutting_order, local_layout
from .placement_types import Partial, Replicate, Shard, _StridedShard

__all__ = ["redistribute"]


class Gather(Function):
    """Pieces along a dim to the whole."""

    @staticmethod
    def forward(ctx, piece, dim, length, group):
        ctx.dim, ctx.group = dim, group
        bounds = [chunk(length, group.size(), r) for r in range(group.size())]
        shape = list(piece.shape)
        pieces = [piece.new_empty([*shape[:dim], end - start, *shape[dim + 1 :]]) for start, end in bounds]
        sends("all_gather")
        collectives.all_gather(pieces, piece.detach().contiguous(), group=group)
        return torch.cat(pieces, dim)

    @staticmethod
    def backward(ctx, grad):
        return Cut.apply(grad, ctx.dim, ctx.group), None, None, None


class Cut(Function):
    """The whole to our piece of it along a dim."""

    @staticmethod
    def forward(ctx, whole, dim, group):
        ctx.dim, ctx.length, ctx.group = dim, whole.shape[dim], group
        start, end = chunk(ctx.length, group.size(), group.rank())
        return whole.detach().narrow(dim, start, end - start).clone(memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx, grad):
        return Gather.apply(grad, ctx.dim, ctx.length, ctx.group), None, None


class Total(Function):
    """Summands to their sum."""

    @staticmethod
    def forward(ctx, part, op, group):
        total = part.detach().clone(memory_format=torch.contiguous_format)
        sends("all_reduce")
        collectives.all_reduce(total, op, group)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None


class CutTotal(Function):
    """Summands to our piece of their sum along a dim."""

    @staticmethod
    def forward(ctx, part, dim, op, group):
        ctx.dim, ctx.length, ctx.group = dim, part.shape[dim], group
        if ctx.length % group.size():
            return Cut.apply(Total.apply(part.detach(), op, group), dim, group)
        pieces = [one.contiguous() for one in part.detach().chunk(group.size(), dim)]
        piece = torch.empty_like(pieces[0])
        sends("reduce_scatter")
        collectives.reduce_scatter(piece, pieces, op, group)
        return piece

    @staticmethod
    def backward(ctx, grad):
        return Gather.apply(grad, ctx.dim, ctx.length, ctx.group), None, None, None


class Summand(Function):
    """The whole to summands: the first rank's is all of it."""

    @staticmethod
    def forward(ctx, whole, group):
        return whole.detach().clone() if group.rank() == 0 else torch.zeros_like(whole)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Enter(Function):
    """The whole as the input of what each rank computes a part of: the gradients of the parts add up."""

    @staticmethod
    def forward(ctx, whole, group):
        ctx.group = group
        return whole.detach().view_as(whole)

    @staticmethod
    def backward(ctx, grad):
        return Total.apply(grad, ReduceOp.SUM, ctx.group), None


def _op(placement, part) -> ReduceOp:
    name = placement.reduce_op.upper()
    if name not in ("SUM", "AVG") and torch.is_grad_enabled() and part.requires_grad:
        raise NotImplementedError(f"DTensor: {placement!r} cannot be reduced with a gradient; there are sum and avg")
    return getattr(ReduceOp, name)


def _must_open(current, wanted, dim):
    """Whether the pieces along a dim of the mesh have to be put together, be it only for those they lie within."""
    if current[dim] != wanted[dim]:
        return True
    if not isinstance(current[dim], Shard):
        return False
    orders = cutting_order(current), cutting_order(wanted)
    return any(
        current[before] != wanted[before] and current[dim].dim in (_cut(current[before]), _cut(wanted[before]))
        for order in orders
        for before in order[: order.index(dim)]
    )


def _cut(placement):
    return placement.dim if isinstance(placement, Shard) else None


def redistribute(local, spec, wanted):
    """Our piece under the placements ``wanted``, of a piece under those of ``spec``; all ranks of the mesh call it."""
    mesh, current = spec.mesh, list(spec.placements)
    groups = mesh.get_all_groups()
    opened = [dim for dim in range(mesh.ndim) if _must_open(current, wanted, dim)]
    order = cutting_order(current)
    in_pieces = any(isinstance(p, _StridedShard) for p in [*current, *wanted])
    for dim in reversed([dim for dim in order if dim in opened]):  # pieces of pieces were cut last
        placement = current[dim]
        if isinstance(placement, Shard):
            inner = order[order.index(dim) :]
            outer = [Replicate() if i in inner else p for i, p in enumerate(current)]
            length = local_layout(spec.shape, mesh, outer)[0][placement.dim]
            local = Gather.apply(local, placement.dim, length, groups[dim])
        elif isinstance(placement, Partial):
            inside = in_pieces or any(isinstance(wanted[d], Shard) for d in opened if d < dim)
            if isinstance(wanted[dim], Shard) and not inside:
                local = CutTotal.apply(local, wanted[dim].dim, _op(placement, local), groups[dim])
                current[dim] = wanted[dim]
                continue
            local = Total.apply(local, _op(placement, local), groups[dim])
        current[dim] = Replicate()
    for dim in [dim for dim in cutting_order(wanted) if dim in opened]:
        if isinstance(current[dim], Replicate) and isinstance(wanted[dim], Shard):
            local = Cut.apply(local, wanted[dim].dim, groups[dim])
        elif isinstance(current[dim], Replicate) and isinstance(wanted[dim], Partial):
            local = Summand.apply(local, groups[dim])
    return local
