"""``torch._dynamo.export``: the graph of a function for arguments like these."""

import pytest
import torch
from torch import nn


def test_the_graph_is_called_as_the_function():
    net = nn.Linear(3, 2)

    def f(x, *, scale=1.0):
        return {"out": net(x).relu() * scale}

    graph, guards = torch._dynamo.export(f)(torch.ones(4, 3), scale=2.0)
    x = torch.randn(4, 3)
    torch.testing.assert_close(graph(x, scale=2.0), f(x, scale=2.0))
    assert guards == [] and isinstance(graph, torch.fx.GraphModule)
    assert torch.equal(torch._dynamo.export(net, torch.ones(4, 3)).graph_module(x), net(x))


def test_marked_sizes_may_change_and_questions_about_them_are_guards():
    def f(x):
        return x * 2 if x.shape[0] % 2 == 0 else x

    x = torch.ones(4, 3)
    torch._dynamo.mark_dynamic(x, 0)
    graph, guards = torch._dynamo.export(f)(x)
    assert list(map(str, guards)) == ["s0 % 2 == 0"]
    assert torch.equal(graph(torch.ones(6, 3)), torch.full((6, 3), 2.0))
    with pytest.raises(AssertionError, match="Guard failed: s0 % 2 == 0"):
        graph(torch.ones(5, 3))


def test_a_table_decomposes_and_a_program_that_goes_by_values_is_refused():
    table = torch._decomp.get_decompositions([torch.ops.aten.silu])
    graph, _ = torch._dynamo.export(nn.SiLU(), decomposition_table=table)(torch.ones(2))
    assert "silu" not in graph.code and "sigmoid" in graph.code
    with pytest.raises(torch._dynamo.exc.Unsupported, match="goes on by its value"):
        torch._dynamo.export(lambda x: x if x.sum() > 0 else -x)(torch.ones(2))
