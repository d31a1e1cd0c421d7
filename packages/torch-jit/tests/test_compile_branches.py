"""``torch.cond`` within whole programs: one graph for both branches."""

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


def whole(function, *calls, rounds=3):
    """The graphs of the calls, whose results are compared with those without compiling; by torch's own interpreter too."""
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    for options in ({}, {"backend": backend}):
        compiled = torch.compile(function, fullgraph=True, **options)
        for _ in range(rounds):
            for args in calls:
                assert torch.equal(compiled(*args), function(*args))
        torch.compiler.reset()
    return graphs


def around(x):
    more = [x * 3, x]
    y = x + 1
    return torch.cond(
        x.sum() > 0, lambda x: torch.cat(more) * 2 + y.sum(), lambda x: torch.cat([torch.sin(x) - 1, y]), (x,)
    )


def test_both_branches_are_one_graph_with_what_they_read_around_them():
    (graph,) = whole(around, (X,), (-X,))
    call = next(n for n in graph.graph.nodes if n.target is torch.ops.higher_order.cond)
    assert [n.op for n in call.args[1:3]] == ["get_attr", "get_attr"] and len(call.args[3]) == 3
    assert "aten.sin" in {str(n.target) for n in graph.false_graph_0.graph.nodes}


def nested(x):
    def first(x):
        return torch.cond(x.max() > 3.5, lambda x: x * 2, lambda x: x * 3, (x,))

    return torch.cond(x.sum() > 0, first, lambda x: x.clone(), (x,)) + 1


def test_branches_within_branches_and_conditions_that_are_no_tensors():
    assert len(whole(nested, (X,), (-X,), (X / 2,))) == 1
    assert len(whole(lambda x, k: torch.cond(k, lambda x: x + 1, lambda x: x - 1, (x,)), (X, True), (X, False))) == 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.a, self.b, (x,))


def test_gradients_reach_the_branch_that_is_taken():
    net = Net()
    compiled = torch.compile(net, fullgraph=True)
    for x in (X, -X, X, -X):
        net.zero_grad(set_to_none=True)
        compiled(x).sum().backward()
        used, other = (net.a, net.b) if x is X else (net.b, net.a)
        torch.testing.assert_close(used.weight.grad, x.sum(0).expand(2, 2))
        assert other.weight.grad is None or not other.weight.grad.any()


def test_random_numbers_are_drawn_by_the_branch_that_is_taken():
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: x + torch.rand(2, 2), lambda x: x - torch.rand(4).sum(), (x,))

    compiled = torch.compile(f, fullgraph=True)
    for x in (X, -X, -X, X):
        found = []
        for function in (compiled, f):
            torch.manual_seed(3)
            found.append((function(x), torch.rand(1)))
        assert all(map(torch.equal, *found))


def test_branches_that_differ_write_or_keep_tensors_are_refused():
    def differ(x):
        return torch.cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), (x,))

    def write(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x.add_(1), (x,))

    def keep(x):
        kept = []

        def branch(x):
            kept.append(x + 1)
            return x * 2

        return torch.cond(x.sum() > 0, branch, lambda x: x - 1, (x,)) + kept[0]

    for function, reason in ((differ, "differ"), (write, "write"), (keep, "outside of it")):
        x = X.clone()
        with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
            torch.compile(function, fullgraph=True)(x)
        assert torch.equal(x, X)
        assert torch.equal(torch.compile(function)(x), function(X.clone()))


# --- loops ---


def summed(x):
    return torch.while_loop(
        lambda i, y: (y.sum() < 100) & (i < 10), lambda i, y: (i + 1, torch.tanh(y @ x) + y + 1), (torch.tensor(0), x)
    )[1]


def branched(x):
    def turn(i, y):
        return i + 1, torch.cond(i % 2 == 0, lambda y: y + 1, lambda y: y * 2, (y,))

    return torch.while_loop(lambda i, y: i < 4, turn, (torch.tensor(0), x))[1]


def loops_within(x):
    def turn(i, y):
        return i + 1, torch.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y + j), (torch.tensor(0), y))[1]

    return torch.while_loop(lambda i, y: i < 4, turn, (torch.tensor(0), x))[1]


def by_numbers(x):
    return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))[1]


def with_more(x):
    more = x.sum()
    return torch.while_loop(lambda i, y, m: i < 3, lambda i, y, m: (i + 1, y * m), (torch.tensor(0), x), (more,))[1]


@pytest.mark.parametrize("function", [summed, branched, loops_within, by_numbers, with_more])
def test_a_loop_is_one_graph_however_many_turns_it_takes(function):
    (graph,) = whole(function, (X,), (X * 5,), (X * 40,))
    loops = sum(node.target is torch.ops.higher_order.while_loop for node in graph.graph.nodes)
    assert loops == (function is not by_numbers)


def test_gradients_pass_through_the_turns():
    compiled = torch.compile(summed, fullgraph=True)
    for scale in (1, 1, 40, 1):
        x = (X * scale).requires_grad_()
        (got,), (expected,) = (torch.autograd.grad(f(x).sum(), x) for f in (compiled, summed))
        torch.testing.assert_close(got, expected)


def test_loops_that_write_or_change_their_form_are_refused():
    def writes(x):
        kept = torch.zeros(2, 2)

        def turn(i, y):
            kept.add_(1)
            return i + 1, y

        torch.while_loop(lambda i, y: i < 3, turn, (torch.tensor(0), x))
        return kept

    def grows(x):
        return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, torch.cat([y, y])), (torch.tensor(0), x))[1]

    for function, why in ((writes, "torch.while_loop writes"), (grows, "must keep shape and dtype")):
        with pytest.raises(RuntimeError, match=why):
            torch.compile(function, fullgraph=True)(X)
        torch.compiler.reset()
