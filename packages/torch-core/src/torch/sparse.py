"""Functions of sparse tensors, and their legacy classes: torch.sparse.FloatTensor(indices, values, size).

>>> import torch
>>> s = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
>>> torch.sparse.mm(s, torch.ones(3, 1))
tensor([[3.],
        [4.]])
"""

from __future__ import annotations

from . import _C
from ._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    import torch


__all__ = ["addmm", "log_softmax", "mm", "softmax", "spdiags", "sum"]


def _check(name, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}(): expected a sparse Tensor, got {type(tensor).__name__}")
    if not tensor.is_sparse:
        raise RuntimeError(
            f"{name}: expected a tensor of layout torch.sparse_coo, got {tensor.layout}; use to_sparse()"
        )


def mm(mat1: Any, mat2: Any) -> Tensor:
    """Product of two matrices, of which one at least is sparse; sparse when both are.

    Gradients of a sparse operand exist at its own elements.
    """
    if not (mat1.is_sparse or mat2.is_sparse):
        raise RuntimeError("torch.sparse.mm: expected a sparse matrix, got two of layout torch.strided; use torch.mm")
    return _C._operator("mm")(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    return _C._operator("addmm")(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: tuple[int] | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """The sum of a sparse tensor over dims: sparse where a sparse dim stays, else dense.

    >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)))
    tensor(7.)
    """
    _check("torch.sparse.sum", input)
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return _C._operator("sum")(input, dims, dtype=dtype)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: torch.layout | None = None) -> Tensor:
    """A sparse matrix of the given shape with row i of ``diagonals`` along diagonal ``offsets[i]`` (0 the main one, positive
    above it). Element j of a row stands in column j. RuntimeError when shapes do not fit or an offset stands twice.

    >>> torch.sparse.spdiags(torch.tensor([[1, 2, 3]]), torch.tensor([1]), (3, 3)).to_dense()
    tensor([[0, 2, 0],
            [0, 0, 3],
            [0, 0, 0]])
    """
    import torch

    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.reshape(-1) if offsets.dim() == 0 else offsets
    if diagonals.dim() != 2 or offsets.dim() != 1 or diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"spdiags: diagonals must hold a row for each offset, got shapes {tuple(diagonals.shape)} and {tuple(offsets.shape)}"
        )
    if len(shape) != 2:
        raise RuntimeError(f"spdiags: Output shape must be 2d, got {tuple(shape)}")
    if offsets.dtype != torch.int64:
        raise RuntimeError(f"spdiags: Offset Tensor must have dtype Long but got {offsets.dtype}")
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError("spdiags: Offset tensor contains duplicate values")
    if layout not in (None, torch.sparse_coo):
        raise NotImplementedError(
            f"spdiags: matrices of layout {layout} are not made here; convert one of torch.sparse_coo"
        )
    columns = torch.arange(min(diagonals.shape[1], shape[1])).expand(offsets.numel(), -1)
    rows = columns - offsets.unsqueeze(1)
    there = (rows >= 0) & (rows < shape[0])
    places = torch.stack([rows[there], columns[there]])
    return torch.sparse_coo_tensor(places, diagonals[:, : columns.shape[1]][there], tuple(shape))


def softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """Softmax over the stored elements of each line along ``dim``: the others count as minus infinity."""
    _check("torch.sparse.softmax", input)
    return _C._operator("_sparse_softmax")(input, dim, False, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """The logarithm of :func:`softmax`."""
    _check("torch.sparse.log_softmax", input)
    return _C._operator("_sparse_softmax")(input, dim, True, dtype=dtype)


class check_sparse_tensor_invariants:
    """Accepted for compatibility, as context or decorator: indices are always checked here."""

    def __init__(self, enable: bool = True) -> None:
        self.enabled = enable

    @staticmethod
    def is_enabled() -> Any:
        """True: indices are always checked."""
        return True

    @staticmethod
    def enable() -> None:
        """Nothing to do: indices are always checked."""

    @staticmethod
    def disable() -> None:
        """Nothing happens: indices are always checked."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return False

    def __call__(self, function: Callable[..., Any]) -> Any:
        return function


def as_sparse_gradcheck(gradcheck):
    """``torch.autograd.gradcheck`` itself: it takes sparse tensors as they are."""
    return gradcheck


def legacy(dtype, args):
    """What ``torch.sparse.FloatTensor(...)`` makes: of nothing, sizes, a torch.Size, or indices, values and a size."""
    from ._sparse_tensors import sparse_coo_tensor

    if args and isinstance(args[0], Tensor):
        if len(args) not in (2, 3):
            raise TypeError(
                f"sparse tensor: expected (indices, values) or (indices, values, size), got {len(args)} arguments"
            )
        if args[1].dtype != dtype:
            raise TypeError(
                f"sparse tensor: expected values of {dtype}, got {args[1].dtype}; use torch.sparse_coo_tensor"
            )
        return sparse_coo_tensor(*args)
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return _C._operator("_sparse_zeros")(args or (0,), dtype=dtype)


def __getattr__(name):
    from . import _legacy

    if name.endswith("Tensor") and name.removesuffix("Tensor") in _legacy.PREFIXES:
        globals()[name] = _legacy.make(name, sparse=True)
        return globals()[name]
    raise AttributeError(f"module 'torch.sparse' has no attribute {name!r}")
