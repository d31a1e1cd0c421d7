"""Operators that core ATen lacks, as functions of others: the nodes that stand for a call are those of such a function, traced.

A function is called with tensors of the sizes that the arguments have, and returns None (before it computes) for arguments that
it does not take; so do calls whose sizes may change, since a trace is of one set of sizes.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ._leaves import recurrent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FUNCTIONS"]


# --- sums of products ---


def einsum(equation: str, operands: list[torch.Tensor], *path: Any) -> torch.Tensor | None:
    """Products of two operands at a time, each as a product of matrices in a batch.

    >>> x, y = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    >>> torch.equal(einsum("bij,bjk->bki", [x, y]), torch.einsum("bij,bjk->bki", x, y))
    True
    """
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow or "." in equation or any(len(set(term)) < len(term) for term in terms):
        return None
    if any(a.dim() != len(term) for a, term in zip(operands, terms, strict=True)):
        return None
    first, names = operands[0], terms[0]
    for i in range(1, len(terms)):
        left = set(result).union(*terms[i + 1 :])
        first, names = _product(first, names, operands[i], terms[i], left)
    first, names = _without(first, names, set(result))
    order = [names.index(name) for name in result]
    return first.permute(order) if order != sorted(order) else first


def _without(x, names, wanted):
    """The sum over the dims that nobody asks for."""
    dims = [d for d, name in enumerate(names) if name not in wanted]
    return (x.sum(dims), "".join(n for n in names if n in wanted)) if dims else (x, names)


def _product(a, of_a, b, of_b, left):
    """The sum of products of two operands over the names that are in both and not left."""
    a, of_a = _without(a, of_a, left | set(of_b))
    b, of_b = _without(b, of_b, left | set(of_a))
    batch = [n for n in of_a if n in of_b and n in left]
    summed = [n for n in of_a if n in of_b and n not in left]
    rows, columns = [n for n in of_a if n not in of_b], [n for n in of_b if n not in of_a]
    sizes = dict(zip(of_b, b.shape, strict=True)) | {
        n: s for n, s in zip(of_a, a.shape, strict=True) if n not in of_b or s > 1
    }

    def matrices(x, names, *groups):
        order = [names.index(n) for group in groups for n in group]
        x = x.permute(order) if order != sorted(order) else x
        spread = [sizes[n] for group in groups for n in group]
        x = x.expand(spread) if list(x.shape) != spread else x
        shape = [_count(sizes, group) for group in groups]
        return x.reshape(shape) if list(x.shape) != shape else x

    product = torch.bmm(matrices(a, of_a, batch, rows, summed), matrices(b, of_b, batch, summed, columns))
    names = [*batch, *rows, *columns]
    return product.reshape([sizes[n] for n in names]), "".join(names)


def _count(sizes, names):
    count = 1
    for name in names:
        count *= sizes[name]
    return count


# --- other sizes of images ---


def resized(
    input: torch.Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> torch.Tensor | None:  # fmt: skip
    """``interpolate`` dim by dim: an output is a sum of inputs next to its place, with weights that follow from the place.

    >>> x = torch.arange(4.0).view(1, 1, 4)
    >>> torch.equal(resized(x, 8, mode="linear"), torch.nn.functional.interpolate(x, 8, mode="linear"))
    True
    """
    dims = input.dim() - 2
    if antialias or (dims == 2 and mode in ("nearest", "bilinear") and not recompute_scale_factor):
        return None  # operators of their own
    scales = [None] * dims
    if scale_factor is not None:
        scales = [
            float(s) for s in (scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor] * dims)
        ]
        sizes = [int(n * s) for n, s in zip(input.shape[2:], scales, strict=True)]
        scales = [None] * dims if recompute_scale_factor else scales
    else:
        sizes = [size] * dims if isinstance(size, int) else list(size)
    if mode == "area":
        return getattr(F, f"adaptive_avg_pool{dims}d")(input, sizes)
    taps = _TAPS[mode]
    for dim, (out, scale) in enumerate(zip(sizes, scales, strict=True), 2):
        if out != input.shape[dim] or mode == "bicubic":
            input = _along(input, dim, taps(input.shape[dim], out, scale, bool(align_corners)))
    return input


def _along(x, dim, taps):
    after = [1] * (x.dim() - dim - 1)
    total = None
    for index, weight in taps:
        picked = x.index_select(dim, index)
        part = picked if weight is None else picked * weight.to(x.dtype).view(-1, *after)
        total = part if total is None else total + part
    return total


def _places(size, out, scale, corners):
    """Where outputs lie among inputs."""
    step = torch.arange(out, dtype=torch.float32)
    if corners:
        return step * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return (step + 0.5) * (1 / scale if scale else size / out) - 0.5


def _nearest(size, out, scale, corners):
    step = torch.arange(out, dtype=torch.float32)
    return [((step * (1 / scale if scale else size / out)).floor().clamp(0, size - 1).long(), None)]


def _nearest_exact(size, out, scale, corners):
    step = torch.arange(out, dtype=torch.float32)
    return [(((step + 0.5) * (1 / scale if scale else size / out)).floor().clamp(0, size - 1).long(), None)]


def _two(size, out, scale, corners):
    place = _places(size, out, scale, corners).clamp(min=0.0)
    low = place.floor()
    share = place - low
    return [(low.clamp(max=size - 1).long(), 1 - share), ((low + 1).clamp(max=size - 1).long(), share)]


def _four(size, out, scale, corners):
    """Cubic convolution with a = -0.75 (Keys 1981)."""
    a, place = -0.75, _places(size, out, scale, corners)
    low = place.floor()
    t = place - low

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = far(t + 1), near(t), near(1 - t), far(2 - t)
    return [((low + i).clamp(0, size - 1).long(), w) for i, w in zip((-1, 0, 1, 2), weights, strict=True)]


_TAPS = {
    "nearest": _nearest, "nearest-exact": _nearest_exact, "linear": _two, "bilinear": _two, "trilinear": _two, "bicubic": _four,
}  # fmt: skip


#: what is traced for a call of a function or an operator
FUNCTIONS = {
    recurrent: recurrent,  # traced, its steps are seen
    torch.ops.aten._einsum.default: einsum,
    F.interpolate: resized,
}
