"""Random matrices of known kinds, and tensors of unusual memory."""

from __future__ import annotations

import math

import torch
from torch.testing._creation import make_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def _normal(*shape: int, dtype: torch.dtype = torch.double, device: Any = "cpu", **_: Any) -> Tensor:
    return torch.randn(*shape, dtype=dtype, device=device)


def _shifted(a: Tensor, by: float) -> Tensor:
    return a + by * torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)


def _rescaled(a: Tensor, values: Tensor) -> Tensor:
    """``a`` with other singular values."""
    u, _, vh = torch.linalg.svd(a, full_matrices=False)
    return (u * values.to(u.dtype).unsqueeze(-2)) @ vh


def _square(shape: tuple[int, ...]) -> None:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise AssertionError(f"expected the shape of square matrices, got {tuple(shape)}")


def random_symmetric_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """Symmetric matrices of shape (*batches, l, l)."""
    a = _normal(*batches, l, l, **kwargs)
    return (a + a.mT) / 2


def random_hermitian_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """Hermitian matrices of shape (*batches, l, l)."""
    a = _normal(*batches, l, l, **kwargs)
    return (a + a.mH) / 2


def random_symmetric_psd_matrix(l: int, *batches: int, **kwargs: Any) -> Tensor:
    """Symmetric positive semi-definite matrices of shape (*batches, l, l)."""
    a = _normal(*batches, l, l, **kwargs)
    return a @ a.mT


def random_hermitian_psd_matrix(matrix_size: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """Hermitian positive semi-definite matrices of shape (*batch_dims, matrix_size, matrix_size)."""
    a = _normal(*batch_dims, matrix_size, matrix_size, **kwargs)
    return a @ a.mH


def random_symmetric_pd_matrix(matrix_size: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """Symmetric positive definite matrices of shape (*batch_dims, matrix_size, matrix_size)."""
    return _shifted(random_symmetric_psd_matrix(matrix_size, *batch_dims, **kwargs), 1e-5)


def random_hermitian_pd_matrix(matrix_size: int, *batch_dims: int, dtype: torch.dtype, device: Any) -> Tensor:
    """Hermitian positive definite matrices of shape (*batch_dims, matrix_size, matrix_size)."""
    return _shifted(random_hermitian_psd_matrix(matrix_size, *batch_dims, dtype=dtype, device=device), 1.0)


def make_symmetric_matrices(*shape: int, device: Any, dtype: torch.dtype) -> Tensor:
    """Symmetric matrices of this shape."""
    _square(shape)
    a = make_tensor(shape, device=device, dtype=dtype)
    return (a + a.mT) / 2


def make_symmetric_pd_matrices(*shape: int, device: Any, dtype: torch.dtype) -> Tensor:
    """Symmetric positive definite matrices of this shape."""
    _square(shape)
    a = make_tensor(shape, device=device, dtype=dtype)
    return _shifted(a @ a.mT, 1e-5)


def random_square_matrix_of_rank(l: int, rank: int, dtype: torch.dtype = torch.double, device: Any = "cpu") -> Tensor:
    """An (l, l) matrix of this rank."""
    if rank > l:
        raise AssertionError(f"rank must be at most l, got rank={rank} and l={l}")
    a = _normal(l, l, dtype=dtype, device=device)
    values = torch.linalg.svdvals(a)
    values = torch.where(values == 0, 1, values) * (torch.arange(l, device=device) < rank)
    return _rescaled(a, values)


def random_well_conditioned_matrix(
    *shape: int, dtype: torch.dtype, device: Any, mean: float = 1.0, sigma: float = 0.001
) -> Tensor:
    """Matrices whose singular values are drawn from Normal(mean, sigma)."""
    a = torch.rand(*shape, dtype=dtype, device=device)
    k = min(shape[-2:])
    real = a.real.dtype if dtype.is_complex else dtype
    values = torch.randn(*shape[:-2], k, dtype=real, device=device) * sigma + mean
    return _rescaled(a, values.sort(-1, descending=True).values)


def make_fullrank_matrices_with_distinct_singular_values(
    *shape: int, device: Any, dtype: torch.dtype, requires_grad: bool = False
) -> Tensor:
    """Matrices with singular values between 2/3 and 3/2, no two of them equal."""
    a = make_tensor(shape, device=device, dtype=dtype)
    i = torch.arange(min(shape[-2:]), dtype=torch.float64, device=device)
    made = _rescaled(a, 1 + (1 - 2 * (i % 2)) / (i + 2))
    return made.requires_grad_() if requires_grad else made


def random_matrix(rows: int, columns: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """Matrices of shape (*batch_dims, rows, columns), well conditioned, or singular with ``singular=True``."""
    a = _normal(*batch_dims, rows, columns, **kwargs)
    if a.numel() == 0:
        return a
    k = min(rows, columns)
    values = torch.linspace(1 / (k + 1), 1, k, dtype=torch.float64, device=a.device)
    if kwargs.get("singular", False):
        values[k - 1] = 0
        if k > 2:
            values[0] = 0
    return _rescaled(a, values)


def random_lowrank_matrix(rank: int, rows: int, columns: int, *batch_dims: int, **kwargs: Any) -> Tensor:
    """Matrices of shape (*batch_dims, rows, columns) and of this rank."""
    return random_matrix(rows, rank, *batch_dims, **kwargs) @ random_matrix(rank, columns, *batch_dims, **kwargs)


def random_matrix_with_scaled_reduction_dim(
    rows: int, columns: int, *batch_dims: int, requires_grad: bool = False, reduction_dim: int = -1, **kwargs: Any
) -> Tensor:
    """Normal entries, scaled so that a product that sums over ``reduction_dim`` has variance 1."""
    a = _normal(*batch_dims, rows, columns, **kwargs)
    a = a / math.sqrt(a.shape[reduction_dim])
    return a.requires_grad_() if requires_grad else a


def noncontiguous_like(t: Tensor) -> Tensor:
    """The same values with a gap after each; a tensor that is not contiguous is returned as it is.

    >>> from torch.testing._internal.common_utils import noncontiguous_like
    >>> noncontiguous_like(torch.ones(2, 2)).stride()
    (4, 2)
    """
    if not t.is_contiguous():
        return t
    numeric = t.dtype.is_floating_point or t.dtype.is_complex
    gap = math.nan if numeric else t.dtype == torch.bool or 12
    room = torch.full((*t.shape, 2), gap, dtype=t.dtype, device=t.device)
    room[..., 1] = t.detach()
    made = room[..., 1]
    return made.requires_grad_() if t.requires_grad else made
