"""tensordict: dictionaries of tensors as one tensor."""

import tempfile

import torch
from common import fill, numbers
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

DISTRIBUTIONS = ("tensordict",)


def _made():
    return TensorDict({"a": numbers(3, 4), "b": {"c": numbers(3, 2)}}, batch_size=[3])


def shapes_and_indices():
    d = _made()
    return d[1]["a"], d[:2]["b", "c"], d.reshape(3, 1).shape, torch.stack([d, d], 0)["b", "c"], d.unsqueeze(0)["a"]


def arithmetic_and_maps():
    d = _made()
    return d.apply(lambda x: x + 1)["a"], (d * 2)["b", "c"], d.to(torch.float64)["a"], d.flatten_keys(".")["b.c"]


def modules():
    chain = TensorDictSequential(
        TensorDictModule(fill(torch.nn.Linear(4, 3)), in_keys=["a"], out_keys=["h"]),
        TensorDictModule(lambda h: h.sum(-1), in_keys=["h"], out_keys=["out"]),
    )
    found = chain(_made())
    found["out"].sum().backward()
    return found["out"], [p.grad for p in chain.parameters()]


def weights_of_a_module():
    net = fill(torch.nn.Linear(4, 3))
    weights = TensorDict.from_module(net)
    with (weights * 0).to_module(net):
        inside = net(numbers(2, 4))
    return inside, net(numbers(2, 4))


def saved_and_loaded():
    with tempfile.TemporaryDirectory() as folder:
        _made().memmap(folder)
        return TensorDict.load_memmap(folder)["b", "c"].clone()
