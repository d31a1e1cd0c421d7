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
from ._operators.out import check_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    import torch


__path__: list[str] = []  # torch.sparse._triton_ops_meta is a module

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]


def parts(tensor):
    """What a sparse tensor consists of, by the names of its methods, without graph."""
    if tensor.is_sparse:
        return {"indices": tensor._indices(), "values": tensor._values()}
    by_rows = tensor.layout in (_C.sparse_csr, _C.sparse_bsr)
    names = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
    return {name: getattr(tensor, name)() for name in (*names, "values")}


def rebuilt(tensor, own):
    """Another tensor of the layout and shape of ``tensor``, of its `parts`."""
    if tensor.is_sparse:
        return _C._operator("_sparse_coo_tensor_unsafe")(*own, tensor.shape, tensor.is_coalesced())
    return _C._operator("_sparse_compressed_pattern")(*own, tensor.shape, layout=tensor.layout)


def _check(name, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}(): expected a sparse Tensor, got {type(tensor).__name__}")
    if not tensor.is_sparse:
        raise RuntimeError(
            f"{name}: expected a tensor of layout torch.sparse_coo, got {tensor.layout}; use to_sparse()"
        )


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """Product of two matrices, of which one at least is sparse; sparse when both are.

    Gradients of a sparse operand exist at its own elements. With ``reduce`` (sum, mean, amax, amin) a CSR matrix is multiplied
    by a dense one, and in place of a sum over the elements of a row there is their mean, maximum or minimum; a row without
    elements gives 0.

    >>> adjacency = torch.sparse_csr_tensor([0, 2, 2], [0, 1], [1.0, 1.0], (2, 2))
    >>> torch.sparse.mm(adjacency, torch.tensor([[1.0], [4.0]]), "amax")
    tensor([[4.],
            [0.]])
    """
    check_tensor("mm", mat1=mat1, mat2=mat2)
    if mat1.layout == mat2.layout == _C.strided:
        raise RuntimeError("torch.sparse.mm: expected a sparse matrix, got two of layout torch.strided; use torch.mm")
    if reduce is not None:
        return _C._operator("_sparse_mm_reduce")(mat1, mat2, reduce)
    return _C._operator("mm")(mat1, mat2)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the elements of a CSR tensor ``input`` only.

    >>> pattern = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(pattern, torch.ones(2, 3), torch.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    result = _C._operator("sparse_sampled_addmm")(input, mat1, mat2, beta=beta, alpha=alpha)
    if out is None:
        return result
    if out.layout != result.layout:
        raise RuntimeError(f"sampled_addmm: expected out to have layout {result.layout}, got {out.layout}")
    return out.copy_(result)


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution of a sparse system: NotImplementedError, as in PyTorch without cuDSS. SciPy has solvers for CPUs.

    >>> torch.sparse.spsolve(torch.eye(2).to_sparse_csr(), torch.ones(2))
    Traceback (most recent call last):
    NotImplementedError: spsolve: sparse systems are not solved on the CPU; scipy.sparse.linalg.spsolve does, or use torch.linalg.solve(input.to_dense(), other)
    """
    raise NotImplementedError(
        "spsolve: sparse systems are not solved on the CPU; scipy.sparse.linalg.spsolve does, or use "
        "torch.linalg.solve(input.to_dense(), other)"
    )


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    return _C._operator("addmm")(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: tuple[int] | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """The sum of a sparse tensor over dims: sparse where a sparse dim stays, else dense.

    >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)))
    tensor(7.)
    """
    check_tensor("sum", input=input)
    if input.layout == _C.strided:
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
    if layout not in (None, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        raise RuntimeError(f"spdiags: Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    columns = torch.arange(min(diagonals.shape[1], shape[1])).expand(offsets.numel(), -1)
    rows = columns - offsets.unsqueeze(1)
    there = (rows >= 0) & (rows < shape[0])
    places = torch.stack([rows[there], columns[there]])
    made = torch.sparse_coo_tensor(places, diagonals[:, : columns.shape[1]][there], tuple(shape))
    return made if layout in (None, torch.sparse_coo) else made.to_sparse(layout=layout)


def softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """Softmax over the stored elements of each line along ``dim``: the others count as minus infinity."""
    _check("torch.sparse.softmax", input)
    return _C._operator("_sparse_softmax")(input, dim, False, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """The logarithm of :func:`softmax`."""
    _check("torch.sparse.log_softmax", input)
    return _C._operator("_sparse_softmax")(input, dim, True, dtype=dtype)


class check_sparse_tensor_invariants:
    """Whether constructors look at every invariant of a sparse tensor; as context, decorator or switch.

    Indices are always checked against sizes. The switch adds that those of a line of a compressed tensor rise.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    Traceback (most recent call last):
    RuntimeError: `col_indices[..., crow_indices[..., i - 1]:crow_indices[..., i]] for all i = 1, ..., nrows are sorted and distinct along the last dimension values` is not satisfied.
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether the order of indices is checked as well."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Checks the order of indices as well, from now on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Checks indices only against sizes, from now on."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> Self:
        self.before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self.state
        return self

    def __exit__(self, *error: Any) -> None:
        check_sparse_tensor_invariants._enabled = self.before.pop()

    def __call__(self, function: Callable[..., Any]) -> Any:
        from functools import wraps

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck):
    """``torch.autograd.gradcheck`` itself: it takes sparse tensors as they are."""
    return gradcheck


def __getattr__(name):
    if "semi_structured" in name or name.startswith("SparseSemiStructuredTensor"):
        from ._faces import semi_structured

        if hasattr(semi_structured, name):
            return getattr(semi_structured, name)
    from ._compat import classes

    if name.endswith("Tensor") and name.removesuffix("Tensor") in classes.PREFIXES:
        globals()[name] = classes.make(name, sparse=True)
        return globals()[name]
    raise AttributeError(f"module 'torch.sparse' has no attribute {name!r}")
