"""Patterns, shapes, pieces, pictures, fused layers, normal forms of arguments."""

import copy
import operator
import typing

import pytest
import torch
import torch.nn.functional as F
from programs import PROGRAMS, same
from torch import fx, nn
from torch.fx import operator_schemas, tensor_type
from torch.fx.experimental import optimization, proxy_tensor, symbolic_shapes
from torch.fx.experimental.normalize import NormalizeArgs
from torch.fx.passes import graph_manipulation, operator_support, tools_common
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.infra.pass_manager import PassManager
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.split_module import split_module
from torch.fx.passes.utils.common import compare_graphs
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from torch.fx.subgraph_rewriter import replace_pattern, replace_pattern_with_filters


def lines(module):
    return [line.strip().partition(";")[0] for line in module.code.strip().splitlines()[1:]]


# --- patterns ---


def test_every_match_is_replaced_also_in_a_row():
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.relu(x)) + torch.relu(x))
    matches = replace_pattern(traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x) + 1)
    assert len(matches) == 3 and matches[0].anchor.target is torch.relu
    x = torch.linspace(-1, 1, 5)
    sigmoid = lambda x: torch.sigmoid(x) + 1
    assert torch.equal(traced(x), sigmoid(sigmoid(x)) + sigmoid(x))
    assert traced.graph.find_nodes(op="call_function", target=torch.relu) == []
    traced.graph.lint()


def test_constants_go_where_the_pattern_has_arguments():
    traced = fx.symbolic_trace(lambda x, y: torch.add(torch.add(x, y), 3))
    assert len(replace_pattern(traced, lambda a, b: torch.add(a, b), lambda a, b: a * b)) == 2
    assert lines(traced) == ["mul = x * y", "mul_1 = mul * 3", "return mul_1"]


def test_inner_values_with_other_users_are_no_match():
    traced = fx.symbolic_trace(lambda x: (torch.neg(torch.relu(x)), torch.relu(x)))
    (found,) = replace_pattern(traced, lambda x: torch.neg(torch.relu(x)), lambda x: x)
    assert found.nodes_map[found.anchor].name == "neg"

    def shared(x):
        inner = torch.relu(x)
        return torch.neg(inner) + inner

    assert replace_pattern(fx.symbolic_trace(shared), lambda x: torch.neg(torch.relu(x)), lambda x: x) == []


def test_literals_and_keywords_are_compared():
    traced = fx.symbolic_trace(lambda x: torch.add(x, 1) + torch.sum(input=x, dim=0))
    assert replace_pattern(traced, lambda x: torch.add(x, 2), lambda x: x) == []
    assert len(replace_pattern_with_filters(traced, lambda x: torch.add(x, 2), lambda x: x, ignore_literals=True)) == 1
    assert len(replace_pattern(traced, lambda x: torch.sum(x, 0), lambda x: torch.mean(x, 0))) == 1
    assert lines(traced)[0] == "mean = torch.mean(x, 0)"


def test_patterns_may_return_several_values():
    def f(x):
        values, indices = torch.max(x, 0)
        return torch.relu(values) + indices

    def pattern(x):
        return torch.sin(x), torch.cos(x)

    traced = fx.symbolic_trace(lambda x: torch.sin(x) * torch.cos(x))
    assert len(replace_pattern(traced, pattern, lambda x: (x + 1, x + 2))) == 1
    assert traced(torch.tensor(1.0)) == 6
    assert replace_pattern(fx.symbolic_trace(f), pattern, lambda x: (x, x)) == []


def test_modules_are_replaced_with_their_parameters():
    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x):
            return self.act(x)

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.swapped = nn.PReLU(init=0.5)

        def forward(self, x):
            return self.swapped(x)

    traced = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Identity()))
    found = replace_pattern(traced, fx.symbolic_trace(Pattern()), fx.symbolic_trace(Replacement()))
    assert len(found) == 1 and "swapped.weight" in traced.state_dict()
    assert traced(torch.tensor([-2.0])) == -1


def test_filters_and_callbacks_decide():
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + torch.relu(x + 1))
    seen = []

    def first_only(match, graph, pattern):
        seen.append(match.nodes_map[match.anchors[0]].name)
        return seen[-1] == "relu"

    def replacement(match, graph, pattern):
        return fx.symbolic_trace(lambda x: -x).graph

    done = replace_pattern_with_filters(
        traced, lambda x: torch.relu(x), match_filters=[first_only], replacement_callback=replacement
    )
    assert seen == ["relu", "relu_1"] and [n.name for n in done[0].replacements] == ["neg"]
    with pytest.raises(ValueError, match="give replacement or replacement_callback"):
        replace_pattern_with_filters(traced, lambda x: torch.relu(x))
    with pytest.raises(TypeError, match="pattern must be a function.*got int"):
        replace_pattern(traced, 3, lambda x: x)


def test_a_pattern_without_users_is_refused_and_equal_graphs_are_told():
    graph = fx.Graph()
    graph.placeholder("x")
    with pytest.raises(AssertionError, match="nothing uses 'x'"):
        SubgraphMatcher(graph)
    trace = fx.symbolic_trace
    assert compare_graphs(trace(lambda x: torch.relu(x) + 1).graph, trace(lambda y: torch.relu(y) + 1).graph)
    assert not compare_graphs(trace(lambda x: torch.relu(x) + 1).graph, trace(lambda y: torch.relu(y) + 2).graph)


# --- shapes ---


@pytest.mark.parametrize("name", ["resnet", "encoder", "unet", "recurrent", "sizes"])
def test_shapes_of_a_run_and_on_the_meta_device(name):
    make, arguments = PROGRAMS[name]
    program = make()
    traced = fx.symbolic_trace(program.eval() if isinstance(program, nn.Module) else program)
    seen = {}

    class Watching(fx.Interpreter):
        def run_node(self, n):
            seen[n.name] = super().run_node(n)
            return seen[n.name]

    Watching(traced).run(*arguments())
    ShapeProp(traced).propagate(*arguments())
    shapes = {n.name: n.meta["tensor_meta"] for n in traced.graph.nodes if hasattr(n.meta.get("tensor_meta"), "shape")}
    tensors = {name: value for name, value in seen.items() if isinstance(value, torch.Tensor)}
    assert shapes.keys() == tensors.keys()
    for key, value in tensors.items():
        assert (shapes[key].shape, shapes[key].dtype, shapes[key].stride) == (
            value.shape,
            value.dtype,
            value.stride(),
        ), key
    if isinstance(program, nn.Module):
        far = copy.deepcopy(traced).to("meta")
        ShapeProp(far).propagate(*(a.to("meta") for a in arguments()))
        for node in far.graph.nodes:
            if node.name in shapes:
                assert node.meta["tensor_meta"].shape == shapes[node.name].shape
    text = traced.print_readable(print_output=False)
    assert "f32[" in text


def test_channels_last_is_told_and_sizes_are_counted():
    traced = fx.symbolic_trace(nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU()))
    graph_manipulation.get_size_of_all_nodes(traced, (torch.ones(1, 1, 2, 2),))
    conv = traced.graph.find_nodes(op="call_module", target="0")[0]
    assert conv.size_bytes == graph_manipulation.size_bytes(2 * 4 * 4, 2 * 4 * 4 + 4 * 4)
    x = torch.ones(1, 2, 3, 3).contiguous(memory_format=torch.channels_last)
    same = fx.symbolic_trace(lambda x: x)
    ShapeProp(same).propagate(x)
    assert next(iter(same.graph.nodes)).meta["tensor_meta"].memory_format is torch.channels_last
    with pytest.raises(RuntimeError, match="Check that shape propagation has run"):
        graph_manipulation.get_tensor_meta(fx.symbolic_trace(lambda x: x).graph.output_node())


# --- pieces ---


@pytest.mark.parametrize("name", ["resnet", "encoder", "unet", "normalised", "mixed", "statistics"])
@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_pieces_compute_what_the_whole_computes(name, pieces):
    torch.manual_seed(0)
    make, arguments = PROGRAMS[name]
    program = make()
    program = program.eval() if isinstance(program, nn.Module) else program
    traced = fx.symbolic_trace(program)
    calls = [n for n in traced.graph.nodes if n.op.startswith("call")]
    number = {node: i * pieces // len(calls) for i, node in enumerate(calls)}
    paths = {}
    whole = split_module(traced, program, number.__getitem__, qualname_map=paths)
    assert [name for name, _ in whole.named_children() if name.startswith("submod")] == [
        f"submod_{i}" for i in range(pieces)
    ]
    assert same(whole(*arguments()), traced(*arguments()))
    whole.graph.lint()
    for new, old in paths.items():
        assert whole.get_submodule(new) is traced.get_submodule(old)


def test_text_of_pieces():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.w = nn.Linear(2, 2), nn.Linear(2, 2), nn.Parameter(torch.ones(2))

        def forward(self, x, y):
            z = self.a(x) + self.w
            q = torch.relu(z) + y
            return self.b(q) + z, q

    traced = fx.symbolic_trace(Net())
    calls = [n for n in traced.graph.nodes if n.op.startswith("call")]
    whole = split_module(traced, traced, lambda n: calls.index(n) // 3)
    assert lines(whole)[:4] == [
        "w = self.w",
        "submod_0 = self.submod_0(x, w)",
        "getitem = submod_0[0]",
        "getitem_1 = submod_0[1]",
    ]
    assert lines(whole.submod_0) == ["a = self.a(x)", "add = a + w", "relu = torch.relu(add)", "return (relu, add)"]
    one = split_module(traced, traced, lambda n: 0, tuple_return=True, partition_affix="part")
    assert "submod_part_0" in one.code


def test_pieces_in_a_circle_are_refused():
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.neg(torch.relu(x))))
    with pytest.raises(RuntimeError, match="cycle exists between partitions! 0, 1"):
        split_module(traced, traced, lambda n: int(n.name == "neg"))
    later = fx.symbolic_trace(lambda x: (torch.relu(x), torch.neg(torch.relu(x)), torch.sin(x)))
    named = {"relu": "b", "relu_1": "c", "neg": "b", "sin": "b"}
    assert split_module(later, later, lambda n: named[n.name])(torch.zeros(1))[1] == 0
    with pytest.raises(RuntimeError, match="partition b needs results of"):
        split_module(later, later, lambda n: named[n.name], keep_original_order=True)


# --- layers ---


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_batch_norms_become_part_of_convolutions(dims):
    torch.manual_seed(0)
    conv, norm = (getattr(nn, f"{kind}{dims}d") for kind in ("Conv", "BatchNorm"))
    net = nn.Sequential(conv(2, 3, 2), norm(3), nn.ReLU(), conv(3, 2, 1, bias=False), norm(2))
    x = torch.randn(4, 2, *[4] * dims)
    net(x)  # running statistics
    net.eval()
    fused = optimization.fuse(net)
    assert [type(m) for m in fused.children()] == [conv, nn.ReLU, conv]
    torch.testing.assert_close(fused(x), net(x), rtol=1e-5, atol=1e-6)
    assert len(list(net.children())) == 5 and type(net[1]) is norm
    assert norm in map(type, optimization.fuse(net.train()).children())


def test_a_batch_norm_that_is_used_twice_stays():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.n = nn.Conv2d(1, 1, 1), nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)

        def forward(self, x):
            return self.n(self.a(x)) + self.n(self.b(x))

    net = Net().eval()
    x = torch.ones(1, 1, 2, 2)
    assert torch.equal(optimization.fuse(net)(x), net(x)) and hasattr(optimization.fuse(net), "n")


def test_dropout_goes_and_parts_come_out():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.ReLU())
    without = optimization.remove_dropout(net)
    assert [n.target for n in without.graph.find_nodes(op="call_module")] == ["0", "2"]
    traced = fx.symbolic_trace(net)
    x, linear, dropout, relu, _ = traced.graph.nodes
    part = optimization.extract_subgraph(traced, [relu], [dropout], [relu])
    assert torch.equal(part(torch.tensor([-1.0, 1.0]))[0], torch.tensor([0.0, 1.0]))
    with pytest.raises(NotImplementedError, match="oneDNN"):
        optimization.optimize_for_inference


# --- arguments ---


def test_arguments_in_normal_form():
    normal = operator_schemas.normalize_function
    assert normal(torch.add, (1, 2), normalize_to_only_use_kwargs=True).kwargs == {"input": 1, "other": 2, "alpha": 1}
    assert normal(F.relu, (1,)).args == (1, False)
    assert normal(torch.sum, (1,), {"dim": 0}).args[:2] == (1, 0)
    assert normal(torch.relu, (1, 2, 3)) is None and normal(print, (1,)) is None
    assert normal(torch.relu, (1,), arg_types=(str,)).args == (1,)  # one signature only: nothing to tell apart
    assert normal(torch.max, (1, 0), arg_types=(str, str)) is None
    assert normal(torch.relu, (1,), arg_types=(torch.Tensor,)).args == (1,)
    net = nn.Sequential(nn.Linear(2, 2))
    (node,) = fx.symbolic_trace(net).graph.find_nodes(op="call_module")
    assert node.normalized_arguments(net, normalize_to_only_use_kwargs=True).kwargs == {"input": node.args[0]}


def test_every_row_has_a_signature():
    for name, rows in operator_schemas._rows().items():
        for row in rows:
            signature = operator_schemas._signature(row["schema"])
            inside = row["schema"].rpartition(" -> ")[0].partition("(")[2][:-1]
            assert len(signature.parameters) == bool(inside) + sum(
                c == "," and inside[:i].count("[") == inside[:i].count("]") for i, c in enumerate(inside)
            ) - ("*" in inside.replace("**", "")), (name, row["schema"])
    (add, *_), (schema, *_) = operator_schemas.get_signature_for_torch_op(torch.add, return_schemas=True)
    assert list(add.parameters) == ["input", "other", "alpha"] and schema.startswith("add(")
    assert operator_schemas.get_signature_for_torch_op(F.relu) is None
    with pytest.raises(RuntimeError, match="mutable operation relu_"):
        operator_schemas.check_for_mutable_operation(torch.relu_, (1,), {})
    operator_schemas.check_for_mutable_operation(torch.relu, (1,), {})


@pytest.mark.parametrize(
    "signature, given, fits",
    [
        (torch.Tensor, torch.Tensor, True), (torch.Tensor, int, False), (float, int, True), (int, float, False), (int | None, int, True),
        (int | None, type(None), True), (list[int], list[int], True), (list[int], list[str], False), (torch.Tensor, nn.Parameter, True),
    ],
)  # fmt: skip
def test_types_fit(signature, given, fits):
    assert operator_schemas.type_matches(signature, given) is fits


def test_types_of_tensors():
    kind, dyn = tensor_type.TensorType, tensor_type.Dyn
    assert kind((1, dyn)) == kind[1, dyn] and tensor_type.is_consistent(kind((1, dyn)), kind((dyn, 2)))
    assert tensor_type.is_more_precise(kind((1, 2)), kind((1, dyn))) and not tensor_type.is_more_precise(
        dyn, kind((1,))
    )


# --- the rest ---


def test_passes_run_in_order_until_nothing_changes():
    class Unwrap(PassBase):
        """neg(neg(x)) -> x"""

        def call(self, module):
            for node in module.graph.find_nodes(op="call_function", target=torch.neg):
                inner = node.args[0]
                if inner.target is torch.neg:
                    node.replace_all_uses_with(inner.args[0])
                    module.graph.eliminate_dead_code()
                    return PassResult(module, True)
            return PassResult(module, False)

    traced = fx.symbolic_trace(lambda x: torch.neg(torch.neg(torch.neg(torch.neg(torch.neg(x))))))
    result = PassManager([Unwrap()], steps=10)(traced)
    assert result.modified and len(result.graph_module.graph.find_nodes(op="call_function")) == 1


def test_support_of_nodes():
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + torch.neg(x))
    ShapeProp(traced).propagate(torch.ones(2))
    relu, neg, add = traced.graph.find_nodes(op="call_function")
    table = operator_support.OperatorSupport({"torch.relu": None, "torch.neg": (((torch.float64,),), {})})
    assert [table.is_node_supported({}, n) for n in (relu, neg, add)] == [True, False, False]
    named = operator_support.OpSupports.decline_if_node_in_names({"relu"})
    both = operator_support.chain(table, named)
    assert not both.is_node_supported({}, relu) and operator_support.any_chain(table, named).is_node_supported({}, relu)
    assert not operator_support.OpSupports.decline_if_input_dtype(torch.float32).is_node_supported({}, relu)
    assert tools_common.is_node_output_tensor(relu)


def test_graphs_are_sorted():
    graph = fx.Graph()
    x = graph.placeholder("x")
    second = graph.call_function(torch.neg, (x,))
    first = graph.call_function(torch.relu, (x,))
    second.args = (first,)
    graph.output(second)
    module = fx.GraphModule(nn.Module(), fx.Graph())
    module._graph = graph
    assert [n.name for n in tools_common.stable_topological_sort(module).graph.nodes] == ["x", "relu", "neg", "output"]
    module.graph.lint()
    first.args = (second,)
    module._graph = graph
    with pytest.raises(RuntimeError, match="has cycles"):
        tools_common.legalize_graph(module)


def test_nodes_by_the_call_that_they_come_from():
    graph = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))).graph
    found = get_source_partitions(graph, [nn.Linear, nn.ReLU])
    assert [p.nodes[0].name for p in found[nn.Linear]] == ["_0", "_2"] and found[nn.ReLU][0].input_nodes[0].name == "_0"
    assert check_subgraphs_connected(found[nn.Linear][0], found[nn.ReLU][0])
    assert not check_subgraphs_connected(found[nn.Linear][0], found[nn.Linear][1])


def test_pictures():
    pytest.importorskip("pydot")
    from torch.fx.passes.graph_drawer import FxGraphDrawer

    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    dot = FxGraphDrawer(traced, "net").get_dot_graph()
    text = dot.to_string()
    assert (
        len(dot.get_nodes()) == 4
        and len(dot.get_edges()) == 3
        and "weight: (3, 2)" in text
        and "op_code=Linear" in text
    )


def test_questions_about_sizes_are_answered_for_numbers_and_for_names():
    from torch._symbols import named

    assert symbolic_shapes.statically_known_true(2 == 2) and symbolic_shapes.free_symbols(torch.ones(1)) == set()
    assert symbolic_shapes.guard_int(3) == 3 and not symbolic_shapes.sym_or(False, 1 > 2)
    size = named("s0", 3)
    assert symbolic_shapes.guard_int(size) == 3 and symbolic_shapes.guard_bool(size > 2)
    assert not symbolic_shapes.statically_known_true(size > 2) and not symbolic_shapes.statically_known_false(size > 2)
    assert symbolic_shapes.guard_or_true(size > 9) and not symbolic_shapes.guard_or_false(size > 2)
    assert symbolic_shapes.is_symbolic(size) and not symbolic_shapes.is_concrete_int(size)
    assert symbolic_shapes.free_symbols([size * named("u1", 2)]) == {"s0", "u1"}
    assert symbolic_shapes.free_unbacked_symbols(size + named("u1", 2)) == {"u1"}
    with pytest.raises(NotImplementedError, match="ShapeEnv: sizes get their names from an export"):
        symbolic_shapes.ShapeEnv()
    assert proxy_tensor.get_proxy_mode() is None


# --- named tuples, notes and further passes ---


class Pair(typing.NamedTuple):
    """What a program returns."""

    one: torch.Tensor
    two: torch.Tensor


def test_a_named_tuple_is_made_by_a_node_of_its_class():
    gm = fx.symbolic_trace(lambda x: Pair(x + 1, x * 2))
    made = gm.graph.output_node().args[0]
    assert made.op == "call_function" and made.target is Pair and len(made.args) == 2
    found = gm(torch.ones(1))
    assert type(found) is Pair and found.two.item() == 2


def test_a_transformer_keeps_the_notes_of_the_output():
    gm = fx.symbolic_trace(lambda x: x + 1)
    gm.graph.output_node().meta["note"] = "kept"
    assert fx.Transformer(gm).transform().graph.output_node().meta["note"] == "kept"


def test_modules_of_a_pattern_that_was_replaced_are_taken_out():
    class Calls(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    class New(nn.Module):
        def __init__(self):
            super().__init__()
            self.other = nn.ReLU()

        def forward(self, x):
            return self.other(x)

    gm = fx.symbolic_trace(Calls(nn.Linear(2, 2)))
    fx.subgraph_rewriter.replace_pattern(gm, Calls(nn.Linear(2, 2)), New())
    assert [name for name, _ in gm.named_modules()] == ["", "other"] and gm(-torch.ones(1, 2)).sum() == 0


def test_functions_are_written_with_all_arguments_by_name():
    gm = fx.symbolic_trace(lambda x: F.max_pool2d(F.dropout(x, 0.5, False), 2))
    ShapeProp(gm).propagate(torch.ones(1, 1, 4, 4))
    nodes = NormalizeArgs(gm).transform().graph.find_nodes(op="call_function", target=F.dropout)
    assert nodes[0].args == () and nodes[0].kwargs["p"] == 0.5


def test_passes_in_a_row_and_their_order():
    from torch.fx.passes import pass_manager

    double, add = (lambda n: n * 2), (lambda n: n + 1)
    double.__name__, add.__name__ = "double", "add"
    passes = pass_manager.PassManager([double, add])
    assert passes(3) == 7
    passes.add_constraint(pass_manager.this_before_that_pass_constraint(add, double))
    with pytest.raises(RuntimeError, match="'double' must not stand before 'add'"):
        passes(3)
    passes.remove_pass(["double"])
    assert passes(3) == 4
    passes.replace_pass(add, double)
    assert passes(3) == 6
    assert pass_manager.loop_pass(add, n_iter=3)(0) == 3
    with pytest.raises(AssertionError, match="exactly one"):
        pass_manager.loop_pass(add)


def test_an_observer_tells_what_a_pass_did():
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver

    def swap(graph):
        for node in list(graph.nodes):
            if node.target is torch.relu:
                with graph.inserting_after(node):
                    node.replace_all_uses_with(graph.call_function(torch.tanh, node.args))
                graph.erase_node(node)

    seen = GraphTransformObserver(fx.symbolic_trace(lambda x: torch.relu(x)), "swap")
    seen.apply_graph_pass(swap)
    assert (seen.created_nodes, seen.erased_nodes) == ({"tanh"}, {"relu"})
    with pytest.raises(NotImplementedError, match="log_url"):
        GraphTransformObserver(seen.gm, "swap", log_url="file")


def test_types_of_items_follow_from_their_container():
    from torch.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes

    def parts(a: tuple[int, float], b: list[str], c: Pair, d: tuple[int, ...]):
        return a[1], b[0], c[0], d[5]

    graph = fx.symbolic_trace(parts).graph
    annotate_getitem_nodes(graph)
    assert [n.type for n in graph.nodes if n.target is operator.getitem] == [float, str, torch.Tensor, int]


def test_patterns_name_their_nodes():
    from torch.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap

    def pattern(x, y):
        z = torch.relu(x)
        return z * y, {"act": z, "y": y}

    gm = fx.symbolic_trace(lambda a, b: (torch.relu(a) * b) + 1)
    (found,) = SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(pattern)).match(gm.graph)
    assert {name: node.name for name, node in found.name_node_map.items()} == {"act": "relu", "y": "b"}
    with pytest.raises(AssertionError, match="a dict of its nodes by name"):
        SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(lambda x: torch.relu(x)))
