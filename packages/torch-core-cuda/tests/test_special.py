"""The functions of torch.special, which compute in double."""

import pytest
import torch

ONE = [
    *("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr"),
    *("modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "ndtr", "ndtri"),
    *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"),
]
POLYNOMIALS = [
    *(f"{before}chebyshev_polynomial_{kind}" for before in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]
INF, NAN = float("inf"), float("nan")
X = torch.tensor([-INF, -700.0, -9.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.2, 0.5, 1.0, 2.0, 7.9, 8.1, 700.0, INF, NAN])


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name):
    f = getattr(torch.special, name)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        x = X.to(dtype)
        here, there = f(x), f(x.cuda())
        assert there.dtype == dtype and torch.allclose(there.cpu().double(), here.double(), rtol=1e-12, equal_nan=True)
    assert torch.equal(f(X.repeat(2, 1).t().cuda()).cpu(), f(X.repeat(2, 1).t())) or X.isnan().any()


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_low_and_high_degree(name):
    f = getattr(torch.special, name)
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    for n in (0, 1, 2, 7, 51, 1200, 20_000):
        here, there = f(x, n), f(x.cuda(), n)
        assert torch.allclose(there.cpu(), here, rtol=1e-10, atol=1e-12, equal_nan=True)
    degrees = torch.arange(5.0)[:, None]
    assert torch.allclose(f(x.cuda(), degrees.cuda()).cpu(), f(x, degrees), equal_nan=True)


def test_two_numbers_and_integers():
    for name in ("xlog1py", "zeta"):
        f = getattr(torch.special, name)
        a, b = torch.tensor([0.0, 2.0, 3.0]), torch.tensor([1.0, 0.5, NAN])
        assert torch.allclose(f(a.cuda(), b.cuda()).cpu(), f(a, b), equal_nan=True)
        assert torch.allclose(f(3, b.cuda()).cpu(), f(3, b), equal_nan=True)
    assert torch.special.entr(torch.arange(4, device="cuda")).cpu().equal(torch.special.entr(torch.arange(4)))
