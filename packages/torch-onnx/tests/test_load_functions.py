"""torch.onnx.load of models that bring functions along."""

import numpy
import onnx
import pytest
import torch
from agreement import run
from onnx import helper, numpy_helper

node = helper.make_node


def attribute_of(made, name, given):
    """The node, with an attribute that the caller of the function gives."""
    made.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=given, type=onnx.AttributeProto.FLOAT))
    return made


def functions(opset=18):
    """leaky(x, w) = leaky_relu(x * w, slope), twice(x, w) = leaky(leaky(x, w), w)."""
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    leaky = helper.make_function(
        "mine", "leaky", ["a", "b"], ["c"],
        [node("Mul", ["a", "b"], ["t"]), attribute_of(node("LeakyRelu", ["t"], ["c"]), "alpha", "slope")], imports, ["slope"],
    )  # fmt: skip
    twice = helper.make_function(
        "mine", "twice", ["a", "b"], ["c"],
        [node("leaky", ["a", "b"], ["t"], domain="mine", slope=0.5), node("leaky", ["t", "b"], ["c"], domain="mine", slope=0.25)],
        imports,
    )  # fmt: skip
    return [leaky, twice]


def model(nodes, inner, opset=18):
    weights = [numpy_helper.from_array(numpy.float32([2, -3]), "w")]
    graph = helper.make_graph(nodes, "g", *([helper.make_tensor_value_info(name, 1, [2])] for name in "xy"), weights)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=inner, ir_version=9)


def test_functions_with_attributes_that_call_each_other():
    proto = model(
        [node("twice", ["x", "w"], ["t"], domain="mine"), node("leaky", ["t", "w"], ["y"], domain="mine", slope=0.125)],
        functions(),
    )
    module, x = torch.onnx.load(proto), torch.tensor([1.0, 2.0], requires_grad=True)
    y = module(x)
    torch.testing.assert_close(y.detach(), torch.as_tensor(run(proto, x.detach())[0]))
    # the second goes -6 (halved), 9 (whole), -27 (an eighth)
    assert y.tolist() == [8, -3.375]
    y.sum().backward()
    assert x.grad.tolist() == [8, 0.5 * 0.125 * -27] and module.w.grad[0] == 12
    assert [name for name, _ in module.named_parameters()] == ["w"]


def test_a_function_that_branches():
    branch = [helper.make_graph([node(kind, ["a"], ["t"])], kind, [], [helper.make_tensor_value_info("t", 1, [2])])
              for kind in ("Neg", "Exp")]  # fmt: skip
    body = [
        node("ReduceSum", ["a"], ["s"], keepdims=0), node("Constant", [], ["zero"], value_float=0.0),
        node("Less", ["s", "zero"], ["c"]), node("If", ["c"], ["b"], then_branch=branch[0], else_branch=branch[1]),
    ]  # fmt: skip
    choice = helper.make_function("mine", "choice", ["a"], ["b"], body, [helper.make_opsetid("", 18)])
    proto = model([node("choice", ["x"], ["t"], domain="mine"), node("choice", ["t"], ["y"], domain="mine")], [choice])
    module = torch.onnx.load(proto)
    for x in (torch.tensor([1.0, 0.5]), torch.tensor([-1.0, -0.5])):
        torch.testing.assert_close(module(x), torch.as_tensor(run(proto, x)[0]))


def test_functions_that_make_no_sense_are_refused_by_name():
    for first, second in (("one", "one"), ("one", "two")):
        calls = [
            helper.make_function(
                "mine",
                name,
                ["a"],
                ["b"],
                [node(called, ["a"], ["b"], domain="mine")],
                [helper.make_opsetid("mine", 1)],
            )
            for name, called in {first: second, second: first}.items()
        ]
        with pytest.raises(RuntimeError, match="onnx.load: function mine::one calls itself"):
            torch.onnx.load(model([node("one", ["x"], ["y"], domain="mine")], calls))
    with pytest.raises(NotImplementedError, match="cannot be read: mine::absent"):
        torch.onnx.load(model([node("absent", ["x"], ["y"], domain="mine")], functions()))


def test_a_function_of_another_opset_than_the_model():
    calls = [node("leaky", ["x", "w"], ["y"], domain="mine", slope=0.5)]
    with pytest.raises(NotImplementedError, match="for another opset than the model's: mine::leaky"):
        torch.onnx.load(model(calls, functions(opset=16)[:1]))


def test_functions_that_call_each_other_twice_and_again_are_refused_before_they_are_written_out():
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    functions = [helper.make_function("mine", "f0", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opsets)]
    for k in range(1, 30):
        body = [node(f"f{k - 1}", ["a"], ["c"], domain="mine"), node(f"f{k - 1}", ["c"], ["b"], domain="mine")]
        functions.append(helper.make_function("mine", f"f{k}", ["a"], ["b"], body, opsets))
    with pytest.raises(RuntimeError, match=f"the graph has {2**29} nodes; up to 1000000 are read"):
        torch.onnx.load(model([node("f29", ["x"], ["y"], domain="mine")], functions))
