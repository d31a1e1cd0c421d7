"""Passes about memory and values without it: partitions of a joint graph, writes in place, fake tensors, merged products; terms."""

import pytest
import torch
from torch import nn
from torch._functorch.aot_autograd import aot_function, aot_module
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch._subclasses import FakeTensorMode
from torch.fx import symbolic_trace
from torch.fx.experimental.merge_matmul import merge_matmul
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.unification import Var, isvar, reify, unifiable, unify, var, variables
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.passes.reinplace import reinplace
from torch.fx.passes.shape_prop import ShapeProp


def both(run, wanted):
    """The gradients by either partition, and how many numbers each backward graph takes."""
    taken = []

    def counting(module, inputs):
        taken.append(sum(x.numel() for x in inputs))
        return module

    for partition in (default_partition, min_cut_rematerialization_partition):
        torch.testing.assert_close(run(lambda module, _: module, counting, partition), wanted)
    return taken


def test_the_fewest_bytes_are_kept():
    x, w = torch.randn(5, 6, requires_grad=True), torch.randn(6, 7, requires_grad=True)

    def f(x, w):
        return (nn.functional.gelu(x @ w).sin().exp() * x.sum(1, keepdim=True)).cos()

    wanted = torch.autograd.grad(f(x, w).sum(), (x, w))
    run = lambda *how: torch.autograd.grad(aot_function(f, *how)(x, w).sum(), (x, w))
    assert both(run, wanted) == [252, 30 + 42 + 35 + 5 + 35]  # x, w, their product, the sums, the gradient


def test_random_numbers_are_not_drawn_again():
    net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Dropout(0.3), nn.Linear(8, 3), nn.Softmax(-1))
    x = torch.randn(5, 6)

    def gradients(model):
        torch.manual_seed(0)
        net.zero_grad()
        model(x).square().sum().backward()
        return [p.grad.clone() for p in net.parameters()]

    less, more = sorted(both(lambda fw, bw, partition: gradients(aot_module(net, fw, bw, partition)), gradients(net)))
    assert less < more


def test_a_graph_that_writes_keeps_all():
    def f(x):
        y = x.sin()
        y.mul_(2)
        return y.exp()

    x = torch.randn(3, requires_grad=True)
    (wanted,) = torch.autograd.grad(f(x).sum(), x)
    one, two = both(lambda *how: torch.autograd.grad(aot_function(f, *how)(x).sum(), x)[0], wanted)
    assert one == two


def test_results_are_written_over_what_nothing_reads():
    def f(x, y):
        a = x + 1
        b = a.view(-1)
        c = a * 2
        d = b.relu()
        return c.sin() + y, d, x.t().exp()

    x, y = torch.randn(2, 3), torch.randn(2, 3)
    graph = reinplace(make_fx(f)(x, y), x, y)
    names = [str(n.target).split(".")[1] for n in graph.graph.nodes if n.op == "call_function"]
    assert names == ["add", "view", "mul", "relu_", "sin_", "add_", "transpose", "exp"]
    before = x.clone()
    torch.testing.assert_close(graph(x, y), f(x, y))
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x + 1, (x + 1).exp()),
        lambda x: [y := x * 2, y + y.t()],
        lambda x: (y := x * 2).exp() + y,
        lambda x: (x * 2) > 0,
    ],
)
def test_nothing_is_written_over_that_is_read(f):
    x = torch.randn(3, 3)
    graph = reinplace(make_fx(f)(x), x)
    torch.testing.assert_close(graph(x), f(x))


def test_fake_tensors_show_shapes():
    net = symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()))
    x = torch.randn(2, 3)
    assert type(FakeTensorProp(net).propagate(x)).__name__ == "FakeTensor"
    assert [tuple(n.meta["val"].shape) for n in net.graph.nodes] == [(2, 3), (2, 4), (2, 4), (2, 4), (2, 4)]
    steps = net.get_submodule("1").num_batches_tracked.item()
    assert steps == 0, "nothing is computed"
    ShapeProp(net, FakeTensorMode()).propagate(torch.randn(7, 3))
    assert [n.meta["tensor_meta"].shape[0] for n in net.graph.nodes] == [7] * 5
    assert net.get_submodule("1").num_batches_tracked.item() == 0


def test_products_by_one_matrix_are_one():
    def f(x, y, w):
        a = torch.matmul(x, w)
        b = torch.matmul(y, w)
        return a + 1, b * 2, torch.matmul(a.t(), a)

    x, y, w = torch.randn(2, 3), torch.randn(4, 3), torch.randn(3, 5)
    merged = merge_matmul(f)
    assert sum(n.target is torch.matmul for n in merged.graph.nodes) == 2
    torch.testing.assert_close(merged(x, y, w), f(x, y, w))
    chained = lambda x, w: torch.matmul(torch.matmul(x, w), w)
    assert sum(n.target is torch.matmul for n in merge_matmul(chained).graph.nodes) == 2


def test_terms_are_made_equal():
    x, y = var("x"), var("y")
    assert unify((x, [y, 2], {"a": x}), (1, [3, 2], {"a": 1})) == {x: 1, y: 3}
    assert unify((x, x), (1, 2)) is False and unify((1, 2), (1, 2, 3)) is False and unify([x], (1,)) is False
    assert reify((x, {"k": [y]}), unify((x, y), (y, 5))) == (5, {"k": [5]})
    assert unify(slice(x, 3), slice(1, 3)) == {x: 1} and unify({1, x}, {1, 2}) == {x: 2}
    assert Var("x") == x and isvar(x) and not isvar("x") and Var() != Var()
    with variables("?"):
        assert unify("?", 3) == {"?": 3}

    @unifiable
    class Pair:
        def __init__(self, a):
            self.a = a

    assert reify(Pair(x), unify(Pair(x), Pair(4))).a == 4
