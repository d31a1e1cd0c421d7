"""``rearrange``: dims by name, as in einops."""

from __future__ import annotations

import re
from math import prod

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dims in another order, split and joined, as a pattern says.

    Names in brackets are one dim, the last of them the fastest; ``...`` stands for the dims that have no name, ``1`` and
    ``()`` for a dim of size 1. ``axes_lengths`` gives sizes that do not follow from the tensor. A list is stacked along a
    new first dim. ValueError for a pattern that cannot be read, that uses a name twice or only on one side, and for
    sizes that do not fit.

    >>> torch.func.rearrange(torch.zeros(2, 3, 4), "a b c -> c (a b)").shape
    torch.Size([4, 6])
    >>> torch.func.rearrange(torch.zeros(6, 4), "(a b) ... -> b a ...", a=2).shape
    torch.Size([3, 2, 4])
    """
    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(tuple(tensor))
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange: a pattern reads 'dims -> dims', got {pattern!r}")
    left, right = (_read(side, pattern) for side in pattern.split("->"))
    known = [_names(side) for side in (left, right)]
    for names in known:
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"Indexing expression contains duplicate dimension {name!r}: {pattern!r}")
    if one_side := set(known[0]) ^ set(known[1]):
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {one_side}")
    if unknown := set(axes_lengths) - set(known[0]):
        raise ValueError(f"rearrange: sizes are given of {', '.join(sorted(unknown))}, which {pattern!r} does not name")
    sizes = _sizes(tensor.shape, left, pattern, axes_lengths)
    flat = tensor.reshape([n for name in known[0] for n in sizes[name]])
    places, at = {}, 0
    for name in known[0]:
        places[name] = range(at, at + len(sizes[name]))
        at += len(sizes[name])
    ordered = flat.permute([d for name in known[1] for d in places[name]])
    shape = []
    for group in right:
        if group == ["..."]:
            shape += sizes["..."]
        else:
            shape.append(prod(n for name in group for n in sizes[name]))
    return ordered.reshape(shape)


def _read(side, pattern):
    """One list of names for each dim; ``...`` stands by itself."""
    groups = []
    for brackets, word in re.findall(r"\(([^()]*)\)|([^\s()]+)", side):
        names = brackets.split() if not word else [] if word == "1" else [word]
        names = [n for n in names if n != "1"]
        for name in names:
            if name != "..." and not name.isidentifier():
                raise ValueError(f"rearrange: {name!r} is no name of a dim in {pattern!r}")
        if "..." in names and (names != ["..."] or not word):
            raise ValueError(f"rearrange: '...' stands outside of brackets, in {pattern!r}")
        groups.append(names)
    if re.search(r"[()]", re.sub(r"\([^()]*\)", "", side)):
        raise ValueError(f"rearrange: the brackets of {pattern!r} do not match")
    return groups


def _names(groups):
    return [name for group in groups for name in group]


def _sizes(shape, groups, pattern, given):
    """The sizes of each name: one, or several for ``...``."""
    some = ["..."] in groups
    if len(shape) != len(groups) and not (some and len(shape) >= len(groups) - 1):
        raise ValueError(
            f"rearrange: {pattern!r} names {len(groups)} dims, the tensor has {len(shape)}: {tuple(shape)}"
        )
    sizes, rest = {}, list(shape)
    for i, group in enumerate(groups):
        if group == ["..."]:
            count = len(rest) - (len(groups) - i - 1)
            sizes["..."], rest = rest[:count], rest[count:]
            continue
        total = rest.pop(0)
        missing = [name for name in group if name not in given]
        fixed = prod(given[name] for name in group if name in given)
        if len(missing) > 1:
            raise ValueError(f"rearrange: of {', '.join(missing)} in {pattern!r} all sizes but one must be given")
        if missing and fixed and total % fixed == 0:
            sizes[missing[0]] = [total // fixed]
        elif missing or fixed != total:
            raise ValueError(
                f"rearrange: a dim of size {total} is no ({' '.join(group) or '1'}) in {pattern!r} with {given}"
            )
        for name in group:
            if name in given:
                sizes[name] = [given[name]]
    return sizes
