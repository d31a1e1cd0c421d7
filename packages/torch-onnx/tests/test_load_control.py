"""torch.onnx.load of If, Loop and Scan: as onnxruntime runs them, and gradients pass."""

import io
import pickle

import numpy
import pytest
import torch
from agreement import run
from onnx import TensorProto, helper, numpy_helper
from scripts import Branch, Growing, Rows, Turns
from torch import _pytree as pytree

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def value(name, shape=(), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, inputs, outputs, tensors=(), name="g"):
    stored = [numpy_helper.from_array(numpy.asarray(array), key) for key, array in dict(tensors).items()]
    return helper.make_graph(nodes, name, inputs, outputs, stored)


def model(nodes, inputs, outputs, tensors=(), functions=(), opset=18):
    imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in {f.domain for f in functions}]]
    return helper.make_model(
        graph(nodes, inputs, outputs, tensors), opset_imports=imports, functions=functions, ir_version=9
    )


def same(proto, *args):
    """The loaded module, after it has given what onnxruntime gives."""
    module = torch.onnx.load(proto)
    found = module(*args)
    found, wanted = found if isinstance(found, tuple) else (found,), run(proto, *args)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        torch.testing.assert_close(x.detach(), torch.as_tensor(y), rtol=1e-5, atol=1e-6)
    return module


# --- If ---


def branches(then=None, other=None, **options):
    """x * w where the sum of x is positive, -x where it is not."""
    then = then or graph([node("Mul", ["x", "w"], ["t"])], [], [value("t", ["n"])], name="then")
    other = other or graph([node("Neg", ["x"], ["e"])], [], [value("e", ["n"])], name="else")
    nodes = [
        node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
        node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=other),
    ]  # fmt: skip
    tensors = {"zero": numpy.float32(0), "w": numpy.float32([2, 3])}
    return model(nodes, [value("x", ["n"])], [value("y", ["n"])], tensors, **options)


def test_if_takes_one_branch_and_gradients_pass_to_what_it_captures():
    proto = branches()
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([1.0, -2.0])):
        same(proto, x)
    module = torch.onnx.load(proto)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    module(x).sum().backward()
    assert x.grad.tolist() == [2, 3] and module.w.grad.tolist() == [1, 2]
    y = torch.tensor([-1.0, -2.0], requires_grad=True)
    module.w.grad = None
    module(y).sum().backward()
    assert y.grad.tolist() == [-1, -1] and module.w.grad is None


def test_tensors_of_a_branch_are_parameters_of_the_module():
    then = graph([node("Mul", ["x", "own"], ["t"])], [], [value("t", [2])], {"own": numpy.float32([5, 7])}, "then")
    module = same(branches(then), torch.ones(2))
    assert [name for name, _ in module.named_parameters()] == ["w", "choice.then_branch.own"]
    again = pickle.loads(pickle.dumps(module))
    assert again(torch.ones(2)).tolist() == [5, 7]


def test_a_branch_within_a_branch_takes_a_value_from_the_outermost_graph():
    deep = [
        node("If", ["c"], ["t"], then_branch=graph([node("Mul", ["x", "w"], ["a"])], [], [value("a", ["n"])]),
             else_branch=graph([node("Abs", ["x"], ["b"])], [], [value("b", ["n"])])),
    ]  # fmt: skip
    same(branches(graph(deep, [], [value("t", ["n"])])), torch.tensor([1.0, 4.0]))


def test_what_an_if_says_that_makes_no_sense():
    lost = graph([node("Mul", ["x", "gone"], ["t"])], [], [value("t", ["n"])], name="then")
    with pytest.raises(RuntimeError, match="gives 'gone', which the graphs of If 'choice' need"):
        torch.onnx.load(branches(lost))
    two = graph([node("Neg", ["x"], ["t"]), node("Abs", ["x"], ["u"])], [], [value("t"), value("u")])
    with pytest.raises(RuntimeError, match="If 'choice': number of outputs of then_branch 2, expected 1"):
        torch.onnx.load(branches(two))
    with pytest.raises(RuntimeError, match="If 'y' has no graph 'else_branch'"):
        torch.onnx.load(model([node("If", ["x"], ["y"], then_branch=two)], [value("x", [2])], [value("y")]))
    with pytest.raises(RuntimeError, match=r"If 'y': the condition must be a single value, got shape \(2,\)"):
        torch.onnx.load(many_conditions())(torch.ones(2, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="the condition must be bool, got torch.float32"):
        torch.onnx.load(many_conditions())(torch.ones(()))


def many_conditions():
    branch = graph([node("Identity", ["x"], ["t"])], [], [value("t", [2], BOOL)])
    return model(
        [node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)],
        [value("x", [2], BOOL)],
        [value("y", [2], BOOL)],
    )


def test_names_that_nothing_gives_and_names_given_twice():
    with pytest.raises(RuntimeError, match="gives 'gone', which the inputs of Relu 'r' need"):
        torch.onnx.load(model([node("Relu", ["gone"], ["y"], name="r")], [], [value("y")]))
    with pytest.raises(RuntimeError, match="gives 'z', which the outputs of the graph need"):
        torch.onnx.load(model([node("Relu", ["x"], ["y"])], [value("x")], [value("z")]))
    with pytest.raises(RuntimeError, match="'y' is given twice in graph 'g'"):
        torch.onnx.load(model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])], [value("x")], [value("y")]))


# --- Loop ---


def powers(count="m", condition="c", carried=("x",), outputs=("y", "rows"), given=None, rows="row"):
    """x * w ** turns, as long as the sum stays below 100, and x * w ** i for each turn."""
    body = graph(
        [node("Mul", ["a", "w"], ["b"]), node("Identity", ["b"], ["row"]), node("Pow", ["b", "i"], ["power"]),
         node("ReduceSum", ["b"], ["s"], keepdims=0), node("Less", ["s", "limit"], ["going"])],
        [value("i", [], INT), value("goes", [], BOOL), value("a", [2])],
        given or [value("going", [], BOOL), value("b", [2]), value(rows, [2])],
        {"limit": numpy.float32(100)}, "body",
    )  # fmt: skip
    return model(
        [node("Loop", [count, condition, *carried], outputs, name="turns", body=body)],
        [value("m", [], INT), value("c", [], BOOL), value("x", [2])],
        [value("y", [2]), value("rows", ["t", 2])] if given is None else [value(outputs[0])],
        {"w": numpy.float32([2, 3])},
    )


@pytest.mark.parametrize("turns, goes", [(0, True), (1, True), (3, True), (50, True), (3, False)])
def test_a_loop_goes_on_while_count_and_condition_allow(turns, goes):
    same(powers(), torch.tensor(turns), torch.tensor(goes), torch.tensor([1.0, 1.5]))


def test_a_loop_without_count_and_without_condition():
    x = torch.tensor([1.0, 1.5])
    for count, condition in (("m", ""), ("", "c"), ("", "")):
        same(powers(count, condition), torch.tensor(9), torch.tensor(True), x)
    same(powers(rows="power"), torch.tensor(3), torch.tensor(True), x)


def test_gradients_pass_through_all_turns_of_a_loop():
    module = torch.onnx.load(powers())
    x = torch.tensor([1.0, 0.5], requires_grad=True)
    y, rows = module(torch.tensor(3), torch.tensor(True), x)
    assert rows.shape == (3, 2)
    (y.sum() + rows[0].sum()).backward()
    w = torch.tensor([2.0, 3.0])
    torch.testing.assert_close(x.grad, w**3 + w)
    torch.testing.assert_close(module.w.grad, (3 * w**2 + 1) * x.detach())


def test_what_a_loop_says_that_makes_no_sense():
    with pytest.raises(RuntimeError, match="Loop 'turns': number of inputs of body 3, expected 4"):
        torch.onnx.load(powers(carried=("x", "x")))
    with pytest.raises(RuntimeError, match="'turns': body has 1 outputs, expected at least 2"):
        torch.onnx.load(powers(given=[value("going", [], BOOL)]))
    with pytest.raises(RuntimeError, match="'turns' has 3 outputs, and its graph gives 2"):
        torch.onnx.load(powers(outputs=("y", "rows", "more")))
    with pytest.raises(RuntimeError, match=r"turns': the number of turns must be a single value, got shape \(2,\)"):
        torch.onnx.load(powers())(torch.tensor([1, 2]), torch.tensor(True), torch.ones(2))


def test_a_stacked_output_whose_shape_changes_names_the_turn():
    body = graph(
        [node("Concat", ["a", "a"], ["b"], axis=0), node("Identity", ["goes"], ["going"]), node("Neg", ["a"], ["row"])],
        [value("i", [], INT), value("goes", [], BOOL), value("a", ["n"])],
        [value("going", [], BOOL), value("b", ["n"]), value("row", ["n"])],
    )
    nodes = [node("Loop", ["m", "", "x"], ["y", "rows"], name="grow", body=body)]
    module = torch.onnx.load(model(nodes, [value("m", [], INT), value("x", ["n"])], [value("y", ["n"])]))
    with pytest.raises(RuntimeError, match=r"Loop 'grow': 'row' has shape \(1,\) in turn 0 and \(2,\) in turn 1"):
        module(torch.tensor(2), torch.ones(1))
    assert module(torch.tensor(1), torch.ones(1)).shape == (2,)


# --- Scan ---


def running(state="s", parts=1, **options):
    """The running sum of x over an axis, each entry times w."""
    body = graph(
        [node("Mul", ["part", "w"], ["p"]), node("Add", ["before", "p"], ["after"]), node("Identity", ["after"], ["row"])],
        [value("before", [2]), value("part", [2])], [value("after", [2]), value("row", [2])], name="body",
    )  # fmt: skip
    return model(
        [node("Scan", [state, "x"], ["last", "rows"], name="sums", body=body, num_scan_inputs=parts, **options)],
        [value("s", [2]), value("x", ["a", "b"])],
        [value("last", [2]), value("rows", ["c", "d"])],
        {"w": numpy.float32([2, 3])},
    )


@pytest.mark.parametrize("backward_in", [0, 1])
@pytest.mark.parametrize("backward_out", [0, 1])
@pytest.mark.parametrize("axis_in, axis_out", [(0, 0), (1, 1), (-2, -1)])
def test_scan_along_axes_in_both_directions(axis_in, axis_out, backward_in, backward_out):
    proto = running(
        scan_input_axes=[axis_in], scan_output_axes=[axis_out], scan_input_directions=[backward_in],
        scan_output_directions=[backward_out],
    )  # fmt: skip
    x = torch.arange(8.0).reshape(4, 2)
    module = same(proto, torch.tensor([1.0, -1.0]), x.t().contiguous() if axis_in == 1 else x)
    assert "self.sums(s, x, w)" in module.code


def test_gradients_pass_through_a_scan():
    module = torch.onnx.load(running())
    s, x = torch.ones(2, requires_grad=True), torch.arange(6.0).reshape(3, 2).requires_grad_()
    last, rows = module(s, x)
    torch.testing.assert_close(rows, s + (x * module.w).cumsum(0))
    rows.sum().backward()
    assert s.grad.tolist() == [3, 3] and module.w.grad.tolist() == [(0 * 3 + 2 * 2 + 4), (1 * 3 + 3 * 2 + 5)]
    assert x.grad.tolist() == [[6, 9], [4, 6], [2, 3]]


def test_a_scan_over_nothing_gives_what_the_file_declares():
    last, rows = torch.onnx.load(running(scan_output_axes=[1]))(torch.ones(2), torch.ones(0, 2))
    assert last.tolist() == [1, 1] and rows.shape == (2, 0) and rows.dtype == torch.float32


def test_what_a_scan_says_that_makes_no_sense():
    with pytest.raises(RuntimeError, match="Scan 'sums': num_scan_inputs is 3, of 2 inputs"):
        torch.onnx.load(running(parts=3))
    with pytest.raises(RuntimeError, match="length of scan_input_axes 2, expected 1"):
        torch.onnx.load(running(scan_input_axes=[0, 1]))
    with pytest.raises(RuntimeError, match=r"'x' has shape \(4, 2\), and axis 2 to go along"):
        torch.onnx.load(running(scan_input_axes=[2]))(torch.ones(2), torch.ones(4, 2))
    with pytest.raises(RuntimeError, match="must have equally many entries, got 's' 2, 'x' 4"):
        torch.onnx.load(running(parts=2))(torch.ones(2, 2), torch.ones(4, 2))


# --- scripts of our own ---


@pytest.mark.parametrize(
    "script, args, others",
    [(Branch(), (torch.ones(4, 3),), [(-torch.ones(4, 3),)]), (Turns(), (torch.randn(2, 3), 2), [(torch.ones(2, 3) * 50, 2)]),
     (Rows(), (torch.randn(3, 2, 4),), []), (Growing(), (torch.randn(2, 3),), [])],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_a_script_written_and_read_again_gives_the_same_and_trains(script, args, others):
    torch.manual_seed(0)
    program = torch.onnx.export(torch.jit.script(script.eval()), args)
    module = torch.onnx.load(io.BytesIO(program.model_proto.SerializeToString()))
    for given in (args, *others):
        script.zero_grad(), module.zero_grad()
        tensors = [x for x in given if isinstance(x, torch.Tensor)]
        wanted, found = pytree.tree_leaves(script(*given)), pytree.tree_leaves(module(*tensors))
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            torch.testing.assert_close(x, torch.as_tensor(y))
        if not wanted[0].requires_grad:
            continue
        wanted[0].square().sum().backward(), found[0].square().sum().backward()
        ours = sorted((p.grad.flatten().tolist() for p in module.parameters() if p.grad is not None), key=str)
        theirs = sorted((p.grad.flatten().tolist() for p in script.parameters() if p.grad is not None), key=str)
        assert len(ours) == len(theirs) > 0
