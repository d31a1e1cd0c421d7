"""Views, and what joins tensors: a dim that stays as it is may lie in pieces."""

import torch

from ._plans import Plan, carry_out
from .placement_types import Shard

__all__ = ["VIEWS"]

CUTS = ["T", "mT", "H", "mH", "__getitem__", "adjoint", "chunk", "diagonal", "movedim", "moveaxis", "narrow", "permute",
        "select", "split", "split_with_sizes", "swapaxes", "swapdims", "t", "tensor_split", "transpose", "unbind",
        "unsqueeze"]  # fmt: skip


def _marked(shape):
    """A tensor without memory of which every stride, also that of a dim of length 1, tells the dim."""
    strides, step = [], 7
    for n in reversed(shape):
        strides.append(step)
        step *= n + 2
    strides.reverse()
    return torch.empty_strided(tuple(shape), tuple(strides), device="meta"), strides


def _plain(value):
    """Whether an argument is none of the tensors, also within indices."""
    if isinstance(value, (tuple, list)):
        return all(map(_plain, value))
    return not isinstance(value, torch.Tensor)


def _viewed(func):
    """A function that only moves dims and cuts some: which ones, its strides tell."""

    def plan(x, *args, **kwargs):
        if not _plain(args) or not _plain(list(kwargs.values())):
            return None
        shape = x._spec.shape
        probe, strides = _marked(shape)
        made = func(probe, *args, **kwargs)
        several = not isinstance(made, torch.Tensor)
        made = list(made) if several else [made]
        if not made:
            return None
        where = {stride: dim for dim, stride in enumerate(strides) if shape[dim] != 1}
        results = []
        for one in made:
            labels = [
                where.get(stride) if where.get(stride) is not None and shape[where[stride]] == n else None
                for n, stride in zip(one.shape, one.stride(), strict=True)
            ]
            results.append((one.shape, tuple(labels)))
        kept = set.intersection(*(set(labels) for _, labels in results))
        if func.__name__ in ("narrow", "select"):
            kept -= {(args[0] if args else kwargs["dim"]) % len(shape)}
        own = tuple(dim if dim in kept else None for dim in range(len(shape)))
        results = [(size, tuple(label if label in kept else None for label in labels)) for size, labels in results]
        return carry_out(
            Plan([x], [own], results, lambda piece: func(piece, *args, **kwargs), linear=True, several=several)
        )

    return plan


def _squeeze(x, dim=None):
    """Of the whole: a piece may be of length 1 where the whole is not."""
    shape = x._spec.shape
    asked = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {d % len(shape) for d in asked if shape[d] == 1} if shape else set()
    own = tuple(None if n == 1 else i for i, n in enumerate(shape))
    left = [i for i in range(len(shape)) if i not in gone]
    result = ([shape[i] for i in left], tuple(own[i] for i in left))
    return carry_out(
        Plan(
            [x],
            [own],
            [result],
            lambda piece: piece.squeeze(tuple(gone)) if gone else piece.view_as(piece),
            linear=True,
        )
    )


def _expand(x, *sizes, implicit=False):
    if not _plain(sizes):
        return None
    sizes = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
    shape = x._spec.shape
    probe = torch.empty(tuple(shape), device="meta").expand(sizes)
    before = probe.dim() - len(shape)
    own = tuple(i if n == probe.shape[before + i] and n != 1 else None for i, n in enumerate(shape))
    result = (probe.shape, (None,) * before + own)
    return carry_out(Plan([x], [own], [result], lambda piece, sizes: piece.expand(sizes[0]), linear=True, sized=True))


def _matched(before, after):
    """Dims of two shapes that hold the same elements, as pairs of lists."""
    i = j = 0
    while i < len(before) or j < len(after):
        left, right = [], []
        a = b = 1
        while True:
            if a == b and (left or right) and a > 1:
                break
            if a <= b and i < len(before):
                a *= before[i]
                left.append(i)
                i += 1
            elif j < len(after):
                b *= after[j]
                right.append(j)
                j += 1
            elif i < len(before):
                a *= before[i]
                left.append(i)
                i += 1
            else:
                break
        yield left, right


def _shaped(func):
    """``reshape`` and the like: pieces of the first of some dims are pieces of the first dim that they become."""

    def plan(x, *args, **kwargs):
        if not _plain(args) or any(isinstance(one, torch.dtype) for one in args) or "dtype" in kwargs:
            return None
        spec = x._spec
        after = func(torch.empty(tuple(spec.shape), device="meta"), *args, **kwargs).shape
        if 0 in spec.shape:
            return None
        own, made = [None] * len(spec.shape), [None] * len(after)
        for left, right in _matched(spec.shape, after):
            left, right = [i for i in left if spec.shape[i] != 1], [j for j in right if after[j] != 1]
            if not left or not right:
                continue
            parts = 1
            for n, placement in zip(spec.mesh.shape, spec.placements, strict=True):
                parts *= n if placement == Shard(left[0]) else 1
            same = len(left) == len(right) == 1
            if same or (spec.shape[left[0]] % parts == 0 and after[right[0]] % parts == 0):
                own[left[0]] = made[right[0]] = left[0]
        return carry_out(
            _Shaped([x], [tuple(own)], [(after, tuple(made))], lambda piece, sizes: piece.reshape(sizes[0]),
                    linear=True, sized=True)
        )  # fmt: skip

    return plan


class _Shaped(Plan):
    def allows(self, label) -> bool:
        return any(label in labels for labels in self.labels)


def _joined(tensors, dim=0, **kwargs):
    """``cat``, along a dim that is whole."""
    if kwargs or not all(len(x._spec.shape) == len(tensors[0]._spec.shape) for x in tensors):
        return None
    shape = list(tensors[0]._spec.shape)
    labels = tuple(None if i == dim % len(shape) else i for i in range(len(shape)))
    shape[dim] = sum(x._spec.shape[dim] for x in tensors)
    return carry_out(
        Plan(list(tensors), [labels] * len(tensors), [(shape, labels)], lambda *pieces: torch.cat(pieces, dim))
    )


def _stacked(tensors, dim=0, **kwargs):
    """``stack``: no dim has to be whole."""
    if kwargs or not all(x._spec.shape == tensors[0]._spec.shape for x in tensors):
        return None
    shape = list(tensors[0]._spec.shape)
    labels = list(range(len(shape)))
    dim = dim % (len(shape) + 1)
    result = ([*shape[:dim], len(tensors), *shape[dim:]], (*labels[:dim], None, *labels[dim:]))
    return carry_out(
        Plan(list(tensors), [tuple(labels)] * len(tensors), [result], lambda *pieces: torch.stack(pieces, dim))
    )


VIEWS = dict.fromkeys(CUTS, _viewed)
VIEWS |= dict.fromkeys(["view", "reshape", "flatten", "unflatten", "ravel"], _shaped)
VIEWS |= {
    "squeeze": lambda func: _squeeze,
    "expand": lambda func: _expand,
    "expand_as": lambda func: lambda x, other: _expand(x, other.shape),
    "view_as": lambda func: lambda x, other: _shaped(torch.Tensor.view)(x, other.shape),
    "reshape_as": lambda func: lambda x, other: _shaped(torch.Tensor.reshape)(x, other.shape),
    "cat": lambda func: _joined,
    "concat": lambda func: _joined,
    "stack": lambda func: _stacked,
}
