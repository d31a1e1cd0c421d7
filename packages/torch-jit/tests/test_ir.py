"""Programs as graphs: making, printing, reading and running them."""

import pytest
import torch
from torch.jit import _ir
from torch.jit._ir import (
    BoolType,
    ClassType,
    DictType,
    FloatType,
    Function,
    Graph,
    IntType,
    ListType,
    NoneType,
    Object,
    OptionalType,
    OverloadError,
    StringType,
    TensorType,
    TupleType,
    UnionType,
    parse_ir,
)

COUNT_DOWN = """graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %y : Tensor, %s : int = prim::Loop(%n, %true, %x, %one)
    block0(%i : int, %a : Tensor, %b : int):
      %c : Tensor = aten::add(%a, %i, %one)
      %d : int = aten::mul(%b, %two)
      %e : bool = aten::lt(%d, %n)
      %f : int = prim::If(%e)
        block0():
          -> (%d)
        block1():
          %g : int = aten::sub(%d, %one)
          -> (%g)
      -> (%true, %c, %f)
  return (%y, %s)
"""


def run(text, *args):
    return Function("f", parse_ir(text))(*args)


def primitive(name, *values):
    g = Graph()
    inputs = [g.addInput(f"a{i}", _ir._native._type_of(v)) for i, v in enumerate(values)]
    results = g.call(name, inputs)
    for r in results if isinstance(results, tuple) else [results]:
        g.registerOutput(r)
    g.lint()
    return Function("f", g)(*values)


def test_loops_and_branches_run():
    y, s = run(COUNT_DOWN, torch.zeros(2), 5)
    b = 1
    for _ in range(5):
        b = b * 2 if b * 2 < 5 else b * 2 - 1
    assert torch.equal(y, torch.full((2,), 10.0)) and s == b


def test_a_graph_reads_what_it_prints():
    text = str(parse_ir(COUNT_DOWN))
    assert str(parse_ir(text)) == text
    assert "block0(%i : int, %a : Tensor, %b : int):" in text


def test_loops_carry_values_that_change_places():
    text = """graph(%n : int, %a : int, %b : int):
      %t : bool = prim::Constant[value=1]()
      %x : int, %y : int = prim::Loop(%n, %t, %a, %b)
        block0(%i : int, %p : int, %q : int):
          -> (%t, %q, %p)
      return (%x, %y)"""
    assert run(text, 3, 1, 2) == (2, 1)
    assert run(text, 0, 1, 2) == (1, 2)


def test_a_value_used_in_a_loop_lives_through_all_turns():
    text = """graph(%n : int, %w : Tensor, %x : Tensor):
      %t : bool = prim::Constant[value=1]()
      %v : Tensor = aten::neg(%w)
      %y : Tensor = prim::Loop(%n, %t, %x)
        block0(%i : int, %p : Tensor):
          %q : Tensor = aten::mul(%p, %v)
          -> (%t, %q)
      return (%y)"""
    assert run(text, 3, torch.tensor(2.0), torch.tensor(1.0)).item() == -8


def test_programs_differentiate():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f = Function("f", parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::mul(%x, %x)\n  return (%y)"))
    f(x).sum().backward()
    assert torch.equal(x.grad, torch.tensor([2.0, 4.0]))


def test_a_call_finds_the_overload_by_types_and_fills_defaults_in():
    g = Graph()
    x = g.addInput("x")
    values, indices = g.call("max", [x, 0])
    assert values.node() == indices.node()
    assert values.node().overload() == "dim" and "int dim" in values.node().schema()
    whole = g.call("max", [x])
    assert whole.node().overload() == "" and whole.node().inputsSize() == 1
    n = g.call("len", [x])
    assert n.type() == IntType.get()
    y = g.call("conv2d", [x, x], {"stride": 2})
    assert y.node().namedInput("stride").type() == ListType.ofInts()


def test_an_int_stands_for_a_list_and_several_for_the_last():
    g = Graph()
    x = g.addInput("x")
    n = g.addInput("n", IntType.get())
    g.registerOutput(g.call("view", [x, n, -1]))
    assert Function("f", g)(torch.zeros(2, 3), 3).shape == (3, 2)
    g = Graph()
    x = g.addInput("x")
    g.registerOutput(g.call("avg_pool2d", [x, 2]))
    assert Function("f", g)(torch.zeros(1, 1, 4, 4)).shape == (1, 1, 2, 2)


def test_a_tensor_of_one_element_stands_for_a_number_at_second_choice():
    g = Graph()
    x, i = g.addInput("x"), g.addInput("i")
    y = g.call("select", [x, 0, i])
    assert y.node().input(2).node().kind() == "aten::IntImplicit"
    g.registerOutput(y)
    assert Function("f", g)(torch.tensor([1.0, 2.0]), torch.tensor(1)).item() == 2


def test_a_call_that_fits_nothing_lists_the_candidates():
    g = Graph()
    x, s = g.addInput("x"), g.addInput("s", StringType.get())
    with pytest.raises(
        OverloadError, match=r"not valid[\s\S]*aten::matmul\(.*\n.*'other' but instead found type 'str'"
    ):
        g.call("matmul", [x, s])
    with pytest.raises(OverloadError, match="Unknown builtin op: aten::frobnicate"):
        g.call("frobnicate", [x])
    with pytest.raises(OverloadError, match="Unknown keyword argument 'oops'"):
        g.call("relu", [x], {"oops": 1})
    with pytest.raises(OverloadError, match="Argument other not provided"):
        g.call("matmul", [x])


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("add", (2, 3), 5),
        ("add", (2, 0.5), 2.5),
        ("sub", (2**63 - 1, -1), -(2**63)),
        ("floordiv", (-7, 2), -4),
        ("remainder", (-7, 2), 1),
        ("floordiv", (-7.5, 2), -7.5 // 2),
        ("remainder", (7.5, -2), 7.5 % -2),
        ("div", (7, 2), 3.5),
        ("pow", (2, 3), 8.0),
        ("mul", (2j, 1.5), 3j),
        ("lt", (2, 2.5), True),
        ("eq", ("a", "a"), True),
        ("__and__", (6, 3), 2),
        ("Int", (2.7,), 2),
        ("Int", (" -42 ",), -42),
        ("Float", ("1e-3",), 1e-3),
        ("prim::max", (2, 3), 3),
        ("floor", (-1.5,), -2),
        ("round", (2.5,), 2.0),
        ("len", ("abc",), 3),
        ("len", ([1, 2],), 2),
        ("__getitem__", ([1, 2, 3], -1), 3),
        ("slice", ([1, 2, 3, 4], None, None, 2), [1, 3]),
        ("slice", ([1, 2, 3, 4], 3, 0, -2), [4, 2]),
        ("slice", ("hello", 1, 3), "el"),
        ("add", ([1], [2]), [1, 2]),
        ("mul", ([1, 2], 2), [1, 2, 1, 2]),
        ("sorted", ([3, 1, 2],), [1, 2, 3]),
        ("index", ([3, 1, 2], 1), 1),
        ("__contains__", (["a", "b"], "b"), True),
        ("__contains__", ({"a": 1}, "a"), True),
        ("__getitem__", ({"a": 1, "b": 2}, "b"), 2),
        ("get", ({1: 2.5}, 2, 0.5), 0.5),
        ("keys", ({"b": 1, "a": 2},), ["b", "a"]),
        ("items", ({"b": 1},), [("b", 1)]),
        ("sum", ([1, 2, 3],), 6),
        ("any", ([False, True],), True),
        ("popitem", ({"b": 1},), ("b", 1)),
        ("divmod", (-7, 2), (-4, 1)),
        ("upper", ("aé",), "Aé"),
        ("split", ("a  b c",), ["a", "b", "c"]),
        ("split", ("a,b,c", ",", 1), ["a", "b,c"]),
        ("join", ("-", ["a", "b"]), "a-b"),
        ("strip", ("  a ",), "a"),
        ("replace", ("aXbX", "X", "--"), "a--b--"),
        ("find", ("hello", "l"), 2),
        ("startswith", ("hello", "he"), True),
        ("str", ([1, 2.0, "a"][0:1],), "[1]"),
        ("str", (1e20,), "1e+20"),
        ("str", (0.1,), "0.1"),
        ("str", (True,), "True"),
        ("str", ((1, "a", None),), "(1, 'a', None)"),
        ("__range_length", (0, 10, 3), 4),
        ("__derive_index", (2, 0, 3), 6),
    ],
)
def test_primitives_compute_as_python_does(name, args, expected):
    result = primitive(name, *args)
    assert result == expected and type(result) is type(expected)


@pytest.mark.parametrize(
    ("form", "args"),
    [
        ("{} of {}", (1, "a")),
        ("{1}{0}", (1, 2)),
        ("{:.3f}|{:>6}|{:<6}|{:^6}", (1.23456, "ab", "cd", "ef")),
        ("{:04d} {:,} {:+d}", (42, 1234567, 3)),
        ("{{}} {:x} {:e}", (255, 12345.678)),
        ("{!}".replace("!", ":6.2f"), (3.14159,)),
    ],
)
def test_formats_are_pythons(form, args):
    g = Graph()
    x = g.addInput("x", TupleType([StringType.get(), *map(_ir._native._type_of, args)]))
    g.registerOutput(g.call("prim::format_list", [x]))
    assert Function("f", g)((form, *args)) == form.format(*args)


def test_errors_of_programs_are_of_the_class_that_python_raises():
    with pytest.raises(ZeroDivisionError):
        primitive("floordiv", 1, 0)
    with pytest.raises(IndexError, match="list index out of range"):
        primitive("__getitem__", [1], 3)
    with pytest.raises(KeyError, match="'b'"):
        primitive("__getitem__", {"a": 1}, "b")
    with pytest.raises(ValueError, match="invalid literal"):
        primitive("Int", "a")
    with pytest.raises(ValueError, match="no such thing"):
        run(
            """graph(%m : str):
            %c : str = prim::Constant[value="builtins.ValueError"]()
             = prim::RaiseException(%m, %c)
            return ()""",
            "no such thing",
        )


def test_an_error_of_an_operator_says_where_in_the_program():
    g = Graph()
    x, y = g.addInput("x"), g.addInput("y")
    g.registerOutput(g.call("matmul", [x, y], location=("net.py", 7, 4, "z = x @ y")))
    assert "# net.py:7:4" in str(g)
    with pytest.raises(RuntimeError, match=r'File "net.py", line 7, in f[\s\S]*HERE\nRuntimeError: matmul: last'):
        Function("f", g)(torch.ones(2, 3), torch.ones(2, 3))


def test_arguments_are_bound_by_position_and_name_and_checked():
    f = Function("f", parse_ir("graph(%x : Tensor, %n : float):\n  %y : Tensor = aten::mul(%x, %n)\n  return (%y)"))
    assert f(torch.ones(1), n=2).item() == 2
    f.set_defaults({"n": 3.0})
    assert f(torch.ones(1)).item() == 3
    with pytest.raises(TypeError, match=r"'Tensor' for argument 'x' but instead found type 'str' \(position 1, 'a'\)"):
        f("a")
    with pytest.raises(TypeError, match="Unknown keyword argument 'm'"):
        f(torch.ones(1), m=1)
    with pytest.raises(TypeError, match="twice"):
        f(torch.ones(1), x=torch.ones(1))
    with pytest.raises(TypeError, match="expected at most 2 argument"):
        f(torch.ones(1), 1, 2)


def test_types_print_and_compare():
    assert str(DictType(StringType.get(), ListType(TensorType.get()))) == "Dict[str, List[Tensor]]"
    assert OptionalType(IntType.get()) == UnionType([IntType.get(), NoneType.get()])
    assert IntType.get().isSubtypeOf(OptionalType(IntType.get()))
    assert not FloatType.get().isSubtypeOf(IntType.get())
    assert isinstance(ListType.ofInts(), ListType) and not isinstance(IntType.get(), ListType)
    assert TupleType([]).annotation_str == "Tuple[()]"
    assert _ir.unify(IntType.get(), NoneType.get()) == OptionalType(IntType.get())
    assert _ir.unify(IntType.get(), StringType.get()) is None
    t = TensorType.create_from_tensor(torch.ones(2, 3, requires_grad=True))
    assert t.str() == "Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu)"
    assert _ir.parse_type(t.str()) == t and t.isSubtypeOf(TensorType.get())
    for text in (
        "int[]",
        "Tensor?",
        "(int, Tensor)",
        "Dict(str, int[])",
        "Union(int, str)",
        "Future[Tensor]",
        "Device",
    ):
        assert _ir.parse_type(text).str() == text


def test_classes_have_attributes_and_methods():
    c = ClassType("__torch__.Counter")
    c.add_attribute("n", IntType.get())
    text = """graph(%self : __torch__.Counter, %by : int):
      %n : int = prim::GetAttr[name="n"](%self)
      %m : int = aten::add(%n, %by)
       = prim::SetAttr[name="n"](%self, %m)
      return (%m)"""
    c.add_method(Function("__torch__.Counter.step", parse_ir(text, {"__torch__.Counter": c})))
    o = Object(c)
    o.setattr("n", 1)
    assert o.call("step", 2) == 3 and o.getattr("n") == 3
    with pytest.raises(TypeError, match=r"Counter.n is of type int, not str"):
        o.setattr("n", "a")
    with pytest.raises(AttributeError, match="has no attribute 'm'"):
        o.getattr("m")


def test_a_graph_that_changes_runs_as_it_is_then():
    g = parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)\n  return (%y)")
    f = Function("f", g)
    assert f(torch.tensor(1.0)).item() == -1
    node = g.findNode("aten::neg")
    with g.insert_point_guard(g.block()):
        z = g.call("mul", [node.output(), 2])
    g.replaceOutput(0, z)
    assert f(torch.tensor(1.0)).item() == -2


def test_lint_names_what_is_wrong():
    g = parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)\n  %z : Tensor = aten::neg(%y)\n  return (%z)")
    first, second = g.nodes()
    g.lint()
    second.moveBefore(first)
    with pytest.raises(RuntimeError, match="lint: aten::neg uses %y, which is not defined before it"):
        g.lint()
    with pytest.raises(RuntimeError, match="cannot be destroyed while its output %y is used"):
        first.destroy()


def test_a_node_stays_readable_after_its_graph_is_let_go():
    node = parse_ir(COUNT_DOWN).findNode("prim::Loop")
    assert node.kind() == "prim::Loop" and node.inputsSize() == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph(%x : Tensor):\n  return (%y)", "line 2: expected a value that is defined, not %y"),
        ("graph(%x : Tensr):\n  return (%x)", "a type, not 'Tensr'"),
        ("graph(%x : int):\n  %x : int = aten::neg(%x)\n  return (%x)", "not defined yet"),
        ("graph(%x : int", "expected"),
        ("graph():\n  %1 : int = prim::Constant[value=99999999999999999999]()\n  return (%1)", "64 bits"),
        ('graph():\n  %1 : int = prim::Constant[value="a"]()\n  return (%1)', "of type int"),
        (
            "graph():\n  %1 : Tensor = prim::Constant[value=<Tensor>]()\n  return (%1)",
            "tensors and graphs have no text",
        ),
        ("graph(%x : " + "(" * 300, "less nesting"),
    ],
)
def test_bad_text_is_an_error_with_its_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse_ir(text)


def test_a_program_that_calls_itself_without_end_stops():
    g = Graph()
    x = g.addInput("x", IntType.get())
    f = Function("f", g)
    call = g.insertNode(g.create("prim::CallFunction", [g.insertConstant(f), x], 1))
    call.output().setType(IntType.get())
    g.registerOutput(call.output())
    with pytest.raises(RecursionError):
        f(1)
    call.output().replaceAllUsesWith(x)
    call.destroy()  # f no longer holds itself


def test_python_can_be_called_out_to():
    g = Graph()
    x = g.addInput("x")
    n = g.insertNode(g.create("prim::PythonOp", [x], 1))
    n.ival_("pyobj", lambda t: t * 3)
    g.registerOutput(n.output())
    assert Function("f", g)(torch.ones(1)).item() == 3


def test_every_signature_has_a_schema_that_reads_back():
    signatures = _ir.all_signatures()
    assert len(signatures) > 1300
    for s in signatures:
        if not s.is_row:
            again = _ir.parse_signature(s.text)
            assert again.kind == s.kind and len(again.arguments) == len(s.arguments)


def test_bool_types_of_conditions_are_verified():
    g = parse_ir(
        "graph(%x : int):\n  %y : int = prim::If(%x)\n    block0():\n      -> (%x)\n    block1():\n      -> (%x)\n  return (%y)"
    )
    with pytest.raises(RuntimeError, match="of type int, not bool"):
        g.verify()
    assert BoolType.get().kind() == "BoolType"


def test_a_node_says_which_modules_it_stems_from():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 2)))
    graph = torch.jit.trace(net, torch.ones(1, 4)).graph.copy()
    torch._C._jit_pass_inline(graph)
    found = {(n.kind(), n.getModuleHierarchy()) for n in graph.nodes() if n.kind().startswith("aten::")}
    assert found == {
        ("aten::linear", "0(Linear)"),
        ("aten::relu", "1(Sequential).0(ReLU)"),
        ("aten::linear", "1(Sequential).1(Linear)"),
    }
    alone = _ir.parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::t(%x)\n  return (%y)")
    assert alone.findNode("aten::t").getModuleHierarchy() == ""


def test_none_is_no_value_of_a_graph():
    graph = _ir.Graph()
    with pytest.raises(ValueError, match="Graph.create: input 0 of prim::ListConstruct is None"):
        graph.create("prim::ListConstruct", [None])
    for call in (graph.registerOutput, graph.insertNode, graph.appendNode):
        with pytest.raises(TypeError):
            call(None)
