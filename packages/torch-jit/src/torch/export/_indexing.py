"""``x[...]`` taken apart: views for ints, slices, None and Ellipsis, then ``index`` for tensors."""

from __future__ import annotations

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _items(x, index) -> list[Any]:
    """The index as a list without Ellipsis, one item for each dim that it speaks of."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [torch.tensor(i) if isinstance(i, (list, range)) else i for i in items]
    items = [torch.from_numpy(i) if type(i).__name__ == "ndarray" else i for i in items]
    used = sum(_dims_used(i) for i in items)
    for at, item in enumerate(items):
        if item is Ellipsis:
            return [*items[:at], *[slice(None)] * (x.dim() - used), *items[at + 1 :]]
    return items


def _dims_used(item):
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8):
        return item.dim()
    return 1


def basic(x: torch.Tensor, index: Any) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """The view that ints, slices and Nones make, and the tensors that then index its dims (None: the whole dim).

    >>> view, tensors = basic(torch.arange(12).reshape(3, 4), (slice(1, None), torch.tensor([0, 2])))
    >>> view.shape, tensors
    (torch.Size([2, 4]), [None, tensor([0, 2])])
    """
    view, dim, tensors = x, 0, []
    for item in _items(x, index):
        if item is None:
            view = torch.unsqueeze(view, dim)
            tensors.append(None)
            dim += 1
        elif isinstance(item, bool):
            view = torch.unsqueeze(view, dim)
            tensors.append(torch.tensor([0] if item else [], dtype=torch.int64))
            dim += 1
        elif isinstance(item, slice):
            start, stop, step = _bounds(item)
            if not (
                stop is None
                and type(step) is int
                and step == 1
                and (start is None or (type(start) is int and start == 0))
            ):
                view = torch.ops.aten.slice(view, dim, start, stop, step)
            tensors.append(None)
            dim += 1
        elif isinstance(item, torch.Tensor):
            tensors.append(item)
            dim += _dims_used(item)
        else:
            view = torch.select(view, dim, item if isinstance(item, int) else int(item))
    while tensors and tensors[-1] is None:
        tensors.pop()
    return view, tensors


def _bounds(item):
    def number(bound):
        return (
            bound.item()
            if isinstance(bound, torch.Tensor)
            else bound
            if isinstance(bound, int)
            else bound and int(bound)
        )

    step = number(item.step)
    return number(item.start), number(item.stop), 1 if step is None else step


def read(x: torch.Tensor, index: Any) -> torch.Tensor:
    """``x[index]`` in operators."""
    view, tensors = basic(x, index)
    if not tensors:
        return torch.ops.aten.alias(view) if view is x else view
    return _seams.operator("index")(view, tensors)


def write(x: torch.Tensor, index: Any, value: Any) -> None:
    """``x[index] = value`` in operators."""
    view, tensors = basic(x, index)
    if not isinstance(value, torch.Tensor):
        value = torch.tensor(value, dtype=x.dtype, device=x.device)
    if not tensors:
        # leading dims of size 1 may be more than the place has
        while value.dim() > view.dim() and value.shape[0] == 1:
            value = value.squeeze(0)
        view.copy_(value)
        return
    mask = tensors[0]
    if len(tensors) == 1 and mask.dtype == torch.bool and value.dim() == 0:
        while mask.dim() < view.dim():
            mask = mask.unsqueeze(-1)
        view.copy_(torch.where(mask, value, view))
        return
    _seams.operator("index_put_")(view, tensors, value.to(view.dtype))
