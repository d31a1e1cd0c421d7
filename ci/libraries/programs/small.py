"""entmax, torchode, jaxtyping, einx, torchdyn, reformer: small libraries."""

import einx
import entmax
import torch
import torchode
from common import fill, numbers
from jaxtyping import Float
from torch import Tensor, nn

DISTRIBUTIONS = ("entmax", "torchode", "jaxtyping", "einx")


def sparse_softmax():
    x = numbers(3, 6).requires_grad_()
    values = entmax.sparsemax(x), entmax.entmax15(x), entmax.entmax_bisect(x, alpha=1.3)
    sum((v * numbers(3, 6, seed=1)).sum() for v in values).backward()
    return values, x.grad, entmax.sparsemax_loss(x, torch.tensor([0, 1, 2]))


def many_problems_at_once():
    field = fill(nn.Linear(2, 2), 0.5)
    term = torchode.ODETerm(lambda t, y: field(y).tanh())
    controller = torchode.IntegralController(atol=1e-6, rtol=1e-4, term=term)
    problem = torchode.InitialValueProblem(y0=numbers(3, 2), t_eval=torch.linspace(0, 1, 5).repeat(3, 1))
    found = torchode.AutoDiffAdjoint(torchode.Tsit5(term=term), controller).solve(problem)
    return found.ys, found.status


def annotations():
    x: Float[Tensor, "a b"] = numbers(2, 3)  # noqa: F722
    return isinstance(x, Float[Tensor, "a b"]), isinstance(x, Float[Tensor, "a"])


def expressions():
    x = numbers(2, 3, 4)
    return (
        einx.sum("a [b] c", x),
        einx.mean("a b [c]", x),
        einx.dot("a b c, c d -> a b d", x, numbers(4, 5)),
        einx.id("a b c -> c (a b)", x) if hasattr(einx, "id") else einx.rearrange("a b c -> c (a b)", x),
    )
