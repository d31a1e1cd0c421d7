"""Moving and casting modules, freezing, clearing gradients."""

import pytest
import torch
from torch import nn


def norm():
    return nn.BatchNorm1d(2)


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [
        (lambda m: m.double(), torch.float64),
        (lambda m: m.half(), torch.float16),
        (lambda m: m.bfloat16(), torch.bfloat16),
        (lambda m: m.double().float(), torch.float32),
        (lambda m: m.to(torch.float64), torch.float64),
        (lambda m: m.to("cpu", torch.float64), torch.float64),
        (lambda m: m.to(torch.zeros(1, dtype=torch.float64)), torch.float64),
        (lambda m: m.to(dtype=torch.float16, device="cpu"), torch.float16),
    ],
)
def test_floating_tensors_are_cast_and_counts_are_not(cast, dtype):
    module = norm()
    weight = module.weight
    assert cast(module) is module
    assert module.weight is weight  # an optimiser that holds it stays right
    assert module.weight.dtype == dtype
    assert module.running_mean.dtype == dtype
    assert module.num_batches_tracked.dtype == torch.int64


def test_gradients_follow():
    layer = nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype == torch.float64


def test_type_casts_everything():
    assert norm().type(torch.float64).num_batches_tracked.dtype == torch.float64


def test_integers_are_refused():
    with pytest.raises(TypeError, match="dtype must be floating point or complex, got torch.int64"):
        norm().to(torch.int64)


def test_requires_grad_freezes_all():
    net = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad_drops_or_fills():
    layer = nn.Linear(1, 1)
    layer(torch.ones(1, 1)).sum().backward()
    grad = layer.weight.grad
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad is grad
    assert grad.item() == 0.0
    layer.zero_grad()
    assert layer.weight.grad is None


def test_parameters_of_one_module_in_two_places_stay_tied():
    layer = nn.Linear(2, 2)
    other = nn.Linear(2, 2)
    other.weight = layer.weight
    net = nn.Sequential(layer, other).double()
    assert net[0].weight is net[1].weight
    assert net[1].weight.dtype == torch.float64


def test_to_empty_keeps_shapes():
    layer = nn.Linear(2, 3).to_empty(device="cpu")
    assert layer.weight.shape == (3, 2)
    assert layer.weight.requires_grad


def test_flags_of_hidden_state_survive_device_moves():
    module = nn.Module()
    module.b = nn.Buffer(torch.zeros(1), persistent=False)
    module.double()
    assert module.b.dtype == torch.float64
    assert list(module.state_dict()) == []
