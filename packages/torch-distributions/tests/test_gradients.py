"""Gradients of densities, entropies and moments by finite differences; of samples by those of the distribution function."""

import math

import numpy as np
import pytest
import torch
import torch.distributions as D
from families import F64, FAMILIES
from scipy import integrate, special, stats
from torch.autograd import gradcheck
from torch.distributions._angles import derivative

#: matrices with conditions of their own: one matrix gives all their entries
SYMMETRIC = ("covariance_matrix", "precision_matrix")
TRIANGLE = ("scale_tril",)


def parameters(family):
    return {
        name: t.requires_grad_()
        for name, t in family.tensors().items()
        if name != "total_count" or family.cls is not D.Binomial
    }


def built(family, tensors):
    """The distribution of tensors that finite differences have moved, with matrices symmetric or triangular again."""
    tensors = {
        name: (t + t.mT) / 2 if name in SYMMETRIC else t.tril() if name in TRIANGLE else t
        for name, t in tensors.items()
    }
    rest = {k: v for k, v in family.tensors().items() if k not in tensors}
    return family.of(**rest, **tensors, validate_args=False)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_log_densities_are_differentiable_by_parameters_and_values(family):
    torch.manual_seed(0)
    given = parameters(family)
    d = family.make()
    value = d.sample((2,))
    if family.cls is D.LKJCholesky:
        value = value.detach()
    continuous = not d.support.is_discrete and value.dtype == F64 and family.cls not in (D.LKJCholesky, D.Wishart)
    # off the kinks of |x - loc|, and inside intervals
    names = list(given)

    def log_prob(*arguments):
        tensors = dict(zip(names, arguments))
        return built(family, tensors).log_prob(arguments[-1] if continuous else value)

    inputs = [*given.values(), *([value.requires_grad_()] if continuous else [])]
    assert gradcheck(log_prob, inputs)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("what", ["mean", "variance", "entropy"])
def test_moments_and_entropies_are_differentiable(family, what):
    given = parameters(family)
    names = list(given)

    def moment(*arguments):
        value = getattr(built(family, dict(zip(names, arguments))), what)
        return value() if what == "entropy" else value

    try:
        result = moment(*given.values())
    except NotImplementedError:
        return
    if not result.requires_grad:
        assert family.cls in (D.Cauchy, D.HalfCauchy, D.Categorical)
        return
    if family.cls in (D.Cauchy, D.HalfCauchy):
        return
    assert gradcheck(moment, list(given.values()))


# --- samples: with the rank F(x; a) held, dx/da = -(dF/da) / p(x)

CDF = {
    D.Beta: stats.beta.cdf,
    D.FisherSnedecor: stats.f.cdf,
    D.StudentT: stats.t.cdf,
    D.VonMises: lambda x, loc, k: stats.vonmises.cdf(x, k, loc),
}
PATHWISE = [
    f
    for f in FAMILIES
    if f.make().has_rsample
    and f.make().event_shape == ()
    and (f.cls in CDF or f.cls.cdf is not D.Distribution.cdf)
    and f.cls not in (D.RelaxedBernoulli, D.LogisticNormal)
]


def distribution_function(family, tensors, x):
    if family.cls in CDF:
        return CDF[family.cls](x, *(t.detach().numpy() for t in tensors.values()))
    return family.of(**tensors, validate_args=False).cdf(torch.as_tensor(x)).detach().numpy()


@pytest.mark.parametrize("family", PATHWISE, ids=str)
def test_samples_move_with_parameters_as_quantiles_do(family):
    torch.manual_seed(2)
    given = {name: t.expand(200, *t.shape).clone().requires_grad_() for name, t in family.tensors().items()}
    d = family.of(**given)
    x = d.rsample()
    x.sum().backward()
    value = x.detach()
    density = d.log_prob(value).exp().detach().numpy()
    values = value.numpy()
    for name, t in given.items():
        h = 1e-5 * t.detach().abs().clamp(min=0.1)

        def moved(steps, name=name, t=t, h=h):
            return distribution_function(family, {**given, name: (t + steps * h).detach()}, values)

        by_parameter = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h.numpy())
        expected = -by_parameter / density
        # differences of F carry its rounding error, which a small density enlarges
        tolerance = 1e-4 * np.abs(expected) + 1e-10 / density + 1e-8
        # reparameterisations that are not monotonic in one number (ratios, products) agree only in the mean
        if family.cls in (D.FisherSnedecor, D.StudentT, D.Laplace):
            difference = t.grad.numpy() - expected
            assert (np.abs(difference.mean(0)) < 5 * difference.std(0) / 200**0.5 + 1e-6).all(), name
        else:
            assert (np.abs(t.grad.numpy() - expected) <= tolerance).all(), name


@pytest.mark.parametrize("k", [1e-4, 0.3, 2.0, 40.0, 600.0])
def test_angles_move_with_the_concentration_as_the_integral_says(k):
    """dF/dk is the integral of (cos t - I1(k) / I0(k)) p(t) from -pi on, by adaptive quadrature."""
    a = special.i1e(k) / special.i0e(k)
    spread = min(1.0, k**-0.5)
    for x in [1e-6, 0.1 * spread, spread, 2 * spread, min(3.0, 5 * spread), math.pi]:

        def integrand(t, x=x):  # divided by p(x)
            return (math.cos(t) - a) * math.exp(k * (math.cos(t) - math.cos(x)))

        if math.cos(x) > a:
            expected = -integrate.quad(integrand, 0, x, epsabs=0, epsrel=1e-12)[0]
        else:
            expected = integrate.quad(integrand, x, min(math.pi, x + 50 * spread), epsabs=0, epsrel=1e-12)[0]
        pair = torch.tensor([x, -x], dtype=F64)
        ours = derivative(pair, torch.full_like(pair, k))
        assert ours[0] == -ours[1]
        assert float(ours[0]) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_concentrated_angles_move_as_normal_numbers_do():
    x, k = torch.tensor([1e-5, 3e-5, -4e-5], dtype=F64), torch.full((3,), 1e10, dtype=F64)
    assert torch.allclose(derivative(x, k), -x / (2 * k), rtol=1e-4)


def test_angles_in_float32_have_gradients_and_no_second_ones():
    loc, k = torch.zeros(5, requires_grad=True), torch.full((5,), 3.0, requires_grad=True)
    x = D.VonMises(loc, k).rsample((2,))
    (grad,) = torch.autograd.grad(x.sum(), k, create_graph=True)
    assert grad.dtype == torch.float32
    with pytest.raises(RuntimeError):
        grad.sum().backward()


VECTORS = [
    f
    for f in FAMILIES
    if f.make().has_rsample and f.make().event_shape != () and f.cls is not D.OneHotCategoricalStraightThrough
]


@pytest.mark.parametrize(
    "family", [*VECTORS, *[f for f in FAMILIES if f.cls in (D.StudentT, D.FisherSnedecor, D.RelaxedBernoulli)]], ids=str
)
def test_the_mean_gradient_of_samples_is_the_gradient_of_the_mean(family):
    """Against the score: d E[f] / da is the mean of df/dx dx/da and of f(x) d log p(x) / da alike."""
    n = 20_000
    names = list(family.tensors())

    def gradients(of):
        torch.manual_seed(3)
        given = {}
        for name, t in family.tensors().items():
            given[name] = t if name == "temperature" else t.expand(n, *t.shape).clone().requires_grad_()
        tensors = {k: (t + t.mT) / 2 if k in SYMMETRIC else t.tril() if k in TRIANGLE else t for k, t in given.items()}
        d = family.of(**tensors, validate_args=False)
        of(d).sum().backward()
        return {name: given[name].grad for name in names if name != "temperature"}

    def f(x):
        return torch.tanh(x)  # bounded, so that the score's variance is

    def pathwise(d):
        return f(d.rsample())

    def score(d):
        x = d.sample()
        value = f(x).reshape(n, *d.batch_shape[1:], -1).sum(-1)
        return value * d.log_prob(x)

    by_path, by_score = gradients(pathwise), gradients(score)
    for name, a in by_path.items():
        b = by_score[name]
        error = (a.var(0) / n + b.var(0) / n).sqrt()
        assert ((a.mean(0) - b.mean(0)).abs() <= 5 * error + 1e-9).all(), name


def test_a_straight_through_sample_passes_its_gradient_to_the_probabilities():
    logits = torch.tensor([0.1, 0.7, -0.3], dtype=F64, requires_grad=True)
    torch.manual_seed(0)
    x = D.OneHotCategoricalStraightThrough(logits=logits).rsample()
    weights = torch.tensor([1.0, 2.0, 4.0], dtype=F64)
    assert sorted(x.detach().round(decimals=9).tolist()) == [0, 0, 1]
    (x * weights).sum().backward()
    expected = torch.autograd.functional.jacobian(lambda t: (torch.softmax(t, 0) * weights).sum(), logits.detach())
    assert torch.allclose(logits.grad, expected)


def test_samples_stop_gradients_and_rsamples_do_not():
    for family in FAMILIES:
        given = {name: t.requires_grad_() for name, t in family.tensors().items()}
        d = family.of(**given)
        assert not d.sample().requires_grad
        if d.has_rsample:
            assert d.rsample().requires_grad
        else:
            with pytest.raises(NotImplementedError, match=f"{family.cls.__name__}.rsample"):
                d.rsample()
