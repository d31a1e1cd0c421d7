"""Functions of trees, functions that call themselves, and backends that end in the compiler, in compiled functions."""

from collections import namedtuple

import pytest
import torch
from torch import _pytree as pytree
from torch import nn

Pair = namedtuple("Pair", "a b")


def countdown(x, n):
    return x if n == 0 else countdown(x * 2, n - 1)


def whole(function):
    return torch.compile(function, fullgraph=True)


def test_a_function_may_call_itself():
    assert whole(countdown)(torch.ones(2), 3).tolist() == [8.0, 8.0]


@pytest.mark.parametrize("tree", [Pair(1.0, 2.0), {"x": [1.0, (2.0,)], "y": None}, (), 3.0])
def test_a_function_is_mapped_over_the_leaves_of_a_tree(tree):
    numbers = pytree.tree_map(lambda v: torch.tensor([v]) if v else v, tree)
    doubled = whole(lambda t: pytree.tree_map(lambda x: x * 2 if x is not None else None, t))
    for _ in range(2):
        found = doubled(numbers)
        assert pytree.tree_structure(found) == pytree.tree_structure(numbers)
        assert pytree.tree_leaves(found) == [v and 2 * v for v in pytree.tree_leaves(numbers)]


def test_trees_are_taken_apart_and_put_together():
    @whole
    def f(tree, other):
        leaves, spec = pytree.tree_flatten(tree)
        sums = pytree.tree_map(torch.add, tree, other)
        return pytree.tree_unflatten([x + 1 for x in leaves], spec), spec.unflatten(leaves), sums

    tree, other = [torch.ones(2), (torch.zeros(1),)], [torch.ones(2), (torch.full((1,), 3.0),)]
    for _ in range(2):
        more, same, sums = f(tree, other)
        assert more[0].tolist() == [2, 2] and same[1][0].tolist() == [0] and sums[1][0].tolist() == [3]


def test_numbers_and_trees_from_outside_are_watched():
    kept = [torch.ones(1)]

    @whole
    def f(tree):
        found = pytree.tree_map_only(torch.Tensor, torch.neg, tree)
        return found[0] * found[1] + sum(pytree.tree_leaves(kept))

    assert f([torch.ones(1), 3]).tolist() == [-2] and f([torch.ones(1), 4]).tolist() == [-3]
    kept[0] = torch.full((1,), 10.0)
    assert f([torch.ones(1), 4]).tolist() == [6]
    kept.append(torch.ones(1))
    assert f([torch.ones(1), 4]).tolist() == [7]


def test_gradients_go_through_a_mapped_layer():
    layer = nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    whole(lambda t: pytree.tree_map(layer, t))({"x": x})["x"].sum().backward()
    assert torch.equal(x.grad, layer.weight.sum(0, keepdim=True))


def test_a_tree_of_a_class_of_ones_own_runs_as_written():
    class Box:
        def __init__(self, value):
            self.value = value

    pytree.register_pytree_node(Box, lambda b: ((b.value,), None), lambda values, _: Box(*values))
    f = torch.compile(lambda b: pytree.tree_map(lambda x: x + 1, b))
    assert f(Box(torch.ones(1))).value.tolist() == [2] and f(Box(torch.zeros(1))).value.tolist() == [1]


def test_a_backend_of_ones_own_ends_in_the_compiler():
    from torch._inductor.compile_fx import compile_fx

    seen = []

    def backend(graph, inputs):
        seen.append([node.op for node in graph.graph.nodes])
        return compile_fx(graph, inputs)

    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = torch.randn(4, 2, requires_grad=True)
    compiled = torch.compile(net, backend=backend)
    assert torch.allclose(compiled(x), net(x)) and len(seen) == 1 and "output" in seen[0]
    compiled(x).sum().backward()
    grad, x.grad = x.grad, None
    net(x).sum().backward()
    assert torch.allclose(grad, x.grad)
