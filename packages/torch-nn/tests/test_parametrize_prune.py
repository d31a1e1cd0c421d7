"""Parametrized tensors and pruned parameters."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


def test_a_parametrized_tensor_is_a_function_of_its_original():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert layer.parametrizations.weight.original is weight
    assert torch.equal(layer.weight, layer.weight.t())
    layer(torch.ones(1, 3)).sum().backward()
    assert weight.grad is not None
    assert sorted(name for name, _ in layer.named_parameters()) == ["bias", "parametrizations.weight.original"]
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    value = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    assert layer.weight is weight
    assert torch.equal(layer.weight, value)


def test_assignment_goes_through_the_right_inverse():
    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.fill_(2.0)
    parametrize.register_parametrization(layer, "weight", Exp())
    assert torch.allclose(layer.weight, torch.full((2, 2), 2.0))
    layer.weight = torch.full((2, 2), 5.0)
    assert torch.allclose(layer.weight, torch.full((2, 2), 5.0))
    bare = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with pytest.raises(RuntimeError, match="Symmetric does not implement right_inverse"):
        bare.weight = torch.zeros(2, 2)


def test_parametrizations_chain_cache_copy_and_load():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        twin.parametrizations.weight.original.zero_()
    assert (twin.weight == 0).all()
    assert not (layer.weight == 0).all()
    twin.load_state_dict(layer.state_dict())
    assert torch.equal(twin.weight, layer.weight)
    plain = nn.Linear(3, 3)
    parametrize.transfer_parametrizations_and_params(layer, plain)
    assert torch.equal(plain.weight, layer.weight)


def test_a_copy_of_a_copy_has_a_class_of_its_own_and_is_not_pickled():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    twin = copy.deepcopy(layer)
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(twin)
    third = copy.deepcopy(twin)
    parametrize.register_parametrization(third, "bias", nn.ReLU())
    assert third.parametrizations.bias is not None
    assert twin.bias is twin._parameters["bias"]
    parametrize.remove_parametrizations(third, "weight")
    assert torch.equal(twin.weight, layer.weight)


def test_what_a_parametrization_must_not_do():
    class Shorter(nn.Module):
        def forward(self, x):
            return x[:1]

    layer = nn.Linear(2, 2)
    weight = layer.weight.detach().clone()
    with pytest.raises(
        ValueError, match=r"it was torch.float32 \(2, 2\), the parametrization gives torch.float32 \(1, 2\)"
    ):
        parametrize.register_parametrization(layer, "weight", Shorter())
    assert torch.equal(layer.weight, weight)
    assert type(layer) is nn.Linear
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "wieght", Symmetric())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_stays_orthogonal(shape, kind):
    layer = nn.Linear(shape[1], shape[0]).double()
    start = nn.init.orthogonal_(layer.weight).detach().clone()
    parametrizations.orthogonal(layer, orthogonal_map=kind)
    assert torch.allclose(layer.weight, start)
    for _ in range(2):
        w = layer.weight
        product = w @ w.t() if shape[0] <= shape[1] else w.t() @ w
        assert torch.allclose(product, torch.eye(min(shape), dtype=torch.float64), atol=1e-9)
        with torch.no_grad():
            layer.parametrizations.weight.original.add_(torch.randn(shape, dtype=torch.float64))
    layer.weight.square().mul(torch.arange(shape[1])).sum().backward()
    assert layer.parametrizations.weight.original.grad.any()


def test_weight_and_spectral_norm_as_parametrizations():
    layer = nn.Linear(3, 4)
    weight = layer.weight.detach().clone()
    parametrizations.weight_norm(layer)
    assert torch.allclose(layer.weight, weight, atol=1e-6)
    assert layer.parametrizations.weight.original0.shape == (4, 1)
    torch.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(3, 4), n_power_iterations=30)
    v = torch.randn(3)
    for _ in range(50):
        v = layer.weight.t() @ (layer.weight @ v)
        v = v / v.norm()
    assert (layer.weight @ v).norm().item() == pytest.approx(1.0, abs=1e-3)


def test_pruning_the_smallest_elements():
    layer = nn.Linear(4, 5)
    smallest = layer.weight.detach().abs().flatten().sort()[0][:8]
    prune.l1_unstructured(layer, "weight", 8)
    assert int((layer.weight == 0).sum()) == 8
    assert layer.weight_orig.abs()[layer.weight_mask == 0].max() == smallest.max()
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    assert prune.is_pruned(nn.Sequential(layer))
    layer(torch.ones(1, 4)).sum().backward()
    assert (layer.weight_orig.grad[layer.weight_mask == 0] == 0).all()
    prune.random_unstructured(layer, "weight", 0.5)  # half of the twelve that are left
    assert int((layer.weight == 0).sum()) == 14
    prune.remove(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    assert int((layer.weight == 0).sum()) == 14
    assert not prune.is_pruned(layer)
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        prune.remove(layer, "weight")


def test_pruning_channels_and_across_layers():
    layer = nn.Linear(4, 6)
    with torch.no_grad():
        layer.weight[2] = 0.001
    prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    assert (layer.weight[2] == 0).all()
    assert int((layer.weight == 0).all(1).sum()) == 1
    assert int((prune.random_structured(nn.Linear(4, 6), "weight", 0.5, dim=1).weight == 0).all(0).sum()) == 2
    a, b = nn.Linear(2, 5), nn.Linear(2, 5)
    with torch.no_grad():
        a.weight.mul_(1e-3)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=10)
    assert (a.weight == 0).all()
    assert not (b.weight == 0).any()


def test_amounts_and_masks_are_checked():
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"amount=1.5 should either be a float in the range \[0, 1\]"):
        prune.l1_unstructured(layer, "weight", 1.5)
    with pytest.raises(ValueError, match="amount=9 should be smaller than the number of parameters to prune=4"):
        prune.l1_unstructured(layer, "weight", 9)
    with pytest.raises(TypeError, match="Must be int or float"):
        prune.l1_unstructured(layer, "weight", "half")
    assert isinstance(layer.weight, nn.Parameter)
    prune.custom_from_mask(layer, "bias", torch.tensor([1, 0]))
    assert layer.bias[1].item() == 0.0
    with pytest.raises(AssertionError, match="mask has shape"):
        prune.custom_from_mask(layer, "weight", torch.ones(3))


@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (4, 3)])
def test_an_orthogonal_matrix_begins_at_its_base_with_minus_one_on_the_diagonal(shape, kind):
    layer = nn.Linear(*shape[::-1])
    parametrizations.orthogonal(layer, orthogonal_map=kind)
    weight, n, k = layer.weight.detach(), max(shape), min(shape)
    base, start = layer.state_dict()["parametrizations.weight.0.base"], layer.parametrizations.weight.original
    assert base.shape == (n, n) and torch.equal(start, -torch.eye(*shape))
    assert torch.allclose(base[:, :k], weight if shape[0] == n else weight.T, atol=1e-5)


def test_an_ema_of_buffers_rounds_counts_down():
    swa_utils = pytest.importorskip("torch.optim.swa_utils")
    layer = nn.BatchNorm1d(2)
    average = swa_utils.AveragedModel(layer, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5), use_buffers=True)
    for count in (1, 4, 9):
        layer.num_batches_tracked.fill_(count)
        average.update_parameters(layer)
    assert average.module.num_batches_tracked.item() == 5  # 1, then 2.5, then (2 + 9) / 2


def test_methods_of_ones_own_count_what_to_prune_with_the_names_of_pytorch():
    assert (prune._compute_nparams_toprune(3, 10), prune._compute_nparams_toprune(0.25, 10)) == (3, 2)
    prune._validate_pruning_amount(10, 10)
    prune._validate_pruning_amount(0.9, 0)
    with pytest.raises(ValueError, match="amount=11 should be smaller"):
        prune._validate_pruning_amount(11, 10)
    with pytest.raises(TypeError, match="Invalid type for amount"):
        prune._validate_pruning_amount_init("1")


def test_spectral_norm_needs_a_shape():
    with pytest.raises(ValueError, match="spectral_norm: parameter 'weight' of LazyLinear.* has no shape yet"):
        nn.utils.spectral_norm(nn.LazyLinear(2))


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def test_a_second_parametrization_is_applied_to_the_first_and_leaves_the_original():
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert torch.equal(layer.weight, before)
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert torch.equal(layer.weight, 2 * before)
    layer.weight = before
    assert torch.equal(layer.weight, before) and torch.equal(layer.parametrizations.weight.original, before / 4)


@pytest.mark.parametrize("old_dim", [0, 1])
def test_states_of_the_old_weight_norm_load_into_the_parametrization(old_dim):
    old = nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 2), dim=old_dim))
    new = nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 2), dim=old_dim))
    assert str(new.load_state_dict(old.state_dict())) == "<All keys matched successfully>"
    x = torch.ones(1, 3)
    assert torch.allclose(new(x), old(x))
    new.load_state_dict(new.state_dict())


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley"])
def test_complex_matrices_become_unitary(kind, begins):
    layer = nn.Linear(3, 4, dtype=torch.complex128)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(4, 3, dtype=torch.complex128))
    parametrizations.orthogonal(layer, orthogonal_map=kind, use_trivialization=begins)
    q = layer.weight
    assert q.is_complex() and torch.allclose(q.mH @ q, torch.eye(3, dtype=q.dtype))
    with pytest.raises(ValueError, match="householder parametrization does not support complex"):
        parametrizations.orthogonal(nn.Linear(2, 2, dtype=torch.complex64), orthogonal_map="householder")


def test_spectral_norm_of_a_complex_matrix_is_its_largest_singular_value():
    layer = nn.Linear(3, 2, dtype=torch.complex128)
    parametrizations.spectral_norm(layer, n_power_iterations=50)
    assert torch.linalg.matrix_norm(layer.weight, 2).item() == pytest.approx(1.0)


def test_an_orthogonal_matrix_takes_only_matrices_of_its_shape():
    layer = parametrizations.orthogonal(nn.Linear(3, 4))
    with pytest.raises(ValueError, match=r"of shape \(4, 3\), got \(5, 5\)"):
        layer.weight = torch.ones(5, 5)


def test_parametrizations_of_several_originals_are_given_on():
    source = parametrizations.weight_norm(nn.Linear(3, 2))
    target = nn.Module()
    parametrize.transfer_parametrizations_and_params(source, target, "weight")
    assert torch.equal(target.weight, source.weight)
    assert target.parametrizations.weight.original0 is not source.parametrizations.weight.original0
