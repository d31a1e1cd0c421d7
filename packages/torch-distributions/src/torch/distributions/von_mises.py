"""Directions."""

from __future__ import annotations

import math

import torch

from . import constraints
from ._angles import Drawn
from .distribution import Distribution
from .utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around ``loc``, with density proportional to ``exp(concentration cos(x - loc))``.

    Samples lie in [-pi, pi), and pass gradients on: along ``loc``, and by the distribution function along
    ``concentration`` (Figurnov, Mohamed and Mnih 2018).  There is no second derivative.

    >>> VonMises(torch.tensor(1.0), torch.tensor(4.0)).mean
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # cos - 1 as a square, and the scaled Bessel function: nothing overflows or cancels
        below_peak = -2 * torch.sin((value - self.loc) / 2).square()
        return self.concentration * below_peak - math.log(2 * math.pi) - torch.special.i0e(self.concentration).log()

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in double."""
        kappa = self.concentration.double().expand(self._extended_shape(sample_shape))
        angle = self._around_zero(kappa.detach())
        if torch.is_grad_enabled() and kappa.requires_grad:
            angle = Drawn.apply(angle, kappa)
        angle = angle + self.loc
        return ((angle + math.pi) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def _around_zero(self, kappa):
        shape = kappa.shape
        kappa = kappa.reshape(-1)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = (1 + rho**2) / (2 * rho)
        r = torch.where(kappa < 1e-5, 1 / kappa + kappa, r)  # of the series: there the formula cancels
        angle = torch.empty_like(kappa)
        waiting = torch.arange(kappa.numel(), device=kappa.device)
        while waiting.numel():
            u1, u2, u3 = torch.rand((3, waiting.numel()), dtype=torch.float64, device=kappa.device)
            k, bound = kappa[waiting], r[waiting]
            z = torch.cos(math.pi * u1)
            f = (1 + bound * z) / (bound + z)
            c = k * (bound - f)
            accepted = (c * (2 - c) > u2) | ((c / u2).log() + 1 - c >= 0)
            drawn = torch.sign(u3 - 0.5) * torch.acos(f.clamp(-1, 1))
            angle[waiting[accepted]] = drawn[accepted]
            waiting = waiting[~accepted]
        return angle.reshape(shape)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance, ``1 - I1(concentration) / I0(concentration)``."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
