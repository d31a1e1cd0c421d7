"""Functions of sparse tensors, and their legacy classes: torch.sparse.FloatTensor(indices, values, size).

>>> import torch
>>> s = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
>>> torch.sparse.mm(s, torch.ones(3, 1))
tensor([[3.],
        [4.]])
"""

from . import _C
from ._C import Tensor

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]


def _check(name, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}(): expected a sparse Tensor, got {type(tensor).__name__}")
    if not tensor.is_sparse:
        raise RuntimeError(
            f"{name}: expected a tensor of layout torch.sparse_coo, got {tensor.layout}; use to_sparse()"
        )


def mm(mat1, mat2):
    """Product of two matrices, of which one at least is sparse; sparse when both are.

    Gradients of a sparse operand exist at its own elements.
    """
    if not (mat1.is_sparse or mat2.is_sparse):
        raise RuntimeError("torch.sparse.mm: expected a sparse matrix, got two of layout torch.strided; use torch.mm")
    return _C._operator("mm")(mat1, mat2)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    return _C._operator("addmm")(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor over dims: sparse where a sparse dim stays, else dense.

    >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)))
    tensor(7.)
    """
    _check("torch.sparse.sum", input)
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return _C._operator("sum")(input, dims, dtype=dtype)


def softmax(input, dim, *, dtype=None):
    """Softmax over the stored elements of each line along ``dim``: the others count as minus infinity."""
    _check("torch.sparse.softmax", input)
    return _C._operator("_sparse_softmax")(input, dim, False, dtype=dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of :func:`softmax`."""
    _check("torch.sparse.log_softmax", input)
    return _C._operator("_sparse_softmax")(input, dim, True, dtype=dtype)


class check_sparse_tensor_invariants:
    """Accepted for compatibility, as context or decorator: indices are always checked here."""

    def __init__(self, enable=True):
        self.enabled = enable

    @staticmethod
    def is_enabled():
        """True: indices are always checked."""
        return True

    @staticmethod
    def enable():
        """Nothing to do: indices are always checked."""

    @staticmethod
    def disable():
        """Nothing happens: indices are always checked."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __call__(self, function):
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
