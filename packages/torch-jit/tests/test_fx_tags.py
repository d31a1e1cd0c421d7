"""Graphs cut into submodules by tags."""

import pytest
import torch
from torch import nn
from torch.fx import symbolic_trace
from torch.fx.passes.split_utils import move_non_tensor_nodes_on_boundary, split_by_tags
from torch.fx.passes.splitter_base import Subgraph

TAGS = {"linear": "a", "add": "b", "layers_0": "c", "mul": "c", "relu": "c", "add_1": "d"}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.layers = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x, y):
        a = self.linear(x)
        b = a + self.weight
        c = (self.layers(b) * y).relu()
        return a + c, {"b": b, "weight": self.weight}


def tagged(tags=TAGS):
    traced = symbolic_trace(Net())
    for node in traced.graph.nodes:
        if node.name in tags:
            node.tag = tags[node.name]
    return traced


@pytest.mark.parametrize("return_tuple", [False, True])
def test_a_module_calls_one_submodule_for_each_tag(return_tuple):
    traced, args = tagged(), (torch.randn(3, 2), torch.randn(3, 2))
    cut, names = split_by_tags(traced, ["a", "b", "c", "d"], return_fqn_mapping=True, return_tuple=return_tuple)
    found, expected = cut(*args), traced(*args)
    torch.testing.assert_close(found[0], expected[0])
    assert torch.equal(found[1]["b"], expected[1]["b"]) and found[1]["weight"] is traced.weight
    assert [name for name, _ in cut.named_children()] == ["a", "b", "c", "d"]
    assert names == {"linear": "a.linear", "weight": "b.weight", "layers.0": "c.layers.0"}
    assert all(
        cut.get_parameter(f"{new}.weight") is traced.get_parameter(f"{old}.weight")
        for old, new in names.items()
        if old != "weight"
    )
    assert isinstance(cut.a(args[0]), tuple) is return_tuple
    assert [n.name for n in cut.c.graph.find_nodes(op="placeholder")] == ["add", "y"]


def test_a_submodule_gives_all_that_others_read():
    tags = {**TAGS, "add": "a"}
    cut, args = split_by_tags(tagged(tags), ["a", "c", "d"]), (torch.randn(3, 2), torch.randn(3, 2))
    a, b = cut.a(args[0])
    torch.testing.assert_close(b, a + cut.a.weight)
    torch.testing.assert_close(cut(*args)[1]["b"], b)


@pytest.mark.parametrize(
    "tags, order, kind, message",
    [
        (TAGS, ["a", "b", "c"], KeyError, "add_1 has the tag 'd', and tags are"),
        (TAGS, ["a", "b", "d", "c"], AssertionError, "d reads relu of c, which stands behind it in tags"),
        (TAGS, ["a", "a"], ValueError, "a tag stands twice"),
        ({"linear": "a"}, ["a"], AssertionError, "Node does not have tag: .*add"),
    ],
)
def test_tags_that_do_not_fit_are_refused(tags, order, kind, message):
    with pytest.raises(kind, match=message):
        split_by_tags(tagged(tags), order)


def test_numbers_that_leave_an_accelerators_part_are_computed_behind_it():
    def f(x, y):
        a = x * 2
        n = a.size(0)
        return a.relu() * (n + 1), y

    traced = symbolic_trace(f)
    nodes = {n.name: n for n in traced.graph.nodes}
    for name in ("mul", "relu", "mul_1"):
        nodes[name].meta["type"] = torch.Tensor
    nodes["size"].meta["type"] = nodes["add"].meta["type"] = int
    first = Subgraph(True, [nodes["mul"], nodes["size"], nodes["relu"]])
    second = Subgraph(False, [nodes["add"], nodes["mul_1"]])
    move_non_tensor_nodes_on_boundary([first, second])
    assert [n.name for n in first.nodes] == ["mul", "relu"]
    assert [n.name for n in second.nodes] == ["size", "add", "mul_1"]
