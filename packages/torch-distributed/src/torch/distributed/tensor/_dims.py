"""Operators along some dims, which stay whole, or are summed over: softmax, norms of layers, sums, tables."""

import math

import torch
from torch import _seams

from ._dtensor import wrap
from ._layout import Spec, local_layout
from ._plans import Plan, carry_out
from ._redistribute import Enter, redistribute
from .placement_types import Partial, Replicate, Shard

__all__ = ["DIMS"]


def _all(x):
    return tuple(range(len(x._spec.shape)))


def _without(x, dims):
    """A label for each dim, None for those of ``dims``, which may be one, several, or None for all."""
    count = len(x._spec.shape)
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        return (None,) * count
    dims = [dims] if isinstance(dims, int) else list(dims)
    for dim in dims:
        if not -max(count, 1) <= dim < max(count, 1):
            raise IndexError(f"dim {dim} of a DTensor of {count} dims")
    fixed = {dim % max(count, 1) for dim in dims}
    return tuple(None if i in fixed else i for i in range(count))


def _along(function, place=1, default=None, several=0):
    """An operator along a dim, its argument ``place``, whose results have the shape of what it is given."""

    def plan(x, *args, **kwargs):
        dim = kwargs.get("dim", args[place - 1] if len(args) >= place else default)
        if not isinstance(dim, (int, tuple, list)) or "out" in kwargs:
            return None
        labels = _without(x, dim)
        kept = [(x._spec.shape, labels)] * max(1, several)
        return carry_out(
            Plan([x], [labels], kept, lambda piece: function(piece, *args, **kwargs), several=bool(several))
        )

    return plan


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    fixed = range(len(x._spec.shape) - len(normalized_shape), len(x._spec.shape))
    labels = _without(x, list(fixed))
    others = [p for p in (weight, bias) if p is not None]

    def run(piece, *others):
        others = iter(others)
        given = [None if p is None else next(others) for p in (weight, bias)]
        return torch.nn.functional.layer_norm(piece, normalized_shape, *given, eps)

    return carry_out(
        Plan([x, *others], [labels] + [(None,) * len(p._spec.shape) for p in others], [(x._spec.shape, labels)], run)
    )


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    labels = _without(x, list(range(1, len(x._spec.shape))))
    others = [p for p in (weight, bias) if p is not None]

    def run(piece, *others):
        others = iter(others)
        given = [None if p is None else next(others) for p in (weight, bias)]
        return torch.nn.functional.group_norm(piece, num_groups, *given, eps)

    return carry_out(Plan([x, *others], [labels] + [(None,)] * len(others), [(x._spec.shape, labels)], run))


def _reduction(function, summed=False):
    """A reduction over dims: a sum of the pieces' sums, or of dims that are whole."""

    def plan(x, dim=None, keepdim=False, **kwargs):
        if not isinstance(dim, (int, tuple, list, type(None))) or "out" in kwargs:
            return None
        own = _all(x)
        left = _without(x, dim)
        kept = [(n, label) for n, label in zip(x._spec.shape, left, strict=True) if label is not None]
        if keepdim:
            kept = [(1 if label is None else n, label) for n, label in zip(x._spec.shape, left, strict=True)]
        over = frozenset(label for label, one in zip(own, left, strict=True) if one is None)
        dims = sorted(over)

        def run(piece):
            return function(piece, dims, keepdim, math.prod(x._spec.shape[d] for d in dims), kwargs)

        return carry_out(
            Plan(
                [x],
                [own if summed else left],
                [([n for n, _ in kept], tuple(label for _, label in kept))],
                run,
                sums=over if summed else frozenset(),
                linear=summed,
            )
        )

    return plan


def _sum(piece, dims, keepdim, count, kwargs):
    return torch.sum(piece, dims, keepdim, **kwargs) if dims else torch.sum(piece, **kwargs)


def _mean(piece, dims, keepdim, count, kwargs):
    return _sum(piece, dims, keepdim, count, kwargs) / count


def _whole(name):
    """A reduction that wants its dims whole."""
    function = getattr(torch, name)

    def run(piece, dims, keepdim, count, kwargs):
        if not dims:  # of a number
            return function(piece, **kwargs)
        return function(piece, dims, keepdim=keepdim, **kwargs)

    return _reduction(run)


def _of_one_dim(name, several):
    """``max``, ``argmax`` and the like: of one dim, with the places where they were found."""
    function = getattr(torch, name)

    def plan(x, dim=None, keepdim=False, **kwargs):
        if not isinstance(dim, int) or "out" in kwargs:
            return None
        labels = _without(x, dim)
        kept = [(1 if label is None else n, label) for n, label in zip(x._spec.shape, labels, strict=True)]
        if not keepdim:
            kept = [one for one in kept if one[1] is not None]
        result = ([n for n, _ in kept], tuple(label for _, label in kept))
        made = carry_out(
            Plan(
                [x],
                [labels],
                [result] * (2 if several else 1),
                lambda piece: function(piece, dim, keepdim=keepdim, **kwargs),
                several=several,
            )
        )
        return getattr(torch.return_types, name)(made) if several else made

    return plan


def embedding(index, weight, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Of a table in pieces by rows, each rank looks up what it has: the results are summands."""
    rows = [dim for dim, p in enumerate(weight._spec.placements) if p == Shard(0)]
    labels = _all(index)
    size = (*index._spec.shape, weight._spec.shape[1])
    if not rows:

        def run(index, weight):
            return torch.embedding(weight, index, padding_idx, scale_grad_by_freq, sparse)

        return carry_out(Plan([index, weight], [labels, (None, "d")], [(size, (*labels, "d"))], run))
    if scale_grad_by_freq or sparse:
        return None
    return _by_rows(index, weight, size, padding_idx)


def _by_rows(index, weight, size, padding_idx):
    mesh, of_index, of_weight, placements, shared = weight._spec.mesh, [], [], [], []
    for dim, (p, q) in enumerate(zip(index._spec.placements, weight._spec.placements, strict=True)):
        q = Replicate() if isinstance(q, Partial) else q
        p = Replicate() if isinstance(q, Shard) else p
        of_index.append(p)
        of_weight.append(q)
        placements.append(p if q == Replicate() else Partial() if q == Shard(0) else Shard(len(size) - 1))
        if isinstance(p, Shard):
            shared.append(dim)
    place = redistribute(index.to_local(), index._spec, of_index)
    if place.numel() and not 0 <= int(place.min()) <= int(place.max()) < weight._spec.shape[0]:
        raise IndexError(
            f"embedding: indices from {int(place.min())} to {int(place.max())}, of {weight._spec.shape[0]} rows"
        )
    (length, _), (first, _) = local_layout(weight._spec.shape, mesh, of_weight)
    table = redistribute(weight.to_local(), weight._spec, of_weight)
    if torch.is_grad_enabled() and table.requires_grad:
        for dim in shared:
            table = Enter.apply(table, mesh.get_group(dim))
    place = place - first
    missing = (place < 0) | (place >= length)
    if length:
        padding = padding_idx - first if first <= padding_idx < first + length else -1
        made = torch.embedding(table, place.masked_fill(missing, 0), padding, False, False)
        made = made.masked_fill(missing.unsqueeze(-1), 0)
    else:
        made = table.new_zeros((*place.shape, table.shape[1])) + table.sum()
    return wrap(made, Spec(mesh, tuple(placements), torch.Size(size)))


def one_hot(x, num_classes=-1):
    """The classes of all pieces are looked at first, so that every rank refuses them, or none."""
    smallest, largest = (int(x.min()), int(x.max())) if x.numel() else (0, num_classes - 1)
    num_classes = largest + 1 if num_classes == -1 else num_classes
    if smallest < 0 or not 0 <= largest < num_classes:
        return torch.nn.functional.one_hot(torch.tensor([smallest, largest]), num_classes)  # says what is wrong
    labels = _all(x)
    result = ((*x._spec.shape, num_classes), (*labels, None))
    return carry_out(Plan([x], [labels], [result], lambda piece: torch.nn.functional.one_hot(piece, num_classes)))


DIMS = {
    "softmax": _along(torch.softmax),
    "log_softmax": _along(torch.log_softmax),
    "_safe_softmax": _along(_seams.operator("_safe_softmax")),
    "softmin": _along(torch.nn.functional.softmin),
    "cumsum": _along(torch.cumsum),
    "cumprod": _along(torch.cumprod),
    "logcumsumexp": _along(torch.logcumsumexp),
    "argsort": _along(torch.argsort, default=-1),
    "flip": _along(torch.flip),
    "roll": _along(torch.roll, place=2),
    "tril": _along(lambda x, diagonal=0, **_: torch.tril(x, diagonal), place=9, default=(-2, -1)),
    "triu": _along(lambda x, diagonal=0, **_: torch.triu(x, diagonal), place=9, default=(-2, -1)),
    "layer_norm": layer_norm,
    "group_norm": group_norm,
    "one_hot": one_hot,
    "embedding": lambda weight, index, *rest, **more: embedding(index, weight, *rest, **more),
    "sum": _reduction(_sum, summed=True),
    "mean": _reduction(_mean, summed=True),
    "nansum": _reduction(lambda piece, *rest: _sum(piece.nan_to_num(nan=0.0), *rest), summed=True),
    "amax": _whole("amax"),
    "amin": _whole("amin"),
    "logsumexp": _whole("logsumexp"),
    "var": _whole("var"),
    "std": _whole("std"),
    "max": _of_one_dim("max", True),
    "min": _of_one_dim("min", True),
    "argmax": _of_one_dim("argmax", False),
    "argmin": _of_one_dim("argmin", False),
    "all": _of_one_dim("all", False),
    "any": _of_one_dim("any", False),
    "prod": _of_one_dim("prod", False),
}
