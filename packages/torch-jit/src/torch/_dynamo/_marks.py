"""Wishes about sizes of tensors: which may change, and which do not."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["mark_dynamic", "mark_static", "maybe_mark_dynamic"]


def _mark(tensor: Any, index: Any, name: str) -> set[int]:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"expected a tensor, got {type(tensor).__name__}")
    dims = range(tensor.dim()) if index is None else index if isinstance(index, (list, tuple)) else (index,)
    for i in dims:
        if not -tensor.dim() <= i < tensor.dim():
            raise IndexError(f"dim {i} of a tensor of {tensor.dim()} dims, of shape {tuple(tensor.shape)}")
    dims = {i % tensor.dim() for i in dims}
    setattr(tensor, name, set(getattr(tensor, name, ())) | dims)
    return dims


def mark_dynamic(
    t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None, max: int | None = None,
    specialize_on: Any = None,
) -> None:  # fmt: skip
    """Say that a dim, or each of several, may change, between ``min`` and ``max``: the first program is for all its sizes.

    IndexError for a dim that is not there, TypeError for a limit that is no int. A function that holds to the size it is
    given raises ``torch.fx.experimental.symbolic_shapes.ConstraintViolationError`` when it is called.

    >>> x = torch.ones(3, 4)
    >>> torch._dynamo.mark_dynamic(x, 0)
    >>> x._dynamo_dynamic_indices
    {0}
    """
    for name, limit in (("min", min), ("max", max)):
        if limit is not None and not isinstance(limit, int):
            raise TypeError(f"mark_dynamic: {name} must be an int, got {limit!r}")
    dims = _mark(t, index, "_dynamo_dynamic_indices")
    if min is not None or max is not None:
        t._dynamo_dynamic_range = {**getattr(t, "_dynamo_dynamic_range", {}), **dict.fromkeys(dims, (min, max))}


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Say that a dim, or each of several, may change, where the function lets it.

    >>> x = torch.ones(3, 4)
    >>> torch._dynamo.maybe_mark_dynamic(x, 0)
    >>> x._dynamo_weak_dynamic_indices
    {0}
    """
    _mark(t, index, "_dynamo_weak_dynamic_indices")


def mark_static(t: Any, index: Any = None) -> None:
    """Say that a dim, each of several, or (None) all keep their size: another one makes a program of its own.

    >>> x = torch.ones(3, 4)
    >>> torch._dynamo.mark_static(x)
    >>> x._dynamo_static_indices
    {0, 1}
    """
    if isinstance(t, torch.Tensor):
        _mark(t, index, "_dynamo_static_indices")


def marked(args: tuple, kwargs: dict) -> dict[int, dict[int, Any]]:
    """For each leaf of (args, kwargs) with marks: the dims that may change, as hints for an export."""
    from torch import _pytree as pytree
    from torch.export import Dim

    found: dict[int, dict[int, Any]] = {}
    for i, leaf in enumerate(pytree.tree_leaves((args, kwargs))):
        surely, maybe = (
            getattr(leaf, name, ()) for name in ("_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices")
        )
        if surely or maybe:
            found[i] = {**dict.fromkeys(maybe, Dim.AUTO), **dict.fromkeys(surely, Dim.DYNAMIC)}
    return found
