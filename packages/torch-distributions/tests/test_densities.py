"""Densities, distribution functions, moments and entropies: against SciPy, closed forms, quadrature and samples."""

import math

import numpy as np
import pytest
import torch
import torch.distributions as D
from families import COVARIANCE, EVERY, F64, FACTOR, FAMILIES
from scipy import integrate, special, stats

WITH_SCIPY = [f for f in FAMILIES if f.scipy]
scipy_families = pytest.mark.parametrize("family", WITH_SCIPY, ids=str)
every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def density(reference):
    return reference.logpmf if isinstance(reference.dist, stats.rv_discrete) else reference.logpdf


def close(ours, expected, rtol=1e-9, atol=1e-11):
    return np.allclose(np.asarray(ours.detach()), expected, rtol=rtol, atol=atol, equal_nan=True)


@scipy_families
def test_densities_are_those_of_scipy(family):
    torch.manual_seed(0)
    d, reference = family.make(), family.reference()
    x = d.sample((50,))
    assert close(d.log_prob(x), density(reference)(np.asarray(x)))
    narrow = family.make(dtype=torch.float32)
    x = narrow.sample((50,))
    expected = density(reference)(np.asarray(x, dtype=np.float64))
    assert np.allclose(np.asarray(narrow.log_prob(x)), expected, rtol=1e-3, atol=1e-3)


@scipy_families
def test_moments_are_those_of_scipy(family):
    d, reference = family.make(), family.reference()
    if family.cls is D.VonMises:  # directions have moments of their own
        return
    mean, variance = reference.stats("mv")
    assert close(d.mean, mean)
    if family.cls is not D.Cauchy:  # infinite here and NaN there
        assert close(d.variance, variance)
        assert close(d.stddev, np.sqrt(variance))


@scipy_families
def test_entropies_are_those_of_scipy(family):
    if family.cls in (D.FisherSnedecor, D.VonMises, D.NegativeBinomial, D.Poisson):
        d = family.make()
        if family.cls is not D.Poisson:
            with pytest.raises(NotImplementedError, match=f"{family.cls.__name__}.entropy"):
                d.entropy()
        return
    assert close(family.make().entropy(), family.reference().entropy(), rtol=1e-7, atol=1e-9)


CDF = [f for f in WITH_SCIPY if f.cls.cdf is not D.Distribution.cdf]


@pytest.mark.parametrize("family", CDF, ids=str)
def test_distribution_functions_are_those_of_scipy(family):
    torch.manual_seed(1)
    d, reference = family.make(), family.reference()
    x = d.sample((40,))
    assert close(d.cdf(x), reference.cdf(np.asarray(x)))
    u = torch.linspace(0.01, 0.99, 21, dtype=F64).unsqueeze(-1).expand((21, *d.batch_shape))
    try:
        quantile = d.icdf(u)
    except NotImplementedError:
        assert family.cls in (D.Gamma, D.Chi2, D.InverseGamma)
        return
    assert close(quantile, reference.ppf(np.asarray(u)), rtol=1e-8)


def test_which_families_have_quantiles():
    have = {f.cls.__name__ for f in FAMILIES if f.cls.icdf is not D.Distribution.icdf}
    assert have >= {
        "Cauchy", "ContinuousBernoulli", "Exponential", "GeneralizedPareto", "Gumbel", "HalfCauchy", "HalfNormal", "Kumaraswamy", "Laplace",
        "LogNormal", "Normal", "Pareto", "Uniform", "Weibull",
    }  # fmt: skip


# --- families that SciPy does not have, or has in another form


@pytest.mark.parametrize("p", [1e-4, 0.1, 0.49, 0.4999, 0.5, 0.5 + 1e-9, 0.55, 0.73, 0.731, 0.999999])
def test_the_continuous_bernoulli_distribution_by_quadrature(p):
    d = D.ContinuousBernoulli(torch.tensor(p, dtype=F64))

    def expectation(f):
        points, weights = np.polynomial.legendre.leggauss(120)
        x = (points + 1) / 2
        return (weights / 2 * f(x) * np.exp(np.asarray(d.log_prob(torch.tensor(x))))).sum()

    mean = expectation(lambda x: x)
    assert abs(expectation(lambda x: 1) - 1) < 1e-12
    assert abs(d.mean.item() / mean - 1) < 1e-11
    assert abs(d.variance.item() / expectation(lambda x: (x - mean) ** 2) - 1) < 1e-10
    entropy = expectation(lambda x: -np.asarray(d.log_prob(torch.tensor(x))))
    assert abs(d.entropy().item() - entropy) < 1e-11
    points, weights = np.polynomial.legendre.leggauss(120)
    for x in (0.0, 0.2, 0.9, 1.0):
        below = (weights * x / 2 * np.exp(np.asarray(d.log_prob(torch.tensor((points + 1) / 2 * x))))).sum()
        assert abs(d.cdf(torch.tensor(x, dtype=F64)).item() - below) < 1e-11
    u = torch.linspace(0, 1, 11, dtype=F64)
    assert torch.allclose(d.cdf(d.icdf(u)), u)
    single = D.ContinuousBernoulli(torch.tensor(p))
    logits = single.logits.double()
    exact = D.ContinuousBernoulli(logits=logits)
    assert abs(single.variance.item() / exact.variance.item() - 1) < 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_densities_of_a_continuous_bernoulli_distribution_of_extreme_odds_are_exact_at_both_ends(dtype):
    logits = torch.tensor([-80.0, 80.0, -1e30, 1e30], dtype=dtype, requires_grad=True)
    value = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=dtype)
    density = D.ContinuousBernoulli(logits=logits).log_prob(value)  # l / (1 - exp(-l)) there
    assert torch.allclose(density, logits.abs().log(), rtol=1e-6)
    density.sum().backward()
    assert torch.allclose(logits.grad, 1 / logits.detach(), rtol=1e-5)


def test_the_kumaraswamy_distribution_is_beta_where_they_meet():
    a = torch.tensor([0.4, 1.0, 3.0], dtype=F64)
    x = torch.linspace(0.05, 0.95, 9, dtype=F64).unsqueeze(-1)
    for ours, beta in ((D.Kumaraswamy(a, 1.0), D.Beta(a, 1.0)), (D.Kumaraswamy(1.0, a), D.Beta(1.0, a))):
        assert torch.allclose(ours.log_prob(x), beta.log_prob(x))
        assert torch.allclose(ours.mean, beta.mean) and torch.allclose(ours.variance, beta.variance)
        assert torch.allclose(ours.entropy(), beta.entropy())
    d = D.Kumaraswamy(a, 2.5)
    assert torch.allclose(d.cdf(x), 1 - (1 - x**a) ** 2.5)
    assert torch.allclose(d.icdf(d.cdf(x)), x.expand(9, 3))


def test_dirichlet_densities_are_those_of_scipy():
    alpha = [0.5, 1.0, 3.0]
    d, reference = D.Dirichlet(torch.tensor(alpha, dtype=F64)), stats.dirichlet(alpha)
    torch.manual_seed(0)
    for x in d.sample((10,)):
        assert abs(d.log_prob(x).item() - reference.logpdf(np.asarray(x) / np.asarray(x).sum())) < 1e-9
    assert close(d.mean, reference.mean()) and close(d.variance, reference.var())
    assert close(d.entropy(), reference.entropy())


def test_normal_vectors_are_those_of_scipy_however_they_are_given():
    loc, cov = [0.5, 0.0, -1.0], np.array(COVARIANCE)
    reference = stats.multivariate_normal(loc, cov)
    matrix = torch.tensor(COVARIANCE, dtype=F64)
    given = [
        {"covariance_matrix": matrix},
        {"precision_matrix": torch.linalg.inv(matrix)},
        {"scale_tril": torch.tensor(FACTOR, dtype=F64)},
    ]
    x = torch.randn(2, 7, 3, dtype=F64)
    for matrices in given:
        d = D.MultivariateNormal(torch.tensor(loc, dtype=F64), **matrices)
        assert close(d.log_prob(x), reference.logpdf(np.asarray(x)))
        assert close(d.entropy(), reference.entropy())
        assert close(d.covariance_matrix, cov) and close(d.precision_matrix, np.linalg.inv(cov))
        assert close(d.scale_tril, FACTOR) and close(d.variance, np.diag(cov))
        batched = D.MultivariateNormal(
            torch.zeros(7, 3, dtype=F64), **{k: v.expand(7, 3, 3) for k, v in matrices.items()}
        )
        assert close(batched.log_prob(x), stats.multivariate_normal(np.zeros(3), cov).logpdf(np.asarray(x)))


def test_low_rank_normal_vectors_are_normal_vectors():
    torch.manual_seed(0)
    w, diagonal, loc = torch.randn(4, 5, 2, dtype=F64), torch.rand(5, dtype=F64) + 0.1, torch.randn(5, dtype=F64)
    low = D.LowRankMultivariateNormal(loc, w, diagonal)
    full = D.MultivariateNormal(loc, w @ w.mT + torch.diag(diagonal))
    x = torch.randn(3, 4, 5, dtype=F64)
    for name in ("covariance_matrix", "precision_matrix", "scale_tril", "variance", "mean"):
        assert torch.allclose(getattr(low, name), getattr(full, name)), name
    assert torch.allclose(low.log_prob(x), full.log_prob(x)) and torch.allclose(low.entropy(), full.entropy())


def test_wishart_densities_are_those_of_scipy():
    v = np.array(COVARIANCE)
    for df in (2.5, 4.0, 9.0):
        reference = stats.wishart(df, v)
        for matrices in (
            {"covariance_matrix": v},
            {"precision_matrix": np.linalg.inv(v)},
            {"scale_tril": np.array(FACTOR)},
        ):
            d = D.Wishart(torch.tensor(df, dtype=F64), **{k: torch.tensor(m) for k, m in matrices.items()})
            torch.manual_seed(0)
            for x in d.sample((4,)):
                assert (
                    abs(d.log_prob(x).item() - reference.logpdf(np.asarray(x)))
                    < 1e-6 * abs(reference.logpdf(np.asarray(x))) + 1e-8
                )
            assert close(d.mean, reference.mean()) and close(d.variance, reference.var())
            assert close(d.entropy(), reference.entropy())
            assert d.mode.isnan().all() if df <= 4 else close(d.mode, reference.mode())


def test_multinomial_probabilities_are_those_of_scipy():
    p = [0.1, 0.2, 0.7]
    d, reference = D.Multinomial(5, torch.tensor(p, dtype=F64)), stats.multinomial(5, p)
    counts = [[i, j, 5 - i - j] for i in range(6) for j in range(6 - i)]
    assert close(d.log_prob(torch.tensor(counts, dtype=F64)), reference.logpmf(counts))
    assert close(d.entropy(), reference.entropy()) and close(d.mean, reference.mean())
    assert close(d.variance, np.diag(reference.cov()))


def test_outcomes_of_probability_zero():
    p = torch.tensor([0.0, 0.4, 0.6], dtype=F64)
    assert abs(D.Categorical(p).entropy().item() - stats.entropy([0.4, 0.6])) < 1e-12
    logits = torch.tensor([-math.inf, 0.0, 1.0], dtype=F64)
    assert abs(D.Categorical(logits=logits, validate_args=False).entropy().item() - stats.entropy([1, math.e])) < 1e-12
    counts = torch.tensor([0.0, 2.0, 1.0], dtype=F64)
    assert D.Multinomial(3, logits=logits, validate_args=False).log_prob(counts).isfinite()
    assert D.Poisson(torch.tensor(0.0)).log_prob(torch.tensor([0.0, 1.0])).tolist() == [0, -math.inf]
    assert D.Geometric(torch.tensor(1.0)).log_prob(torch.tensor(0.0)).item() == 0


def test_the_von_mises_density_of_any_concentration():
    for kappa in (1e-3, 1.0, 100.0, 1e5):
        d = D.VonMises(torch.tensor(0.3, dtype=F64), torch.tensor(kappa, dtype=F64))
        x = 0.3 + np.linspace(-1, 1, 7) / np.sqrt(kappa + 1)
        assert close(d.log_prob(torch.tensor(x)), stats.vonmises(kappa, 0.3).logpdf(x), rtol=1e-8)
        expected = 1 - special.ive(1, kappa) / special.ive(0, kappa)
        assert abs(d.variance.item() - expected) < 1e-10


def test_relaxed_choices_have_densities():
    t = torch.tensor(0.7, dtype=F64)
    d = D.RelaxedBernoulli(t, probs=torch.tensor(0.3, dtype=F64))
    total, _ = integrate.quad(lambda x: d.log_prob(torch.tensor(x, dtype=F64)).exp().item(), 1e-12, 1 - 1e-12)
    assert abs(total - 1) < 1e-4
    # two choices are one relaxed coin
    pair = D.RelaxedOneHotCategorical(t, probs=torch.tensor([0.3, 0.7], dtype=F64))
    x = torch.linspace(0.05, 0.95, 7, dtype=F64)
    assert torch.allclose(pair.log_prob(torch.stack([x, 1 - x], -1)), d.log_prob(x))


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("concentration", [0.7, 1.0, 3.0])
def test_correlations_have_beta_marginals(n, concentration):
    torch.manual_seed(0)
    d = D.LKJCholesky(n, torch.tensor(concentration, dtype=F64))
    factor = d.sample((20_000,))
    matrix = factor @ factor.mT
    a = concentration - 1 + n / 2  # Lewandowski, Kurowicka and Joe 2009, section 2.2
    for i in range(n):
        for j in range(i):
            r = np.asarray(matrix[:, i, j].contiguous())
            assert stats.kstest(r, lambda v: stats.beta.cdf((v + 1) / 2, a, a)).pvalue > 1e-4


def test_densities_of_correlation_matrices_integrate_to_one():
    for concentration in (0.7, 1.0, 2.5):
        d = D.LKJCholesky(2, torch.tensor(concentration, dtype=F64), validate_args=False)

        def at(r):
            return d.log_prob(torch.tensor([[1, 0], [r, math.sqrt(1 - r * r)]], dtype=F64)).exp().item()

        assert abs(integrate.quad(at, -1, 1)[0] - 1) < 1e-5
    # three dims: r12 = a, r13 = b, and the third row's second entry c with b^2 + c^2 < 1
    d = D.LKJCholesky(3, torch.tensor(2.0, dtype=F64), validate_args=False)
    points, weights = np.polynomial.legendre.leggauss(40)
    a, r, turn = np.meshgrid(points, (points + 1) / 2, np.pi * points, indexing="ij")
    w = weights[:, None, None] * (weights / 2)[None, :, None] * (np.pi * weights)[None, None, :] * r
    b, c = r * np.cos(turn), r * np.sin(turn)
    factors = np.zeros((*a.shape, 3, 3))
    factors[..., 0, 0] = 1
    factors[..., 1, 0], factors[..., 1, 1] = a, np.sqrt(1 - a * a)
    factors[..., 2, 0], factors[..., 2, 1], factors[..., 2, 2] = b, c, np.sqrt(1 - r * r)
    assert abs((w * np.asarray(d.log_prob(torch.tensor(factors)).exp())).sum() - 1) < 1e-3


def test_mixtures_add_weighted_densities():
    weights, loc = torch.tensor([0.2, 0.8], dtype=F64), torch.tensor([-1.0, 3.0], dtype=F64)
    d = D.MixtureSameFamily(D.Categorical(weights), D.Normal(loc, 0.5))
    x = torch.linspace(-3, 5, 9, dtype=F64)
    parts = [stats.norm(m, 0.5) for m in (-1.0, 3.0)]
    assert close(d.log_prob(x).exp(), 0.2 * parts[0].pdf(x) + 0.8 * parts[1].pdf(x))
    assert close(d.cdf(x), 0.2 * parts[0].cdf(x) + 0.8 * parts[1].cdf(x))
    assert abs(d.mean.item() - 2.2) < 1e-12 and abs(d.variance.item() - (0.25 + 0.2 * 3.2**2 + 0.8 * 0.8**2)) < 1e-12


def test_moments_that_do_not_exist_are_nan_and_infinite_ones_infinite():
    inf, nan = math.inf, math.nan

    def same(t, values):
        return np.array_equal(np.asarray(t), np.array(values, dtype=np.float32), equal_nan=True)

    t = D.StudentT(torch.tensor([0.5, 1.0, 1.5, 2.0, 4.0]))
    assert same(t.mean, [nan, nan, 0, 0, 0]) and same(t.variance, [nan, nan, inf, inf, 2])
    f = D.FisherSnedecor(4.0, torch.tensor([2.0, 3.0, 4.0]))
    assert same(f.mean, [nan, 3, 2]) and same(f.variance, [nan] * 3)
    assert same(D.Pareto(1.0, torch.tensor([1.0, 1.5])).mean, [inf, 3]) and same(
        D.Pareto(1.0, torch.tensor([2.0])).variance, [inf]
    )
    assert same(D.InverseGamma(torch.tensor([1.0, 2.0]), 1.0).mean, [inf, 1]) and same(
        D.InverseGamma(torch.tensor([2.0]), 1.0).variance, [inf]
    )
    assert same(D.Cauchy(torch.zeros(1), 1.0).mean, [nan]) and same(D.Cauchy(torch.zeros(1), 1.0).variance, [inf])
    assert same(D.HalfCauchy(torch.ones(1)).mean, [inf])
    assert same(D.GeneralizedPareto(0.0, 1.0, torch.tensor([1.0, 0.5])).mean, [inf, 2])
    assert same(D.GeneralizedPareto(0.0, 1.0, torch.tensor([0.5])).variance, [inf])
    assert same(D.Categorical(torch.ones(2, 3)).mean, [nan, nan])


# --- every family


#: no second moment, or none that is known
WILD = (D.Cauchy, D.HalfCauchy, D.Categorical, D.VonMises)


@every
def test_samples_have_the_mean_and_the_variance(make):
    torch.manual_seed(7)
    d, n = make(), 30_000
    try:
        mean, variance = d.mean, d.variance
    except NotImplementedError:
        return
    if isinstance(d, WILD):
        return
    x = d.sample((n,))
    error = (variance / n).sqrt()
    assert ((x.mean(0) - mean).abs() <= 5 * error + 1e-12).all()
    # the standard error of a variance, from the samples' own fourth moment
    spread = ((x - mean) ** 2 - variance).pow(2).mean(0).sqrt() / n**0.5
    assert (((x - mean).pow(2).mean(0) - variance).abs() <= 6 * spread + 1e-12).all()


@every
def test_entropies_are_means_of_log_densities(make):
    torch.manual_seed(8)
    d, n = make(), 30_000
    try:
        entropy = d.entropy()
    except NotImplementedError:
        return
    surprise = -d.log_prob(d.sample((n,)))
    assert ((surprise.mean(0) - entropy).abs() <= 5 * surprise.std(0) / n**0.5 + 1e-9).all()
    assert torch.allclose(d.perplexity(), entropy.exp())


@every
def test_no_sample_is_likelier_than_the_mode(make):
    torch.manual_seed(9)
    d = make()
    try:
        mode = d.mode
    except NotImplementedError:
        return
    known = ~mode.isnan().reshape(d.batch_shape + (-1,)).any(-1)
    mode = torch.where(mode.isnan(), d.sample(), mode)
    d._validate_args = False  # some modes are ends that the support leaves out
    below = d.log_prob(d.sample((2000,))) <= d.log_prob(mode) + 1e-9
    assert (below | ~known).all()


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.cls.cdf is not D.Distribution.cdf], ids=str)
def test_samples_follow_the_distribution_function(family):
    torch.manual_seed(10)
    d = family.make()
    try:
        x = d.sample((4000,))
        u = d.cdf(x)
    except NotImplementedError:
        assert family.cls in (D.LogisticNormal, D.RelaxedBernoulli, D.RelaxedOneHotCategorical)
        return
    for column in u.reshape(4000, -1).unbind(-1):
        assert stats.kstest(np.asarray(column.contiguous()), "uniform").pvalue > 1e-4


def test_quantiles_at_the_ends():
    ends = torch.tensor([[0.0], [1.0]], dtype=F64)
    c = torch.tensor([0.3, -0.4, 0.0], dtype=F64)
    d = D.GeneralizedPareto(torch.tensor(1.0, dtype=F64), 2.0, c)
    assert torch.equal(d.icdf(ends), torch.tensor([[1.0, 1.0, 1.0], [math.inf, 6.0, math.inf]], dtype=F64))
    for d, low, high in (
        (D.Normal(0.0, 1.0), -math.inf, math.inf),
        (D.Exponential(2.0), 0, math.inf),
        (D.Uniform(1.0, 3.0), 1, 3),
        (D.Laplace(0.0, 1.0), -math.inf, math.inf),
        (D.HalfNormal(1.0), 0, math.inf),
        (D.LogNormal(0.0, 1.0), 0, math.inf),
        (D.Pareto(2.0, 1.0), 2, math.inf),
        (D.Kumaraswamy(2.0, 3.0), 0, 1),
        (D.ContinuousBernoulli(torch.tensor(0.9)), 0, 1),
        (D.ContinuousBernoulli(torch.tensor(0.1)), 0, 1),
    ):
        assert d.icdf(torch.tensor(0.0)).item() == low and d.icdf(torch.tensor(1.0)).item() == high, d


def test_at_the_edge_of_the_support_the_cdf_is_zero_or_one():
    zero = torch.zeros(1, dtype=F64)
    for d in (D.LogNormal(0.0, 1.0), D.Weibull(2.0, 1.5), D.InverseGamma(2.0, 1.0)):
        assert d.cdf(zero).item() == 0
        assert not d.support.check(zero)
        with pytest.raises(ValueError, match="within the support"):
            d.cdf(zero - 1)
    fallen = D.TransformedDistribution(D.Exponential(torch.ones(1, dtype=F64)), D.AffineTransform(0.0, -1.0))
    assert fallen.cdf(zero).item() == 1


def test_wishart_matrices_with_hardly_a_degree_of_freedom_too_many_are_in_their_support():
    torch.manual_seed(0)
    d = D.Wishart(torch.tensor(2.3), torch.eye(3))
    assert (~d.support.check(d.rsample((1000,), max_try_correction=0))).any()
    drawn = d.sample((1000,))
    assert d.support.check(drawn).all()


def test_wishart_distributions_take_whole_degrees_of_freedom_and_matrices_that_are_all_but_singular():
    d = D.Wishart(torch.tensor([2, 3]), torch.eye(2), validate_args=False)
    assert d.sample((4,)).shape == (4, 2, 2, 2) and d.sample().dtype == torch.float32
    almost = torch.tensor([[1.0, 1.0], [1.0, 1.0 - 2**-24]])
    assert D.Wishart(torch.tensor(4.0), torch.eye(2), validate_args=False).log_prob(almost).isfinite()


def test_libraries_draw_wishart_matrices_by_bartletts_decomposition():
    torch.manual_seed(4)
    d = D.Wishart(torch.tensor(5.0, dtype=F64), torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=F64))
    drawn = d._bartlett_sampling(torch.Size([20000]))
    torch.testing.assert_close(drawn.mean(0), d.mean, atol=0.1, rtol=0)


@pytest.mark.parametrize("concentration", [0.0, 0.5, 2.0])
def test_all_of_a_generalized_pareto_lies_before_infinity(concentration):
    d = D.GeneralizedPareto(1.0, 2.0, concentration)
    end = torch.tensor(math.inf)
    assert d.cdf(end) == 1 and d.log_prob(end) == -math.inf and d.log_survival_function(end) == -math.inf
    value = torch.tensor([2.0, math.inf], requires_grad=True)
    d.log_prob(value)[0].backward()
    expected = -(1 + concentration) / (2 + concentration)  # of -(1 + 1 / c) log(1 + c (x - 1) / 2)
    torch.testing.assert_close(value.grad, torch.tensor([expected, 0.0]))
