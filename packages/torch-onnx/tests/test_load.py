"""torch.onnx.load: models of files run as onnxruntime runs them, and train."""

import io

import onnx
import pytest
import torch
from agreement import run
from onnx import helper
from test_models import MODELS
from torch import _pytree as pytree
from torch import nn


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_written_and_read_again_gives_the_same(name, opset):
    torch.manual_seed(0)
    model, args = MODELS[name]
    if opset == 13 and name in ("indexed",):
        opset = 16
    program = torch.onnx.export(model, args, opset_version=opset)
    module = torch.onnx.load(program.model_proto)
    tensors = [x for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)]
    with torch.no_grad():
        found, wanted = pytree.tree_leaves(module(*tensors)), run(program.model_proto, *args)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        torch.testing.assert_close(x, torch.as_tensor(y), rtol=1e-5, atol=1e-5)


def test_a_loaded_model_trains_like_the_one_that_was_written(tmp_path):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)).eval()
    x = torch.randn(3, 1, 4, 4)
    torch.onnx.export(net, (x,), tmp_path / "net.onnx")
    again = torch.onnx.load(tmp_path / "net.onnx")
    for module in (net, again):
        module(x).square().sum().backward()
    grads = dict(again.named_parameters())
    assert {name.lstrip("_") for name in grads} == {name for name, _ in net.named_parameters()}
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(grads[name].grad, parameter.grad)
    assert not any(p.requires_grad for p in again.buffers())


def test_streams_bytes_and_what_is_no_model(tmp_path):
    program = torch.onnx.export(nn.Linear(2, 1), (torch.ones(1, 2),))
    content = program.model_proto.SerializeToString()
    for source in (content, io.BytesIO(content), program.model_proto):
        assert torch.onnx.load(source)(torch.ones(5, 2)).shape == (5, 1)
    for broken in (b"no model at all", content[: len(content) // 2]):
        with pytest.raises(RuntimeError, match="onnx.load: this is no"):
            torch.onnx.load(broken)
    with pytest.raises(TypeError, match="got int"):
        torch.onnx.load(3)


def test_all_operators_that_cannot_be_read_are_named():
    value = helper.make_tensor_value_info("x", 1, [2])
    nodes = [
        helper.make_node("Hardmax", ["x"], ["a"]), helper.make_node("Twice", ["a"], ["b"], domain="mine"),
        helper.make_node("Relu", ["b"], ["c"]),
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [value], [helper.make_tensor_value_info("c", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)])
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(NotImplementedError, match="cannot be read: Hardmax, mine::Twice"):
        torch.onnx.load(model)


def test_a_graph_that_was_read_is_a_graph_of_fx():
    module = torch.onnx.load(torch.onnx.export(nn.ReLU(), (torch.ones(2),)).model_proto)
    assert isinstance(module, torch.fx.GraphModule)
    assert [n.target for n in module.graph.nodes if n.op == "call_function"] == [torch.relu]
