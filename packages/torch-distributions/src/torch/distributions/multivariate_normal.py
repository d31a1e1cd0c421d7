"""Normal vectors."""

from __future__ import annotations

import math

import torch

from . import constraints
from ._probabilities import one_of
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """Vectors with mean ``loc`` (*, n) and exactly one of covariance, its inverse, or its Cholesky factor (*, n, n).

    The other matrices are computed when asked for; ``scale_tril`` costs least.

    >>> d = MultivariateNormal(torch.zeros(2), covariance_matrix=torch.diag(torch.tensor([1.0, 4.0])))
    >>> d.scale_tril
    tensor([[1., 0.],
            [0., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name = one_of("MultivariateNormal", **matrices)
        matrix = matrices[name]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        if matrix.shape[-1] != loc.shape[-1] or matrix.shape[-2] != loc.shape[-1]:
            raise ValueError(
                f"MultivariateNormal: {name} of shape {tuple(matrix.shape)} does not fit loc of shape {tuple(loc.shape)}"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        self.loc = loc.expand(batch_shape + loc.shape[-1:])
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args)
        # of the batch that was given: one factor serves all that it is broadcast to
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        batch_shape = torch.Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self._event_shape)
        for name in ("scale_tril", "covariance_matrix", "precision_matrix"):
            if name in vars(self):
                setattr(new, name, vars(self)[name].expand(batch_shape + self._event_shape + self._event_shape))
        return self._finished(new, batch_shape)

    def _widened(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._widened(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._widened(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._widened(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        rows = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return rows.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - _half_log_det(factor)

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        entropy = 0.5 * n * (1.0 + math.log(2 * math.pi)) + _half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)


def _half_log_det(factor):
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _batch_mv(bmat, bvec):
    """Matrices times vectors, with broadcast batches."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor, x):
    """``|factor^-1 x|^2`` for lower triangular factors (*, n, n) and vectors (*, n), with broadcast batches."""
    if factor.dim() == 2:  # one factor: all vectors are columns of one system
        columns = x.reshape(-1, x.shape[-1]).mT
        solved = torch.linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum(0).reshape(x.shape[:-1])
    batch = torch.broadcast_shapes(factor.shape[:-2], x.shape[:-1])
    solved = torch.linalg.solve_triangular(
        factor.expand(batch + factor.shape[-2:]), x.expand(batch + x.shape[-1:]).unsqueeze(-1), upper=False
    )
    return solved.squeeze(-1).pow(2).sum(-1)


def _precision_to_scale_tril(precision):
    """The Cholesky factor of the inverse: of the matrix read backwards, inverted and read backwards again."""
    backwards = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.flip(backwards, (-2, -1)).mT
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(inverse, identity.expand(inverse.shape), upper=False)
