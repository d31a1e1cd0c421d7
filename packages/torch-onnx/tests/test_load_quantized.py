"""Models of small integers, of recurrent layers of any kind, and of signals are read, as onnxruntime runs them."""

import numpy
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

F, U8, I8, I32, I64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64
KIND = {"float32": F, "uint8": U8, "int8": I8, "int32": I32, "int64": I64, "bool": TensorProto.BOOL}


def model(kind, inputs, outputs, opset=17, held=(), **attributes):
    """One node; inputs by name (None: left out), outputs by name and type. Those of `held` are tensors of the file."""
    stored = [numpy_helper.from_array(inputs[n], n) for n in held]
    given = [
        helper.make_tensor_value_info(n, KIND[str(v.dtype)], v.shape)
        for n, v in inputs.items()
        if v is not None and n not in held
    ]
    node = helper.make_node(kind, [n if v is not None else "" for n, v in inputs.items()], list(outputs), **attributes)
    results = [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()]
    graph = helper.make_graph([node], "one", given, results, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def agrees(proto, inputs, held=(), atol=1e-5):
    given = {n: v for n, v in inputs.items() if v is not None and n not in held}
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, given)
    with torch.no_grad():
        found = torch.onnx.load(proto)(*(torch.from_numpy(v.copy()) for v in given.values()))
    found = found if isinstance(found, (tuple, list)) else (found,)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        assert str(x.dtype) == f"torch.{y.dtype}" and tuple(x.shape) == y.shape
        torch.testing.assert_close(x, torch.from_numpy(numpy.asarray(y)), rtol=1e-4, atol=atol)


def drawn(*shape, dtype="float32", seed=0):
    rng = numpy.random.default_rng(seed + len(shape))
    if dtype == "float32":
        return rng.standard_normal(shape).astype(dtype)
    low, high = {"uint8": (0, 256), "int8": (-128, 128)}[dtype]
    return rng.integers(low, high, shape).astype(dtype)


def number(value, dtype="float32"):
    return numpy.array(value, dtype)


def test_numbers_become_integers_and_numbers_again():
    x, scale = drawn(3, 4), numpy.array([0.1, 0.2, 0.05, 0.4], "float32")
    for zero in (number(100, "uint8"), number(-3, "int8")):
        inputs = {"x": x, "s": number(0.02), "z": zero}
        agrees(model("QuantizeLinear", inputs, {"y": KIND[str(zero.dtype)]}), inputs)
    inputs = {"x": x, "s": scale, "z": numpy.array([1, 2, 3, 4], "int8")}
    agrees(model("QuantizeLinear", inputs, {"y": I8}, axis=1), inputs)
    inputs = {"x": drawn(3, 4, dtype="uint8"), "s": scale, "z": numpy.array([1, 2, 3, 4], "uint8")}
    agrees(model("DequantizeLinear", inputs, {"y": F}, axis=-1), inputs)
    inputs = {"x": drawn(5, 6)}
    agrees(model("DynamicQuantizeLinear", inputs, {"y": U8, "s": F, "z": U8}), inputs)


def test_products_of_integers():
    a, b = drawn(3, 5, dtype="uint8"), drawn(5, 4, dtype="int8")
    inputs = {"a": a, "b": b, "az": number(7, "uint8"), "bz": number(2, "int8")}
    agrees(model("MatMulInteger", inputs, {"y": I32}), inputs)
    inputs = {
        "a": a, "as": number(0.1), "az": number(7, "uint8"), "b": b, "bs": number(0.02), "bz": number(0, "int8"), "ys": number(0.3),
        "yz": number(90, "uint8"),
    }  # fmt: skip
    agrees(model("QLinearMatMul", inputs, {"y": U8}), inputs)


def test_convolutions_of_integers():
    # Weights of seven bits: where there is no VNNI, onnxruntime adds two products in 16 bits, which saturate.
    x, w = drawn(1, 2, 6, 5, dtype="uint8"), drawn(3, 2, 3, 3, dtype="int8") // 2
    inputs = {"x": x, "w": w, "xz": number(9, "uint8")}
    agrees(model("ConvInteger", inputs, {"y": I32}, pads=[1, 1, 1, 1]), inputs)
    inputs = {
        "x": x, "xs": number(0.1), "xz": number(9, "uint8"), "w": w, "ws": numpy.array([0.02, 0.01, 0.03], "float32"), "wz": numpy.zeros(3, "int8"),
        "ys": number(0.5), "yz": number(100, "uint8"), "b": numpy.array([10, -20, 30], "int32"),
    }  # fmt: skip
    agrees(model("QLinearConv", inputs, {"y": U8}, pads=[1, 0, 1, 0], strides=[2, 1]), inputs)


LENGTHS = numpy.array([4, 2, 3], "int32")


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_recurrent_layers_in_any_direction_with_lengths(kind, direction, lengths):
    ways, gates = 2 if direction == "bidirectional" else 1, {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    inputs = {
        "x": drawn(4, 3, 5), "w": drawn(ways, gates * 2, 5), "r": drawn(ways, gates * 2, 2, seed=1), "b": drawn(ways, gates * 4), "lengths": lengths,
        "h": drawn(ways, 3, 2, seed=2),
    }  # fmt: skip
    outputs = {"y": F, "last": F} | ({"cell": F} if kind == "LSTM" else {})
    if kind == "LSTM":
        inputs["c"] = drawn(ways, 3, 2, seed=3)
    agrees(model(kind, inputs, outputs, hidden_size=2, direction=direction), inputs)


def test_recurrent_layers_of_other_kinds():
    x = drawn(4, 3, 5)
    inputs = {
        "x": x, "w": drawn(1, 8, 5), "r": drawn(1, 8, 2, seed=1), "b": drawn(1, 16), "lengths": None, "h": None, "c": None, "p": drawn(1, 6, seed=4),
    }  # fmt: skip
    agrees(model("LSTM", inputs, {"y": F, "last": F, "cell": F}, hidden_size=2), inputs)
    inputs = {n: inputs[n] for n in ("x", "w", "r", "b")}
    agrees(
        model("LSTM", inputs, {"y": F}, hidden_size=2, clip=0.3, activations=["HardSigmoid", "Tanh", "Softsign"]),
        inputs,
    )
    agrees(model("LSTM", inputs, {"y": F}, hidden_size=2, input_forget=1), inputs)
    inputs = {"x": x, "w": drawn(1, 6, 5), "r": drawn(1, 6, 2, seed=1)}
    agrees(model("GRU", inputs, {"y": F}, hidden_size=2, linear_before_reset=1), inputs)
    inputs = {"x": x, "w": drawn(1, 2, 5), "r": drawn(1, 2, 2, seed=1)}
    agrees(model("RNN", inputs, {"y": F}, hidden_size=2, activations=["LeakyRelu"], activation_alpha=[0.3]), inputs)


def test_signals():
    x = drawn(2, 8, 1)
    axis = number(1, "int64")
    for options in ({}, {"onesided": 1}):
        inputs = {"x": x, "n": None, "axis": axis}
        agrees(model("DFT", inputs, {"y": F}, opset=20, held=("axis",), **options), inputs, ("axis",))
    inputs = {"x": drawn(2, 8, 2), "n": None, "axis": axis}
    agrees(model("DFT", inputs, {"y": F}, opset=20, held=("axis",), inverse=1), inputs, ("axis",))
    inputs = {"x": drawn(1, 16, 1), "step": number(4, "int64"), "window": drawn(8)}
    agrees(model("STFT", inputs, {"y": F}, held=("step",)), inputs, ("step",))
    for kind in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for periodic in (0, 1):
            inputs = {"n": number(10, "int64")}
            agrees(model(kind, inputs, {"y": F}, periodic=periodic), inputs)


@pytest.mark.parametrize(
    "kind, inputs, outputs, attributes",
    [
        ("LRN", {"x": drawn(1, 6, 3, 3)}, {"y": F}, {"size": 3, "alpha": 0.01}),
        ("Hardmax", {"x": drawn(3, 4)}, {"y": F}, {}),
        ("MeanVarianceNormalization", {"x": drawn(2, 3, 4, 4)}, {"y": F}, {}),
        ("SpaceToDepth", {"x": drawn(1, 2, 4, 6)}, {"y": F}, {"blocksize": 2}),
        ("LpPool", {"x": drawn(1, 2, 6, 6)}, {"y": F}, {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("GlobalLpPool", {"x": drawn(1, 2, 6, 6)}, {"y": F}, {"p": 3}),
        ("ReverseSequence", {"x": drawn(4, 3, 2), "n": numpy.array([4, 2, 1], "int64")}, {"y": F}, {}),
        ("ReverseSequence", {"x": drawn(3, 4, 2), "n": numpy.array([4, 2, 1], "int64")}, {"y": F}, {"batch_axis": 0, "time_axis": 1}),
        ("Det", {"x": drawn(2, 3, 3)}, {"y": F}, {}),
        ("GatherND", {"x": drawn(2, 3, 4), "i": numpy.array([[1], [2]], "int64")}, {"y": F}, {"batch_dims": 1}),
        (
            "ScatterND",
            {"x": drawn(4, 3), "i": numpy.array([[1], [1], [3]], "int64"), "u": drawn(3, 3, seed=5)},
            {"y": F},
            {"reduction": "mul"},
        ),
        (
            "NonMaxSuppression",
            {
                "boxes": numpy.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, -0.1, 1, 0.9]]], "float32"),
                "scores": numpy.array([[[0.9, 0.75, 0.6, 0.95]]], "float32"), "most": number(3, "int64"), "overlap": number(0.5),
                "least": number(0.1),
            },
            {"y": I64},
            {},
        ),
    ],
)  # fmt: skip
def test_other_operators(kind, inputs, outputs, attributes):
    agrees(model(kind, inputs, outputs, **attributes), inputs)


@pytest.mark.parametrize(
    "kind, inputs, attributes, opset",
    [
        ("Softmax", {"x": drawn(2, 3, 4)}, {}, 11),
        ("Hardmax", {"x": drawn(2, 3, 4)}, {}, 11),
        ("Pad", {"x": drawn(2, 3)}, {"pads": [0, 1, 1, 0], "value": 2.0}, 10),
        ("Slice", {"x": drawn(4, 5)}, {"starts": [1, 0], "ends": [3, -1]}, 9),
        ("Squeeze", {"x": drawn(1, 3, 1)}, {"axes": [0]}, 11),
        ("Unsqueeze", {"x": drawn(3)}, {"axes": [0, 2]}, 11),
        ("ReduceSum", {"x": drawn(2, 3)}, {"axes": [1], "keepdims": 0}, 11),
        ("Clip", {"x": drawn(3, 3)}, {"min": -0.5, "max": 0.5}, 10),
        ("Split", {"x": drawn(4, 2)}, {"axis": 0}, 11),
        ("Upsample", {"x": drawn(1, 1, 2, 3), "s": numpy.array([1, 1, 2, 2], "float32")}, {"mode": "nearest"}, 9),
        ("Upsample", {"x": drawn(1, 1, 3, 3), "s": numpy.array([1, 1, 2, 2], "float32")}, {"mode": "linear"}, 9),
    ],
)
def test_opsets_of_before_2020_mean_what_they_meant(kind, inputs, attributes, opset):
    outputs = {"y": F, "z": F} if kind == "Split" else {"y": F}
    agrees(model(kind, inputs, outputs, opset, **attributes), inputs)


def test_what_a_node_cannot_mean_is_named():
    inputs = {"x": drawn(4, 3, 5), "w": drawn(1, 2, 5), "r": drawn(1, 2, 2)}
    proto = model("RNN", inputs, {"y": F}, hidden_size=2, activations=["Cosine"])
    with pytest.raises(NotImplementedError, match="activation 'Cosine' of a recurrent layer"):
        torch.onnx.load(proto)(*map(torch.from_numpy, inputs.values()))
