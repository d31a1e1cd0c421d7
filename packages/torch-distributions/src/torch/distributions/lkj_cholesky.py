"""Correlation matrices."""

from __future__ import annotations

import math

import torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of ``dim`` x ``dim`` correlation matrices M with density proportional to ``det(M)^(c - 1)``.

    ``concentration`` c = 1 is uniform over correlation matrices (Lewandowski, Kurowicka and Joe 2009).  Samples pass
    gradients on, as those of :class:`Beta` do.

    >>> LKJCholesky(3, 0.5).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    has_rsample = True

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        self._beta = self._rows()
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def _rows(self):
        """Row i > 0 has a squared length before the diagonal from Beta(i / 2, c + (dim - 1 - i) / 2): section 3.2."""
        i = torch.arange(1, self.dim, dtype=self.concentration.dtype, device=self.concentration.device)
        left = self.concentration.unsqueeze(-1) + (self.dim - 1 - i) / 2
        return Beta(i / 2, left, validate_args=False)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = torch.Size(batch_shape)
        new.dim, new.concentration = self.dim, self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + self._beta.batch_shape[-1:])
        return self._finished(new, batch_shape)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        length = self._beta.rsample(sample_shape)  # squared, of rows 1 to dim - 1
        shape = self._extended_shape(sample_shape)
        direction = torch.randn(shape, dtype=length.dtype, device=length.device).tril(-1)[..., 1:, :]
        direction = direction / direction.norm(dim=-1, keepdim=True)
        below = length.sqrt().unsqueeze(-1) * direction
        first = torch.zeros_like(below[..., :1, :])
        factor = torch.cat([first, below], -2)
        diagonal = (1 - factor.square().sum(-1)).clamp(min=torch.finfo(length.dtype).tiny).sqrt()
        return factor + torch.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # det(M)^(c - 1) times the Jacobian of M by its factor: powers of the diagonal
        n, c = self.dim, self.concentration
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = n - torch.arange(2, n + 1, dtype=c.dtype, device=c.device) + 2 * (c - 1).unsqueeze(-1)
        unnormalised = (order * diagonal.log()).sum(-1)
        alpha = c + 0.5 * (n - 1)
        normaliser = 0.5 * (n - 1) * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n - 1)
        return unnormalised - normaliser + torch.lgamma(alpha) * (n - 1)
