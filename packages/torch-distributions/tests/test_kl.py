"""Divergences: every registered pair against sums, quadrature or samples; dispatch; pairs without overlap."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch
import torch.distributions as D
from families import COVARIANCE, F64, FACTOR
from torch.distributions import kl


def t(*values):
    return torch.tensor(values, dtype=F64)


V = torch.tensor(COVARIANCE, dtype=F64)
#: two or three members of a family, of one batch shape
MEMBERS = {
    D.Bernoulli: [D.Bernoulli(t(0.2, 0.7)), D.Bernoulli(t(0.5, 0.1))],
    D.Beta: [D.Beta(t(2.0, 3.5), t(1.5, 4.0)), D.Beta(t(3.0, 1.2), t(2.0, 2.5))],
    D.Binomial: [D.Binomial(6, t(0.2, 0.7)), D.Binomial(6, t(0.5, 0.1))],
    D.Categorical: [D.Categorical(t(0.1, 0.2, 0.7)), D.Categorical(t(0.3, 0.3, 0.4))],
    D.Cauchy: [D.Cauchy(t(0.0, 1.0), t(1.0, 2.0)), D.Cauchy(t(0.5, -1.0), t(2.0, 0.7))],
    D.ContinuousBernoulli: [D.ContinuousBernoulli(t(0.2, 0.5)), D.ContinuousBernoulli(t(0.5, 0.9))],
    D.Dirichlet: [D.Dirichlet(t(0.8, 2.0, 3.0)), D.Dirichlet(t(1.5, 1.0, 0.7))],
    D.Exponential: [D.Exponential(t(1.5, 3.0)), D.Exponential(t(0.7, 4.0))],
    D.Gamma: [D.Gamma(t(2.5, 1.3), t(1.0, 2.0)), D.Gamma(t(1.2, 3.0), t(0.7, 1.5))],
    D.Geometric: [D.Geometric(t(0.2, 0.7)), D.Geometric(t(0.5, 0.3))],
    D.Gumbel: [D.Gumbel(t(0.0, 1.0), t(1.0, 0.7)), D.Gumbel(t(0.5, -1.0), t(1.5, 1.2))],
    D.HalfNormal: [D.HalfNormal(t(0.5, 2.0)), D.HalfNormal(t(1.5, 1.0))],
    D.Laplace: [D.Laplace(t(0.0, 1.0), t(1.0, 0.7)), D.Laplace(t(0.5, -1.0), t(1.5, 1.2))],
    D.LogNormal: [D.LogNormal(t(0.0, 1.0), t(1.0, 0.7)), D.LogNormal(t(0.5, -1.0), t(1.5, 1.2))],
    D.Normal: [D.Normal(t(0.0, 1.0), t(1.0, 0.7)), D.Normal(t(0.5, -1.0), t(1.5, 1.2))],
    D.OneHotCategorical: [D.OneHotCategorical(t(0.1, 0.2, 0.7)), D.OneHotCategorical(t(0.3, 0.3, 0.4))],
    D.Pareto: [D.Pareto(t(1.0, 2.0), t(4.0, 6.0)), D.Pareto(t(0.5, 2.0), t(5.0, 4.0))],
    D.Poisson: [D.Poisson(t(2.5, 4.0)), D.Poisson(t(3.0, 3.5))],
    D.Uniform: [D.Uniform(t(1.0, 2.5), t(2.0, 3.0)), D.Uniform(t(0.0, 2.0), t(3.0, 4.0))],
    D.MultivariateNormal: [D.MultivariateNormal(t(0.0, 1.0, 2.0), V), D.MultivariateNormal(t(1.0, 1.0, 0.0), 2 * V + torch.eye(3, dtype=F64))],
    D.LowRankMultivariateNormal: [
        D.LowRankMultivariateNormal(t(0.0, 1.0, 2.0), t(0.5, 1.0, -1.0).unsqueeze(-1), t(1.0, 0.5, 2.0)),
        D.LowRankMultivariateNormal(t(1.0, 1.0, 0.0), t(1.0, 0.0, 0.3).unsqueeze(-1), t(0.7, 1.5, 1.0)),
    ],
    D.Wishart: [D.Wishart(t(5.0, 6.0), V), D.Wishart(t(4.5, 9.0), V + torch.eye(3, dtype=F64))],
    D.Independent: [D.Independent(D.Normal(t(0.0, 1.0), t(1.0, 0.7)), 1), D.Independent(D.Normal(t(0.5, -1.0), t(1.5, 1.2)), 1)],
}  # fmt: skip
#: these have mass on [0, 1] only, for pairs with Beta and the like on the right
WITHIN = {
    D.Uniform: [D.Uniform(t(0.2, 0.0), t(0.7, 0.9))],
}


def expected(p, q):
    """E[log p - log q] by the best means that the family allows, and how far it may be off."""
    if isinstance(p, (D.Bernoulli, D.Binomial, D.Categorical, D.OneHotCategorical)):
        x = p.enumerate_support()
        return (p.log_prob(x).exp() * (p.log_prob(x) - q.log_prob(x))).sum(0), 1e-10
    if isinstance(p, (D.Poisson, D.Geometric)):
        x = torch.arange(400, dtype=F64).unsqueeze(-1)
        return (p.log_prob(x).exp() * (p.log_prob(x) - q.log_prob(x))).sum(0), 1e-10
    if p.event_shape == () and not isinstance(p, D.Cauchy):
        try:  # over ranks, by tanh-sinh quadrature, which bears the ends
            return over_ranks(p, q), 1e-6
        except NotImplementedError:
            pass
    torch.manual_seed(0)
    n = 200_000
    x = p.sample((n,))
    terms = p.log_prob(x) - q.log_prob(x)
    return terms.mean(0), 5 * terms.std(0) / n**0.5


def over_ranks(p, q):
    steps = torch.linspace(-3.0, 3.0, 4001, dtype=F64)
    u = (1 + torch.tanh(math.pi / 2 * torch.sinh(steps))) / 2
    weight = math.pi / 4 * torch.cosh(steps) / torch.cosh(math.pi / 2 * torch.sinh(steps)) ** 2
    inside = (u > 1e-13) & (u < 1 - 1e-13)
    u, weight = u[inside], weight[inside]
    x = p.icdf(u.unsqueeze(-1).expand(-1, *p.batch_shape))
    terms = p.log_prob(x) - q.log_prob(x)
    return (terms * weight.unsqueeze(-1)).sum(0) * (steps[1] - steps[0])


def pairs():
    found = []
    for p_type, q_type in sorted(kl._KL_REGISTRY, key=str):
        if D.ExponentialFamily in (p_type, q_type) or p_type is D.TransformedDistribution:
            continue
        ps, qs = MEMBERS[p_type], MEMBERS[q_type]
        if p_type is D.Uniform and q_type in (D.Beta, D.ContinuousBernoulli):
            ps = WITHIN[D.Uniform]
        for i, (p, q) in enumerate(itertools.product(ps, qs)):
            found.append(pytest.param(p, q, id=f"{p_type.__name__}-{q_type.__name__}-{i}"))
    return found


@pytest.mark.parametrize("p, q", pairs())
def test_a_divergence_is_the_mean_log_ratio_of_densities(p, q):
    found = D.kl_divergence(p, q)
    assert found.shape == torch.broadcast_shapes(p.batch_shape, q.batch_shape)
    for d in (q, getattr(q, "base_dist", q)):
        d._validate_args = False  # p may draw what q does not know
    infinite = found.isinf()
    if infinite.all():
        torch.manual_seed(1)
        assert (outside(p, q) > 0).all(), "p never leaves the support of q"
        return
    reference, tolerance = expected(p, q)
    difference = (found - reference).abs()[~infinite]
    bound = tolerance if isinstance(tolerance, float) else tolerance[~infinite]
    assert (difference <= bound * (1 + found[~infinite].abs()) + 1e-9).all(), (found, reference)
    assert (found >= -1e-9).all()
    if infinite.any():
        assert (outside(p, q)[infinite] > 0).all()


def outside(p, q):
    """How often p draws what q gives no probability."""
    x = p.sample((20_000,))
    return (~q.support.check(x.to(F64))).double().mean(0) + (q.log_prob(x) == -math.inf).double().mean(0)


@pytest.mark.parametrize("family", MEMBERS, ids=lambda f: f.__name__)
def test_the_divergence_from_itself_is_zero(family):
    for p in MEMBERS[family]:
        assert torch.allclose(D.kl_divergence(p, p), torch.zeros(p.batch_shape, dtype=F64), atol=1e-10)


def test_divergences_broadcast_batches():
    p, q = D.Normal(torch.zeros(3, 1), 1.0), D.Normal(torch.zeros(2), 2.0)
    assert D.kl_divergence(p, q).shape == (3, 2)
    p = D.MultivariateNormal(torch.zeros(3, 1, 2), torch.eye(2))
    q = D.MultivariateNormal(torch.zeros(4, 2), torch.eye(2).expand(4, 2, 2))
    assert D.kl_divergence(p, q).shape == (3, 4)
    low = D.LowRankMultivariateNormal(torch.zeros(4, 2), torch.ones(2, 1), torch.ones(2))
    for pair in ((p, low), (low, p), (low, low.expand((3, 4)))):
        assert D.kl_divergence(*pair).shape == (3, 4)


def test_divergences_of_exponential_families_by_their_log_normalisers():
    for family in (
        D.Bernoulli,
        D.Beta,
        D.ContinuousBernoulli,
        D.Dirichlet,
        D.Exponential,
        D.Gamma,
        D.Normal,
        D.Poisson,
    ):
        p, q = MEMBERS[family]
        assert torch.allclose(kl.same_family._kl_expfamily_expfamily(p, q), D.kl_divergence(p, q), atol=1e-10)
        if family not in (D.Beta, D.Dirichlet, D.Poisson):  # whose carriers have no mean in closed form here
            assert torch.allclose(D.ExponentialFamily.entropy(p), p.entropy(), atol=1e-10)
    with pytest.raises(NotImplementedError, match="here Normal and Gamma"):
        kl.same_family._kl_expfamily_expfamily(MEMBERS[D.Normal][0], MEMBERS[D.Gamma][0])


def test_divergences_of_transformed_distributions_are_those_of_their_bases():
    p, q = (D.TransformedDistribution(d, [D.ExpTransform()]) for d in MEMBERS[D.Normal])
    assert torch.equal(D.kl_divergence(p, q), D.kl_divergence(*MEMBERS[D.Normal]))
    other = D.TransformedDistribution(MEMBERS[D.Normal][0], [D.TanhTransform()])
    with pytest.raises(NotImplementedError, match="same transforms"):
        D.kl_divergence(p, other)


def test_moments_that_do_not_exist_make_divergences_infinite():
    assert D.kl_divergence(D.Pareto(1.0, 2.0), D.Normal(0.0, 1.0)).item() == math.inf
    assert D.kl_divergence(D.Pareto(1.0, 1.0), D.Exponential(1.0)).item() == math.inf


def test_edges_of_discrete_divergences():
    zero_one = D.Bernoulli(t(0.0, 1.0, 0.5, 0.5))
    against = D.Bernoulli(t(0.5, 0.5, 0.0, 1.0))
    assert torch.allclose(D.kl_divergence(zero_one, against), t(math.log(2), math.log(2), math.inf, math.inf))
    p, q = D.Categorical(t(0.0, 0.5, 0.5)), D.Categorical(t(0.5, 0.5, 0.0))
    assert D.kl_divergence(p, q).item() == math.inf
    assert D.kl_divergence(p, D.Categorical(t(1.0, 1.0, 1.0))).item() == pytest.approx(math.log(1.5))
    assert D.kl_divergence(D.Binomial(5, t(0.3)), D.Binomial(4, t(0.3))).item() == math.inf
    with pytest.raises(NotImplementedError, match="q.total_count > p.total_count"):
        D.kl_divergence(D.Binomial(4, t(0.3)), D.Binomial(5, t(0.3)))


def test_pairs_without_a_formula_are_named():
    with pytest.raises(NotImplementedError, match="p type Cauchy and q type Normal"):
        D.kl_divergence(MEMBERS[D.Cauchy][0], MEMBERS[D.Normal][0])
    with pytest.raises(NotImplementedError, match="1 and 0 reinterpreted dims"):
        D.kl_divergence(D.Independent(D.Normal(t(0.0), 1.0), 1), D.Independent(D.Normal(t(0.0), 1.0), 0))
    with pytest.raises(ValueError, match=r"event shapes, \(3,\) and \(2,\)"):
        D.kl_divergence(MEMBERS[D.MultivariateNormal][0], D.MultivariateNormal(t(0.0, 0.0), torch.eye(2, dtype=F64)))
    with pytest.raises(TypeError, match="expected classes of distributions, got 3"):
        D.register_kl(3, D.Normal)


def test_the_most_specific_pair_is_chosen():
    class Narrow(D.Normal):
        pass

    class Narrower(Narrow):
        pass

    def registered(*types):
        def function(p, q):
            return types

        D.register_kl(*types)(function)
        return types

    known = dict(kl._KL_REGISTRY)
    p, q = Narrower(0.0, 1.0), Narrow(0.0, 1.0)
    try:
        assert isinstance(D.kl_divergence(p, q), torch.Tensor)  # that of Normal
        registered(Narrow, D.Normal)
        assert D.kl_divergence(p, q) == (Narrow, D.Normal)
        registered(D.Normal, Narrow)
        with pytest.warns(
            RuntimeWarning, match=r"Ambiguous kl_divergence\(Narrower, Narrow\).*register_kl\(Narrow, Narrow\)"
        ):
            assert D.kl_divergence(p, q) == (Narrow, D.Normal)
        registered(Narrow, Narrow)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert D.kl_divergence(p, q) == (Narrow, Narrow)
    finally:
        kl._KL_REGISTRY.clear()
        kl._KL_REGISTRY.update(known)
        kl.registry._chosen.cache_clear()


def test_divergences_are_differentiable():
    for family in (D.Normal, D.Gamma, D.Beta, D.Laplace, D.Gumbel):
        names = list(family.arg_constraints)
        first = [getattr(MEMBERS[family][0], n).detach().clone().requires_grad_() for n in names]
        second = [getattr(MEMBERS[family][1], n).detach().clone().requires_grad_() for n in names]

        def divergence(*values, family=family, k=len(names)):
            return D.kl_divergence(family(*values[:k]), family(*values[k:]))

        assert torch.autograd.gradcheck(divergence, [*first, *second])


def test_the_divergence_of_scipy_normal_vectors():
    p, q = MEMBERS[D.MultivariateNormal]
    a, b = np.array(COVARIANCE), 2 * np.array(COVARIANCE) + np.eye(3)
    shift = np.array([1.0, 0.0, -2.0])
    expected = 0.5 * (
        np.trace(np.linalg.solve(b, a))
        + shift @ np.linalg.solve(b, shift)
        - 3
        + np.log(np.linalg.det(b) / np.linalg.det(a))
    )
    assert D.kl_divergence(p, q).item() == pytest.approx(expected, rel=1e-12)
    factored = D.MultivariateNormal(p.loc, scale_tril=torch.tensor(FACTOR, dtype=F64))
    assert D.kl_divergence(factored, q).item() == pytest.approx(expected, rel=1e-12)


def test_as_many_wishart_distributions_as_dims_diverge_as_each_for_itself():
    df, scale = t(4.5, 5.0, 7.0), torch.stack([V, 2 * V, V + torch.eye(3, dtype=F64)])
    divergence = D.kl_divergence(D.Wishart(df, scale), D.Wishart(df + 1, precision_matrix=scale.flip(0)))
    for i in range(3):
        p, q = D.Wishart(df[i], scale[i]), D.Wishart(df[i] + 1, precision_matrix=scale[2 - i])
        assert torch.allclose(divergence[i], D.kl_divergence(p, q))
