"""Nodes that ONNX's own authors published with their results: each is read, and gives them."""

import importlib

import numpy as np
import onnx
import pytest
import torch
from onnx.backend.test.case import node
from torch.onnx._import import tensor_of

MODULES = (
    "adagrad", "adam", "attention", "averagepool", "batch_normalization", "bitcast", "cast", "castlike", "causal_conv_with_state",
    "convtranspose", "deformconv", "dequantizelinear", "flexattention", "identity", "if_", "layernormalization", "linear_attention",
    "lppool", "maxpool", "momentum", "onehot", "quantizelinear", "reducemax", "resize", "roialign", "sequence_map", "spacetodepth",
    "swiglu", "tensorscatter", "unique",
)  # fmt: skip
LACKING = ("FLOAT4", "float4", "FLOAT8E8M0", "string", "STRING")  # element types that torch has not


def published():
    """The cases of some operators; making those of all takes longer than these tests."""
    for name in MODULES:
        importlib.import_module(f"onnx.backend.test.case.node.{name}")  # which makes its cases
    return {case.name: case for case in node._NodeTestCases}.values()


def cases():
    for case in published():
        if not case.name.endswith("_expanded") and not any(word in case.name for word in LACKING):
            yield pytest.param(case, id=case.name)


def given(value):
    if value is None or isinstance(value, (list, tuple)):
        return value if value is None else [given(v) for v in value]
    return tensor_of(value if isinstance(value, onnx.TensorProto) else onnx.numpy_helper.from_array(np.asarray(value)))


def compare(found, wanted):
    """Half types may be off by two of their last places: the reference rounds at other steps."""
    if wanted is None or isinstance(wanted, list):
        assert type(found) is type(wanted)
        for pair in zip(found or (), wanted or (), strict=True):
            compare(*pair)
        return
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    places = 2 * torch.finfo(wanted.dtype).eps if wanted.dtype in (torch.float16, torch.bfloat16) else 0
    wide = torch.complex128 if wanted.is_complex() else torch.float64
    have, want = (x.detach().to(wide).numpy() for x in (found, wanted))
    np.testing.assert_allclose(have, want, rtol=max(1e-3, places), atol=1e-5)


@pytest.mark.parametrize("case", list(cases()))
def test_a_node_of_onnx_gives_the_published_result(case):
    module = torch.onnx.load(case.model)
    for inputs, expected in case.data_sets:
        found = module(*[given(value) for value in inputs])
        found = [found] if len(case.model.graph.output) == 1 else found
        for have, want in zip(found, expected, strict=True):
            compare(have, given(want))


def model(nodes, inputs, outputs, tensors=()):
    infos = [[onnx.helper.make_tensor_value_info(*entry) for entry in part] for part in (inputs, outputs)]
    graph = onnx.helper.make_graph(nodes, "g", *infos, list(tensors))
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])


def test_weights_of_4_bits_are_held_in_bytes_and_follow_the_moves_of_a_graph():
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.INT4, [2, 3], [-8, 1, 2, 3, -1, 7])
    nodes = [
        onnx.helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        onnx.helper.make_node("DequantizeLinear", ["t", "s"], ["f"]),
        onnx.helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    scale = onnx.helper.make_tensor("s", 1, [], [0.5])
    module = torch.onnx.load(model(nodes, [("x", 1, [1, 3])], [("y", 1, [1, 2])], [weight, scale]))
    assert module(torch.ones(1, 3)).tolist() == [[-2.5, 4.5]]
    nodes[1] = onnx.helper.make_node("Add", ["t", "t"], ["f"])
    with pytest.raises(NotImplementedError, match="Add.*integers of 2 or 4 bits: DequantizeLinear first"):
        torch.onnx.load(model(nodes, [("x", 1, [1, 3])], [("y", 1, [1, 2])], [weight, scale]))
    branch = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["w"], ["z"])],
        "b",
        [],
        [onnx.helper.make_tensor_value_info("z", 22, [2, 3])],
    )
    choice = onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    with pytest.raises(NotImplementedError, match="takes 'w', integers of 2 or 4 bits"):
        torch.onnx.load(model([choice], [("c", 9, [])], [("y", 22, [2, 3])], [weight]))


def test_regions_are_pooled_as_onnxruntime_does():
    onnxruntime = pytest.importorskip("onnxruntime")
    node = onnx.helper.make_node("MaxRoiPool", ["x", "boxes"], ["y"], pooled_shape=[2, 3], spatial_scale=0.5)
    proto = model([node], [("x", 1, [2, 3, 9, 11]), ("boxes", 1, [3, 5])], [("y", 1, [3, 3, 2, 3])])
    proto.ir_version = 10
    x = torch.rand(2, 3, 9, 11, generator=torch.Generator().manual_seed(0))
    boxes = torch.tensor([[0.0, 0, 0, 21, 17], [1, 4, 2, 9, 13], [0, 18, 15, 30, 40]])
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"x": x.numpy(), "boxes": boxes.numpy()})
    np.testing.assert_array_equal(torch.onnx.load(proto)(x, boxes).numpy(), wanted)


def test_an_operator_with_a_definition_trains():
    node = onnx.helper.make_node("SwiGLU", ["x", "w"], ["y"], alpha=2.0)
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2])],
        [onnx.helper.make_tensor_value_info("y", 1, [2])],
        [onnx.numpy_helper.from_array(np.float32([1.0, -3.0]), "w")],
    )
    module = torch.onnx.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 28)]))
    x = torch.tensor([0.5, 2.0])
    module(x).sum().backward()
    torch.testing.assert_close(module.w.grad, x * torch.sigmoid(2 * x))


def test_the_type_that_a_definition_needs_is_inferred_or_asked_for():
    node = onnx.helper.make_node("CausalConvWithState", ["z", "w"], ["y", "s"])
    first = onnx.helper.make_node("Split", ["x"], ["z", "rest"], axis=0, num_outputs=2)
    graph = onnx.helper.make_graph(
        [first, node],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2, 2, 5]), onnx.helper.make_tensor_value_info("w", 1, [2, 1, 3])],
        [onnx.helper.make_tensor_value_info("y", 1, None), onnx.helper.make_tensor_value_info("s", 1, None)],
    )
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 27)])
    module = torch.onnx.load(proto)
    y, state = module(torch.ones(2, 2, 5), torch.ones(2, 1, 3))
    assert y.shape == (1, 2, 5) and y[0, 0].tolist() == [1, 2, 3, 3, 3] and state.shape == (1, 2, 2)
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(NotImplementedError, match="CausalConvWithState.*depends on shapes that the file does not say"):
        torch.onnx.load(proto)


def test_an_element_type_that_torch_lacks_is_named():
    cast = onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT4E2M1)
    graph = onnx.helper.make_graph(
        [cast],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2])],
        [onnx.helper.make_tensor_value_info("y", 23, [2])],
    )
    module = torch.onnx.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]))
    with pytest.raises(NotImplementedError, match="element type 23"):
        module(torch.ones(2))


def test_a_cast_to_8_bits_stops_at_the_last_number():
    cast = onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT8E4M3FN)
    graph = onnx.helper.make_graph(
        [cast],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [3])],
        [onnx.helper.make_tensor_value_info("y", 17, [3])],
    )
    module = torch.onnx.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]))
    assert module(torch.tensor([1.0, 1e6, -torch.inf])).float().tolist() == [1.0, 448.0, -448.0]
