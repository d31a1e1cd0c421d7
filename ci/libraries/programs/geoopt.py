"""geoopt: manifolds, and optimizers on them."""

import geoopt
import torch
from common import numbers

DISTRIBUTIONS = ("geoopt",)


def hyperbolic_space():
    ball = geoopt.PoincareBall(c=1.0)
    x, y = ball.expmap0(numbers(4, 3, scale=0.3)), ball.expmap0(numbers(4, 3, seed=1, scale=0.3))
    return ball.dist(x, y), ball.mobius_add(x, y), ball.logmap(x, y), ball.transp(x, y, numbers(4, 3))


def sphere_and_stiefel():
    sphere, stiefel = geoopt.Sphere(), geoopt.EuclideanStiefel()
    return (
        sphere.projx(numbers(3, 4)),
        stiefel.projx(numbers(5, 3)).abs(),
        stiefel.inner(stiefel.projx(numbers(5, 3)), numbers(5, 3)),
    )


def _descent(optimizer, manifold, start):
    target = torch.nn.functional.normalize(numbers(4, seed=5), dim=0)
    p = geoopt.ManifoldParameter(start, manifold=manifold)
    optimizer, losses = optimizer([p]), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (p - target).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, p.detach()


def adam_on_a_sphere():
    start = torch.nn.functional.normalize(numbers(4), dim=0)
    return _descent(lambda p: geoopt.optim.RiemannianAdam(p, lr=0.1), geoopt.Sphere(), start)


def descent_in_a_ball():
    return _descent(
        lambda p: geoopt.optim.RiemannianSGD(p, lr=0.1, momentum=0.9), geoopt.PoincareBall(), numbers(4, scale=0.2)
    )
