"""Losses that have rows of their own, against their formulas in NumPy."""

import numpy as np
import pytest
import torch
from torch import _C

cross_entropy, nll_loss = _C._operator("cross_entropy"), _C._operator("nll_loss")
noise = np.random.default_rng(0)
X, W = noise.normal(size=(5, 4)), noise.uniform(0.5, 2, 4)
T = np.array([0, 3, 1, -100, 2])
LOGP = X - np.log(np.exp(X).sum(1, keepdims=True))


def expected(weight, reduction, smoothing=0.0):
    w = W if weight else np.ones(4)
    known = T >= 0
    at = np.where(known, T, 0)
    hard = np.where(known, -w[at] * LOGP[np.arange(5), at], 0)
    soft = np.where(known, -(LOGP * w).sum(1), 0)
    scale = (w[at] * known).sum() if reduction == 1 else 1
    if reduction:
        hard, soft = hard.sum() / scale, soft.sum() / scale
    return (1 - smoothing) * hard + smoothing / 4 * soft


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weight", [False, True])
def test_cross_entropy_follows_its_formula(weight, reduction, smoothing):
    w = torch.from_numpy(W) if weight else None
    got = cross_entropy(torch.from_numpy(X), torch.from_numpy(T), w, reduction, -100, smoothing)
    assert np.allclose(got.numpy(), expected(weight, reduction, smoothing), atol=1e-13)


def test_probabilities_as_targets_agree_with_classes():
    one_hot = torch.eye(4, dtype=torch.float64)[torch.tensor([0, 3, 1, 2, 2])]
    x = torch.from_numpy(X)
    assert cross_entropy(x, one_hot).item() == pytest.approx(
        cross_entropy(x, torch.tensor([0, 3, 1, 2, 2])).item(), abs=1e-14
    )


def test_nll_loss_gradient_picks_the_targets():
    forward, backward = _C._operator("nll_loss_forward"), _C._operator("nll_loss_backward")
    x, t, w = torch.from_numpy(LOGP), torch.from_numpy(T), torch.from_numpy(W)
    _, total = forward(x, t, w, 1, -100)
    got = backward(torch.tensor(2.0, dtype=torch.float64), x, t, w, 1, -100, total).numpy()
    want = np.zeros((5, 4))
    for i, c in enumerate(T):
        if c >= 0:
            want[i, c] = -2 * W[c] / W[T[T >= 0]].sum()
    assert np.allclose(got, want)


def test_pixels_and_single_samples():
    x = torch.from_numpy(noise.normal(size=(2, 3, 4, 5)))
    t = torch.from_numpy(noise.integers(0, 3, (2, 4, 5)))
    each = nll_loss(x, t, None, 0)
    assert each.shape == (2, 4, 5) and each[1, 2, 3].item() == -x[1, int(t[1, 2, 3]), 2, 3].item()
    assert nll_loss(torch.tensor([0.5, 0.25]), torch.tensor(1)).item() == -0.25


def test_bad_targets_are_named():
    x = torch.ones(2, 3)
    with pytest.raises(IndexError, match="nll_loss: Target 3 is out of bounds: there are 3 classes"):
        nll_loss(x, torch.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"a batch of 2 and target one of 3; they are \(2, 3\) and \(3,\)"):
        nll_loss(x, torch.tensor([0, 1, 2]))
    with pytest.raises(RuntimeError, match="target must hold class numbers .* got torch.float32"):
        nll_loss(x, torch.ones(2))
    with pytest.raises(RuntimeError, match="weight must have one value for each of the 3 classes"):
        nll_loss(x, torch.tensor([0, 1]), torch.ones(2))


def test_squared_and_absolute_errors():
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.5])
    assert _C._operator("mse_loss")(a, b).item() == (4 + 0.25) / 2
    assert _C._operator("l1_loss")(a, b, 0).tolist() == [2.0, 0.5]
