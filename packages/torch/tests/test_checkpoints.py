"""Checkpoints of modules and optimizers, which need several parts at once."""

import copy
import pickle

import pytest

pytest.importorskip("torch.nn", reason="checkpoints of modules need the whole stack")
pytest.importorskip("torch.optim", reason="checkpoints of optimizers need the whole stack")

import torch
from torch import nn, optim


def trained():
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    adam = optim.Adam(net.parameters(), lr=0.1)
    net(torch.arange(8.0).view(2, 4)).sum().backward()
    adam.step()
    return net, adam


def test_a_mapped_checkpoint_is_assigned_without_a_copy_and_training_goes_on(tmp_path):
    net, adam = trained()
    torch.save({"net": net.state_dict(), "adam": adam.state_dict()}, tmp_path / "a.pt")
    saved = torch.load(tmp_path / "a.pt", mmap=True)
    other = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    other.load_state_dict(saved["net"], assign=True)
    assert other[0].weight.data_ptr() == saved["net"]["0.weight"].data_ptr()
    assert isinstance(other[0].weight, nn.Parameter) and other[0].weight.requires_grad
    again = optim.Adam(other.parameters(), lr=0.1)
    again.load_state_dict(saved["adam"])
    for model, optimizer in ((net, adam), (other, again)):
        optimizer.zero_grad()
        model(torch.arange(8.0).view(2, 4)).sum().backward()
        optimizer.step()
    assert other[0].weight.tolist() == net[0].weight.tolist()
    saved = torch.load(tmp_path / "a.pt")["net"]["0.weight"]
    assert saved.tolist() != net[0].weight.tolist(), "training does not reach the file"


def test_a_whole_module_loads_when_its_classes_are_allowed(tmp_path):
    net, _ = trained()
    torch.save(net, tmp_path / "a.pt")
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.container.Sequential, which is not a data type"):
        torch.load(tmp_path / "a.pt")
    with torch.serialization.safe_globals([nn.Sequential, nn.Linear, nn.BatchNorm1d]):
        back = torch.load(tmp_path / "a.pt")
    assert back[0].weight.tolist() == net[0].weight.tolist()
    assert back[1].running_mean.tolist() == net[1].running_mean.tolist()
    x = torch.arange(8.0).view(2, 4)
    assert back.eval()(x).tolist() == net.eval()(x).tolist()


def test_one_parameter_of_two_layers_is_one_again(tmp_path):
    one, two = nn.Linear(3, 3), nn.Linear(3, 3)
    two.weight = one.weight
    torch.save([one.weight, two.weight, one.weight.detach()[0]], tmp_path / "a.pt")
    first, second, row = torch.load(tmp_path / "a.pt")
    assert first is second and isinstance(first, nn.Parameter)
    row[0] = 7
    assert first[0, 0].item() == 7


def test_attributes_of_a_parameter_are_saved_and_pickled(tmp_path):
    weight = nn.Parameter(torch.ones(2))
    weight.role = ["embedding"]
    torch.save([weight, weight], tmp_path / "a.pt")
    for first, second in (torch.load(tmp_path / "a.pt"), pickle.loads(pickle.dumps([weight, weight]))):
        assert first is second and type(first) is nn.Parameter and vars(first) == {"role": ["embedding"]}
    assert copy.copy(weight).role is weight.role


def test_a_pickle_warns_of_hooks_that_it_leaves_out():
    for tensor in (torch.ones(2, requires_grad=True), nn.Parameter(torch.ones(2))):
        tensor.register_hook(lambda grad: grad)
        with pytest.warns(UserWarning, match="the hooks of a tensor are not pickled") as warned:
            back = pickle.loads(pickle.dumps(tensor))
        assert back.requires_grad and not back._backward_hooks and warned[0].filename == __file__
