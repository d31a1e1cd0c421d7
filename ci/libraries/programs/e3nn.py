"""e3nn: functions of points in space that turn along with them."""

import torch
from common import fill, gradients, numbers
from e3nn import nn as e3
from e3nn import o3

DISTRIBUTIONS = ("e3nn",)
TOLERANCE = 2e-3  # activations are scaled by a mean over a million random numbers, which are others here


def spherical_harmonics():
    return o3.spherical_harmonics([0, 1, 2, 3], numbers(5, 3), normalize=True)


def rotations():
    return o3.wigner_3j(1, 1, 2), o3.Irreps("2x0e + 1o + 2e").D_from_angles(
        torch.tensor(0.3), torch.tensor(1.1), torch.tensor(-0.4)
    )


def linear_layer():
    layer = fill(o3.Linear("4x0e + 2x1o", "3x0e + 3x1o"))
    layer(numbers(5, 10)).square().sum().backward()
    return layer(numbers(5, 10)), gradients(layer)


def tensor_product():
    product = fill(o3.FullyConnectedTensorProduct("2x0e + 1o", "0e + 1o", "3x0e + 2x1o"))
    return product(numbers(4, 5), numbers(4, 4))


def gate():
    gated = e3.Gate("3x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    return gated(numbers(4, gated.irreps_in.dim))


def result_turns_along():
    product = fill(o3.FullyConnectedTensorProduct("2x0e + 1o", "0e + 1o", "2x1o"))
    turn = o3.matrix_x(torch.tensor(0.7)) @ o3.matrix_y(torch.tensor(0.2))
    a, b = o3.Irreps("2x0e + 1o").D_from_matrix(turn), o3.Irreps("0e + 1o").D_from_matrix(turn)
    c = o3.Irreps("2x1o").D_from_matrix(turn)
    x, y = numbers(3, 5), numbers(3, 4)
    return torch.allclose(product(x @ a.T, y @ b.T), product(x, y) @ c.T, atol=1e-4)
