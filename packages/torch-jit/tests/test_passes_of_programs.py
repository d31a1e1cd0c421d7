"""Passes in an order, and patterns and sources of exported programs."""

import pytest
import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult
from torch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from torch.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from torch.fx.subgraph_rewriter import replace_pattern


def test_passes_are_put_into_an_order_that_constraints_allow():
    called = []
    first, second, third = (pass_result_wrapper(lambda m, n=n: called.append(n)) for n in (1, 2, 3))
    before = this_before_that_pass_constraint
    PassManager([third, second, first], constraints=[before(first, second), before(second, third)])(
        fx.symbolic_trace(torch.neg)
    )
    assert called == [1, 2, 3]
    manager = PassManager([third, second, first], constraints=[before(first, second)])
    with pytest.raises(RuntimeError, match="must not stand before"):
        manager.validate_constraints()
    with pytest.raises(RuntimeError, match="Circular dependency"):
        PassManager([first, second], constraints=[before(first, second), before(second, first)])(
            fx.symbolic_trace(torch.neg)
        )


def test_an_error_in_a_pass_names_it_and_those_before():
    def fine(module):
        return PassResult(module, False)

    def broken(module):
        raise ValueError("no")

    def nothing(module):
        return None

    traced = fx.symbolic_trace(torch.neg)
    with pytest.raises(Exception, match=r"pass 'broken' failed after the passes \['fine'\]: ValueError: no"):
        PassManager([fine, broken])(traced)
    with pytest.raises(Exception, match="pass 'nothing' failed: .*wrap it in pass_result_wrapper"):
        PassManager([nothing])(traced)
    with pytest.raises(TypeError, match="expected a function of a graph module"):
        PassManager().add_checks(lambda module, more: None)


def test_patterns_of_operators_match_arguments_that_are_defaults():
    pool = torch.ops.aten.max_pool2d_with_indices.default
    pattern = fx.symbolic_trace(lambda x, size: pool(x, size, stride=[2, 2], padding=[0, 0]))
    for padding, count in ((0, 1), ([0, 0], 1), ([1, 0], 0)):
        graph = fx.symbolic_trace(lambda x: pool(x, [2, 2], [2, 2], padding)).graph
        assert len(SubgraphMatcher(pattern.graph).match(graph)) == count
    graph = fx.symbolic_trace(lambda x: pool(x, [2, 2], [2, 2])).graph
    assert len(SubgraphMatcher(pattern.graph).match(graph)) == 1


def test_patterns_with_names_may_be_exported():
    class Pattern(torch.nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            return y, {"linear": y, "x": x}

    example = (torch.ones(3, 2),)
    pattern = torch.export.export(Pattern(2, 2), example).module()
    graph = torch.export.export(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), example).module().graph
    (found,) = SubgraphMatcherWithNameNodeMap(pattern).match(graph)
    names = found.name_node_map
    assert names["linear"].target is torch.ops.aten.linear.default and names["x"].op == "placeholder"


def test_sources_of_exported_programs_are_modules_and_functions():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    graph = torch.export.export(net, (torch.ones(3, 2),)).module().graph
    found = get_source_partitions(graph, [torch.nn.Linear, torch.nn.ReLU])
    assert {kind: len(parts) for kind, parts in found.items()} == {torch.nn.Linear: 2, torch.nn.ReLU: 1}
    assert check_subgraphs_connected(found[torch.nn.Linear][0], found[torch.nn.ReLU][0])
    by_name = get_source_partitions(graph, ["linear", "relu"])
    assert {name: len(parts) for name, parts in by_name.items()} == {"linear": 2, "relu": 1}
    by_function = get_source_partitions(graph, [torch.nn.functional.linear, torch.nn.functional.relu])
    assert [len(parts) for parts in by_function.values()] == [2, 1]


def test_traces_note_operators_under_their_names_in_torch_ops():
    ops = torch.ops.aten
    traced = fx.symbolic_trace(lambda x: ops.cat.default([ops.relu.default(x), ops.neg(x)], dim=0))
    targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert targets == [ops.relu.default, ops.neg, ops.cat.default]
    assert torch.equal(traced(torch.tensor([-1.0])), torch.tensor([0.0, 1.0]))
    module = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),)).module()
    pattern = lambda x, w, b: ops.linear.default(x, w, b)
    assert len(replace_pattern(module, pattern, lambda x, w, b: ops.linear.default(x, w, b) * 2)) == 1
    assert torch.equal(
        module(torch.ones(3, 2)), 2 * torch.nn.functional.linear(torch.ones(3, 2), module.weight, module.bias)
    )


def test_a_match_whose_arguments_follow_from_its_results_is_none():
    def function(x):
        y = torch.neg(x)
        return y * torch.sigmoid(y)

    def pattern(a, c):
        y = torch.neg(a)
        return y, y * c

    traced = fx.symbolic_trace(function)
    assert SubgraphMatcher(fx.symbolic_trace(pattern).graph).match(traced.graph) == []
    assert replace_pattern(traced, pattern, lambda a, c: (a, c)) == []
    fine = fx.symbolic_trace(lambda x, c: (lambda y: (torch.relu(y), y * torch.sigmoid(c)))(torch.neg(x)))
    assert len(SubgraphMatcher(fx.symbolic_trace(pattern).graph).match(fine.graph)) == 1


def test_calls_of_registered_operators_that_write_are_no_dead_code():
    library = torch.library.Library("passes_of_programs", "FRAGMENT")
    library.define("fill(Tensor(a!) x) -> ()")
    library.impl("fill", lambda x: x.fill_(3.0), "CompositeExplicitAutograd")

    def function(x):
        torch.ops.passes_of_programs.fill.default(x)
        return x * 1

    traced = fx.symbolic_trace(function)
    assert not traced.graph.eliminate_dead_code()
    assert torch.equal(traced(torch.ones(2)), torch.full((2,), 3.0))
