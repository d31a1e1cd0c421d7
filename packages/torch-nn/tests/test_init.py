"""Initial values: their distributions, fans and gains."""

import math

import pytest
import torch
from torch import nn
from torch.nn import init


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_gains():
    assert init.calculate_gain("linear") == init.calculate_gain("sigmoid") == 1
    assert init.calculate_gain("tanh") == pytest.approx(5 / 3)
    assert init.calculate_gain("relu") == pytest.approx(math.sqrt(2))
    assert init.calculate_gain("leaky_relu", 0.5) == pytest.approx(math.sqrt(2 / 1.25))
    with pytest.raises(ValueError, match="Unsupported nonlinearity sine"):
        init.calculate_gain("sine")


def test_constants_and_simple_distributions():
    x = torch.empty(100, 200)
    assert init.constant_(x, 3.0) is x
    assert (x == 3).all()
    assert (init.ones_(x) == 1).all()
    assert (init.zeros_(x) == 0).all()
    init.uniform_(x, 2, 4)
    assert (x.min() >= 2) & (x.max() < 4)
    assert x.mean().item() == pytest.approx(3, abs=0.02)
    init.normal_(x, 1, 2)
    assert x.std().item() == pytest.approx(2, rel=0.02)
    init.trunc_normal_(x, 0, 1, -0.5, 1.0)
    assert (x.min() >= -0.5) & (x.max() <= 1.0)


@pytest.mark.parametrize(("mean", "side"), [(9.0, 1), (-9.0, -1)])
def test_a_truncated_normal_far_from_its_mean_stays_near_the_end_of_the_interval(mean, side):
    x = torch.empty(20000)
    with pytest.warns(UserWarning, match="2 std"):
        init.trunc_normal_(x, mean=mean)
    # beyond 7 std the normal falls like exp(-7 d): the mean distance is about 1 / (7 + 1 / 7)
    assert (2 - side * x).min() >= 0 and (2 - side * x).mean().item() == pytest.approx(1 / 7.26, rel=0.05)
    with pytest.warns(UserWarning, match="2 std"):
        assert (init.trunc_normal_(torch.empty(3), mean=side * 60.0) == 2 * side).all()


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda x: init.xavier_uniform_(x, 2.0), 2 * math.sqrt(2 / (90 + 40 * 3))),
        (init.xavier_normal_, math.sqrt(2 / (90 + 40 * 3))),
        (lambda x: init.kaiming_uniform_(x, nonlinearity="relu"), math.sqrt(2 / 90)),
        (lambda x: init.kaiming_normal_(x, mode="fan_out"), math.sqrt(2 / 120)),
    ],
)
def test_variances_follow_the_fans(fill, std):
    x = fill(torch.empty(40, 30, 3))
    assert x.std().item() == pytest.approx(std, rel=0.05)
    assert x.mean().item() == pytest.approx(0, abs=4 * std / math.sqrt(x.numel()))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(shape):
    x = init.orthogonal_(torch.empty(shape, dtype=torch.float64), gain=2.0).flatten(1)
    product = x @ x.t() if x.shape[0] <= x.shape[1] else x.t() @ x
    assert torch.allclose(product, 4 * torch.eye(product.shape[0], dtype=torch.float64))


def test_dirac_passes_channels_through():
    conv = nn.Conv2d(3, 3, 3, padding=1, bias=False)
    init.dirac_(conv.weight)
    x = torch.randn(1, 3, 5, 5)
    assert torch.allclose(conv(x), x)
    grouped = init.dirac_(torch.empty(4, 2, 1), groups=2).squeeze()
    assert grouped.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_eye_and_sparse():
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = init.sparse_(torch.empty(10, 6), 0.25)
    assert (x == 0).sum(0).tolist() == [3] * 6


def test_parameters_are_filled_without_recording():
    layer = nn.Linear(2, 2)
    init.normal_(layer.weight)
    assert layer.weight.grad_fn is None
    assert layer.weight.requires_grad


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match="fewer than 2 dimensions, got shape"):
        init.xavier_normal_(torch.empty(3))
    with pytest.raises(ValueError, match="Mode fan_avg not supported, please use one of fan_in, fan_out"):
        init.kaiming_normal_(torch.empty(3, 3), mode="fan_avg")
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
        init.eye_(torch.empty(3))
    with pytest.raises(ValueError, match="divisible by groups, got 3 and 2"):
        init.dirac_(torch.empty(3, 1, 1), groups=2)


def test_names_of_2016_warn():
    with pytest.warns(FutureWarning, match="in favor of `nn.init.constant_`"):
        assert init.constant(torch.empty(1), 2.0).item() == 2.0
