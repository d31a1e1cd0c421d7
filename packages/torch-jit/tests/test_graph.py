"""Graphs by hand: nodes, names, changes, checks, text; modules of them; runs of them."""

import copy
import enum
import operator
import pickle
import sys
from collections import namedtuple

import pytest
import torch
from torch import _pytree as pytree
from torch import fx, nn
from torch.fx import immutable_collections
from torch.fx.node import map_aggregate, map_arg

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


def chain():
    """x -> relu -> neg -> output"""
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    neg = graph.call_method("neg", (relu,))
    graph.output(neg)
    return graph, x, relu, neg


def names(graph):
    return [node.name for node in graph.nodes]


# --- nodes ---


def test_nodes_know_inputs_and_users():
    graph, x, relu, neg = chain()
    both = graph.call_function(torch.add, (relu, relu), {"alpha": x})
    assert both.all_input_nodes == [relu, x] and list(relu.users) == [neg, both]
    both.args = (neg, 1)
    assert list(relu.users) == [neg] and both.all_input_nodes == [neg, x]
    both.update_kwarg("alpha", 2)
    both.insert_arg(0, relu)
    both.update_arg(2, 5)
    assert both.args == (relu, neg, 5) and both.kwargs == {"alpha": 2} and list(x.users) == [relu]
    with pytest.raises(ValueError, match="between 0 and 3, got 4"):
        both.insert_arg(4, x)


def test_arguments_cannot_be_changed_in_place():
    graph = fx.Graph()
    x = graph.placeholder("x")
    cat = graph.call_function(torch.cat, ([x, x],), {"dim": 0})
    assert cat.args == ([x, x],) and isinstance(cat.args[0], immutable_collections.immutable_list)
    with pytest.raises(TypeError, match=r"immutable_list does not support append.*node.args = "):
        cat.args[0].append(x)
    with pytest.raises(TypeError, match="immutable_dict does not support update"):
        cat.kwargs.update(dim=1)
    with pytest.raises(TypeError, match="__setitem__"):
        cat.kwargs["dim"] = 1
    paths = pytree.tree_leaves_with_path((cat.args, cat.kwargs))
    assert [pytree.keystr(path) for path, _ in paths] == ["[0][0][0]", "[0][0][1]", "[1]['dim']"]


def test_uses_are_replaced():
    graph, x, relu, neg = chain()
    with graph.inserting_after(relu):
        sigmoid = graph.call_function(torch.sigmoid, (x,))
    relu.meta["note"] = 1
    assert relu.replace_all_uses_with(sigmoid, propagate_meta=True) == [neg]
    assert neg.args == (sigmoid,) and not relu.users and sigmoid.meta == {"note": 1}
    neg.replace_input_with(sigmoid, x)
    assert neg.args == (x,) and list(x.users) == [relu, sigmoid, neg]
    kept = x.replace_all_uses_with(relu, delete_user_cb=lambda user: user is neg)
    assert kept == [relu, sigmoid, neg] and relu.args == (x,) and neg.args == (relu,)
    with pytest.raises(AssertionError, match="has meta of its own"):
        relu.replace_all_uses_with(sigmoid, propagate_meta=True)


def test_nodes_move():
    graph, x, relu, neg = chain()
    other = graph.call_function(torch.abs, (x,))
    relu.prepend(other)
    assert names(graph) == ["x", "abs_1", "relu", "neg", "output"] and other < relu < neg and not neg <= other
    relu.append(other)
    assert names(graph) == ["x", "relu", "abs_1", "neg", "output"] and other.prev is relu and other.next is neg
    foreign = fx.Graph().placeholder("x")
    with pytest.raises(AssertionError, match="another graph"):
        relu.prepend(foreign)
    assert [n.name for n in reversed(graph.nodes)] == ["output", "neg", "abs_1", "relu", "x"]


def test_maps_reach_every_leaf():
    x = fx.Graph().placeholder("x")
    tree = [x, (1, {"k": x}), slice(x, None), Point(x, 2)]
    assert map_arg(tree, lambda n: n.name) == ["x", (1, {"k": "x"}), slice("x", None), Point("x", 2)]
    assert isinstance(map_aggregate(tree, lambda leaf: leaf)[3], Point)
    with pytest.raises(TypeError, match="fn must be callable, got int"):
        map_arg(tree, 3)


def test_lines_of_nodes():
    graph, x, relu, neg = chain()
    y = graph.placeholder("y", int, 3)
    assert str(graph).splitlines() == [
        "graph():",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})",
        "    %neg : [num_users=1] = call_method[target=neg](args = (%relu,), kwargs = {})",
        "    return neg",
        "    %y : int [num_users=0] = placeholder[target=y](default=3)",
    ]
    assert repr(y) == "y"


@pytest.mark.parametrize(
    "op, target, said",
    [
        ("call_function", "relu", "must be callable, got 'relu'"),
        ("call_method", torch.relu, "must be a str, got <operator torch.relu>"),
        ("get_attr", 3, "must be a str, got 3"),
    ],
)
def test_targets_are_checked(op, target, said):
    graph = fx.Graph()
    with pytest.raises(ValueError, match=said):
        graph.create_node(op, target)
    with pytest.raises(AssertionError, match="op 'call' is not in _legal_ops"):
        graph.create_node("call", "x")
    with pytest.raises(AssertionError, match="args must be a tuple, got list"):
        graph.create_node("call_function", torch.relu, [1])
    assert len(graph.nodes) == 0


# --- names ---


def test_names_are_identifiers_used_once_and_no_builtins():
    graph = fx.Graph()
    wishes = [
        "add",
        "add_5",
        "add",
        "add_5",
        "a b",
        "1x",
        "class",
        "len",
        "inf",
        "torch",
        "device",
        "x",
        "getattr",
        "x_1_2",
        "x",
    ]
    got = [graph.create_node("call_function", torch.add, name=wish).name for wish in wishes]
    assert got == [
        "add", "add_5", "add_6", "add_7", "a_b", "_1x", "class_1", "len_1", "inf_1", "torch_1", "device_1", "x", "getattr_1", "x_1_2", "x_1",
    ]  # fmt: skip
    methods = [graph.call_method(name).name for name in ("HelloWorldABC", "__add__", "x2Y", "_private")]
    assert methods == ["hello_world_abc", "add_8", "x2y", "_private"]


# --- changes of the graph ---


def test_insertion_points():
    graph, x, relu, neg = chain()
    with graph.inserting_before(relu):
        graph.call_function(torch.abs, (x,))
    with graph.inserting_after(x):
        graph.call_function(torch.sin, (x,))
    with graph.inserting_before():
        graph.get_attr("w")
    graph.call_function(torch.cos, (x,))
    assert names(graph) == ["w", "x", "sin", "abs_1", "relu", "neg", "output", "cos"]
    with pytest.raises(AssertionError, match="not in this graph"):
        graph.inserting_before(fx.Graph().placeholder("x"))


def test_nodes_are_erased_also_while_the_graph_is_walked():
    graph, x, relu, neg = chain()
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users"):
        graph.erase_node(relu)
    neg.replace_all_uses_with(relu)
    for node in graph.nodes:
        if node.op == "call_method":
            graph.erase_node(node)
    assert names(graph) == ["x", "relu", "output"] and len(graph.nodes) == 3 and not neg.args
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(neg)
    with pytest.raises(RuntimeError, match="from wrong graph"):
        graph.erase_node(fx.Graph().placeholder("x"))


def test_dead_code_goes_and_effects_stay():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.add, (graph.call_function(torch.neg, (x,)), 1))  # both go
    stay = [
        graph.call_function(operator.setitem, (x, 0, 1)),
        graph.call_method("add_", (x, 1)),
        graph.call_function(operator.iadd, (x, 1)),
        graph.call_function(nn.functional.relu, (x,), {"inplace": True}),
        graph.call_function(torch.rand, (2,)),
        graph.call_function(torch.add, (x, 1), {"out": x}),
        graph.call_function(torch._assert, (x, "")),
    ]
    graph.output(x)
    assert graph.eliminate_dead_code() and not graph.eliminate_dead_code()
    assert list(graph.nodes)[1:-1] == stay
    assert graph.eliminate_dead_code(is_impure_node=lambda node: node.op == "call_method")
    assert names(graph) == ["x", "add_", "output"]


def test_lint_finds_what_is_wrong():
    graph, x, relu, neg = chain()
    graph.lint()
    neg.append(relu)
    with pytest.raises(RuntimeError, match="Argument 'relu' of Node 'neg' was used before it has been defined"):
        graph.lint()
    relu.append(neg)
    foreign = fx.Graph().placeholder("z")
    neg.args = (foreign,)
    with pytest.raises(RuntimeError, match="Argument 'z' of Node 'neg' does not belong to this Graph"):
        graph.lint()
    neg.args = (relu,)
    neg.name = "relu"
    with pytest.raises(RuntimeError, match="redefined name relu"):
        graph.lint()
    module = fx.GraphModule({"a": nn.ReLU()}, fx.Graph())
    with pytest.warns(UserWarning, match="call_module Node for 'b'"):
        module.graph.call_module("b")
    with pytest.raises(RuntimeError, match="references nonexistent attribute"):
        module.graph.lint()


def test_graphs_are_copied_into_others():
    graph, x, relu, neg = chain()
    other = fx.Graph()
    start = other.placeholder("y")
    values = {x: start}
    result = other.graph_copy(graph, values)
    assert result.name == "neg" and names(other) == ["y", "relu", "neg"] and values[relu].args == (start,)
    again = copy.deepcopy(graph)
    assert str(again) == str(graph) and all(a is not b for a, b in zip(again.nodes, graph.nodes, strict=True))
    assert graph.find_nodes(op="call_function", target=torch.relu) == [relu] and graph.find_nodes(op="get_attr") == []


def test_tables_are_printed(capsys):
    chain()[0].print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[3].split()[:2] == ["call_function", "relu"] and len(lines) == 6


# --- text ---


def line_of(target, *args, **kwargs):
    """The program text of one call, without the variable that it assigns and clears."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    args = map_arg(args, lambda n: n) if args else ()
    args = tuple(x if a == "X" else a for a in args)
    kind = "call_method" if isinstance(target, str) else "call_function"
    graph.create_node(kind, target, args, kwargs)
    return graph.python_code("self").src.strip().splitlines()[1].strip().rpartition(";  ")[0]


@pytest.mark.parametrize(
    "line, text",
    [
        ((operator.iadd, "X", 1), "x += 1;  iadd = x"),
        ((operator.setitem, "X", 0, 1), "x[0] = 1;  setitem = x"),
        ((operator.getitem, "X", (0, slice(None), ...)), "getitem = x[(0, slice(None, None, None), Ellipsis)]"),
        ((operator.pow, -2, "X"), "pow_1 = (-2) ** x"),
        ((operator.neg, -2), "neg = -(-2)"),
        ((operator.and_, "X", "X"), "and_ = x & x"),
        ((operator.not_, "X"), "not_ = _operator_not_(x)"),
        ((getattr, "X", "shape"), "getattr_1 = x.shape"),
        ((getattr, "X", "a b"), "getattr_1 = getattr(x, 'a b')"),
        ((getattr, "X", "a", 3), "getattr_1 = getattr(x, 'a', 3)"),
        ((torch.Size, [1]), "size = torch.Size([1])"),
        ((isinstance, "X", int), "isinstance_1 = isinstance(x, int)"),
        ((torch.device, "cpu"), "device_1 = device('cpu')"),
        ((nn.functional.gelu, "X"), "gelu = torch.nn.functional.gelu(x)"),
        ((torch.linalg.norm, "X"), "linalg_norm = torch.linalg.norm(x)"),
        (("view", "X", torch.Size([1, 2])), "view = x.view((1, 2))"),
        (
            ("to", "X", torch.float32, None, float("-inf"), 1 + 2j, "it's"),
            'to = x.to(torch.float32, None, -inf, (1+2j), "it\'s")',
        ),
        (("f", "X", range(3), [1, {"k": (1,)}]), "f = x.f(range(0, 3), [1, {'k': (1,)}])"),
    ],
)
def test_program_text_of_calls(line, text):
    assert line_of(*line) == text


def test_odd_keywords_enums_and_named_tuples_have_text():
    assert line_of("f", "X", **{"class": 1, "k": 2}) == "f = x.f(k = 2, **{'class': 1})"
    assert line_of("f", "X", Colour.RED).endswith("Colour.RED)")
    assert line_of("f", "X", Point(1, 2)).endswith("Point(1, 2))")
    with pytest.raises(TypeError, match="has no program text"):
        line_of("f", "X", torch.ones(1))


def test_paths_that_are_no_identifiers_use_getattr():
    graph = fx.Graph()
    graph.get_attr("seq.0.weight")
    graph.call_module("0.a", ())
    lines = graph.python_code("self").src.strip().splitlines()
    assert lines[1].strip() == 'seq_0_weight = getattr(self.seq, "0").weight;  seq_0_weight = None'
    assert lines[2].strip() == '_0_a = getattr(self, "0").a();  _0_a = None'


def test_annotations_are_written():
    def f(x: torch.Tensor, y: list[int] | None = None, z: "torch.Tensor" = None) -> torch.Tensor:
        return x

    assert (
        "def forward(self, x : torch.Tensor, y : list[int]|NoneType = None, z : 'torch.Tensor' = None) -> torch.Tensor:"
        in (fx.symbolic_trace(f).code)
    )


def test_an_empty_graph_runs():
    module = fx.GraphModule(nn.Module(), fx.Graph())
    assert module.code == "\n\n\ndef forward(self):\n    pass\n    " and module() is None


def test_the_body_can_be_changed_when_text_is_made():
    traced = fx.symbolic_trace(lambda x: x + 1)
    with traced.graph.on_generate_code(lambda before: lambda body: ["y = 0\n", *body]):
        traced.recompile()
        assert traced.code.strip().splitlines()[1] == "    y = 0"
    traced.recompile()
    assert "y = 0" not in traced.code


def test_a_codegen_of_ones_own_changes_arguments_and_results():
    class Listed(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, args_list):{maybe_return_annotation}\n    {', '.join(free_vars)}, = args_list"

        def process_inputs(self, *inputs):
            return inputs[0]

    traced = fx.symbolic_trace(lambda x, y: x - y)
    traced.graph.set_codegen(Listed())
    traced.recompile()
    values = [torch.ones(1), torch.zeros(1)]
    assert traced(values) == 1 and fx.Interpreter(traced).run(values) == 1


# --- modules ---


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
        self.unused = nn.Linear(1, 1)
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.zeros(2), persistent=False)
        self.kept = nn.Module()
        self.kept.deep = nn.ReLU()

    def forward(self, x):
        return self.kept.deep(self.inner(x) * self.w + self.b)


def test_a_graph_module_holds_what_its_graph_mentions_and_shares_it():
    net = Net().eval()
    traced = fx.symbolic_trace(net)
    assert list(dict(traced.named_parameters())) == ["w", "inner.0.weight", "inner.0.bias"]
    assert traced.w is net.w and traced.inner is not net.inner and traced.get_submodule("inner.0") is net.inner[0]
    assert "b" not in traced.state_dict() and traced.b is net.b
    assert not traced.training and type(traced).__name__ == "Net" and traced.graph.owning_module is traced
    traced.load_state_dict({key: value + 1 for key, value in traced.state_dict().items()})
    assert torch.equal(net.w, torch.full((2,), 2.0))


def test_modules_are_added_and_removed():
    traced = fx.symbolic_trace(Net())
    assert traced.add_submodule("inner.extra.deep", nn.Tanh()) and not traced.add_submodule("w.a", nn.Tanh())
    assert isinstance(traced.get_submodule("inner.extra.deep"), nn.Tanh)
    assert traced.delete_submodule("inner.extra.deep") and not traced.delete_submodule("inner.nope.deep")
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules() if name] == ["inner", "inner.0", "inner.1", "kept", "kept.deep"]
    (node,) = traced.graph.find_nodes(op="call_module", target="inner.1")
    node.replace_all_uses_with(node.args[0])
    traced.graph.erase_node(node)
    traced.recompile()
    traced.delete_all_unused_submodules()
    assert "inner.1" not in dict(traced.named_modules()) and "self.inner" in traced.code
    assert traced(torch.ones(1, 2)).shape == (1, 2)


def test_roots_may_be_dicts():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.mul, (graph.call_module("a.b", (x,)), graph.get_attr("w"))))
    module = fx.GraphModule({"a.b": nn.ReLU(), "w": torch.full((1,), 3.0)}, graph, "Named")
    assert module(torch.tensor([2.0])) == 6 and list(module.state_dict()) == ["w"] and repr(module).startswith("Named(")
    with pytest.raises(RuntimeError, match=r"target w but that target was not provided.*\['a.b'\]"):
        fx.GraphModule({"a.b": nn.ReLU()}, graph)
    with pytest.raises(RuntimeError, match="Unsupported type <class 'int'>"):
        fx.GraphModule(3, graph)
    with pytest.raises(AssertionError, match="Expected a Graph"):
        module.graph = 3


def test_a_changed_graph_runs_after_recompile():
    traced = fx.symbolic_trace(lambda x, y: torch.add(x, y))
    for node in traced.graph.find_nodes(op="call_function"):
        node.target = torch.mul
    x, y = torch.tensor([2.0]), torch.tensor([3.0])
    assert traced(x, y) == 5
    traced.recompile()
    assert traced(x, y) == 6 and "torch.mul" in traced.code
    other = fx.symbolic_trace(lambda x, y: x - y)
    traced.graph = other.graph
    assert traced(x, y) == -1 and other.graph.owning_module is other


def test_folders_hold_a_package(tmp_path, monkeypatch):
    pytest.importorskip("torch.serialize")
    traced = fx.symbolic_trace(Net().eval())
    traced.to_folder(tmp_path / "saved_net", "Saved")
    monkeypatch.syspath_prepend(tmp_path)
    import saved_net

    x = torch.tensor([[1.0, -2.0]])
    assert torch.equal(saved_net.Saved().eval()(x), traced(x))
    del sys.modules["saved_net"], sys.modules["saved_net.module"]


def test_a_pickled_program_keeps_what_its_graph_does_not_use():
    traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    traced.add_submodule("more", torch.nn.Linear(2, 3))
    traced.register_buffer("count", torch.ones(1))
    traced.register_parameter("scale", torch.nn.Parameter(torch.ones(2)))
    again = pickle.loads(pickle.dumps(traced))
    assert again.state_dict().keys() == traced.state_dict().keys()
    assert torch.equal(again.more.weight, traced.more.weight) and torch.equal(
        again(torch.ones(2)), traced(torch.ones(2))
    )


def test_a_program_with_a_nameless_function_is_not_pickled():
    graph = fx.Graph()
    graph.output(graph.call_function(lambda: 3))
    module = fx.GraphModule(nn.Module(), graph)
    assert module() == 3
    with pytest.raises(ValueError, match="cannot be imported .* by name"):
        module.__reduce__()


def test_tracebacks_show_the_line_of_the_program():
    traced = fx.symbolic_trace(lambda x: x.view(3, 4))
    with pytest.raises(RuntimeError) as raised:
        traced(torch.ones(2))
    assert any("view = x.view(3, 4)" in str(entry.statement) for entry in raised.traceback)


# --- runs ---


def test_an_interpreter_may_change_calls_and_lets_go_of_values():
    class Negating(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            assert len(self.env) <= 2
            return torch.neg(*args) if target is torch.relu else super().call_function(target, args, kwargs)

    traced = fx.symbolic_trace(lambda x: torch.relu(torch.abs(torch.sin(x))) + 1)
    assert torch.equal(Negating(traced).run(torch.zeros(2)), torch.ones(2))
    keeping = fx.Interpreter(traced, garbage_collect_values=False)
    keeping.run(torch.zeros(2))
    assert len(keeping.env) == 6
    values = [torch.zeros(2)]
    assert torch.equal(fx.Interpreter(traced).boxed_run(values), torch.ones(2)) and values == []
    x = next(iter(traced.graph.nodes))
    assert torch.equal(fx.Interpreter(traced).run(initial_env={x: torch.zeros(2)}), torch.ones(2))


def test_errors_of_a_run_name_the_node():
    traced = fx.symbolic_trace(lambda x, y: torch.relu(x).view(3, 4))
    with pytest.raises(RuntimeError, match=r"(?s)While executing %view : .*call_method\[target=view\]"):
        fx.Interpreter(traced).run(torch.ones(2), 3)
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter y"):
        fx.Interpreter(traced).run(torch.ones(12))


def test_a_transformer_makes_a_new_module():
    class Swapped(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) * 2

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Identity()

        def forward(self, x, k=2):
            return {"out": self.a(torch.relu(x)) + k}

    made = Swapped(fx.symbolic_trace(Small())).transform()
    assert torch.equal(made(torch.zeros(1))["out"], torch.tensor([3.0]))
    assert [n.op for n in made.graph.nodes][0:2] == ["placeholder"] * 2


# --- proxies by hand ---


def test_proxies_append_to_a_graph_that_exists():
    graph, x, relu, neg = chain()
    with graph.inserting_before(graph.output_node()):
        result = torch.fx.Proxy(neg) * 2 + 1
    graph.output_node().args = (result.node,)
    assert fx.GraphModule(nn.Module(), graph)(torch.tensor([3.0])) == -5
    with pytest.raises(RuntimeError, match="multiple different tracers"):
        fx.Proxy.__torch_function__(torch.add, (), (fx.Proxy(x), fx.Proxy(chain()[1])))
    assert not hasattr(fx.Proxy(x), "__array__") and repr(fx.Proxy(x)) == "Proxy(x)"


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.create_node("placeholder", "y=print('run')", (), {}, "y"),
        lambda graph: graph.create_node("call_method", "t(); print", (graph.placeholder("y"),), {}, "z"),
    ],
)
def test_a_target_that_is_no_name_makes_no_program(change, capsys):
    graph = fx.Graph()
    graph.output(change(graph))
    with pytest.raises(ValueError, match="which is no name in a program"):
        fx.GraphModule(nn.Module(), graph)
    assert not capsys.readouterr().out


def test_nodes_are_found_in_blocks_and_below_a_node():
    @torch.jit.script
    def chosen(x, on: bool):
        if on:
            x = x.relu()
        return x + 1

    graph = chosen.graph
    branch = graph.findNode("prim::If")
    relu = graph.findNode("aten::relu")
    assert relu is not None
    assert graph.findNode("aten::relu", recurse=False) is None
    assert branch.findNode("aten::relu").output() == relu.output()
    assert branch.findNode("aten::add") is None
    assert [each.kind() for each in branch.findAllNodes("aten::relu")] == ["aten::relu"]


def test_a_value_knows_whether_it_needs_a_gradient_or_that_nothing_says_so():
    graph = torch._C.parse_ir("graph(%a : Float(2, requires_grad=1), %b : Tensor):\n  return (%a)")
    a, b = graph.inputs()
    assert (a.requiresGrad(), b.requiresGrad()) == (True, None)
