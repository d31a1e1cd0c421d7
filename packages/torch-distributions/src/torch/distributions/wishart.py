"""Covariance matrices of normal samples."""

from __future__ import annotations

import math

import torch

from . import constraints
from ._probabilities import one_of
from .exp_family import ExponentialFamily
from .multivariate_normal import _half_log_det, _precision_to_scale_tril
from .utils import lazy_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Sums of ``df`` outer products of normal vectors with covariance V; ``df > n - 1`` need not be an integer.

    V is given by exactly one of covariance, its inverse, or its Cholesky factor (*, n, n).

    >>> Wishart(torch.tensor(3.0), covariance_matrix=torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | int | float | bool,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name = one_of("Wishart", **matrices)
        matrix = matrices[name]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        if not isinstance(df, torch.Tensor):
            df = torch.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        batch_shape = torch.broadcast_shapes(df.shape, matrix.shape[:-2])
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        if self.df.le(matrix.shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {matrix.shape[-1] - 1}.")
        super().__init__(batch_shape, matrix.shape[-2:], validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = torch.Size(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new.df = self.df.expand(batch_shape)
        for name in ("scale_tril", "covariance_matrix", "precision_matrix"):
            if name in vars(self):
                setattr(new, name, vars(self)[name].expand(batch_shape + self._event_shape))
        return self._finished(new, batch_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        inverse = torch.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """NaN for ``df <= n + 1``, where the density has no peak inside."""
        factor = self.df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = torch.Size(), max_try_correction: Any = None) -> Tensor:
        """By Bartlett's decomposition. What rounding has made singular is drawn again, ``max_try_correction`` (10) times."""
        drawn = self._bartlett_sampling(sample_shape)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            singular = ~self.support.check(drawn)
            if not singular.any():
                break
            drawn = torch.where(singular[..., None, None], self._bartlett_sampling(sample_shape), drawn)
        return drawn

    def _bartlett_sampling(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """What :meth:`rsample` draws, under the name that libraries call to be spared its corrections."""
        shape = self._extended_shape(sample_shape)
        n = self._event_shape[-1]
        v = self._unbroadcasted_scale_tril
        below = torch.randn(shape, dtype=v.dtype, device=v.device).tril(-1)
        steps = torch.arange(n, dtype=v.dtype, device=v.device)
        halves = ((self.df.unsqueeze(-1) - steps) / 2).expand(shape[:-1])
        factor = below + torch.diag_embed((2 * torch._standard_gamma(halves)).sqrt())
        factor = v @ factor
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, v = self._event_shape[-1], self._unbroadcasted_scale_tril
        half_log_det = torch.linalg.slogdet(value).logabsdet / 2  # also of matrices that are singular but for rounding
        trace = torch.cholesky_solve(value, v.expand(value.shape)).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (self.df - n - 1) * half_log_det - trace / 2 - self._log_norm()

    def _log_norm(self):
        n = self._event_shape[-1]
        half_log_det = _half_log_det(self._unbroadcasted_scale_tril)
        return self.df * (half_log_det + n * math.log(2) / 2) + torch.mvlgamma(self.df / 2, n)

    def entropy(self) -> Tensor:
        n, df = self._event_shape[-1], self.df
        steps = torch.arange(n, dtype=df.dtype, device=df.device)
        slope = torch.digamma((df.unsqueeze(-1) - steps) / 2).sum(-1)  # of mvlgamma
        log_det = slope + n * math.log(2) + 2 * _half_log_det(self._unbroadcasted_scale_tril)  # its expectation
        return (self._log_norm() - (df - n - 1) / 2 * log_det + n * df / 2).expand(self._batch_shape)

    @property
    def _natural_params(self):
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._event_shape[-1] - 1)

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + n * math.log(2)) + torch.mvlgamma(half, n)
