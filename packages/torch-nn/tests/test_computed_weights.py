"""Copies and files of modules whose weight is computed: weight and spectral norm, pruning, parametrizations."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune


def called(module):
    module(torch.ones(1, 3))
    return module


HOOKED = {
    "weight norm": lambda: nn.utils.weight_norm(nn.Linear(3, 2)),
    "weight norm, called": lambda: called(nn.utils.weight_norm(nn.Linear(3, 2))),
    "weight norm of a convolution": lambda: nn.utils.weight_norm(nn.Conv1d(1, 2, 2), dim=None),
    "weight norm of recurrent weights": lambda: nn.utils.weight_norm(nn.RNN(3, 2), "weight_hh_l0"),
    "weight norm inside": lambda: nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 2)), nn.ReLU()),
    "spectral norm, called": lambda: called(nn.utils.spectral_norm(nn.Linear(3, 2))),
    "pruned": lambda: prune.l1_unstructured(nn.Linear(3, 2), "weight", amount=2),
}
PARAMETRIZED = {
    "weight norm": lambda: parametrizations.weight_norm(nn.Linear(3, 2)),
    "spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(3, 2)),
    "orthogonal": lambda: parametrizations.orthogonal(nn.Linear(3, 3)),
    "inside": lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 2))),
}


def through_file(module):
    if not hasattr(torch, "save"):
        pytest.skip("torch.save comes with torch-serialize; the environment `stack` runs these")
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def through_pickle(module):
    try:
        return pickle.loads(pickle.dumps(module))
    except Exception as error:
        if "torch-serialize" in str(error):
            pytest.skip("tensors pickle through torch-serialize")
        raise


def through_state(module):
    twin = copy.copy(module)
    twin.load_state_dict({key: value.clone() for key, value in module.state_dict().items()})
    return twin


def output(module):
    y = module.eval()(torch.tensor([[1.0, -2.0, 0.5]]))
    return y[0] if isinstance(y, tuple) else y


def check_equal(module, twin):
    expected = output(module)
    found = output(twin)
    assert torch.equal(found, expected)
    twin.zero_grad()
    found.sum().backward()
    assert all(p.grad is not None for p in twin.parameters() if p.dim() > 1)


@pytest.mark.parametrize("way", [copy.copy, through_file, through_pickle, through_state], ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", HOOKED)
def test_modules_with_a_computed_attribute_are_copied_and_saved(name, way):
    module = HOOKED[name]()
    twin = way(module)
    assert list(twin.state_dict()) == list(module.state_dict())
    check_equal(module, twin)


@pytest.mark.parametrize("name", HOOKED)
def test_a_deep_copy_of_a_computed_attribute_is_refused(name):
    with pytest.raises(RuntimeError, match="created explicitly by the user"):
        copy.deepcopy(HOOKED[name]())


@pytest.mark.parametrize("way", [copy.deepcopy, through_state], ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", PARAMETRIZED)
def test_parametrized_modules_are_copied_whole(name, way):
    if way is through_state and name != "inside":
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            copy.copy(PARAMETRIZED[name]())
        return
    module = PARAMETRIZED[name]()
    check_equal(module, way(module))


@pytest.mark.parametrize("name", PARAMETRIZED)
def test_parametrized_modules_are_saved_by_their_state_only(name):
    module, other = PARAMETRIZED[name](), PARAMETRIZED[name]()
    for way in (through_file, through_pickle):
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            way(module)
    other.load_state_dict(module.state_dict())
    check_equal(module, other)


@pytest.mark.parametrize("name", PARAMETRIZED)
def test_a_deep_copy_has_parametrizations_of_its_own(name):
    module = PARAMETRIZED[name]()
    twin = copy.deepcopy(module)
    before = output(module)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1.0)
    assert torch.equal(output(module), before)
    assert not torch.equal(output(twin), before)
