"""Losses of pieces: by samples, and of scores whose classes lie on several ranks, which are never put together."""

from contextvars import ContextVar

import torch
from torch.nn import functional as F

from .. import _collectives as collectives
from .._reduce import ReduceOp
from ._dtensor import wrap
from ._layout import Spec, local_layout
from ._redistribute import Enter, Total, redistribute
from .placement_types import Partial, Replicate, Shard

__all__ = ["LOSSES"]

NONE, MEAN = 0, 1  # and 2 is the sum

targets_may_be_plain: ContextVar[bool] = ContextVar("targets_may_be_plain", default=False)  # in a loss_parallel() block


def _log_softmax_of_classes(piece, dim, groups):
    """Of scores whose classes lie on the ranks of groups: the logarithms of the chances of our classes."""
    largest = piece.detach().amax(dim, keepdim=True) if piece.shape[dim] else _least(piece, dim)
    for group in groups:
        collectives.all_reduce(largest, ReduceOp.MAX, group)
    shifted = piece - largest
    total = shifted.exp().sum(dim, keepdim=True)
    for group in groups:
        total = Total.apply(total, ReduceOp.SUM, group)
    total = total.log()
    for group in groups:
        total = Enter.apply(total, group)
    return shifted - total


def _least(piece, dim):
    shape = list(piece.shape)
    shape[dim] = 1
    return piece.new_full(shape, -float("inf")).detach()


def _by_class(logp, target, weight, ignore_index, smoothing, first, classes, groups):
    """The loss of each sample, and what it counts: of log-chances of the classes from ``first`` on."""
    ignored = target == ignore_index
    index = target - first
    outside = (index < 0) | (index >= logp.shape[1]) | ignored
    if logp.shape[1]:
        found = logp.gather(1, index.masked_fill(outside, 0).unsqueeze(1)).squeeze(1).masked_fill(outside, 0)
    else:
        found = logp.sum(1)
    count = (~ignored).to(logp.dtype)
    if weight is not None:
        count = count * weight[target.masked_fill(ignored, 0)]
    loss = -found * count * (1 - smoothing)
    if smoothing:
        each = (
            logp if weight is None else logp * weight[first : first + logp.shape[1]].view(-1, *[1] * (logp.dim() - 2))
        )
        loss = loss - (smoothing / classes) * each.sum(1).masked_fill(ignored, 0)
    for group in groups:
        loss = Total.apply(loss, ReduceOp.SUM, group)
    return loss, count


def _check(name, logits, target):
    shape, of_target = logits._spec.shape, target._spec.shape
    if tuple(of_target) != (shape[0], *shape[2:]):
        raise ValueError(f"{name}: scores of shape {tuple(shape)} do not fit targets of shape {tuple(of_target)}")


def _in_bounds(name, bad, mesh, placements):
    """Whether the targets that are none of the classes are missing, on all ranks."""
    count = torch.tensor([len(bad)])
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            collectives.all_reduce(count, ReduceOp.SUM, mesh.get_group(dim))
    if len(bad):
        raise IndexError(f"{name}: Target {int(bad[0])} is out of bounds.")
    if int(count):
        raise IndexError(f"{name}: Target of another rank is out of bounds.")


def _classes(name, logarithms):
    def loss(logits, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0):
        if len(logits._spec.shape) < 2 or target.dtype.is_floating_point:
            return None
        _check(name, logits, target)
        mesh = logits._spec.mesh
        given, wanted, of_target, of_loss = [], [], [], []
        for dim in range(mesh.ndim):
            own, other = logits._spec.placements[dim], target._spec.placements[dim]
            if not isinstance(own, Shard) and isinstance(other, Shard):
                own = Shard(other.dim + (other.dim > 0))
            if isinstance(own, Partial):
                own = Replicate()
            sample = Shard(own.dim - (own.dim > 1)) if isinstance(own, Shard) and own.dim != 1 else Replicate()
            given.append(own == Shard(1))
            wanted.append(own)
            of_target.append(sample)
            of_loss.append(sample)
        piece = redistribute(logits.to_local(), logits._spec, wanted)
        target = redistribute(target.to_local(), target._spec, of_target)
        if weight is not None:
            weight = weight.full_tensor().detach()
        classes = logits._spec.shape[1]
        _in_bounds(name, target[(target != ignore_index) & ((target < 0) | (target >= classes))], mesh, of_loss)
        groups = [mesh.get_group(dim) for dim, cut in enumerate(given) if cut]
        first = local_layout(logits._spec.shape, mesh, wanted)[1][1]
        if logarithms:
            piece = _log_softmax_of_classes(piece, 1, groups) if groups else F.log_softmax(piece, 1)
        loss, count = _by_class(piece, target, weight, ignore_index, label_smoothing, first, classes, groups)
        return _reduced(loss, count, mesh, of_loss, (logits._spec.shape[0], *logits._spec.shape[2:]), reduction)

    return loss


def _reduced(loss, count, mesh, placements, shape, reduction):
    if reduction == NONE:
        return wrap(loss, Spec(mesh, tuple(placements), torch.Size(shape)))
    total = loss.sum()
    if reduction == MEAN:
        count = count.sum()
        for dim, placement in enumerate(placements):
            if isinstance(placement, Shard):
                collectives.all_reduce(count, ReduceOp.SUM, mesh.get_group(dim))
        total = total / count
    parts = tuple(Partial() if isinstance(p, Shard) else Replicate() for p in placements)
    return wrap(total, Spec(mesh, parts, torch.Size([])))


def _of_differences(function):
    def loss(input, target, reduction=MEAN):
        if input._spec.shape != target._spec.shape:
            return None
        each = function(torch.sub(input, target))
        return each if reduction == NONE else torch.mean(each) if reduction == MEAN else torch.sum(each)

    return loss


LOSSES = {
    "cross_entropy": _classes("cross_entropy", True),
    "nll_loss": _classes("nll_loss", False),
    "mse_loss": _of_differences(torch.square),
    "l1_loss": _of_differences(torch.abs),
}
