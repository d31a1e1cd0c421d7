"""Numbers between 0 and 1 with the likelihood that a binary trial would have."""

from __future__ import annotations

import math

import torch

from . import constraints
from ._probabilities import Chances, one_of
from .distribution import check_parameter
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, expm1_ratio, log1p_ratio, softplus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["ContinuousBernoulli"]

# Bernoulli's numbers B2, B4, ...: 1 / (1 - exp(-l)) = 1 / l + 1 / 2 + sum B_2k l^(2k - 1) / (2k)!
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_COEFFICIENTS = tuple(b / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, 1))


class ContinuousBernoulli(Chances, ExponentialFamily):
    """On [0, 1], with density proportional to ``p^x (1 - p)^(1 - x)`` (Loaiza-Ganem and Cunningham 2019).

    The density is exp(l x) l / (exp(l) - 1) for log odds l. Around l = 0 series stand in for quotients of small numbers;
    they hold for |l| < 1, so ``lims``, where other implementations switch to theirs, changes nothing.

    >>> ContinuousBernoulli(torch.tensor(0.5)).variance
    tensor(0.0833)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _tensors = {"probs": 0, "logits": 0}
    _shared = ("_lims",)

    def __init__(
        self,
        probs: Tensor | int | float | bool | None = None,
        logits: Tensor | int | float | bool | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        if one_of("ContinuousBernoulli", probs=probs, logits=logits) == "probs":
            (probs,) = broadcast_all(probs)
            if self._validates(validate_args):  # before the ends are cut off
                check_parameter("ContinuousBernoulli", "probs", probs, self.arg_constraints["probs"])
            self.probs = clamp_probs(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _where_small(self, small, large):
        """small(l) for |l| < 1, else large(l); each sees harmless values where it does not count."""
        l = self.logits
        near = l.abs() < 1
        return torch.where(near, small(l.masked_fill(~near, 0.5)), large(l.masked_fill(near, 2.0)))

    @property
    def _log_integral(self):
        """log of the integral of exp(l x) over [0, 1]."""

        def large(l):
            return l.clamp(min=0) + (-torch.expm1(-l.abs()) / l.abs()).log()

        return self._where_small(self._log_integral_small, large)

    @staticmethod
    def _log_integral_small(l):
        return l / 2 + sum(b / (2 * k) * l ** (2 * k) for k, b in enumerate(_COEFFICIENTS, 1))

    def _cont_bern_log_norm(self):
        """log of the factor that makes ``p^x (1 - p)^(1 - x)`` a density."""
        return softplus(self.logits) - self._log_integral

    @property
    def mean(self) -> Tensor:
        def small(l):
            return 0.5 + sum(b * l ** (2 * k - 1) for k, b in enumerate(_COEFFICIENTS, 1))

        return self._where_small(small, lambda l: -1 / torch.expm1(-l) - 1 / l)

    @property
    def variance(self) -> Tensor:
        def small(l):
            return sum(b * (2 * k - 1) * l ** (2 * k - 2) for k, b in enumerate(_COEFFICIENTS, 1))

        def large(l):
            half = torch.exp(-l.abs() / 2)  # 1 / (4 sinh(l/2)^2) without overflow
            return 1 / l**2 - (half / -torch.expm1(-l.abs())) ** 2

        return self._where_small(small, large)

    @property
    def stddev(self) -> Tensor:
        return torch.sqrt(self.variance)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self._param.dtype, device=self._param.device))

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        _, value = broadcast_all(self.logits, value)

        def large(l):  # from the end where the density is highest, so that no large numbers cancel
            size = l.abs()
            return -size * torch.where(l > 0, 1 - value, value) - (-torch.expm1(-size) / size).log()

        return self._where_small(lambda l: l * value - self._log_integral_small(l), large)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)

        x = value.clamp(0, 1)

        def small(l):
            return x * expm1_ratio(l * x) / expm1_ratio(l)

        def large(l):  # (exp(l x) - 1) / (exp(l) - 1), by exponentials that do not overflow
            size = l.abs()
            falling = torch.expm1(-size * x) / torch.expm1(-size)
            return torch.where(l > 0, torch.exp(size * (x - 1)) * falling, falling)

        return self._where_small(small, large)

    def icdf(self, value: Tensor) -> Tensor:
        def small(l):
            return value * expm1_ratio(l) * log1p_ratio(value * torch.expm1(l))

        def large(l):
            size = l.abs()
            falling = -torch.log1p(value * torch.expm1(-size)) / size
            steep = 1 + torch.log1p((1 - value) * torch.expm1(-size)) / size
            rising = torch.where(size < 30, torch.log1p(value * torch.expm1(size.clamp(max=30))) / size, steep)
            return torch.where(l > 0, rising, falling)

        return self._where_small(small, large).clamp(0, 1)

    def entropy(self) -> Tensor:
        return self._log_integral - self.logits * self.mean

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return ContinuousBernoulli(logits=x, validate_args=False)._log_integral
