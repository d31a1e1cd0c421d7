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


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"no model at all")
    with pytest.raises(RuntimeError, match=f"onnx.load: {path}: this is no model"):
        torch.onnx.load(path)
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=1,
                            max_skip_count=0, ngram_counts=[0], ngram_indexes=[0])  # fmt: skip
    values = [helper.make_tensor_value_info(name, kind, [1]) for name, kind in (("x", 7), ("y", 1))]
    onnx.save(helper.make_model(helper.make_graph([node], "g", values[:1], values[1:])), path)
    with pytest.raises(NotImplementedError, match=f"onnx.load: {path}: these operators cannot be read: TfIdf"):
        torch.onnx.load(str(path))


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


def test_a_name_that_is_no_text_is_told_with_its_field():
    program = torch.onnx.export(nn.Linear(2, 1), (torch.ones(1, 2),))
    name = program.model_proto.graph.node[0].name = "a name of its own"
    content = program.model_proto.SerializeToString().replace(name.encode(), b"\xff" * len(name))
    with pytest.raises(RuntimeError, match=r"onnx.load: NodeProto.name b'\\xff.*is no text in UTF-8"):
        torch.onnx.load(content)


def test_all_operators_that_cannot_be_read_are_named():
    value = helper.make_tensor_value_info("x", 1, [2])
    nodes = [
        helper.make_node("TfIdfVectorizer", ["x"], ["a"]), helper.make_node("Twice", ["a"], ["b"], domain="mine"),
        helper.make_node("Relu", ["b"], ["c"]),
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [value], [helper.make_tensor_value_info("c", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)])
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(NotImplementedError, match="cannot be read: TfIdfVectorizer, mine::Twice"):
        torch.onnx.load(model)


def test_a_graph_that_was_read_is_a_graph_of_fx():
    module = torch.onnx.load(torch.onnx.export(nn.ReLU(), (torch.ones(2),)).model_proto)
    assert isinstance(module, torch.fx.GraphModule)
    assert [n.target for n in module.graph.nodes if n.op == "call_function"] == [torch.relu]


def test_a_tensor_among_the_attributes_of_a_node_is_a_buffer():
    seven = helper.make_tensor("seven", 1, [1], [7.0])
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["c"], value=seven),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    ends = [[helper.make_tensor_value_info(name, 1, ["n", 2])] for name in "xy"]
    module = torch.onnx.load(helper.make_model(helper.make_graph(nodes, "g", *ends), ir_version=9))
    assert module(torch.zeros(3, 2)).tolist() == [[7, 7]] * 3
    assert {name: b.tolist() for name, b in module.named_buffers()} == {"c_value": [7]}
    assert not list(module.parameters())


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_and_its_logarithms(reduction, weighted):
    weights = [helper.make_tensor("w", 1, [3], [1.0, 2.0, 0.5])] if weighted else []
    made = helper.make_node("SoftmaxCrossEntropyLoss", ["x", "t", *["w"] * weighted], ["y", "logs"], reduction=reduction, ignore_index=1)  # fmt: skip
    inputs = [helper.make_tensor_value_info("x", 1, [4, 3]), helper.make_tensor_value_info("t", 7, [4])]
    outputs = [helper.make_tensor_value_info(name, 1, None) for name in ("y", "logs")]
    graph = helper.make_graph([made], "g", inputs, outputs, weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    args = (torch.randn(4, 3), torch.tensor([0, 1, 2, 2]))
    for found, wanted in zip(torch.onnx.load(proto)(*args), run(proto, *args), strict=True):
        torch.testing.assert_close(found.detach(), torch.as_tensor(wanted))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
def test_softmax_means_several_dims_before_opset_13(kind, opset, axis):
    made = helper.make_node(kind, ["x"], ["y"], **({} if axis is None else {"axis": axis}))
    ends = [[helper.make_tensor_value_info(name, 1, [2, 3, 4])] for name in "xy"]
    imports = [helper.make_opsetid("", opset)]
    proto = helper.make_model(helper.make_graph([made], "g", *ends), opset_imports=imports, ir_version=6)
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(torch.onnx.load(proto)(x), torch.as_tensor(run(proto, x)[0]))


def test_bounds_that_are_attributes_before_opset_11():
    for bounds in ({"min": -0.5}, {"max": 0.25}, {"min": -0.5, "max": 0.25}):
        ends = [[helper.make_tensor_value_info(name, 1, [5])] for name in "xy"]
        graph = helper.make_graph([helper.make_node("Clip", ["x"], ["y"], **bounds)], "g", *ends)
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)
        x = torch.linspace(-1, 1, 5)
        torch.testing.assert_close(torch.onnx.load(proto)(x), torch.as_tensor(run(proto, x)[0]))


def value(name, shape=(2,)):
    return helper.make_tensor_value_info(name, 1, shape)


def model(nodes, inputs, stored=()):
    graph = helper.make_graph(nodes, "g", [value(name) for name in inputs], [value("y")], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize(
    "names", [("self", "torch"), ("inf", "device"), ("x.1", "x_1"), ("a.b", "a/b"), ("class", "_class")]
)
def test_inputs_may_have_any_names(names):
    nodes = [helper.make_node("Sub", names, ["d"]), helper.make_node("LeakyRelu", ["d"], ["y"], alpha=float("inf"))]
    assert torch.onnx.load(model(nodes, names))(torch.ones(2), torch.zeros(2)).tolist() == [1, 1]


@pytest.mark.parametrize(
    "names", [("fc", "fc.weight"), ("fc.weight", "fc"), ("_modules.x", "_parameters.x"), ("forward.a", "ª"), ("a", "ª")]
)
def test_tensors_may_have_any_names(names):
    stored = [helper.make_tensor(name, 1, [2], [i, i]) for i, name in enumerate(names, 1)]
    loaded = torch.onnx.load(model([helper.make_node("Sub", names, ["y"])], [], stored))
    assert loaded().tolist() == [-1, -1] and len(list(loaded.parameters())) == 2


def test_a_tensor_whose_bytes_do_not_make_its_shape_is_named():
    nodes = [helper.make_node("Identity", ["w"], ["y"])]
    for kind, dims, raw in [(1, [1 << 40], b"1234"), (1, [2], b"12345"), (16, [2], b"123"), (1, [-1], b"12345678")]:
        tensor = onnx.TensorProto(name="w", data_type=kind, dims=dims, raw_data=raw)
        with pytest.raises(RuntimeError, match="onnx.load: .*tensor 'w'"):
            torch.onnx.load(model(nodes, [], [tensor]))


@pytest.mark.parametrize("raw", [True, False])
def test_bfloat16_is_read_bit_by_bit(raw):
    wanted = torch.tensor([1.5, -2.0, float("inf")], dtype=torch.bfloat16)
    bits = wanted.view(torch.int16).numpy().tobytes()
    stored = helper.make_tensor("w", 16, [3], bits if raw else wanted.tolist(), raw=raw)
    empty = helper.make_tensor("e", 16, [0], [])
    nodes = [helper.make_node("Concat", ["w", "e"], ["y"], axis=0)]
    found = torch.onnx.load(model(nodes, [], [stored, empty]))()
    assert found.dtype == torch.bfloat16 and torch.equal(found, wanted)
