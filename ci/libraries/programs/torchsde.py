"""torchsde: stochastic equations with a noise that is given."""

import torch
import torchsde
from common import fill, numbers
from torch import nn

DISTRIBUTIONS = ("torchsde",)


class _Equation(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Linear(3, 3), nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma(y).sigmoid()


class _Noise(torchsde.BaseBrownian):
    """Steps of a path that is a sine, the same on both stacks."""

    def __call__(self, ta, tb=None, return_U=False, return_A=False):
        return torch.ones(2, 3) * (torch.sin(7 * torch.as_tensor(tb)) - torch.sin(7 * torch.as_tensor(ta)))

    dtype, device, shape, levy_area_approximation = torch.float32, torch.device("cpu"), (2, 3), "none"

    def __repr__(self):
        return "sine"


def methods():
    sde = fill(_Equation(), 0.4)
    return [
        torchsde.sdeint(sde, numbers(2, 3), torch.linspace(0, 1, 4), bm=_Noise(), method=m, dt=0.05)
        for m in ("euler", "milstein")
    ]


def gradients():
    sde, y = fill(_Equation(), 0.4), numbers(2, 3).requires_grad_()
    torchsde.sdeint(sde, y, torch.linspace(0, 1, 3), bm=_Noise(), method="euler", dt=0.1).sum().backward()
    return y.grad, [p.grad for p in sde.parameters()]


def brownian_motion_repeats():
    bm = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(2, 3), entropy=3)
    return torch.equal(bm(0.2, 0.7), bm(0.2, 0.7)), torch.allclose(bm(0.0, 0.5) + bm(0.5, 1.0), bm(0.0, 1.0), atol=1e-5)
