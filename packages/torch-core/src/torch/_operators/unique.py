"""torch.unique and torch.unique_consecutive, whose number of results depends on what is asked for."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def _picked(results, return_inverse, return_counts):
    output, inverse, counts = results
    wanted = (output,) + ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return wanted if len(wanted) > 1 else output


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or slices of ``dim``, in order; with them on request each one's place and the counts.

    >>> import torch
    >>> torch.unique(torch.tensor([3, 1, 3, 2]), return_counts=True)
    (tensor([1, 2, 3]), tensor([1, 1, 2]))
    """
    if dim is None:
        results = _C._operator("_unique")(input, bool(return_inverse), bool(return_counts))
    else:
        results = _C._operator("_unique_dim")(input, dim, bool(return_inverse), bool(return_counts))
    return _picked(results, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One of each run of equal elements, or of equal slices of ``dim``.

    >>> import torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    results = _C._operator("_unique_consecutive")(input, dim, bool(return_inverse), bool(return_counts))
    return _picked(results, return_inverse, return_counts)
