"""torchdiffeq: initial value problems, with gradients by the tape and by the adjoint equation."""

import torch
from common import fill, numbers, reload, train
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

DISTRIBUTIONS = ("torchdiffeq",)


class _Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, t, y):
        return self.net(y)


_times = torch.linspace(0, 1, 5)


def methods():
    field = fill(_Field(), 0.5)
    return [
        odeint(field, numbers(3, 2), _times, method=m) for m in ("euler", "rk4", "dopri5", "bosh3", "explicit_adams")
    ]


def gradients_by_the_tape():
    field, y = fill(_Field(), 0.5), numbers(3, 2).requires_grad_()
    odeint(field, y, _times).square().sum().backward()
    return y.grad, [p.grad for p in field.parameters()]


def gradients_by_the_adjoint():
    field, y = fill(_Field(), 0.5), numbers(3, 2).requires_grad_()
    odeint_adjoint(field, y, _times, rtol=1e-6, atol=1e-6).square().sum().backward()
    return y.grad, [p.grad for p in field.parameters()]


def event():
    fall = lambda t, y: (y[1], torch.tensor(-9.8))
    time, states = odeint_event(
        fall, (torch.tensor(10.0), torch.tensor(0.0)), torch.tensor(0.0), event_fn=lambda t, y: y[0]
    )
    return time, states


def training():
    field = fill(_Field(), 0.5)
    return train(field, lambda: odeint(field, numbers(3, 2), _times, method="rk4")[-1].square().mean())


def saved_and_loaded():
    return reload(fill(_Field(), 0.5), _Field())(torch.tensor(0.0), numbers(3, 2))
