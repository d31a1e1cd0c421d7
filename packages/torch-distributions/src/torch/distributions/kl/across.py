"""Distributions of different families: ``-entropy(p) - E[log q(x)]``, where the expectation follows from moments of p."""

import math

import torch

from .. import (
    Bernoulli,
    Beta,
    Binomial,
    ContinuousBernoulli,
    Exponential,
    Gamma,
    Gumbel,
    Laplace,
    Normal,
    Pareto,
    Poisson,
    Uniform,
)
from ..utils import euler_constant
from .registry import infinite_like, register_kl

# --- moments of p

#: E[log x], for p on positive numbers
_MEAN_LOG = {
    Beta: lambda p: torch.digamma(p.concentration1) - torch.digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Gamma: lambda p: torch.digamma(p.concentration) - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_between(p.low, p.high),
}

#: E[exp(-x / s)]
_MEAN_EXP = {
    Exponential: lambda p, s: p.rate * s / (p.rate * s + 1),
    Gamma: lambda p, s: torch.exp(-p.concentration * torch.log1p(1 / (p.rate * s))),
    Normal: lambda p, s: torch.exp(-p.loc / s + (p.scale / s).pow(2) / 2),
    Uniform: lambda p, s: s * (torch.exp(-p.low / s) - torch.exp(-p.high / s)) / (p.high - p.low),
}

#: where p lies: any (low, high) that holds it; None for all numbers
_RANGE = {
    Beta: lambda p: (0, 1),
    ContinuousBernoulli: lambda p: (0, 1),
    Exponential: lambda p: (0, math.inf),
    Gamma: lambda p: (0, math.inf),
    Pareto: lambda p: (p.scale, math.inf),
    Uniform: lambda p: (p.low, p.high),
}


def _mean_log_between(low, high):
    """The mean of log x over [low, high]."""
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


# --- E[log q(x)]


def _to_beta(p, q):
    a, b = q.concentration1, q.concentration0
    beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    inside_low, inside_high = p.low.clamp(0, 1), p.high.clamp(0, 1)
    mean_log = _mean_log_between(inside_low, inside_high)
    mean_log1m = _mean_log_between(1 - inside_high, 1 - inside_low)
    return (a - 1) * mean_log + (b - 1) * mean_log1m - beta


def _to_continuous_bernoulli(p, q):
    return q.logits * p.mean - q._log_integral


def _to_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def _to_gamma(p, q):
    a, rate = q.concentration, q.rate
    return a * rate.log() - torch.lgamma(a) + (a - 1) * _MEAN_LOG[_family(p, _MEAN_LOG)](p) - rate * p.mean


def _to_gumbel(p, q):
    s = q.scale
    return -s.log() + (q.loc - p.mean) / s - torch.exp(q.loc / s) * _MEAN_EXP[_family(p, _MEAN_EXP)](p, s)


def _to_laplace(p, q):
    d = p.loc - q.loc
    distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-((d / p.scale).pow(2)) / 2) + d * torch.erf(
        d / (math.sqrt(2) * p.scale)
    )
    return -(2 * q.scale).log() - distance / q.scale


def _to_normal(p, q):
    square = p.variance + (p.mean - q.loc).pow(2)
    return -q.scale.log() - math.log(2 * math.pi) / 2 - square / (2 * q.scale.pow(2))


def _to_pareto(p, q):
    return q.alpha.log() + torch.xlogy(q.alpha, q.scale) - (q.alpha + 1) * _MEAN_LOG[_family(p, _MEAN_LOG)](p)


def _to_uniform(p, q):
    return -(q.high - q.low).log()


def _family(p, table):
    return next(family for family in table if isinstance(p, family))


# --- the pairs that PyTorch has


def _register(p_type, q_type, expected_log, outside=None):
    """``outside(p, q)`` says where p has mass on which q has none: there the divergence is infinite."""

    def divergence(p, q):
        result = -p.entropy() - expected_log(p, q)
        return result if outside is None else torch.where(outside(p, q), math.inf, result)

    divergence.__name__ = f"_kl_{p_type.__name__.lower()}_{q_type.__name__.lower()}"
    register_kl(p_type, q_type)(divergence)


def _beyond(low, high):
    """Where p's range leaves [low(q), high(q)]."""

    def outside(p, q):
        first, last = _RANGE[_family(p, _RANGE)](p)
        left, right = low(q), high(q)
        return torch.as_tensor(first < left) | torch.as_tensor(last > right)

    return outside


def _zero(q):
    return 0


def _one(q):
    return 1


def _infinity(q):
    return math.inf


_IN_UNIT, _POSITIVE = _beyond(_zero, _one), _beyond(_zero, _infinity)
_IN_UNIFORM = _beyond(lambda q: q.low, lambda q: q.high)

for _p, _q, _expected, _outside in (
    (Beta, ContinuousBernoulli, _to_continuous_bernoulli, None),
    (Beta, Exponential, _to_exponential, None),
    (Beta, Gamma, _to_gamma, None),
    (Beta, Normal, _to_normal, None),
    (Beta, Uniform, _to_uniform, _IN_UNIFORM),
    (ContinuousBernoulli, Exponential, _to_exponential, None),
    (ContinuousBernoulli, Normal, _to_normal, None),
    (ContinuousBernoulli, Uniform, _to_uniform, _IN_UNIFORM),
    (Exponential, Gamma, _to_gamma, None),
    (Exponential, Gumbel, _to_gumbel, None),
    (Exponential, Normal, _to_normal, None),
    (Gamma, Exponential, _to_exponential, None),
    (Gamma, Gumbel, _to_gumbel, None),
    (Gamma, Normal, _to_normal, None),
    (Gumbel, Normal, _to_normal, None),
    (Laplace, Normal, _to_normal, None),
    (Normal, Gumbel, _to_gumbel, None),
    (Normal, Laplace, _to_laplace, None),
    (Pareto, Exponential, _to_exponential, None),
    (Pareto, Gamma, _to_gamma, None),
    (Pareto, Normal, _to_normal, None),
    (Uniform, Beta, _to_beta, _IN_UNIT),
    (Uniform, ContinuousBernoulli, _to_continuous_bernoulli, _IN_UNIT),
    (Uniform, Exponential, _to_exponential, _POSITIVE),
    (Uniform, Gamma, _to_gamma, _POSITIVE),
    (Uniform, Gumbel, _to_gumbel, None),
    (Uniform, Normal, _to_normal, None),
    (Uniform, Pareto, _to_pareto, _beyond(lambda q: q.scale, _infinity)),
):
    _register(_p, _q, _expected, _outside)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# p has values that q does not have, whatever the parameters
_UNBOUNDED = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p, q):
    return infinite_like(p.mean.expand(torch.broadcast_shapes(p.batch_shape, q.batch_shape)))


for _p, _many in _UNBOUNDED.items():
    for _q in _many:
        register_kl(_p, _q)(_infinite)
