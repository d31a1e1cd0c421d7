"""Angles around 0 with density proportional to ``exp(k cos x)``, and how they move with k."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

__all__ = ["Drawn", "derivative"]

#: Steps of the exponential after which the tail of the integral is below the last digit.
FAR = 40.0
NODES = 40


def _gauss_legendre(count):
    """Nodes and weights on [-1, 1]: eigenvalues of Legendre's recurrence (Golub and Welsch 1969)."""
    i = torch.arange(1, count, dtype=torch.float64)
    beside = i / (4 * i.square() - 1).sqrt()
    nodes, vectors = torch.linalg.eigh(torch.diag(beside, 1) + torch.diag(beside, -1))
    return nodes, 2 * vectors[0].square()


def derivative(angle, k):
    """``d angle / d k`` with the distribution function held, ``-(dF/dk) / p``, of doubles of one shape.

    The integrand of ``dF/dk`` is ``(cos t - A) p(t)`` with A the mean of the cosine.  It is positive up to where the cosine
    is A, negative behind, and 0 in sum: each side is integrated by itself, so that nothing cancels.
    """
    x = angle.abs()
    mean = torch.special.i1e(k) / torch.special.i0e(k)
    inside = x.cos() >= mean
    end = torch.acos((x.cos() - FAR / k).clamp(min=-1))
    low, high = torch.where(inside, 0.0, x), torch.where(inside, x, end)
    nodes, weights = _gauss_legendre(NODES)
    t = low.unsqueeze(-1) + (high - low).unsqueeze(-1) * (nodes + 1) / 2
    # cos t - cos x as a product
    above = -2 * torch.sin((t + x.unsqueeze(-1)) / 2) * torch.sin((t - x.unsqueeze(-1)) / 2)
    values = (t.cos() - mean.unsqueeze(-1)) * (k.unsqueeze(-1) * above).exp()
    integral = (values @ weights) * (high - low) / 2
    return torch.where(inside, -integral, integral) * angle.sign()


class Drawn(Function):
    """Angles that were drawn, as a function of k."""

    @staticmethod
    def forward(ctx, angle, k):
        ctx.save_for_backward(angle, k)
        return angle.view_as(angle)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        angle, k = ctx.saved_tensors
        return None, grad * derivative(angle, k)
