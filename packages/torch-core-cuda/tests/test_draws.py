"""Draws that take more than a formula: the CPU's of the same seed; what is no parameter is told at the next wait."""

import pytest
import torch
from test_random import alike
from torch._cuda import _native

RATES = torch.tensor([0.0, 0.3, 2.0, 9.9, 10.1, 80.0, 1e5]).repeat(40)
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
standard_gamma, sample_dirichlet = (torch._C._operator(n) for n in ("_standard_gamma", "_sample_dirichlet"))


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson_binomial_gamma_and_dirichlet(dtype):
    rates = RATES.clamp(max=200).to(dtype)
    alike(lambda d: torch.poisson(rates.to(d)))
    alike(lambda d: torch.binomial(rates.floor().to(d), torch.full_like(rates, 0.3).to(d)))
    alike(lambda d: standard_gamma(rates.to(d)))
    alike(lambda d: sample_dirichlet((rates[:21] + 0.01).reshape(3, 7).to(d)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(9,), (3, 500), (2, 65)])
def test_indices_by_weight(shape, dtype):
    weights = torch.arange(float(torch.Size(shape).numel())).reshape(shape).to(dtype)
    alike(lambda d: torch.multinomial(weights.to(d), 6, replacement=True))
    alike(lambda d: torch.multinomial(weights.to(d), 1))
    alike(lambda d: torch.multinomial(weights.to(d), 5))


def test_drawing_does_not_wait():
    weights = torch.ones(2, 5, device="cuda")
    _native.configure(lazy=True)
    before = _native.counts()["waits"]
    torch.multinomial(weights, 3), torch.poisson(weights), standard_gamma(weights)
    assert _native.counts()["waits"] == before


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda: torch.poisson(torch.tensor([1.0, -2.5], device="cuda")), "poisson: expected rates >= 0, got -2.5"),
        (lambda: standard_gamma(torch.tensor([-1.0], device="cuda")), "concentrations >= 0, got -1"),
        (lambda: sample_dirichlet(torch.tensor([1.0, float("inf")], device="cuda")), "finite concentrations"),
        (
            lambda: torch.binomial(torch.ones(1, device="cuda"), torch.full((1,), 1.5, device="cuda")),
            "probabilities from 0 to 1, got 1.5",
        ),
        (lambda: torch.multinomial(torch.tensor([1.0, -1.0], device="cuda"), 1), "inf, nan or a negative element"),
        (lambda: torch.multinomial(torch.zeros(2, 3, device="cuda"), 1), "probabilities of a row sum to 0"),
        (lambda: torch.multinomial(torch.tensor([1.0, 0.0], device="cuda"), 2), "too few elements that are not 0"),
    ],
)
def test_what_is_no_parameter_is_told_at_the_next_wait(f, message):
    drawn = f()
    with pytest.raises(RuntimeError, match=message):
        drawn.cpu()
    assert torch.ones(3, device="cuda").sum().item() == 3


@pytest.mark.parametrize("dtype", [*FLOATS, torch.complex64])
def test_dropout_of_every_dtype_is_one_kernel(dtype):
    x = torch.arange(1.0, 301.0).to(dtype)
    alike(lambda d: torch._C._operator("native_dropout")(x.to(d), 0.3, True)[0])
    there = x.cuda()
    before = _native.counts()["launches"]
    torch._C._operator("native_dropout")(there, 0.3, True)
    assert _native.counts()["launches"] == before + 1
