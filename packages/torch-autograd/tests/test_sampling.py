"""Gradients of draws by their parameters: those of quantiles, by finite differences of the distribution function."""

import numpy as np
import pytest
import torch
from scipy import special, stats

F64 = torch.float64
RANKS = [1e-6, 1e-3, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999, 1 - 1e-6]


def slope(f, a):
    """Of f at a, from four points around it."""
    h = 1e-4 * a
    return (8 * (f(a + h) - f(a - h)) - (f(a + 2 * h) - f(a - 2 * h))) / (12 * h)


@pytest.mark.parametrize("a", [1e-3, 0.01, 0.3, 0.999, 1.0, 1.5, 4.0, 30.0, 500.0, 9999.0, 1e4])
def test_gamma_numbers_move_with_the_concentration_as_quantiles_do(a):
    x = special.gammaincinv(a, np.array(RANKS))
    x = x[x > 1e-290]
    lower = stats.gamma.cdf(x, a) < 0.5
    by_a = np.where(lower, -slope(lambda s: special.gammainc(s, x), a), slope(lambda s: special.gammaincc(s, x), a))
    expected = by_a / stats.gamma.pdf(x, a)
    slopes = torch._standard_gamma_grad(torch.full((len(x),), a, dtype=F64), torch.tensor(x))
    assert np.allclose(slopes, expected, rtol=1e-6)
    narrow = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x, dtype=torch.float32))
    wide = x > 1e-30
    assert np.allclose(narrow[torch.tensor(wide)], expected[wide], rtol=1e-3)


@pytest.mark.parametrize("a", [1e5, 1e8, 1e12])
def test_slopes_of_large_concentrations_follow_the_normal_limit(a):
    z = np.linspace(-4, 4, 9)
    x = a + z * np.sqrt(a) + (z**2 - 1) / 3 + (z**3 - 7 * z) / 36 / np.sqrt(a)  # Cornish and Fisher
    expected = 1 + z / (2 * np.sqrt(a)) - (z**3 - 7 * z) / 72 / a**1.5
    slopes = torch._standard_gamma_grad(torch.tensor(a, dtype=F64), torch.tensor(x))
    assert np.allclose(slopes, expected, rtol=20 / a)


@pytest.mark.parametrize("a", [1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e4])
@pytest.mark.parametrize("b", [1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e4])
def test_beta_numbers_move_with_the_concentration_as_quantiles_do(a, b):
    x = special.betaincinv(a, b, np.array([1e-3, 0.05, 0.5, 0.95, 0.999]))
    x = x[(x > 1e-200) & (x < 1 - 1e-9)]
    lower = special.betainc(a, b, x) < 0.5
    by_a = np.where(lower, -slope(lambda s: special.betainc(s, b, x), a), slope(lambda s: special.betaincc(s, b, x), a))
    expected = by_a / stats.beta.pdf(x, a, b) / (1 - x)
    slopes = torch._dirichlet_grad(torch.tensor(x), torch.tensor(a, dtype=F64), torch.tensor(a + b, dtype=F64))
    assert np.allclose(slopes, expected, rtol=1e-6)


def test_a_mean_of_gamma_numbers_has_the_gradient_of_the_mean():
    torch.manual_seed(0)
    n = 40_000
    for a in (0.2, 1.0, 7.0):
        concentration = torch.full((n,), a, dtype=F64, requires_grad=True)
        torch._standard_gamma(concentration).sum().backward()
        slopes = concentration.grad
        assert abs(slopes.mean() - 1) < 5 * slopes.std() / n**0.5


def test_a_mean_of_dirichlet_numbers_has_the_gradient_of_the_mean():
    torch.manual_seed(0)
    n, alpha = 40_000, torch.tensor([0.4, 2.0, 3.0], dtype=F64)
    for chosen in range(3):
        a = alpha.expand(n, 3).clone().requires_grad_()
        torch._sample_dirichlet(a)[:, chosen].sum().backward()
        expected = -alpha[chosen] / alpha.sum() ** 2 + torch.eye(3, dtype=F64)[chosen] / alpha.sum()
        assert ((a.grad.mean(0) - expected).abs() < 5 * a.grad.std(0) / n**0.5).all()


def test_gradients_of_shares_that_sum_to_one_cancel():
    alpha = torch.tensor([[0.5, 1.0, 4.0]], requires_grad=True)
    torch._sample_dirichlet(alpha).sum().backward()
    assert torch.allclose(alpha.grad, torch.zeros(1, 3), atol=1e-6)


def test_an_only_share_has_no_gradient():
    for alpha in (torch.tensor(2.0, requires_grad=True), torch.tensor([2.0], requires_grad=True)):
        torch._sample_dirichlet(alpha).sum().backward()
        assert alpha.grad.sum() == 0


def test_binomial_numbers_have_gradient_zero():
    p = torch.tensor([0.5], requires_grad=True)
    torch.binomial(torch.tensor([4.0]), p).sum().backward()
    assert p.grad.item() == 0


def test_second_derivatives_of_draws_are_refused_when_they_are_asked_for():
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    for draw in (torch._standard_gamma, torch._sample_dirichlet):
        (g,) = torch.autograd.grad(draw(a)[0], a, create_graph=True)
        with pytest.raises(NotImplementedError, match="second derivative of gamma, beta and Dirichlet draws"):
            g.sum().backward()
