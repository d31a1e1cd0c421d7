"""Functions rewritten before they are traced."""

import builtins

import pytest
import torch
from torch import nn
from torch.fx import GraphModule, symbolic_trace
from torch.fx.experimental.debug import set_trace
from torch.fx.experimental.rewriter import AST_Rewriter, RewritingTracer

LIMIT = 4


class Bounded(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner

    def forward(self, x, *, scale=2):
        y: torch.Tensor = x * scale
        assert y.sum() < LIMIT, "too great"
        return super().extra_repr() and y if self.inner is None else self.inner(y)


class Halved(nn.Module):
    def forward(self, x):
        assert x.shape[0] == 2
        return x / 2


def test_assertions_of_a_module_and_of_those_within_stay_in_the_graph():
    module = Bounded(Halved())
    tracer = RewritingTracer()
    graph = tracer.trace(module)
    traced = GraphModule(tracer.root, graph)
    assert traced(torch.ones(2) / 4).tolist() == [0.25, 0.25]
    with pytest.raises(AssertionError, match="too great"):
        traced(torch.ones(2) * 8)
    with pytest.raises(AssertionError):
        traced(torch.ones(3) / 8)
    assert next(n for n in traced.graph.nodes if n.name == "mul").type is torch.Tensor
    assert type(module) is Bounded and "forward" not in vars(module), "what is traced is a copy"


def test_a_rewritten_function_shares_the_variables_around_it():
    count = 0

    def f(x, by=3, *, more=1):
        nonlocal count
        count += 1
        assert x > 0, f"{x} is not positive"
        return x * by + more + LIMIT

    made = AST_Rewriter().rewrite(f)
    assert made(2) == f(2) == 11 and count == 2 and made.__name__ == "f"
    with pytest.raises(AssertionError, match="-1 is not positive"):
        made(-1)
    assert count == 3
    with pytest.raises(ValueError, match="is no function that begins with def"):
        AST_Rewriter().rewrite(lambda x: x)


def test_a_graph_stops_in_the_debugger_before_its_first_statement(monkeypatch):
    stops = []
    traced = symbolic_trace(lambda x: x + 1)
    traced.graph.on_generate_code(lambda before: lambda body: [line.replace("+ 1", "+ 2") for line in body])
    set_trace(traced)
    monkeypatch.setattr(builtins, "breakpoint", lambda: stops.append(1))
    assert traced(torch.ones(1)).item() == 3 and stops == [1]
