"""Parts of graphs for back ends, nodes that compute the same, constants that are computed once, calls in one form."""

import operator

import pytest
import torch
from torch import fx, nn
from torch.fx.experimental.const_fold import get_unique_attr_name_in_module, split_const_subgraphs
from torch.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
from torch.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupport, create_op_support
from torch.fx.passes.tools_common import legalize_graph, stable_topological_sort
from torch.fx.passes.utils.fuser_utils import fuse_as_graphmodule, fuse_by_partitions, topo_sort, validate_partition


def without(*targets):
    return create_op_support(lambda modules, node: node.op != "get_attr" and node.target not in targets)


def parts(function, support, **options):
    partitioner = CapabilityBasedPartitioner(fx.symbolic_trace(function), support, **options)
    return partitioner, partitioner.propose_partitions()


def names(partitions):
    return [[node.name for node in each.nodes] for each in partitions]


def diamond(x):
    a = torch.relu(x)
    b = torch.tanh(a)
    c = a + 1
    return torch.relu(b + c), c


# --- partitions ---


def test_nodes_that_a_refused_one_lies_between_are_two_parts():
    partitioner, found = parts(diamond, without(torch.tanh))
    assert names(found) == [["add", "add_1", "relu_1"]]  # relu with them would wait for tanh, which waits for relu
    fused = partitioner.fuse_partitions(found)
    x = torch.randn(3, dtype=torch.float64)
    assert all(map(torch.equal, fused(x), diamond(x)))
    assert [n.name for n in fused.graph.nodes][:4] == ["x", "relu", "tanh", "fused_0"]
    assert type(fused.fused_0).__name__ == "fused_0" and len(list(fused.fused_0.graph.nodes)) == 6


def test_two_parts_that_wait_for_each_other_are_not_made():
    def f(x):
        a, b = torch.relu(x), torch.relu(x + 1)
        return torch.relu(torch.tanh(a) + 1), torch.relu(torch.tanh(b) + 2)

    partitioner, found = parts(f, without(torch.tanh))
    x = torch.randn(3, dtype=torch.float64)
    assert all(map(torch.equal, partitioner.fuse_partitions(found)(x), f(x)))
    assert sorted(n for each in names(found) for n in each) == [
        "add", "add_1", "add_2", "relu", "relu_1", "relu_2", "relu_3",
    ]  # fmt: skip
    assert len(found) == 2


def test_random_graphs_compute_the_same_with_parts():
    for seed in range(30):
        generator = torch.Generator().manual_seed(seed)

        def draw(n, generator=generator):
            return int(torch.randint(n, (), generator=generator))

        graph = fx.Graph()
        nodes = [graph.placeholder("x")]
        for _ in range(25):
            target = (torch.relu, torch.tanh, torch.sin)[draw(3)]
            if draw(2):
                nodes.append(graph.call_function(target, (nodes[draw(len(nodes))],)))
            else:
                nodes.append(graph.call_function(operator.add, (nodes[draw(len(nodes))], nodes[draw(len(nodes))])))
        graph.output(tuple(nodes[-4:]))
        gm = fx.GraphModule({}, graph)
        x = torch.randn(4, dtype=torch.float64, generator=generator)
        wanted = gm(x)
        horizontal = bool(seed % 2)
        partitioner = CapabilityBasedPartitioner(gm, without(torch.tanh), skip_horizontal_fusion=horizontal)
        fused = partitioner.partition_and_fuse()
        fused.graph.lint()
        assert all(map(torch.equal, fused(x), wanted))
        left = [n for n in fused.graph.nodes if n.op == "call_function" and n.target in (torch.relu, torch.sin)]
        assert len(left) < 5


def test_parts_of_one_call_are_dropped_unless_they_are_allowed():
    def f(x):
        return torch.tanh(torch.relu(x)) + 1

    assert names(parts(f, without(torch.tanh))[1]) == []
    assert names(parts(f, without(torch.tanh), allows_single_node_partition=True)[1]) == [["add"], ["relu"]]
    found = parts(f, without(torch.tanh), allowed_single_node_partition_ops=["torch.relu"])[1]
    assert names(found) == [["relu"]]
    assert names(parts(f, without(), non_compute_ops=["torch.relu", "torch.tanh"])[1]) == []


def test_items_of_results_go_where_the_result_is_made_and_idle_ends_are_put_out():
    def f(x):
        a, b = torch.chunk(x, 2)
        return torch.relu(a) + b

    found = parts(f, without(operator.getitem), allows_single_node_partition=True)[1]
    assert names(found) == [["relu", "add"], ["chunk", "getitem", "getitem_1"]]
    partitioner, found = parts(f, without(), non_compute_ops=["torch.chunk"])
    assert names(found) == [["chunk", "getitem", "getitem_1", "relu", "add"]]
    partitioner.remove_bookend_non_compute_ops(found)
    assert names(found) == [["getitem", "getitem_1", "relu", "add"]]
    x = torch.arange(4.0)
    assert torch.equal(partitioner.fuse_partitions(found, prefix="part_")(x), f(x))


def test_modules_and_parameters_go_into_parts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.w = nn.Linear(2, 2), nn.Parameter(torch.ones(2))

        def forward(self, x):
            return torch.tanh(torch.relu(self.linear(x)) * self.w + 1)

    net, x = Net(), torch.randn(3, 2)
    support = OperatorSupport({"torch.nn.modules.linear.Linear": None, "torch.relu": None, "_operator.mul": None})
    gm = fx.symbolic_trace(net)
    fused = CapabilityBasedPartitioner(gm, support).partition_and_fuse()
    assert torch.equal(fused(x), net(x)) and isinstance(fused.fused_0.linear, nn.Linear)
    assert [n.op for n in fused.fused_0.graph.nodes].count("call_function") == 2
    assert Partition(1).size() == 0 and str(Partition(nodes=[], node_orders=[])) == "{}"


def test_nodes_that_cannot_run_as_one_are_refused():
    gm = fx.symbolic_trace(diamond)
    at = {node.name: node for node in gm.graph.nodes}
    assert not validate_partition([at["relu"], at["add_1"]]) and validate_partition([at["relu"], at["add"]])
    with pytest.raises(AssertionError, match="cycles"):
        fuse_by_partitions(gm, [{at["relu"]: None, at["add_1"]: None}])
    with pytest.raises(AssertionError, match="doesn't belong"):
        fuse_as_graphmodule(fx.symbolic_trace(diamond), [at["relu"]], "part")
    with pytest.raises(AssertionError, match="stands behind"):
        fuse_as_graphmodule(gm, [at["add"], at["relu"]], "part")
    module, inputs, outputs = fuse_as_graphmodule(gm, topo_sort([at["add"], at["relu"]]), "part")
    assert inputs == (at["x"],) and outputs == (at["relu"], at["add"])
    assert torch.equal(module(torch.ones(2))[1], torch.full((2,), 2.0))


def test_results_of_parts_are_tuples_where_that_is_asked_for():
    gm = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    nodes = {node: None for node in gm.graph.nodes if node.op == "call_function"}
    fused = fuse_by_partitions(gm, [nodes], always_return_tuple=True)
    assert fused.fused_0(torch.ones(1)) == (torch.full((1,), 2.0),) and torch.equal(
        fused(torch.ones(1)), torch.ones(1) + 1
    )


def test_nodes_are_sorted_each_behind_its_inputs():
    gm = fx.symbolic_trace(diamond)
    at = {node.name: node for node in gm.graph.nodes}
    at["x"].prepend(at["relu_1"])
    stable_topological_sort(gm)
    assert [n.name for n in gm.graph.nodes] == ["x", "relu", "tanh", "add", "add_1", "relu_1", "output"]
    at = {node.name: node for node in gm.graph.nodes}
    at["relu"].args = (at["relu_1"],)
    with pytest.raises(RuntimeError, match="cycles.*relu"):
        legalize_graph(gm)


# --- the same twice ---


def once(function):
    result = CSEPass()(fx.symbolic_trace(function))
    return result.modified, sum(n.op.startswith("call") for n in result.graph_module.graph.nodes), result.graph_module


def test_calls_with_the_same_arguments_are_one_and_with_others_two():
    modified, calls, gm = once(lambda x: x.sum(0) + x.sum(0) + x.sum(dim=0) + x.sum(1))
    assert modified and calls == 6
    x = torch.arange(9.0).view(3, 3)
    assert torch.equal(gm(x), x.sum(0) * 3 + x.sum(1))
    assert once(lambda x: torch.add(x, 1) + torch.add(x, True) + torch.add(x, 1.0))[0] is False  # dtypes
    assert once(lambda x: x * 0.0 + x * -0.0)[0] is False
    assert once(lambda x: x[0:1] + x[0:1])[1] == 2


def test_random_numbers_and_writes_stay_two():
    assert once(lambda x: torch.rand_like(x) + torch.rand_like(x))[0] is False
    assert once(lambda x: x.relu_() + x.relu_())[0] is False

    def f(x):
        before = x * 2
        x.add_(1)
        return before + x * 2

    modified, _, gm = once(f)
    assert not modified and torch.equal(gm(torch.ones(2)), f(torch.ones(2)))
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.ops.aten.add_.Tensor, (x, 1))
    graph.call_function(torch.ops.aten.rand_like.default, (x,))
    graph.call_function(torch.ops.aten.neg.default, (x,))
    graph.output(x)
    graph.eliminate_dead_code()
    assert [str(n.target) for n in graph.nodes][1:-1] == ["aten.add_.Tensor", "aten.rand_like.default"]
    assert {torch.ops.aten.rand_like, torch.ops.aten.relu_} <= get_CSE_banned_ops()
    assert torch.ops.aten.relu not in get_CSE_banned_ops()


# --- constants ---


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.v = nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * (self.w * 2 + 1) + self.v.sum() * self.v


def test_what_depends_on_no_argument_is_computed_once():
    net, x = Scaled(), torch.randn(3, 2)
    folded = split_const_subgraphs(net)
    assert not folded.has_folding_been_run and torch.equal(folded(x), net(x)) and folded.has_folding_been_run
    assert [n.target for n in folded.graph.nodes if n.op == "get_attr"] == ["_FX_CONST_FOLDED_ATTRS"]
    before = folded(x)
    with torch.no_grad():
        net.w.add_(1)
    assert torch.equal(folded(x), before)
    with pytest.raises(AssertionError, match="has been run"):
        folded.run_folding()


def test_nodes_stay_where_one_says_so_or_where_they_write():
    net, x = Scaled(), torch.randn(3, 2)
    folded = split_const_subgraphs(net, skip_folding_node_fn=lambda node: node.target is operator.mul)
    assert torch.equal(folded(x), net(x)) and [n.name for n in folded.const_subgraph_module.graph.nodes][0] == "v"
    assert split_const_subgraphs(nn.ReLU()).const_subgraph_module is None

    class Written(Scaled):
        def forward(self, x):
            y = self.w * 2
            y.add_(x)
            return y + torch.rand(2) * 0

    folded = split_const_subgraphs(Written())
    first = folded(torch.ones(2))
    assert torch.equal(folded(torch.ones(2)), first)


def test_a_folded_value_that_is_no_tensor_is_refused():
    class Sized(Scaled):
        def forward(self, x):
            return x + self.w.size(0)

    with pytest.raises(TypeError, match="value 0 is a int"):
        split_const_subgraphs(Sized()).run_folding()
    assert get_unique_attr_name_in_module(Scaled(), "w") == "w_1"


# --- one form ---


def test_arguments_are_written_by_name_and_operators_as_python_has_them():
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    call = next(n for n in NormalizeArgs(gm).transform().graph.nodes if n.op == "call_module")
    assert call.args == () and list(call.kwargs) == ["input"]
    gm = NormalizeArgs(fx.symbolic_trace(lambda x: torch.sum(x, 1, True))).transform()
    call = next(n for n in gm.graph.nodes if n.op == "call_function")
    assert call.args == () and call.kwargs["dim"] == 1 and call.kwargs["keepdim"] is True
    assert torch.equal(gm(torch.ones(2, 3)), torch.full((2, 1), 3.0))
    gm = NormalizeOperators(fx.symbolic_trace(lambda x, y: torch.sub(torch.div(x, y), y, alpha=2))).transform()
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"] == [operator.truediv, torch.sub]


def test_functions_of_operator_stay_by_place_where_others_get_names():
    graph = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x + 1))
    normal = NormalizeArgs(graph).transform()
    assert [sorted(node.kwargs) for node in normal.graph.nodes if node.op == "call_function"] == [
        [],
        ["inplace", "input"],
    ]
    assert torch.equal(normal(torch.ones(2)), torch.full((2,), 2.0))
