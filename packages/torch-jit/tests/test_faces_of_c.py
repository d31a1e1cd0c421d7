"""Names of ``torch._C`` that libraries and tests use of programs: passes, schemas, functions of graphs, objects."""

import pytest
import torch

TEXT = """graph(%a : Tensor, %b : Tensor):
  %one : int = prim::Constant[value=1]()
  %c : Tensor = aten::add(%a, %b, %one)
  %two : int = prim::Constant[value=1]()
  %d : Tensor = aten::add(%a, %b, %two)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%c, %d)
  %x : Tensor, %y : Tensor = prim::TupleUnpack(%t)
  %e : Tensor = aten::mul(%x, %y)
  %unused : Tensor = aten::neg(%a)
  return (%e)
"""


def kinds(graph):
    return [node.kind() for node in graph.nodes()]


def after(name):
    graph = torch._C.parse_ir(TEXT)
    getattr(torch._C, name)(graph)
    torch._C._jit_pass_lint(graph)
    assert torch._C._jit_interpret_graph(graph, (torch.ones(1), torch.ones(1))).item() == 4
    return kinds(graph)


def test_passes_keep_what_a_graph_computes():
    assert "aten::neg" not in after("_jit_pass_dce")
    assert after("_jit_pass_constant_pooling").count("prim::Constant") == 1
    assert not [kind for kind in after("_jit_pass_lower_all_tuples") if "Tuple" in kind]
    assert after("_jit_pass_cse").count("aten::add") == 1


def test_constant_propagation_takes_the_branch_that_is_known():
    @torch.jit.script
    def number() -> int:
        a = 1
        if a + 2 > 2:
            b = 3 * a
        else:
            b = 4
        return b

    graph = number.graph.copy()
    torch._C._jit_pass_constant_propagation(graph)
    assert set(kinds(graph)) == {"prim::Constant"}


def test_calls_are_put_into_their_callers():
    @torch.jit.script
    def double(x):
        return x * 2

    @torch.jit.script
    def outer(x):
        return double(x) + 1

    graph = outer.graph.copy()
    torch._C._jit_pass_inline(graph)
    assert [kind for kind in kinds(graph) if "aten" in kind] == ["aten::mul", "aten::add"]


SHAPED = """graph(%x : Float(2, 3), %n : Tensor?):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %a : Float(2, 3) = aten::add(%x, %zero, %one)
  %b : Float(2, 3) = aten::mul(%a, %one)
  %c : Tensor = aten::t(%b)
  %d : Tensor = aten::t(%c)
  %absent : bool = aten::__is__(%x, %none)
  %unknown : bool = aten::__is__(%n, %none)
  %rows : int = aten::size(%x, %zero)
  return (%d, %absent, %unknown, %rows)
"""


def test_peephole_removes_what_changes_nothing_and_answers_what_types_tell():
    graph = torch._C.parse_ir(SHAPED)
    assert torch._C._jit_pass_peephole(graph) is True
    assert [kind for kind in kinds(graph) if kind != "prim::Constant"] == ["aten::__is__"]
    x = torch.ones(2, 3)
    made = torch._C._jit_interpret_graph(graph, (x, None))
    assert torch.equal(made[0], x) and made[1:] == (False, True, 2)
    assert torch._C._jit_pass_peephole(graph) is False
    shaped = torch._C.parse_ir(SHAPED)
    torch._C._jit_pass_peephole(shaped, True)
    assert "aten::add" in kinds(shaped) and "aten::t" not in kinds(shaped)


@torch.jit.script
def loops(x, turns: int):
    for i in range(3):
        x = x + i
    for _ in range(20):
        x = x * 1
    for i in range(turns):
        x = x - i
    z = torch.zeros(2, dtype=torch.float32)
    z.add_(x)
    w = z * 2
    z.mul_(3)
    return z + w


def test_short_loops_are_unrolled_and_changes_of_new_tensors_become_new_tensors():
    graph, x = loops.graph.copy(), torch.ones(2, dtype=torch.float64)
    torch._C._jit_pass_loop_unrolling(graph)
    assert kinds(graph).count("prim::Loop") == 2 and kinds(graph).count("aten::add") >= 3
    assert torch._C._jit_pass_remove_mutation(graph)
    assert not [kind for kind in kinds(graph) if kind.endswith("_")]
    torch._C._jit_pass_lint(graph)
    made = torch._C._create_function_from_graph("loops_unrolled", graph)(x, 4)
    assert torch.equal(made, loops(x, 4)) and made.dtype == torch.float32


def test_a_tensor_that_others_see_is_still_changed():
    @torch.jit.script
    def f(x):
        y = x.clone()
        z = y.view(-1)
        y.add_(1)
        x.add_(1)
        return z

    graph = f.graph.copy()
    assert not torch._C._jit_pass_remove_mutation(graph)
    assert kinds(graph).count("aten::add_") == 2


def test_products_with_a_sum_are_taken_apart_and_put_together():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    graph = torch.jit.trace(lambda a, b: torch.addmm(a, b, b, beta=2), (x, x)).graph.copy()
    torch._C._jit_pass_decompose_ops(graph)
    assert [kind for kind in kinds(graph) if kind.startswith("aten")] == ["aten::mm", "aten::mul", "aten::add"]
    assert torch.equal(torch._C._jit_interpret_graph(graph, (x, x)), torch.addmm(x, x, x, beta=2))
    graph = torch.jit.trace(lambda a, b: a + torch.mm(b, b), (x, x)).graph.copy()
    torch._C._jit_pass_fuse_addmm(graph)
    assert [kind for kind in kinds(graph) if kind.startswith("aten")] == ["aten::addmm"]
    assert torch.equal(torch._C._jit_interpret_graph(graph, (x, x)), x + x @ x)


def test_shapes_are_erased_and_found_again():
    x = torch.ones(2, 3)
    graph = torch.jit.trace(lambda a: a * 2, x).graph.copy()
    torch._C._jit_pass_erase_shape_information(graph)
    assert "Float" not in str(graph)
    torch._C._jit_pass_complete_shape_analysis(graph, (x,), False)
    assert list(next(iter(graph.outputs())).type().sizes()) == [2, 3]


def test_a_pass_that_there_is_none_of_is_no_name():
    with pytest.raises(AttributeError, match="_jit_pass_fuse"):
        torch._C._jit_pass_fuse


def test_a_schema_has_names_types_and_defaults():
    @torch.jit.script
    def f(x, n: int = 3, names: list[str] | None = None) -> tuple[torch.Tensor, int]:
        return x, n

    schema = f.schema
    assert str(schema) == "f(Tensor x, int n=3, str[]? names=None) -> ((Tensor, int))"
    assert [each.name for each in schema.arguments] == ["x", "n", "names"]
    assert [each.has_default_value() for each in schema.arguments] == [False, True, True]
    assert str(schema.returns[0].type) == "Tuple[Tensor, int]"
    method = torch.jit.script(torch.nn.ReLU()).forward
    assert [each.name for each in method.schema.arguments] == ["self", "input"]


@pytest.mark.parametrize(
    "text",
    ["foo(Tensor x, int y=3, *, str? z=None) -> (Tensor, int)", "ns::bar.out(int[] a) -> Tensor", "none() -> ()"],
)
def test_a_schema_is_read_and_written(text):
    assert str(torch._C.parse_schema(text)) == text


def test_operators_tell_their_overloads():
    found = torch._C._jit_get_schemas_for_operator("aten::relu")
    assert [str(each) for each in found] == ["aten::relu(Tensor self) -> Tensor"]
    assert len(torch._C._jit_get_all_schemas()) > 500


def test_a_graph_becomes_a_function():
    made = torch._C._create_function_from_graph("sum_squared", torch._C.parse_ir(TEXT))
    assert isinstance(made, torch._C.ScriptFunction)
    assert made(torch.ones(2), torch.ones(2)).tolist() == [4, 4]


def test_the_object_of_a_module_tells_its_methods():
    net = torch.jit.script(torch.nn.Linear(2, 3))
    assert net._c._has_method("forward") and not net._c._has_method("backward")
    assert net._c._method_names() == ["forward"]
    x = torch.ones(1, 2)
    assert torch.equal(net._c._get_method("forward")(x), net(x))
    assert torch.equal(torch.jit._recursive.wrap_cpp_module(net._c)(x), net(x))


def test_compiling_can_be_switched_off():
    def plain(x):
        return x + 1

    torch.jit._state.disable()
    try:
        assert torch.jit.script(plain) is plain
    finally:
        torch.jit._state.enable()
    assert torch.jit.script(plain) is not plain


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("last_executed_optimized_graph", "function.graph_for"),
        ("export_opnames", "module.inlined_graph"),
        ("jit_module_from_flatbuffer", "torch.jit.load reads them"),
        ("save_jit_module_to_flatbuffer", "torch.jit.save writes them"),
    ],
)
def test_what_is_absent_says_why_and_what_to_do(name, way):
    with pytest.raises(NotImplementedError, match=f"torch.jit.{name}: .*{way}"):
        getattr(torch.jit, name)()


def test_parts_of_signatures_stand_beside_exported_programs():
    from torch.export import exported_program, graph_signature

    assert exported_program.ConstantArgument is graph_signature.ConstantArgument
    assert exported_program.InputSpec is graph_signature.InputSpec
