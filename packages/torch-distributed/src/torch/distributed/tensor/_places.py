"""Operators that take places along dims, or order what lies there: the dims that they go through stay whole."""

import torch

from ._dims import _without
from ._dtensor import DTensor
from ._plans import Plan, carry_out

__all__ = ["PLACES"]


def _ordered(name, default=-1, sized=False):
    """``sort`` and the like: values and places, along a dim."""
    function = getattr(torch, name)

    def plan(x, *args, **kwargs):
        if not x._spec.shape or "out" in kwargs:
            return None
        first = args[1:] if sized else args
        dim = kwargs.get("dim", first[0] if first and not isinstance(first[0], bool) else default)
        probe = function(torch.empty(tuple(x._spec.shape), device="meta"), *args, **kwargs)
        labels = _without(x, dim)
        if len(probe[0].shape) < len(labels):  # the dim is gone
            kept = tuple(label for label in labels if label is not None)
        else:
            kept = labels
        results = [(one.shape, kept) for one in probe]
        made = carry_out(Plan([x], [labels], results, lambda piece: function(piece, *args, **kwargs), several=True))
        return getattr(torch.return_types, name)(made)

    return plan


def _aligned(x, dim, *others):
    """Labels of tensors of as many dims: a dim that all have of one length may lie in pieces, but for ``dim``."""
    shape = x._spec.shape
    if any(len(one._spec.shape) != len(shape) for one in others):
        return None
    labels = _without(x, dim)
    return tuple(
        label if all(one._spec.shape[i] == shape[i] for one in others) else None for i, label in enumerate(labels)
    )


def _chosen(function):
    """``gather`` and ``take_along_dim``: values at the places of an index that lies as the tensor does."""

    def plan(x, *args, **kwargs):
        values = dict(zip(_ORDER[function], args, strict=False)) | kwargs
        dim, index = values.get("dim"), values.get(_INDEX[function])
        if not isinstance(dim, int) or not isinstance(index, DTensor) or set(values) - {"dim", _INDEX[function]}:
            return None
        own = _aligned(x, dim, index)
        if own is None or (function is torch.take_along_dim and not _same_but(x, index, dim)):
            return None
        return carry_out(
            Plan(
                [x, index],
                [own, own],
                [(index._spec.shape, own)],
                lambda x, i: function(x, dim=dim, **{_INDEX[function]: i}),
            )
        )

    return plan


_ORDER = {torch.gather: ("dim", "index"), torch.take_along_dim: ("indices", "dim")}
_INDEX = {torch.gather: "index", torch.take_along_dim: "indices"}


def _same_but(x, index, dim):
    """Whether two shapes differ in a dim only, so that nothing is broadcast."""
    count = len(x._spec.shape)
    return all(
        a == b for i, (a, b) in enumerate(zip(x._spec.shape, index._spec.shape, strict=True)) if i != dim % count
    )


def _put(function):
    """``scatter`` and ``scatter_add``: the tensor with other values at the places of an index that lies as it does."""

    def plan(x, dim, index, src=None, **kwargs):
        src = kwargs.pop("value", src)
        if not isinstance(index, DTensor) or src is None or not isinstance(dim, int):
            return None
        spread = isinstance(src, DTensor)
        own = _aligned(x, dim, index, *([src] if spread else []))
        if own is None or (spread and src._spec.shape != index._spec.shape):
            return None
        operands = [x, index, src] if spread else [x, index]

        def run(x, index, values=src):
            return function(x, dim, index, values, **kwargs)

        return carry_out(Plan(operands, [own] * len(operands), [(x._spec.shape, own)], run))

    return plan


def _index_select(x, dim, index, **kwargs):
    if kwargs or not x._spec.shape or len(index._spec.shape) != 1:
        return None
    labels, shape = list(_without(x, dim)), list(x._spec.shape)
    at = labels.index(None)
    result = list(labels)
    result[at], shape[at] = "n", index._spec.shape[0]
    return carry_out(
        Plan(
            [x, index],
            [tuple(labels), ("n",)],
            [(shape, tuple(result))],
            lambda piece, places: torch.index_select(piece, dim, places),
        )
    )


def _written_out(x, items):
    """The items of an index with a slice for each dim that it does not name; None for masks and the like."""
    items = list(items) if isinstance(items, tuple) else [items]
    places = [one for one in items if isinstance(one, DTensor)]
    dots = [i for i, one in enumerate(items) if one is Ellipsis]
    taken = sum(one is not None and one is not Ellipsis for one in items)
    if any(isinstance(one, (list, bool)) for one in items) or any(one.dtype in _MASKS for one in places):
        return None
    if len(dots) > 1 or taken > len(x._spec.shape):
        return None
    at = dots[0] if dots else len(items)
    items[at : at + 1] = [slice(None)] * (len(x._spec.shape) - taken)
    return items


_MASKS = (torch.bool, torch.uint8)


def _where(items):
    """Labels of the dims of what is indexed, and of the result without those of the tensors, and where these belong.

    That is in the place of the first, or in front of all when something else stands between them.  An int takes its
    dim away before.
    """
    own, result, place, apart, dim = [], [], None, False, 0
    for one in items:
        whole = isinstance(one, slice) and one == slice(None)
        if one is not None:
            own.append(dim if whole else None)
        if isinstance(one, DTensor):
            apart = apart or (place is not None and len(result) != place)
            place = len(result) if place is None else place
        elif not isinstance(one, int):
            result.append(dim if whole else None)
        dim += one is not None
    return tuple(own), result, 0 if apart else place


def indexed(x, items):
    """``x[items]`` with tensors of integers among the items, which are broadcast against each other."""
    items = _written_out(x, items)
    if items is None:
        return None
    places = [one for one in items if isinstance(one, DTensor)]
    together = torch.broadcast_shapes(*(one._spec.shape for one in places))
    of_places = []
    for one in places:
        first = len(together) - len(one._spec.shape)
        of_places.append(
            tuple(
                f"n{first + i}" if n == together[first + i] and n != 1 else None for i, n in enumerate(one._spec.shape)
            )
        )
    own, result, at = _where(items)
    result[at:at] = [f"n{i}" for i in range(len(together))]

    def filled(values):
        values = iter(values)
        return tuple(next(values) if isinstance(one, DTensor) else one for one in items)

    meta = [torch.empty(tuple(one._spec.shape), dtype=torch.int64, device="meta") for one in places]
    shape = torch.empty(tuple(x._spec.shape), device="meta")[filled(meta)].shape
    return carry_out(
        Plan([x, *places], [own, *of_places], [(shape, tuple(result))], lambda x, *places: x[filled(places)])
    )


PLACES = {
    "sort": _ordered("sort"),
    "topk": _ordered("topk", sized=True),
    "kthvalue": _ordered("kthvalue", sized=True),
    "mode": _ordered("mode"),
    "cummax": _ordered("cummax", default=None),
    "cummin": _ordered("cummin", default=None),
    "gather": _chosen(torch.gather),
    "take_along_dim": _chosen(torch.take_along_dim),
    "scatter": _put(torch.scatter),
    "scatter_add": _put(torch.scatter_add),
    "index_select": _index_select,
}
