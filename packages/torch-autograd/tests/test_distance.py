"""Gradients of distances of all pairs of rows."""

import pytest
import torch


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_gradients_are_slopes_to_the_second_order(p):
    torch.manual_seed(0)
    given = [torch.randn(2, n, 3, dtype=torch.float64, requires_grad=True) for n in (4, 5)]
    assert torch.autograd.gradcheck(lambda a, b: torch.cdist(a, b, p), given)
    assert torch.autograd.gradgradcheck(lambda a, b: torch.cdist(a, b, p), given)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_recorded_gradients_are_those_of_the_kernel(p):
    torch.manual_seed(0)
    x, y = (torch.randn(9, 17, dtype=torch.float64, requires_grad=True) for _ in range(2))
    with torch.no_grad():
        y[3] = x[4]  # no slope where two points are one
    weights = torch.randn(9, 9, dtype=torch.float64)
    total = (torch.cdist(x, y, p) * weights).sum()
    plain = torch.autograd.grad(total, (x, y), retain_graph=True)
    for a, b in zip(plain, torch.autograd.grad(total, (x, y), create_graph=True), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_pairs_of_one_set_have_finite_gradients():
    x = torch.ones(4, 3, requires_grad=True)
    (grad,) = torch.autograd.grad(torch.cdist(x, x).sum() + torch.pdist(x).sum(), x)
    assert torch.equal(grad, torch.zeros(4, 3))


def test_vmap_takes_each_example():
    x, y = torch.randn(3, 4, 5), torch.randn(6, 5)
    torch.testing.assert_close(torch.func.vmap(torch.cdist, (0, None))(x, y), torch.cdist(x, y))
