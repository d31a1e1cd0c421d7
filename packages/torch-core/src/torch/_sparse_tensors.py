"""`torch.sparse_coo_tensor`, and what to say of the layouts that are not there."""

from __future__ import annotations

from . import _C
from ._C import Tensor

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
) -> Any:
    """A sparse tensor with ``values[k]`` at the place ``indices[:, k]``; equal places add up.

    indices: (sparse_dim, nnz); values: (nnz, *rest), or a number for one element; ``size`` has sparse_dim + len(rest) numbers and is as small as the
    indices allow when it is left out. With only a size the tensor has no elements. Indices are always checked:
    RuntimeError names the first one that is negative or too large.

    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    if pin_memory:
        raise RuntimeError("pin_memory: pinned memory needs the distribution 'torch-core-cuda', which is not installed")
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


def _compressed(name):
    def make(*args, **kwargs):
        raise NotImplementedError(f"{name}: of the sparse layouts torch.sparse_coo alone is there: sparse_coo_tensor()")

    make.__name__ = make.__qualname__ = name
    make.__doc__ = "Not there: of the sparse layouts torch.sparse_coo alone is."
    return make


sparse_csr_tensor = _compressed("sparse_csr_tensor")
sparse_csc_tensor = _compressed("sparse_csc_tensor")
sparse_bsr_tensor = _compressed("sparse_bsr_tensor")
sparse_bsc_tensor = _compressed("sparse_bsc_tensor")
sparse_compressed_tensor = _compressed("sparse_compressed_tensor")
