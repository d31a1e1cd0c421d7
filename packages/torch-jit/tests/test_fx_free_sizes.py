"""``make_fx(tracing_mode="symbolic")``: one graph for all sizes."""

import operator

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

LINEAR = torch.nn.Linear(4, 4)


def chosen(x):
    return x if x.shape[0] > 5 else x + 1


@pytest.mark.parametrize(
    "function, first, others",
    [
        (lambda x: x.view(x.shape[0] * 2, -1) * x.shape[0], ((4, 6),), [((5, 8),), ((3, 2),)]),
        (lambda x: torch.func.vmap(lambda row: LINEAR(row).sum())(x), ((3, 4),), [((7, 4),)]),
        (lambda x, y: torch.cat([x, y]).sum(0) + torch.ones(x.shape[1]), ((3, 4), (5, 4)), [((2, 6), (8, 6))]),
        (lambda x: torch.autograd.grad((LINEAR(x) ** 2).mean(), LINEAR.weight)[0], ((3, 4),), [((9, 4),)]),
        (lambda x: (x.t().reshape(-1)[: x.numel() // 2], x.size(0)), ((3, 4),), [((5, 6),)]),
        (lambda x: torch.func.grad(lambda x: x.softmax(-1).pow(2).mean())(x), ((3, 5),), [((4, 2),)]),
        (lambda pair: pair["a"] @ pair["b"].T, None, None),
    ],
)
def test_a_graph_holds_for_other_sizes(function, first, others):
    if first is None:
        first, others = ({"a": (2, 3), "b": (5, 3)},), [({"a": (4, 7), "b": (2, 7)},)]

    def made(shapes):
        if isinstance(shapes, dict):
            return {key: torch.randn(shape) for key, shape in shapes.items()}
        return torch.randn(shapes)

    args = tuple(map(made, first))
    graph = make_fx(function, tracing_mode="symbolic")(*args)
    for given in (args, *(tuple(map(made, shapes)) for shapes in others)):
        torch.testing.assert_close(graph(*given), function(*given))


def test_sizes_are_nodes_and_values_have_shapes():
    graph = make_fx(lambda x: x.new_zeros(x.shape[0] * 2), tracing_mode="symbolic")(torch.ones(3, 1)).graph
    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    assert targets[:2] == [torch.ops.aten.sym_size.int, operator.mul]
    assert [n.meta["val"].shape for n in graph.nodes if n.op == "placeholder"] == [(3, 1)]


def test_what_a_size_decides_stays_as_it_was():
    graph = make_fx(chosen, tracing_mode="symbolic")(torch.ones(3))
    assert torch.equal(graph(torch.ones(3)), torch.full((3,), 2.0))
    made_in_python = make_fx(lambda x: x + torch.tensor([float(n) for n in range(x.shape[0])]), tracing_mode="symbolic")
    assert torch.equal(made_in_python(torch.ones(3))(torch.ones(3)), torch.arange(1.0, 4))


def test_random_numbers_and_arguments_are_as_after_one_call():
    x = torch.ones(3)
    torch.manual_seed(0)
    make_fx(lambda x: x.add_(torch.rand(x.shape[0])))(torch.ones(3))
    wanted = torch.rand(1)
    torch.manual_seed(0)
    make_fx(lambda x: x.add_(torch.rand(x.shape[0])), tracing_mode="symbolic")(x)
    assert torch.equal(torch.rand(1), wanted) and x.shape == (3,) and (x < 2).all()


def test_ints_among_the_arguments_are_inputs_of_the_graph():
    def f(x, n):
        return x * n + n // 2, n + 1

    x = torch.ones(4, 3)
    graph = make_fx(f, tracing_mode="symbolic")(x, 7)
    assert torch.equal(graph(x, 9)[0], f(x, 9)[0]) and graph(x, 9)[1] == 10


def test_a_size_with_a_name_is_an_input_in_every_mode():
    from torch._symbols import named

    def f(n, x):
        return x.repeat(n, 1) * n + x.shape[0]

    graph = make_fx(f)(named("s0", 5), torch.ones(4, 3))
    assert torch.equal(graph(3, torch.ones(4, 3)), f(3, torch.ones(4, 3)))
    assert torch.ops.aten.sym_size.int not in [n.target for n in graph.graph.nodes], "the other sizes are the example's"
