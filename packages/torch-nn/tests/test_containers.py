"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import collections

import pytest
import torch
from torch import nn


def names(module):
    return list(module._modules)


def test_sequential_runs_in_order_and_slices():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert net(torch.zeros(4, 2)).shape == (4, 1)
    assert len(net) == 3
    assert net[-1] is net[2]
    assert isinstance(net[:2], nn.Sequential)
    assert names(net[1:]) == ["1", "2"]
    assert list(net)[1] is net[1]


def test_sequential_takes_names():
    net = nn.Sequential(collections.OrderedDict(fc=nn.Linear(1, 1), act=nn.ReLU()))
    assert names(net) == ["fc", "act"]
    assert net.fc is net[0]


def test_sequential_edits():
    a, b, c, d = (nn.Linear(1, 1) for _ in range(4))
    net = nn.Sequential(a, b)
    net.append(c).insert(0, d)
    assert list(net) == [d, a, b, c]
    del net[1]
    assert list(net) == [d, b, c]
    assert names(net) == ["0", "1", "2"]
    assert net.pop(-1) is c
    net[0] = a
    assert list(net) == [a, b]
    assert list(net + nn.Sequential(c)) == [a, b, c]
    assert len(net * 2) == 4
    net += nn.Sequential(d)
    net.extend([c])
    assert list(net) == [a, b, d, c]


@pytest.mark.parametrize("kind", [nn.Sequential, nn.ModuleList])
def test_an_index_out_of_range_says_how_many_there_are(kind):
    container = kind()
    container.append(nn.ReLU())
    with pytest.raises(IndexError, match=f"{kind.__name__}: index 1 is out of range, it has 1 entries"):
        container[1]
    with pytest.raises(TypeError, match="not a Module subclass"):
        container.append(3)


def test_module_list():
    a, b, c = (nn.Linear(1, 1) for _ in range(3))
    layers = nn.ModuleList([a])
    layers += [b]
    layers.extend(nn.ModuleList([c]))
    assert list(layers) == [a, b, c]
    assert list(layers[::2]) == [a, c]
    layers.insert(0, c)
    assert names(layers) == ["0", "1", "2", "3"]
    del layers[0]
    assert layers.pop(1) is b
    assert len(list(layers.parameters())) == 4
    with pytest.raises(TypeError, match="should be called with an iterable, but got Linear"):
        layers.extend(a)
    with pytest.raises(NotImplementedError):
        layers(1)


def test_module_dict():
    layers = nn.ModuleDict({"a": nn.ReLU()})
    layers["b"] = nn.Tanh()
    layers.update([("c", nn.Identity())])
    assert list(layers) == ["a", "b", "c"]
    assert "b" in layers
    assert isinstance(layers.pop("b"), nn.Tanh)
    assert [name for name, _ in layers.items()] == list(layers.keys()) == ["a", "c"]
    assert len(list(layers.values())) == 2
    layers.clear()
    assert len(layers) == 0
    with pytest.raises(ValueError, match="element 0 has length 1; 2 is required"):
        layers.update([("x",)])
    with pytest.raises(KeyError):
        layers["missing"]


def test_parameter_list():
    weights = nn.ParameterList([torch.zeros(2), nn.Parameter(torch.ones(3))])
    weights.append(torch.zeros(1))
    weights += [torch.zeros(4)]
    assert all(isinstance(w, nn.Parameter) for w in weights)
    assert len(list(weights.parameters())) == len(weights) == 4
    assert weights[-1].shape == (4,)
    assert [tuple(w.shape) for w in weights[1:3]] == [(3,), (1,)]
    weights[0] = torch.zeros(9)
    assert weights.pop(1).shape == (3,)
    assert list(weights.state_dict()) == ["0", "1", "2"]
    assert repr(weights[:1]) == "ParameterList(  (0): Parameter containing: [torch.float32 of size 9])"  # recorded
    assert repr(weights).splitlines()[1] == "    (0): Parameter containing: [torch.float32 of size 9]"


def test_parameter_dict():
    weights = nn.ParameterDict({"a": torch.zeros(2)})
    weights["items"] = torch.zeros(1)  # the name of a method
    assert sorted(weights) == ["a", "items"]
    assert len(list(weights.parameters())) == 2
    assert weights.get("x") is None
    assert weights.setdefault("a") is weights["a"]
    assert (weights | {"b": torch.ones(1)})["b"].item() == 1.0
    assert weights.popitem()[0] == "items"
    assert weights.copy()["a"] is weights["a"]
    assert list(weights.fromkeys(["x", "y"], 1).values()) == [1, 1]
    del weights["a"]
    assert len(weights) == 0
    with pytest.raises(TypeError, match="not a string"):
        weights[1] = torch.zeros(1)
    with pytest.raises(KeyError):
        weights["a"]


def test_parameters_of_a_plain_dict_are_sorted_and_others_keep_their_order():
    def parameters(*names):
        return [(name, nn.Parameter(torch.zeros(1))) for name in names]

    assert list(nn.ParameterDict(dict(parameters("b", "c", "a")))) == ["a", "b", "c"]
    for ordered in (collections.OrderedDict, list, nn.ParameterDict):
        assert list(nn.ParameterDict(ordered(parameters("b", "c", "a")))) == ["b", "c", "a"]
    entries = nn.ParameterDict(parameters("z"))
    entries.update(dict(parameters("y", "x")))
    assert list(entries) == ["z", "x", "y"]
    assert [name for name, _ in entries.named_parameters()] == ["z", "x", "y"]
    assert list(nn.ModuleDict({"b": nn.ReLU(), "a": nn.ReLU()})) == ["b", "a"]
    with pytest.raises(TypeError):
        nn.ParameterDict({"a": nn.Parameter(torch.zeros(1)), 1: nn.Parameter(torch.zeros(1))})


def test_what_is_no_module_is_told_with_the_way_out():
    layers = [nn.Linear(2, 2)]
    with pytest.raises(
        TypeError, match=r"list is not a Module subclass: Sequential\(\*modules\) takes those of a list"
    ):
        nn.Sequential(layers)
    with pytest.raises(TypeError, match="is not a Module subclass: call relu in a forward"):
        nn.Sequential(nn.Linear(2, 2), nn.functional.relu)
    with pytest.raises(TypeError, match=r"type is not a Module subclass: ReLU\(...\) makes one"):
        nn.Sequential(nn.ReLU)
    with pytest.raises(
        NotImplementedError, match="does not call them: loop over them in a forward, or make a Sequential"
    ):
        nn.ModuleList(layers)(torch.ones(1, 2))


def test_a_state_that_is_no_pair_is_told():
    with pytest.raises(RuntimeError, match=r"LSTM: hx must be a pair \(h_0, c_0\), got a tensor \(1, 3, 4\)"):
        nn.LSTM(3, 4)(torch.ones(2, 3, 3), torch.ones(1, 3, 4))


def test_gradients_are_clipped_of_parameters_and_not_of_modules():
    with pytest.raises(TypeError, match=r"clip_grad_norm_: .* got Linear; give its parameters\(\)"):
        nn.utils.clip_grad_norm_(nn.Linear(2, 2), 1.0)
