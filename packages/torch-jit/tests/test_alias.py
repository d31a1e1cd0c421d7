"""Which values of a graph may share memory."""

import pytest
import torch
from torch import nn
from torch.jit import _alias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        y = self.layer(x).view(-1)
        y.add_(1)
        first, second = y.chunk(2)
        return (first, x.t()), second + 1


def of_kind(graph, kind):
    return graph.findNode(kind).output()


def test_views_share_memory_with_what_they_are_of():
    graph = torch.jit.trace(Net(), torch.ones(2, 3)).inlined_graph
    aliases = graph.alias_db()
    _, x = graph.inputs()
    y, linear = of_kind(graph, "aten::view"), of_kind(graph, "aten::linear")
    assert aliases.may_contain_alias(x, of_kind(graph, "aten::t"))
    assert aliases.may_contain_alias(linear, y) and aliases.may_contain_alias(y, of_kind(graph, "aten::chunk"))
    assert not aliases.may_contain_alias(y, of_kind(graph, "aten::add")) and not aliases.may_contain_alias(x, linear)
    assert aliases.may_contain_alias([x, y], [linear]) and not aliases.may_contain_alias([x], [linear, y])


def test_what_is_written_to_is_known_by_every_view():
    graph = torch.jit.trace(Net(), torch.ones(2, 3)).inlined_graph
    aliases = graph.alias_db()
    assert aliases.has_writers(of_kind(graph, "aten::linear")) and aliases.has_writers(of_kind(graph, "aten::chunk"))
    assert not aliases.has_writers(list(graph.inputs())[1]) and "written to: " in str(aliases)


def test_values_go_into_and_out_of_blocks():
    def program(x, y, n: int):
        kept = x
        for i in range(n):
            if i > 1:
                kept = y
        return kept, x + 1

    graph = torch.jit.script(program).graph
    aliases = graph.alias_db()
    x, y, n = graph.inputs()
    loop = of_kind(graph, "prim::Loop")
    assert aliases.may_contain_alias(loop, x) and aliases.may_contain_alias(loop, y)
    assert not aliases.may_contain_alias(loop, of_kind(graph, "aten::add")) and not aliases.may_contain_alias(n, n)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Tensor(a!) self, int[2] size, *, Tensor? other=None", ["a!", None, None]),
        ("(Tensor(a), Tensor)", ["a", None]),
        ("Tensor(a)", ["a"]),
        ("", []),
    ],
)
def test_marks_of_memory_are_read_from_schemas(text, marks):
    assert list(_alias._marks(text))[: len(marks)] == marks
