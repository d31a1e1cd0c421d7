"""Transforms of vectors and matrices: simplices, triangles, correlations."""

from __future__ import annotations

import math

import torch

from .. import constraints
from ..utils import softplus, tril_matrix_to_vec, vec_to_tril_matrix
from .base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = [
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
]


class _Plain(Transform):
    """Transforms that have no parameters: all of one class are equal."""

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class SoftmaxTransform(_Plain):
    """``y = softmax(x)`` over the last dim, with ``log`` as right inverse: good for optimisation, without a Jacobian.

    >>> torch.distributions.SoftmaxTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return torch.softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _vector(self, shape)

    inverse_shape = forward_shape


class StickBreakingTransform(_Plain):
    """From n numbers to n + 1 shares of 1: each takes a fraction, sigmoid of x less its bias, of what is left.

    The bias ``log(n), ..., log(1)`` sends 0 to equal shares.

    >>> StickBreakingTransform()(torch.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _biased(x):
        left = x.shape[-1] - torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        return x - left.log()

    def _call(self, x):
        x = self._biased(x)
        # by logarithms: log share = log sigmoid(x_i) + the sum of log(1 - sigmoid(x_j)) before
        left = torch.cumsum(-softplus(x), -1)
        before = torch.cat([torch.zeros_like(x[..., :1]), left], -1)
        taken = torch.cat([-softplus(-x), torch.zeros_like(x[..., :1])], -1)
        return (taken + before).exp()

    def _inverse(self, y):
        # what is left after each share is the sum of those behind it
        behind = y.flip(-1).cumsum(-1).flip(-1)[..., 1:]
        tiny = torch.finfo(y.dtype).tiny
        x = y[..., :-1].clamp(min=tiny).log() - behind.clamp(min=tiny).log()
        left = x.shape[-1] - torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        return x + left.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # triangular, with the diagonal share_i (1 - sigmoid(x_i))
        x = self._biased(x)
        return (-softplus(x) + y[..., :-1].clamp(min=torch.finfo(y.dtype).tiny).log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return _vector(self, shape)[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        return _vector(self, shape)[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(_Plain):
    """From any square matrices to lower triangles with a positive diagonal: the diagonal by ``exp``, above it zeros.

    >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0.0, 9.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """From any square matrices to positive definite ones: L L^T for :class:`LowerCholeskyTransform`'s L."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(_Plain):
    """From d (d - 1) / 2 numbers to the Cholesky factor of a d x d correlation matrix.

    ``tanh`` gives canonical partial correlations z, row by row; an entry is z times the root of what the entries before it
    left of the row's length 1 (Lewandowski, Kurowicka and Joe 2009).

    >>> CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        limit = 1 - torch.finfo(x.dtype).eps
        z = vec_to_tril_matrix(torch.tanh(x).clamp(-limit, limit), diag=-1)
        one = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        left = (1 - z**2).sqrt().cumprod(-1)  # after each entry
        before = torch.cat([torch.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (z + one) * before

    def _inverse(self, y):
        left = (1 - (y * y).cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        before = torch.cat([torch.ones_like(left[..., :1]), left[..., :-1]], -1)
        return torch.atanh(tril_matrix_to_vec(y.tril(-1) / before.sqrt(), diag=-1))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # dy/dz is the root of what is left before the entry, dz/dx is 1 - tanh(x)^2
        left = (1 - (y * y).cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        before = torch.cat([torch.zeros_like(left[..., :1]), left[..., :-1].log()], -1)
        below = tril_matrix_to_vec(before, diag=-1).sum(-1) / 2
        return below + 2 * (math.log(2) - x - softplus(-2 * x)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        count = _vector(self, shape)[-1]
        size = round((1 + math.sqrt(1 + 8 * count)) / 2)
        if size * (size - 1) // 2 != count:
            raise ValueError(f"{self}: {count} numbers do not fill the triangle of a correlation matrix")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2 or shape[-2] != shape[-1]:
            raise ValueError(f"{self}: expected square matrices, got shape {tuple(shape)}")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


def _vector(transform, shape):
    if len(shape) < 1:
        raise ValueError(f"{transform}: expected at least 1 dim, got shape {tuple(shape)}")
    return shape
