"""``torch.cond`` and loops in exported programs: one operator, with graphs of the functions that it takes."""

import io
import json

import pytest
import torch
from test_export_numbers import X, again, holds
from torch._higher_order_ops import cond, map, scan, while_loop
from torch.export import Dim, UserError, export
from torch.ops import higher_order


def calls(program, operator):
    return [n for n in program.graph.nodes if n.target is operator]


def test_both_branches_are_graphs():
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.linear(x).relu(), lambda x: x - 1, (x,))

    program = holds(forward, (X,), (-X,))
    (node,) = calls(program, higher_order.cond)
    graphs = [getattr(program.graph_module, n.target) for n in node.args[1:3]]
    assert [n.target for n in node.args[1:3]] == ["true_graph_0", "false_graph_0"]
    assert torch.equal(graphs[1](*[X] * len(node.args[3]))[0], X - 1)


def test_branches_take_what_is_around_them():
    def forward(self, x):
        y, count = x * 2, x.shape[0]
        chosen = torch.cond(
            x.sum() > 0, lambda x: self.linear(x) + y + torch.ones(count, 1) * count, lambda x: x - y.T.T, (x,)
        )
        return chosen + torch.cond(x.max() > 5, lambda: (y, x.sum()), lambda: (x, y.sum()), ())[0]

    holds(forward, (X,), (-X,), (torch.cat([X, X]),), dynamic_shapes=(({0: Dim("rows")},),))


def test_branches_within_branches():
    def forward(self, x):
        def first(x):
            inner = cond(x.max() > 5, lambda x: (x + 1,), lambda x: (self.linear(x),), (x,))
            return {"a": inner[0], "b": x.sum()}

        return cond(x.sum() > 0, first, lambda x: {"a": x - 1, "b": x.mean()}, (x,))

    holds(forward, (X,), (-X,), (X / 12,))


def test_parameters_in_branches_are_trained():
    from test_export_numbers import Module

    module = Module(lambda self, x: torch.cond(x.sum() > 0, self.linear, lambda x: x * 2, (x,)))
    run = export(module, (X,)).module()
    run(X).sum().backward()
    assert torch.equal(run.linear.weight.grad, X.sum(0).expand(4, 4))


def test_a_choice_by_a_size_is_made_at_once():
    program = holds(lambda _, x: torch.cond(x.shape[0] > 2, lambda x: x + 1, lambda x: x - 1, (x,)), (X,))
    assert not calls(program, higher_order.cond)


def test_loops_are_operators():
    def forward(self, x, n):
        total = torch.zeros(4)
        last, rows = scan(lambda c, row: (c + row, self.linear(c) * row), total, x, reverse=True)
        _, columns = scan(lambda c, column: (c + column.sum(), (column - c, c)), torch.zeros(()), x, dim=-1)
        each = map(lambda row, y: {"a": row * y, "b": self.linear(row).sum()}, x, x[0])
        count, grown = while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, self.linear(y) / 4 + x.sum()), (torch.tensor(0), x)
        )
        return last, rows, columns, each, count, grown

    rows = {0: Dim("rows")}
    program = holds(
        forward, (X, torch.tensor(3)), (torch.cat([X, -X]) + 1, torch.tensor(1)), (X, torch.tensor(0)),
        dynamic_shapes=((rows, None),),
    )  # fmt: skip
    for operator, count in ((higher_order.scan, 2), (higher_order.map_impl, 1), (higher_order.while_loop, 1)):
        assert len(calls(program, operator)) == count


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), (x,)), "float32 of shape \\(3, 4\\) and torch.float32 of shape"),
        (lambda x: torch.cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x, (x,)), "to a tensor from outside of it"),
        (lambda x: torch.cond(x.sum() > 0, lambda x: x * x.sum().item(), lambda x: x, (x,)), "takes a number of a tensor within"),
        (lambda x: torch.cond(x.sum() > 0, lambda x: 3, lambda x: 4, (x,)), "gives 3, and no tensor"),
    ],
)  # fmt: skip
def test_branches_that_no_graph_says_are_refused(function, text):
    from test_export_numbers import Module

    with pytest.raises(UserError, match=text):
        export(Module(lambda _, x: function(x)), (X,))


def test_files_name_only_functions_that_the_graph_has():
    from test_export_numbers import Module

    program = again(export(Module(lambda _, x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))), (X,)))
    assert torch.equal(program.module()(-X), X.cos())


@pytest.mark.parametrize(
    "name",
    ["forward", "training", "__class__", "_modules", "a.b", "true_graph_0 + (__import__('os').abort())", "a\n    b"],
)
def test_a_file_cannot_name_a_branch_so_that_it_hides_or_runs_something(name):
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    written = io.BytesIO()
    torch.export.save(export(Net(), (torch.ones(3),)), written)
    written.seek(0)
    content = torch.load(written)
    text = content["exported program"]
    assert text.count('"true_graph_0"') == 4
    crafted = io.BytesIO()
    torch.save({**content, "exported program": text.replace('"true_graph_0"', json.dumps(name))}, crafted)
    crafted.seek(0)
    with pytest.raises(RuntimeError, match="export.load: the program in the file is broken"):
        torch.export.load(crafted)
