"""Counts of elements by their values, and places by their number: histogram, histogramdd, nonzero_static, unravel_index."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

from .. import _C
from .out import check_tensor, into

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch
    from torch import Tensor


def _result(name, fields):
    """The class of named results of a function that is no operator, which shows itself as those of operators do."""
    made = namedtuple(name, fields, module="torch.return_types")

    def shown(self):
        lines = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{lines})"

    made.__repr__ = shown
    return made


histogram_result = _result("histogram", ("hist", "bin_edges"))
histogramdd_result = _result("histogramdd", ("hist", "bin_edges"))


def _edges(op, values, bins, range):
    """The edges of the bins of one coordinate: given, or ``bins`` equal ones over a range or over the values."""
    if isinstance(bins, _C.Tensor):
        if range is not None:
            raise TypeError(f"{op}: range is for a number of bins, here the edges are given")
        if bins.dim() != 1 or len(bins) < 2:
            raise RuntimeError(f"{op}: the edges must be a vector of at least two, got shape {tuple(bins.shape)}")
        if bins.dtype != values.dtype:
            raise RuntimeError(f"{op}: the edges must have the dtype of the input, {values.dtype}, got {bins.dtype}")
        return bins.detach()
    if bins < 1:
        raise RuntimeError(f"{op}: bins must be > 0, but got {bins}")
    if range is None and values.numel():
        low, high = values.min(), values.max()
        if not _C._operator("_holds")((high - low).isfinite()):
            raise RuntimeError(f"{op}: the input's values have no finite range; give one with range=(low, high)")
        low, high = low - 0.5 * (low == high), high + 0.5 * (low == high)
        return _C._operator("linspace")(low, high, bins + 1, dtype=values.dtype, device=values.device)
    low, high = range or (0, 1)
    if not low <= high or high - low == float("inf"):
        raise RuntimeError(f"{op}: range of [{low}, {high}] is not finite and ordered")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _C._operator("linspace")(low, high, bins + 1, dtype=values.dtype, device=values.device)


def _places(edges, values):
    """The bin of each value, and whether it lies in one."""
    place = _C._operator("searchsorted")(edges, values.contiguous(), right=True) - 1
    place = _C._operator("where")(values == edges[-1], len(edges) - 2, place)
    return place, (place >= 0) & (place < len(edges) - 1)


def _added(like, place, inside, weights, count):
    """The weights that fall into each of ``count`` bins; what lies in none goes to one more, which is left out."""
    place = _C._operator("where")(inside, place, count)
    return like.new_zeros(count + 1).index_add(0, place, weights)[:count]


def _check_histogram(op, input, weight, shape):
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"{op}: not implemented for {input.dtype}; convert the input with .float()")
    if weight is not None and weight.shape != shape:
        raise RuntimeError(
            f"{op}: expected a weight of shape {tuple(shape)}, one for each point, got {tuple(weight.shape)}"
        )


def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements, or what weight, fall between each two of the edges; the last bin includes its right edge.

    Gradients go to the weights; the counts of elements have none.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    check_tensor("histogram", input=input)
    _check_histogram("histogram", input, weight, input.shape)
    values = input.detach().reshape(-1)
    edges = _edges("histogram", values, bins, range)
    place, inside = _places(edges, values)
    weights = _C._operator("ones_like")(values) if weight is None else weight.reshape(-1).to(input.dtype)
    hist = _added(values, place, inside, weights, len(edges) - 1)
    if density:
        hist = hist / hist.sum() / (edges[1:] - edges[:-1])
    if out is None:
        return histogram_result(hist, edges)
    return histogram_result(into("histogram", hist, out[0]), into("histogram", edges, out[1]))


def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many points, or what weight, lie in each cell of a grid; the last dim of the input holds a point's coordinates.

    ``bins`` is a number for all coordinates, a number for each, or the edges for each; ``range`` the bounds of each.

    >>> torch.histogramdd(torch.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, 1.9]]), [2, 2]).hist
    tensor([[1., 0.],
            [0., 2.]])
    """
    check_tensor("histogramdd", input=input)
    if input.dim() < 2:
        raise RuntimeError(f"histogramdd: the input should have at least 2 dimensions, got shape {tuple(input.shape)}")
    _check_histogram("histogramdd", input, weight, input.shape[:-1])
    points = input.detach().flatten(0, -2)
    count = points.shape[1]
    bins = [bins] * count if isinstance(bins, int) else list(bins)
    if len(bins) != count:
        raise RuntimeError(f"histogramdd: the points have {count} coordinates, but bins has {len(bins)}")
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(
            f"histogramdd: range should have {2 * count} bounds for {count} coordinates, got {len(range)}"
        )
    edges, cell, all_inside = [], None, None
    for d, number in enumerate(bins):
        bounds = None if range is None else tuple(range[2 * d : 2 * d + 2])
        edges.append(_edges("histogramdd", points[:, d], number, bounds))
        place, inside = _places(edges[-1], points[:, d])
        cell = place if cell is None else cell * (len(edges[-1]) - 1) + place
        all_inside = inside if all_inside is None else all_inside & inside
    sizes = [len(e) - 1 for e in edges]
    weights = points.new_ones(len(points)) if weight is None else weight.reshape(-1).to(input.dtype)
    total = 1
    for n in sizes:
        total *= n
    # of a grid without axes, nothing lies in the one cell
    hist = _added(points, cell, all_inside, weights, total).reshape(sizes) if sizes else input.new_zeros(())
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / (e[1:] - e[:-1]).reshape([-1 if k == d else 1 for k, _ in enumerate(edges)])
    return histogramdd_result(hist, tuple(edges))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The first ``size`` positions of elements that are not zero, as rows; ``fill_value`` where there are fewer.

    >>> torch.nonzero_static(torch.tensor([0, 1, 1]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    check_tensor("nonzero_static", input=input)
    if size < 0:
        raise RuntimeError(f"nonzero_static: size must be a non-negative integer, got {size}")
    if input.is_meta:
        return into("nonzero_static", input.new_empty((size, input.dim()), dtype=_C.int64), out)
    rows = _C._operator("nonzero")(input)[:size]
    result = rows.new_full((size, input.dim()), fill_value)
    result[: len(rows)] = rows
    return into("nonzero_static", result, out)


def unravel_index(indices: Tensor, shape: int | Sequence[int] | torch.Size) -> tuple[Tensor, ...]:
    """The coordinates, one tensor a dim, of places counted through a tensor of that shape.

    >>> torch.unravel_index(torch.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    check_tensor("unravel_index", indices=indices)
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == _C.bool:
        raise TypeError(f"unravel_index: expected 'indices' to be integer, got {indices.dtype}")
    if isinstance(shape, _C.Tensor) or not isinstance(shape, (int, Sequence)):
        raise TypeError(f"unravel_index: expected 'shape' to be int or sequence of ints, got {type(shape).__name__}")
    indices = indices.to(_C.int64)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in shape:
        if not hasattr(n, "__index__"):
            raise TypeError(f"unravel_index: expected 'shape' sequence to only contain ints, got {n!r} in {shape}")
    if any(n < 0 for n in shape):
        raise ValueError(f"unravel_index: sizes must not be negative, got {shape}")
    count = 1
    for n in shape:
        count *= n
    if not _C._operator("_holds")((indices >= 0) & (indices < count)):
        raise ValueError(f"unravel_index: indices lie outside a tensor of shape {shape}")
    places = []
    for n in reversed(shape):
        places.append(indices % n)
        indices = indices // n
    return tuple(reversed(places))
