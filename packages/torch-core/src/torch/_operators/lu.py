"""LU factorizations as functions that give more or fewer results on request, which a row cannot say."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Compact LU factorization with row swaps from 1, and with ``get_infos`` where it met a zero on U's diagonal.

    >>> LU, pivots = torch.lu(torch.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> LU, pivots
    (tensor([[4., 8.],
            [0., 2.]]), tensor([2, 2], dtype=torch.int32))
    """
    count = 3 if get_infos else 2
    if out is None:
        return tuple(_C._operator("_lu_with_info")(A, pivot, not get_infos))[:count]
    if not isinstance(out, (tuple, list)) or len(out) != count:
        raise TypeError(
            f"lu(): argument 'out' must be a tuple of {count} Tensors with get_infos={get_infos}, got {out!r}"
        )
    into = (*out, A.new_empty(0, dtype=_C.int32))[:3]
    _C._operator("_lu_with_info")(A, pivot, not get_infos, out=into)
    return tuple(out)


def btrifact(A: Tensor, info: Any = None, pivot: bool = True) -> Any:
    """Name of 2018 of :func:`torch.lu`; ``info`` is an int32 tensor that is told where a matrix is singular.

    >>> a = torch.tensor([[[4.0, 1.0], [1.0, 3.0]]])
    >>> lu, pivots = torch.btrifact(a)
    >>> lu.shape, pivots.shape
    (torch.Size([1, 2, 2]), torch.Size([1, 2]))
    """
    factors, pivots, infos = _C._operator("_lu_with_info")(A, pivot, info is None)
    if info is not None:
        info.resize_(infos.shape).copy_(infos)
    return factors, pivots
