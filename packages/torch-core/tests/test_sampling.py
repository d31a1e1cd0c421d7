"""Gamma, Dirichlet and binomial numbers: distributed as they should be, at the ends of their ranges, and bad parameters."""

import numpy as np
import pytest
import torch
from scipy import stats

N = 60_000
F64 = torch.float64


def same_for_any_number_of_threads(draw):
    before = torch.get_num_threads()
    results = set()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(5)
            results.add(np.asarray(draw()).tobytes())
    finally:
        torch.set_num_threads(before)
    return len(results) == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch._standard_gamma(torch.linspace(0.01, 50, 5003)),
        lambda: torch._sample_dirichlet(torch.linspace(0.01, 50, 6000).view(2000, 3)),
        lambda: torch.binomial(torch.arange(5003.0), torch.tensor(0.4)),
    ],
)
def test_draws_do_not_depend_on_threads_and_go_on(draw):
    assert same_for_any_number_of_threads(draw)
    torch.manual_seed(1)
    first = draw()
    assert not torch.equal(first, draw())


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 2.5, 40.0, 1e4, 1e9])
def test_gamma_numbers_have_their_distribution(a):
    torch.manual_seed(3)
    x = np.asarray(torch._standard_gamma(torch.full((N,), a, dtype=F64)))
    assert stats.kstest(x, lambda v: stats.gamma.cdf(v, a)).pvalue > 1e-4
    y = np.asarray(torch._standard_gamma(torch.full((N,), a)), dtype=np.float64)
    assert abs(y.mean() - a) < 5 * (a / N) ** 0.5 + a * 1e-6


def test_small_gamma_numbers_keep_their_logarithms_as_far_as_the_dtype_reaches():
    torch.manual_seed(0)
    a = 0.01
    x = np.asarray(torch._standard_gamma(torch.full((N,), a, dtype=F64)))
    # log x is exponential with mean 1 / a, but for terms of the order of a
    cut = 1e-300
    assert abs((x < cut).mean() - stats.gamma.cdf(cut, a)) < 5 * (0.25 / N) ** 0.5
    tiny = torch._standard_gamma(torch.full((1000,), 1e-6))
    assert (tiny >= torch.finfo(torch.float32).tiny).all()


@pytest.mark.parametrize("alpha", [[0.3, 2.0, 5.0], [1.0, 1.0], [30.0, 0.1, 0.1, 4.0]])
def test_shares_have_beta_marginals_and_sum_to_one(alpha):
    torch.manual_seed(1)
    x = torch._sample_dirichlet(torch.tensor(alpha, dtype=F64).expand(N, len(alpha)))
    assert torch.allclose(x.sum(-1), torch.ones(N, dtype=F64))
    for i, a in enumerate(alpha):
        column = np.asarray(x[:, i].contiguous())
        assert stats.kstest(column, lambda v, a=a: stats.beta.cdf(v, a, sum(alpha) - a)).pvalue > 1e-4


@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-30, 0.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shares_of_small_concentrations_are_corners_not_halves(alpha, dtype):
    torch.manual_seed(2)
    x = torch._sample_dirichlet(torch.full((3000, 3), alpha, dtype=dtype))
    largest = x.max(-1).values
    assert (largest > 0.999).double().mean() > 0.98
    assert abs((x.argmax(-1) == 0).double().mean() - 1 / 3) < 5 * (2 / 9 / 3000) ** 0.5
    assert x.min() > 0 and x.max() < 1  # so that logarithms of shares and of what they leave are finite


@pytest.mark.parametrize(
    "n, p", [(1, 0.3), (5, 0.3), (20, 0.5), (1000, 0.005), (100, 0.4), (1000, 0.5), (100, 0.9), (15, 0.99), (40, 0.26)]
)
def test_binomial_numbers_have_their_frequencies(n, p):
    torch.manual_seed(2)
    x = np.asarray(torch.binomial(torch.full((N,), float(n), dtype=F64), torch.tensor(p, dtype=F64)))
    assert x.min() >= 0 and x.max() <= n
    k = np.arange(n + 1)
    expected = stats.binom.pmf(k, n, p) * N
    common = expected > 5
    observed = np.array([(x == v).sum() for v in k[common]])
    chi2 = ((observed - expected[common]) ** 2 / expected[common]).sum()
    assert stats.chi2.sf(chi2, common.sum() - 1) > 1e-4


@pytest.mark.parametrize("n, p", [(1e6, 0.3), (1e9, 1e-8), (1e12, 0.5), (1e12, 1 - 1e-11)])
def test_binomial_numbers_of_many_trials_have_their_moments(n, p):
    torch.manual_seed(2)
    x = np.asarray(torch.binomial(torch.full((N,), n, dtype=F64), torch.tensor(p, dtype=F64)))
    assert abs(x.mean() - n * p) < 5 * (n * p * (1 - p) / N) ** 0.5
    assert abs(x.var() / (n * p * (1 - p)) - 1) < 5 * (3 / N) ** 0.5


def test_ends_of_the_ranges():
    one, zero = torch.tensor(1.0), torch.tensor(0.0)
    assert torch.binomial(torch.tensor([0.0, 7.0]), one).tolist() == [0, 7]
    assert torch.binomial(torch.tensor([0.0, 7.0]), zero).tolist() == [0, 0]
    assert torch._standard_gamma(torch.tensor([0.0, torch.inf])).tolist() == [
        torch.finfo(torch.float32).tiny,
        torch.inf,
    ]
    assert torch._sample_dirichlet(torch.tensor(2.0)).item() == 1
    for empty in (torch.empty(0), torch.empty(0, 3), torch.empty(3, 0)):
        assert torch._standard_gamma(empty).shape == empty.shape
        assert torch._sample_dirichlet(empty).shape == empty.shape
        assert torch.binomial(empty, one).shape == empty.shape


def test_nan_stays_nan():
    nan = torch.tensor([torch.nan, 1.0])
    assert torch._standard_gamma(nan).isnan().tolist() == [True, False]
    assert torch.binomial(nan, torch.tensor(0.5)).isnan().tolist() == [True, False]
    assert torch.binomial(torch.ones(2), nan).isnan().tolist() == [True, False]
    assert torch._sample_dirichlet(nan).isnan().all()


def test_parameters_are_broadcast_and_any_layout_serves():
    assert torch.binomial(torch.full((3, 1), 4.0), torch.rand(2)).shape == (3, 2)
    assert torch._standard_gamma(torch.ones(3, 4).t()).shape == (4, 3)
    for dtype in (torch.float16, torch.bfloat16):
        assert torch._standard_gamma(torch.ones(3, dtype=dtype)).dtype == dtype
        assert torch.binomial(torch.ones(3, dtype=dtype), torch.ones(3, dtype=dtype)).dtype == dtype
    assert torch._sample_dirichlet(torch.ones(2, 3, device="meta")).shape == (2, 3)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: torch._standard_gamma(torch.tensor([1.0, -2.0])), RuntimeError, "concentrations >= 0, got -2 as element 1"),
        (lambda: torch._sample_dirichlet(torch.tensor([1.0, -2.0])), RuntimeError, "concentrations >= 0, got -2 as element 1"),
        (lambda: torch._sample_dirichlet(torch.tensor([1.0, torch.inf])), RuntimeError, "finite concentrations"),
        (lambda: torch._standard_gamma(torch.tensor([1])), NotImplementedError, "not implemented for torch.int64"),
        (lambda: torch._sample_dirichlet(torch.tensor([1])), NotImplementedError, "not implemented for torch.int64"),
        (lambda: torch.binomial(torch.tensor([-1.0]), torch.tensor(0.5)), RuntimeError, "counts from 0 to .* got -1 as element 0"),
        (lambda: torch.binomial(torch.ones(2), torch.tensor([0.5, 1.5])), RuntimeError, "from 0 to 1, got 1.5 as element 1"),
        (lambda: torch.binomial(torch.ones(2), torch.tensor([-0.5, 1])), RuntimeError, "from 0 to 1, got -0.5 as element 0"),
        (lambda: torch.binomial(torch.tensor([3]), torch.tensor(0.5)), ValueError, "floating point tensors, got count of torch.int64"),
        (lambda: torch.binomial(torch.ones(2), torch.ones(2, dtype=F64)), RuntimeError, "one dtype, got torch.float32 and torch.float64"),
        (lambda: torch.binomial(torch.ones(2), torch.ones(3)), RuntimeError, "binomial: .*broadcast"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_zeros_and_ones_are_drawn_into_any_dtype():
    p = torch.tensor([0.0, 1.0, 1.0, 0.0])
    for dtype in (torch.bool, torch.uint8, torch.int64, torch.float64, torch.bfloat16):
        out = torch.empty(4, dtype=dtype)
        assert torch.bernoulli(p, out=out) is out and out.dtype == dtype and out.tolist() == p.tolist()
