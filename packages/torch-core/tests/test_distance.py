"""Distances of all pairs of rows, against NumPy's."""

import numpy as np
import pytest
import torch
from torch._seams import operator

SHAPES = [(1, 1, 1, 1), (1, 4, 4, 16), (2, 5, 7, 33), (3, 9, 3, 20), (1, 2, 30, 100)]


def rows(batch, p, r, m, dtype=torch.float64):
    draw = np.random.default_rng(0).standard_normal
    return torch.tensor(draw((batch, p, m)), dtype=dtype), torch.tensor(draw((batch, r, m)), dtype=dtype)


def differences(x1, x2):
    return x1.double().numpy()[:, :, None] - x2.double().numpy()[:, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_distances_are_norms_of_differences(shape, p, dtype):
    x1, x2 = rows(*shape, dtype)
    expected = np.linalg.norm(differences(x1, x2), ord=p, axis=-1)
    near = 1e-12 if dtype is torch.float64 else 1e-5
    np.testing.assert_allclose(torch.cdist(x1, x2, p).numpy(), expected, rtol=near)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_weighted_slopes(shape, p):
    x1, x2 = rows(*shape)
    away, grad = differences(x1, x2), np.random.default_rng(1).standard_normal(shape[:3])
    distance = np.linalg.norm(away, ord=p, axis=-1)
    slope = away / distance[..., None] if p == 2 else np.sign(away)
    found = operator("_cdist_backward")(torch.tensor(grad), x1, x2, p, torch.tensor(distance))
    np.testing.assert_allclose(found.numpy(), (grad[..., None] * slope).sum(2), rtol=1e-12, atol=1e-12)


def test_points_that_are_one_are_no_distance_apart_however_far_they_lie_out():
    x = torch.tensor([[10000.0, 20000.0], [10000.0, 20000.001]])
    assert torch.cdist(x, x).diagonal().tolist() == [0, 0]
    many = x.repeat(40, 50)
    assert torch.cdist(many, many).diagonal().eq(0).all()


def test_batches_broadcast_and_lie_in_any_order():
    x1, x2 = torch.randn(3, 1, 5, 4).double(), torch.randn(2, 4, 6).double().mT
    found = torch.cdist(x1, x2)
    assert found.shape == (3, 2, 5, 6)
    torch.testing.assert_close(found, torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), dim=-1))


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4), (1, 2, 3, 0)], ids=str)
def test_of_nothing_there_are_no_distances(shape):
    found = torch.cdist(*rows(*shape))
    assert found.shape == shape[:3] and found.eq(0).all()


def test_pairs_of_one_set_are_those_above_its_diagonal():
    x = torch.randn(6, 9)
    for p in (1.0, 2.0, 3.0):
        expected = torch.stack([(x[i] - x[j]).norm(p) for i in range(6) for j in range(i + 1, 6)])
        torch.testing.assert_close(torch.pdist(x, p), expected)


@pytest.mark.parametrize(
    ("x1", "x2", "p", "error", "text"),
    [
        (torch.zeros(2, 3), torch.zeros(1, 2, 3), 2.0, RuntimeError, r"expected x1 \(B, P, M\)"),
        (torch.zeros(1, 2, 3), torch.zeros(1, 2, 4), 2.0, RuntimeError, r"got \(1, 2, 3\) and \(1, 2, 4\)"),
        (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3).double(), 2.0, NotImplementedError, "float32 or float64"),
        (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), 3.0, NotImplementedError, "p = 1 or 2, got 3"),
    ],
)
def test_rows_that_do_not_fit_are_named(x1, x2, p, error, text):
    with pytest.raises(error, match=f"_cdist_forward: .*{text}"):
        operator("_cdist_forward")(x1, x2, p, None)
