"""Sparse tensors of their parts: `torch.sparse_coo_tensor`, `torch.sparse_csr_tensor` and their like."""

from __future__ import annotations

from .. import _C
from .._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import torch


def _as_tensor(data, dtype=None, device=None):
    return data if isinstance(data, Tensor) else _C.tensor(data, dtype=dtype, device=device)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: int | Sequence[int] | None = None,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: Any = None,
    is_coalesced: Any = None,
) -> Tensor:
    """A sparse tensor with ``values[k]`` at the place ``indices[:, k]``; equal places add up.

    indices: (sparse_dim, nnz); values: (nnz, *rest), or a number for one element; ``size`` has sparse_dim + len(rest) numbers and is as small as the
    indices allow when it is left out. With only a size the tensor has no elements. Indices are always checked:
    RuntimeError names the first one that is negative or too large.

    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    if pin_memory:
        raise NotImplementedError("pin_memory: sparse tensors are not pinned; pin their indices and values")
    if values is None:
        size = size if indices is None else indices
        if size is None or isinstance(size, Tensor):
            raise TypeError("sparse_coo_tensor() needs indices and values, or a size")
        made = _C._operator("_sparse_zeros")(tuple(size), dtype=dtype, device=device)
        return made.requires_grad_() if requires_grad else made
    values = _as_tensor(values, dtype, device)
    if not isinstance(indices, Tensor):
        indices = _C.tensor(indices, device=values.device)
        indices = indices if indices.numel() else indices.to(_C.int64)
        if indices.is_floating_point() or indices.is_complex():
            raise TypeError(f"sparse_coo_tensor: indices must be integers, got {indices.dtype}")
    if dtype is not None or device is not None:
        values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    indices = indices.to(values.device)
    size = None if size is None else tuple(size)
    made = _C._operator("sparse_coo_tensor")(indices, values, size, is_coalesced=is_coalesced)
    if requires_grad:  # a leaf of its own, whatever the values hang on
        made = made.detach().requires_grad_()
    return made


def sparse_compressed_tensor(
    compressed_indices: Tensor | Sequence[Any],
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor in a compressed ``layout``: torch.sparse_csr, sparse_csc, sparse_bsr or sparse_bsc.

    compressed_indices: (*batch, lines + 1), where each row (of CSR and BSR; column of CSC and BSC) begins among the elements;
    plain_indices: (*batch, nnz), where in its line each stands; values: (*batch, nnz, *rest), of BSR and BSC blocks. ``size``
    is as small as the indices allow when it is left out. RuntimeError names the invariant that indices break. Whether those
    of a line are sorted and distinct is looked at with ``check_invariants`` only, or as
    :class:`torch.sparse.check_sparse_tensor_invariants` says.

    >>> torch.sparse_compressed_tensor([0, 1, 3], [1, 0, 1], [1.0, 2.0, 3.0], layout=torch.sparse_csr).to_dense()
    tensor([[0., 1.],
            [2., 3.]])
    """
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got none")
    if pin_memory:
        raise NotImplementedError("pin_memory: sparse tensors are not pinned; pin their indices and values")
    values = _as_tensor(values, dtype, device)
    if dtype is not None or device is not None:
        values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    places = [i if isinstance(i, Tensor) else _C.tensor(i) for i in (compressed_indices, plain_indices)]
    places = [
        i.to(values.device, None if isinstance(given, Tensor) or i.numel() else _C.int64)
        for i, given in zip(places, (compressed_indices, plain_indices), strict=True)
    ]
    if check_invariants is None:
        from ..sparse import check_sparse_tensor_invariants

        check_invariants = check_sparse_tensor_invariants.is_enabled()
    size = None if size is None else tuple(size)
    made = _C._operator("_sparse_compressed_tensor")(
        *places, values, layout=layout, size=size, distinct=bool(check_invariants)
    )
    return made.detach().requires_grad_() if requires_grad else made


def sparse_csr_tensor(
    crow_indices: Tensor | Sequence[Any],
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> Tensor:
    """A sparse tensor by rows, of layout torch.sparse_csr: see :func:`torch.sparse_compressed_tensor` for the options."""
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **_own_layout("csr", options))


def sparse_csc_tensor(
    ccol_indices: Tensor | Sequence[Any],
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> Tensor:
    """A sparse tensor by columns, of layout torch.sparse_csc: see :func:`torch.sparse_compressed_tensor` for the options."""
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **_own_layout("csc", options))


def sparse_bsr_tensor(
    crow_indices: Tensor | Sequence[Any],
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> Tensor:
    """A sparse tensor of blocks, by rows, of layout torch.sparse_bsr: see :func:`torch.sparse_compressed_tensor` for the options."""
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **_own_layout("bsr", options))


def sparse_bsc_tensor(
    ccol_indices: Tensor | Sequence[Any],
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> Tensor:
    """A sparse tensor of blocks, by columns, of layout torch.sparse_bsc: see :func:`torch.sparse_compressed_tensor` for the options."""
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **_own_layout("bsc", options))


def _own_layout(name, options):
    layout = getattr(_C, f"sparse_{name}")
    if options.get("layout", layout) not in (None, layout):
        raise RuntimeError(f"sparse_{name}_tensor: layout must be {layout} but got {options['layout']}")
    return {**options, "layout": layout}
