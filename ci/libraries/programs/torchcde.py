"""torchcde: equations driven by data."""

import torchcde
from common import fill, numbers
from torch import nn

DISTRIBUTIONS = ("torchcde",)


class _Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 12)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


def splines():
    x = numbers(2, 6, 3)
    x[0, 2, 1] = float("nan")
    return (
        torchcde.hermite_cubic_coefficients_with_backward_differences(x),
        torchcde.linear_interpolation_coeffs(x),
        torchcde.natural_cubic_coeffs(x),
    )


def solution_and_gradient():
    field, x = fill(_Field(), 0.3), numbers(2, 6, 3)
    path = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    z = torchcde.cdeint(
        X=path, func=field, z0=numbers(2, 4), t=path.interval, adjoint=False, method="rk4", options={"step_size": 0.5}
    )
    z[:, 1].sum().backward()
    return z, field.linear.weight.grad


def log_signatures_are_refused_without_their_library():
    try:
        return torchcde.logsig_windows(numbers(2, 6, 3), 2, 2).shape
    except ImportError:
        return "absent"
