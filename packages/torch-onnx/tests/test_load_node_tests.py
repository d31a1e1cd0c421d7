"""Nodes that ONNX's own authors published with their results: each is read, and gives them."""

import importlib

import numpy as np
import onnx
import pytest
import torch
from onnx.backend.test.case import node

MODULES = (
    "attention", "averagepool", "batch_normalization", "bitcast", "convtranspose", "layernormalization", "lppool", "onehot", "reducemax",
    "resize", "spacetodepth", "tensorscatter", "unique",
)  # fmt: skip
HALF = ("fp16", "float16", "bf16", "poison")  # the reference rounds at other steps


def published():
    """The cases of some operators; making those of all takes longer than these tests."""
    for name in MODULES:
        importlib.import_module(f"onnx.backend.test.case.node.{name}")  # which makes its cases
    return node._NodeTestCases


def cases():
    for case in published():
        if not case.name.endswith("_expanded") and not any(word in case.name for word in HALF) and is_plain(case):
            yield pytest.param(case, id=case.name)


def is_plain(case):
    values = [value for pair in case.data_sets for values in pair for value in values if value is not None]
    return all(np.asarray(value).dtype.kind in "biuf" for value in values)


def given(value):
    return None if value is None else torch.from_numpy(np.array(value))


@pytest.mark.parametrize("case", list(cases()))
def test_a_node_of_onnx_gives_the_published_result(case):
    module = torch.onnx.load(case.model)
    for inputs, expected in case.data_sets:
        found = module(*[given(value) for value in inputs])
        found = [found] if len(case.model.graph.output) == 1 else found
        for have, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(have.detach().numpy(), want, rtol=1e-3, atol=1e-5)


def test_an_element_type_that_torch_lacks_is_named():
    cast = onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT4)
    graph = onnx.helper.make_graph(
        [cast],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2])],
        [onnx.helper.make_tensor_value_info("y", 22, [2])],
    )
    module = torch.onnx.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]))
    with pytest.raises(NotImplementedError, match="element type 22"):
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
