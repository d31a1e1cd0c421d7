"""What the families share: parameters of one shape, probabilities and log odds, triangles as vectors."""

from __future__ import annotations

import itertools
import math
from functools import update_wrapper

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = [
    "batch_tril",
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.5772156649015328606  # OEIS A001620


def broadcast_all(*values: Tensor | int | float | bool) -> tuple[Tensor, ...]:
    """The arguments as tensors of one shape; numbers take the dtype and device of the first tensor, or the default ones.

    Classes with ``__torch_function__`` are asked for ``torch.broadcast_tensors``. ValueError for what is neither a number
    nor a tensor.

    >>> [t.tolist() for t in broadcast_all(torch.zeros(2), 1)]
    [[0.0, 0.0], [1.0, 1.0]]
    """
    for value in values:
        if not (_is_tensor_like(value) or isinstance(value, (int, float, complex))):
            raise ValueError(f"broadcast_all: expected tensors and numbers, got {type(value).__name__}: {value!r}")
    like = next((v for v in values if isinstance(v, torch.Tensor)), None)
    if like is None:
        options = {"dtype": torch.get_default_dtype()}
    else:
        options = {"dtype": like.dtype, "device": like.device}
    return torch.broadcast_tensors(*(v if _is_tensor_like(v) else torch.tensor(v, **options) for v in values))


def _is_tensor_like(value):
    return isinstance(value, torch.Tensor) or hasattr(type(value), "__torch_function__")


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the spacing of their dtype, so that their log odds are finite.

    >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5])) > 0
    tensor([True, True])
    """
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log odds (``is_binary``), or of unnormalised logarithms along the last dim.

    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds (``is_binary``) or logarithms of probabilities, clamped to stay finite.

    >>> probs_to_logits(torch.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class lazy_property:
    """A property that is computed at first use, with gradients enabled, and kept as an attribute.

    >>> class Circle:
    ...     radius = torch.tensor(2.0)
    ...
    ...     @lazy_property
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> "area" in vars(circle), circle.area.item(), "area" in vars(circle)
    (False, 12.0, True)
    """

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return property(self.wrapped, doc=self.wrapped.__doc__)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries on and below a diagonal, row by row: (*, n, n) to (*, k).

    >>> tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]])).tolist()
    [1, 3, 4]
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(
            f"tril_matrix_to_vec: diag must be from {-n} to {n - 1} for matrices of {n} columns, got {diag}"
        )
    rows, columns = torch.tril_indices(mat.shape[-2], n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of :func:`tril_matrix_to_vec`, with zeros elsewhere: (*, k) to (*, n, n).

    ValueError when k is not the count of entries of such a triangle.

    >>> vec_to_tril_matrix(torch.tensor([1, 3, 4])).tolist()
    [[1, 0], [3, 4]]
    """
    k = vec.shape[-1]
    # The largest that k entries suffice for: no entries at all are those of a 1 x 1 matrix below diagonal -1.
    n = next(n for n in itertools.count() if _triangle(n + 1, diag) > k)
    if _triangle(n, diag) != k:
        raise ValueError(f"vec_to_tril_matrix: {k} entries do not fill the triangle of a matrix below diagonal {diag}")
    rows, columns = torch.tril_indices(n, n, diag)
    matrix = torch.zeros(vec.shape[:-1] + (n, n), dtype=vec.dtype, device=vec.device)
    matrix[..., rows, columns] = vec
    return matrix


def _triangle(n, diag):
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))


def batch_tril(bmat: Any, diagonal: int = 0) -> Any:
    """Older name of :func:`torch.tril`.

    >>> torch.distributions.utils.batch_tril(torch.ones(1, 2, 2))
    tensor([[[1., 0.],
             [1., 1.]]])
    """
    return torch.tril(bmat, diagonal)


def softplus(x):
    """``log(1 + exp(x))``."""
    return torch.logaddexp(x, torch.zeros((), dtype=x.dtype, device=x.device))


def expm1_ratio(x):
    """``expm1(x) / x``, with its limit and slopes at 0."""
    return _ratio(x, torch.expm1, [1 / math.factorial(k + 1) for k in range(8)])


def log1p_ratio(x):
    """``log1p(x) / x``, with its limit and slopes at 0."""
    return _ratio(x, torch.log1p, [(-1) ** k / (k + 1) for k in range(9)])


def _ratio(x, function, coefficients):
    small = x.abs() < 0.01  # the first term left out is below 1e-16
    near = x.masked_fill(~small, 0.0)
    series = torch.zeros_like(near)
    for coefficient in reversed(coefficients):
        series = series * near + coefficient
    far = x.masked_fill(small, 1.0)
    return torch.where(small, series, function(far) / far)


def _standard_normal(shape, dtype, device):
    return torch.randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value, dim):
    """The sum over the last ``dim`` dims."""
    return value if dim == 0 else value.reshape(value.shape[: value.dim() - dim] + (-1,)).sum(-1)
