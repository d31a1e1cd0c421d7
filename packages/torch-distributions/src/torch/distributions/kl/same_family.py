"""Both distributions of one family."""

import math

import torch

from .. import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Cauchy,
    ContinuousBernoulli,
    Dirichlet,
    Exponential,
    ExponentialFamily,
    Gamma,
    Geometric,
    Gumbel,
    HalfNormal,
    Independent,
    Laplace,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Normal,
    OneHotCategorical,
    Pareto,
    Poisson,
    TransformedDistribution,
    Uniform,
)
from ..lowrank_multivariate_normal import _batch_lowrank_mahalanobis
from ..multivariate_normal import _batch_mahalanobis, _half_log_det
from ..utils import _sum_rightmost, euler_constant
from .registry import kl_divergence, register_kl


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    a, b = p.probs, q.probs
    ones = torch.where(a == 0, 0.0, a * (_nonzero_log(a, 1.0) - torch.log(b)))
    zeros = torch.where(a == 1, 0.0, (1 - a) * (_nonzero_log(1 - a, 1.0) - torch.log1p(-b)))
    return ones + zeros


def _nonzero_log(x, instead):
    return torch.log(x.masked_fill(x == 0, instead))


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total = a + b
    normalisers = (
        torch.lgamma(c)
        + torch.lgamma(d)
        + torch.lgamma(total)
        - torch.lgamma(c + d)
        - torch.lgamma(a)
        - torch.lgamma(b)
    )
    slopes = (a - c) * torch.digamma(a) + (b - d) * torch.digamma(b)
    return normalisers + slopes + (c + d - total) * torch.digamma(total)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    # of one count only; where p has more trials than q, it can have more successes
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = _kl_bernoulli_bernoulli(p, q)
    return torch.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
    return torch.where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    # Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019
    above = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return above.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    return p.mean * (p.logits - q.logits) - p._log_integral + q._log_integral


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalisers = torch.lgamma(total) - torch.lgamma(b.sum(-1)) + (torch.lgamma(b) - torch.lgamma(a)).sum(-1)
    return normalisers + ((a - b) * (torch.digamma(a) - torch.digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    # Bregman's divergence of the log normaliser (Nielsen and Nock 2010)
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The cross KL-divergence between different exponential families, here {type(p).__name__} and "
            f"{type(q).__name__}, cannot be computed using Bregman divergences"
        )
    p_natural = [x.detach().requires_grad_() for x in p._natural_params]
    with torch.enable_grad():
        normaliser = p._log_normalizer(*p_natural)
        slopes = torch.autograd.grad(normaliser.sum(), p_natural, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normaliser
    for a, b, slope in zip(p_natural, q._natural_params, slopes):
        term = (b - a) * slope
        result = result - _sum_rightmost(term, len(q.event_shape) if term.dim() > result.dim() else 0)
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + torch.lgamma(b)
        - torch.lgamma(a)
        + (a - b) * torch.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio = p.scale / q.scale
    shift = (q.loc - p.loc) / q.scale
    return (
        -ratio.log()
        - shift
        + ratio * euler_constant
        + torch.exp(shift + torch.lgamma(1 + ratio))
        - (1 + euler_constant)
    )


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL of Independent distributions with {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims} "
            f"reinterpreted dims"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    n = _same_event(p, q)
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _trace_of_quotient(q_factor, p_factor)
    distance = _batch_mahalanobis(q_factor, q.loc - p.loc)
    return _half_log_det(q_factor) - _half_log_det(p_factor) + 0.5 * (trace + distance - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    n = _same_event(p, q)
    return 0.5 * (q._log_det() - p._log_det() + _lowrank_distance(p, q) - n + _lowrank_trace(p, q))


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    n = _same_event(p, q)
    w, d = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    scaled = w.mT / d.unsqueeze(-2)
    a = _solved(q._capacitance_tril, scaled)
    factor = p._unbroadcasted_scale_tril
    trace = (factor.pow(2) / d.unsqueeze(-1)).sum((-2, -1)) - (a @ factor).pow(2).sum((-2, -1))
    log_dets = q._log_det() - 2 * _half_log_det(factor)
    return 0.5 * (log_dets + _lowrank_distance(p, q) - n + trace)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    n = _same_event(p, q)
    factor = q._unbroadcasted_scale_tril
    trace = _trace_of_quotient(factor, p._unbroadcasted_cov_factor) + _trace_of_quotient(
        factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    )
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    return 0.5 * (2 * _half_log_det(factor) - p._log_det() + trace + distance - n)


def _same_event(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between normal vectors of different event shapes, {tuple(p.event_shape)} and "
            f"{tuple(q.event_shape)}"
        )
    return p.event_shape[0]


def _solved(factor, matrix):
    batch = torch.broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    return torch.linalg.solve_triangular(
        factor.expand(batch + factor.shape[-2:]), matrix.expand(batch + matrix.shape[-2:]), upper=False
    )


def _trace_of_quotient(below, above):
    """trace(inverse(B B^T) A A^T)."""
    return _solved(below, above).pow(2).sum((-2, -1))


def _lowrank_distance(p, q):
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril
    )


def _lowrank_trace(p, q):
    """trace(inverse(Wq Wq^T + Dq) (Wp Wp^T + Dp)), by Woodbury's identity."""
    d = q._unbroadcasted_cov_diag
    a = _solved(q._capacitance_tril, q._unbroadcasted_cov_factor.mT / d.unsqueeze(-2))
    w, root = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt()
    plain = (p._unbroadcasted_cov_diag / d).sum(-1) + (w.pow(2) / d.unsqueeze(-1)).sum((-2, -1))
    return plain - (a * root.unsqueeze(-2)).pow(2).sum((-2, -1)) - (a @ w).pow(2).sum((-2, -1))


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    # Bauckhage, "Computing the Kullback-Leibler divergence between two generalized gamma distributions", 2014
    scales, alphas = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * scales.log() - alphas.log() + alphas - 1
    return torch.where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return torch.xlogy(p.rate, p.rate) - torch.xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL of transformed distributions needs the same transforms and event shape on both sides"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, result)
