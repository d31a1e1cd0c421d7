"""What torch.onnx.export takes, writes and refuses."""

import io

import numpy
import onnx
import pytest
import torch
from agreement import agree, run
from test_models import Decoder, Indexed, Masked, Norms, Recurrent, Rotary, UNet
from torch import nn
from torch.nn import functional as F
from torch.onnx import TrainingMode, symbolic_helper
from torch.onnx.errors import SymbolicValueError, UnsupportedOperatorError


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def kinds(program):
    return [node.op_type for node in program.model_proto.graph.node]


# --- sizes that may change ---


@pytest.mark.parametrize(
    "model, args, axes, others",
    [
        (Decoder(), (torch.randint(0, 11, (2, 6)),), {"ids": {0: "batch", 1: "time"}}, [(torch.randint(0, 11, (5, 9)),)]),
        (Rotary(), (torch.randn(2, 5, 8),), {"x": [0, 1]}, [(torch.randn(4, 7, 8),)]),
        (Recurrent(nn.LSTM, batch_first=True), (torch.randn(2, 4, 5),), {"x": {0: "n", 1: "t"}}, [(torch.randn(3, 9, 5),)]),
        (UNet("nearest"), (torch.randn(1, 3, 8, 12),), {"x": {0: "n", 2: "h", 3: "w"}}, [(torch.randn(2, 3, 16, 10),)]),
        (Norms(), (torch.randn(2, 4, 5, 6),), {"x": {0: "n"}}, [(torch.randn(7, 4, 5, 6),)]),
        (Masked(), (torch.randn(3, 5, 6), torch.tensor([5, 2, 1])), {"x": {0: "n", 1: "t"}, "lengths": {0: "n"}},
         [(torch.randn(2, 8, 6), torch.tensor([8, 1]))]),
        (nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)), (torch.randn(1, 3, 9, 9),),
         {"input": {0: "n", 2: "h", 3: "w"}}, [(torch.randn(3, 3, 12, 21),)]),
    ],
)  # fmt: skip
def test_sizes_that_may_change(model, args, axes, others):
    proto = agree(model, *args, others=others, dynamic_axes=axes)
    named = {d.dim_param for i in proto.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    assert len(named) == len({d if isinstance(dims, list) else dims[d] for dims in axes.values() for d in dims})


def test_dynamic_shapes_and_names():
    n = torch.export.Dim("n")
    module = Module(lambda x, y: (x + y, x.shape[0] * y))
    program = torch.onnx.export(
        module, (torch.ones(2, 3), torch.ones(3)), input_names=["left", "right"], output_names=["sum", "times"],
        dynamic_shapes=(({0: n}, None),),
    )  # fmt: skip
    graph = program.model_proto.graph
    assert [i.name for i in graph.input] == ["left", "right"] and [o.name for o in graph.output] == ["sum", "times"]
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    numpy.testing.assert_array_equal(run(program.model_proto, torch.ones(5, 3), torch.ones(3))[1], numpy.full(3, 5.0))


# --- opsets ---


@pytest.mark.parametrize("opset", range(13, 24))
def test_every_opset(opset):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Hardswish(), nn.Unflatten(1, (2, 3)), nn.InstanceNorm1d(2)
    )
    x = torch.randn(3, 4)
    proto = agree(model, x, opset_version=opset, tolerance=2e-5)
    assert proto.opset_import[0].version == opset
    module = Module(
        lambda x: (x.amax(1), x.mean((0, 1)), x.std(0), F.pad(x[None], (1, 1), mode="circular"), x.split([1, 3], 1))
    )
    agree(module, x, opset_version=opset)


def test_an_opset_that_lacks_an_operator():
    module = Module(lambda x, i: torch.zeros(3).index_add(0, i, x))
    args = (torch.ones(2), torch.tensor([0, 1]))
    agree(module, *args, opset_version=16)
    with pytest.raises(UnsupportedOperatorError, match=r"index_add \(needs opset 16\)"):
        torch.onnx.export(module, args, opset_version=15)
    for opset in (12, 24):
        with pytest.raises(ValueError, match=f"opset_version must be 13 to 23, got {opset}"):
            torch.onnx.export(module, args, opset_version=opset)


# --- what is written ---


def test_constants_are_folded_and_parameters_keep_their_names():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(3, 2)

        def forward(self, x):
            return self.out(x) * (torch.arange(2) + 1).float().sqrt()

    x = torch.ones(1, 4, 3)
    program = torch.onnx.export(Net(), (x,))
    assert kinds(program) == ["MatMul", "Add", "Mul"]
    assert "out.bias" in {i.name for i in program.model_proto.graph.initializer}
    whole = torch.onnx.export(Net(), (x,), do_constant_folding=False)
    assert "Sqrt" in kinds(whole) and "Transpose" in kinds(whole)
    agree(Net(), x, do_constant_folding=False)


def test_parameters_may_be_inputs():
    net = nn.Linear(3, 2)
    kept = torch.onnx.export(net, (torch.ones(1, 3),), keep_initializers_as_inputs=True).model_proto
    assert [i.name for i in kept.graph.input] == ["input", "weight", "bias"] and len(kept.graph.initializer) == 2
    bare = torch.onnx.export(net, (torch.ones(1, 3),), export_params=False).model_proto
    assert [i.name for i in bare.graph.input] == ["input", "weight", "bias"] and not bare.graph.initializer
    numpy.testing.assert_allclose(
        run(bare, torch.ones(1, 3), net.weight, net.bias)[0], net(torch.ones(1, 3)).detach(), rtol=1e-5
    )


def test_files_and_streams(tmp_path):
    net, x = nn.Linear(3, 2), torch.ones(1, 3)
    torch.onnx.export(net, x, str(tmp_path / "net.onnx"))
    assert [n.op_type for n in onnx.load(tmp_path / "net.onnx").graph.node] == ["Gemm"]
    stream = io.BytesIO()
    program = torch.onnx.export(net, (x,), stream, verify=True)
    assert stream.getvalue() == program.model_proto.SerializeToString()
    torch.testing.assert_close(program(x)[0], net(x).detach())


def test_a_file_says_who_wrote_it(tmp_path):
    torch.onnx.export(nn.ReLU(), torch.ones(1), tmp_path / "relu.onnx")
    model = onnx.load(tmp_path / "relu.onnx")
    assert (model.producer_name, model.producer_version) == (torch.onnx.producer_name, torch.__version__)
    assert torch.onnx.producer_version == torch.__version__


def test_verbose_prints_and_keeps_lines(capsys):
    program = torch.onnx.export(Module(lambda x: x.relu()), (torch.ones(2),), verbose=True)
    assert "Relu" in capsys.readouterr().out
    assert "test_export.py" in program.model_proto.graph.node[0].doc_string


def test_modes_and_what_an_export_asks():
    seen = []

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            seen.append((self.training, torch.onnx.is_in_onnx_export()))
            return self.drop(x)

    net = Net()
    assert kinds(torch.onnx.export(net, (torch.ones(2),))) == ["Identity"]
    assert kinds(torch.onnx.export(net, (torch.ones(2),), training=TrainingMode.TRAINING)) == ["Dropout"]
    assert seen[0] == (False, True) and seen[-1] == (True, True) and net.training and not torch.onnx.is_in_onnx_export()


def test_arguments_by_name_and_exported_programs():
    class Net(nn.Module):
        def forward(self, x, scale=1.0, *, shift=None):
            return x * scale if shift is None else x + shift

    for program in (
        torch.onnx.export(Net(), (torch.ones(2), {"shift": torch.ones(2)})),
        torch.onnx.export(Net(), (torch.ones(2),), kwargs={"shift": torch.ones(2)}),
        torch.onnx.export(torch.export.export(Net(), (torch.ones(2),), {"shift": torch.ones(2)})),
    ):
        assert kinds(program) == ["Add"] and [i.name for i in program.model_proto.graph.input] == ["x", "shift"]
    assert kinds(torch.onnx.export(Net(), (torch.ones(2), 3.0))) == ["Mul"]


def test_an_input_may_be_a_result_and_a_result_come_twice():
    agree(Module(lambda x, y: (x, y + 1, x)), torch.ones(2), torch.ones(3))
    module = Module(lambda x: (lambda y: (y, y))(x * 2))
    agree(module, torch.ones(2), output_names=["a", "b"])


# --- what is refused ---


def test_all_operators_without_a_rule_are_named_at_once_with_their_lines():
    module = Module(lambda x: torch.fft.fft(x).cumsum(0).real + torch.linalg.pinv(x) + torch.special.erfcx(x))
    with pytest.raises(UnsupportedOperatorError) as error:
        torch.onnx.export(module, (torch.rand(4, 4),))
    text = str(error.value)
    assert (
        "pinv:" in text
        and "erfcx:" in text
        and "cumsum of complex tensors:" in text
        and text.count("test_export.py") >= 3
    )


def test_arguments_that_a_rule_cannot_write():
    module = Module(lambda x: torch.linalg.matrix_norm(x, 2))
    with pytest.raises(NotImplementedError, match=r"test_export.py:\d+ .*matrix_norm of order 2"):
        torch.onnx.export(module, (torch.rand(1, 1, 4, 4),))
    with pytest.raises(torch.export.UserError, match=r"test_export.py:\d+ in .*asks whether a tensor is true"):
        torch.onnx.export(Module(lambda x: x if x.sum() > 0 else -x), (torch.rand(2),))


def test_bad_arguments():
    net = nn.Linear(3, 2)
    for options, error, text in (
        ({"dynamic_axes": {"other": {0: "n"}}}, ValueError, "dynamic_axes speaks of other; there are input"),
        ({"dynamic_axes": {"input": {3: "n"}}}, ValueError, "input has 2 dims, got dim 3"),
        (
            {"dynamic_axes": {"input": {1: "n"}}},
            torch.export.UserError,
            "n was to change, and the program takes only 3",
        ),
        ({"dynamic_axes": {"input": [0]}, "dynamic_shapes": ({},)}, ValueError, "not both"),
        ({"export_modules_as_functions": True}, NotImplementedError, "modules as functions"),
        ({"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN}, NotImplementedError, "operators of ATen"),
    ):
        with pytest.raises(error, match=text):
            torch.onnx.export(net, (torch.ones(1, 3),), **options)
    with pytest.raises(TypeError, match="expected a module, got int"):
        torch.onnx.export(3, ())


# --- functions of one's own ---


def test_a_function_of_ones_own_writes_an_operator():
    @symbolic_helper.parse_args("v", "f")
    def leaky(g, x, slope):
        assert x.type().sizes() == [2, 3] and x.type().scalarType() == "Float" and g.opset == 20
        doubled = g.op("Mul", x, g.op("Constant", value_t=torch.tensor(2.0)))
        return g.op("LeakyRelu", doubled, alpha_f=slope)

    torch.onnx.register_custom_op_symbolic("aten::leaky_relu", leaky, 14)
    try:
        x = torch.randn(2, 3)
        program = torch.onnx.export(Module(lambda x: F.leaky_relu(x, 0.25)), (x,), opset_version=20)
        assert kinds(program) == ["Mul", "LeakyRelu"]
        numpy.testing.assert_allclose(run(program.model_proto, x)[0], F.leaky_relu(2 * x, 0.25).numpy(), rtol=1e-6)
        assert kinds(torch.onnx.export(Module(lambda x: F.leaky_relu(x)), (x,), opset_version=13)) == ["LeakyRelu"]
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::leaky_relu", 14)
    with pytest.raises(ValueError, match="expected 'namespace::name', got 'op'"):
        torch.onnx.register_custom_op_symbolic("op", leaky, 14)


def test_an_operator_of_another_domain():
    torch.onnx.register_custom_op_symbolic("aten::lgamma", lambda g, x: g.op("special::Lgamma", x, precise_i=1), 13)
    try:
        proto = torch.onnx.export(Module(torch.lgamma), (torch.ones(2),), custom_opsets={"special": 3}).model_proto
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::lgamma", 13)
    assert proto.graph.node[0].domain == "special" and proto.graph.node[0].attribute[0].i == 1
    assert {o.domain: o.version for o in proto.opset_import} == {"": 20, "special": 3}


def test_names_that_libraries_import():
    from torch.onnx import symbolic_opset11, utils
    from torch.onnx.symbolic_helper import cast_pytorch_to_onnx, scalar_type_to_pytorch_type

    assert cast_pytorch_to_onnx["Float"] == torch.onnx.TensorProtoDataType.FLOAT == 1
    assert scalar_type_to_pytorch_type[6] is torch.float32 and utils.export is torch.onnx.export
    with pytest.raises(NotImplementedError, match="symbolic_opset11.squeeze"):
        symbolic_opset11.squeeze(None)
    with pytest.raises(NotImplementedError, match="symbolic_helper._maybe_cast"):
        symbolic_helper._maybe_cast(None)


def test_verification():
    torch.onnx.verification.verify(
        nn.Sequential(nn.Linear(3, 2), nn.Tanh()),
        torch.ones(1, 3),
        dynamic_axes={"input": {0: "n"}},
        additional_test_inputs=[(torch.ones(4, 3),)],
    )
    torch.onnx.register_custom_op_symbolic("aten::tanh", lambda g, x: g.op("Sin", x), 13)
    try:
        with pytest.raises(AssertionError, match="tanh: onnxruntime is away by"):
            torch.onnx.export(nn.Tanh(), (torch.ones(2),), verify=True)
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::tanh", 13)


def test_indexing_follows_sizes():
    agree(Indexed(), torch.randn(4, 6), torch.randint(0, 4, (4, 6)), opset_version=18)


class Scaled(torch.autograd.Function):
    """Computes in NumPy, which no graph can say, and says how it is written."""

    @staticmethod
    def forward(ctx, x, k, w):
        return torch.from_numpy(x.numpy() * k), w

    @staticmethod
    def symbolic(g, x, k, w):
        return g.op("Mul", x, g.op("Constant", value_t=torch.tensor(float(k)))), g.op("Identity", w)


class ScaledTwice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        a, b = Scaled.apply(x, 2, self.w)
        c, d = Scaled.apply(a, 3.0, b)
        return c + d


def test_functions_are_written_by_their_symbolic_methods():
    before = torch.autograd.Function.__dict__["apply"]
    program = torch.onnx.export(
        ScaledTwice(), (torch.ones(3, 2),), dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "rows"}}
    )
    assert torch.autograd.Function.__dict__["apply"] is before
    assert [n.op_type for n in program.model_proto.graph.node] == ["Mul", "Identity", "Mul", "Identity", "Add"]
    x = torch.randn(5, 2)
    torch.testing.assert_close(torch.onnx.load(program.model_proto)(x), x * 6 + 1)


class Shifted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        return x + float(by.sum())

    @staticmethod
    def symbolic(g, x, by):
        return g.op("Add", x, g.op("Constant", value_t=torch.tensor(float(by.sum()))))


def test_constants_of_functions_that_look_alike_stay_apart():
    a, b = numpy.zeros(5000, numpy.float32), numpy.zeros(5000, numpy.float32)
    b[2500] = 7  # which is not among the numbers that an array shows
    assert repr(a) == repr(b)

    class Net(torch.nn.Module):
        def forward(self, x):
            return Shifted.apply(Shifted.apply(x, a), b)

    proto = torch.onnx.export(Net(), (torch.ones(2),), dynamo=False).model_proto
    assert torch.onnx.load(proto)(torch.ones(2)).tolist() == [8, 8]


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        return x * k

    @staticmethod
    def symbolic(ctx, g, x, k):
        return g.op("my.domain::Scale", x, k_f=k, words_s=["a", "b"], places_i=[1, 2], whole_s="c").setType(x.type())


def test_a_function_is_an_operator_of_its_own_domain():
    class Net(torch.nn.Module):
        def forward(self, x):
            return Own.apply(x, 2.5)

    proto = torch.onnx.export(Net(), (torch.ones(2),), dynamo=False, custom_opsets={"my.domain": 2}).model_proto
    (node,) = proto.graph.node
    assert (node.op_type, node.domain) == ("Scale", "my.domain")
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert found == {"k": 2.5, "words": [b"a", b"b"], "places": [1, 2], "whole": b"c"}
    assert ("my.domain", 2) in [(o.domain, o.version) for o in proto.opset_import]
    # An exported program is written as what it does.
    kinds = [n.op_type for n in torch.onnx.export(Net(), (torch.ones(2),), dynamo=True).model_proto.graph.node]
    assert kinds == ["Mul"]


class GivesText(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x, "text"

    symbolic = staticmethod(lambda g, x: g.op("Identity", x))


def test_a_function_that_gives_no_tensors_is_named():
    class Net(torch.nn.Module):
        def forward(self, x):
            return GivesText.apply(x)[0]

    with pytest.raises(NotImplementedError, match="GivesText.forward gives tuple"):
        torch.onnx.export(Net(), (torch.ones(2),), dynamo=False)


def test_a_quantized_model_is_refused_with_what_to_do():
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)), {nn.Linear})
    with pytest.raises(
        UnsupportedOperatorError, match=r"_int8_dynamic[^\n]*\nthey are of quantized layers: export the model of floats"
    ):
        torch.onnx.export(model, (torch.ones(2, 3),))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("moving", [{}, {"dynamic_axes": {"x": [0]}, "input_names": ["x"]}], ids=["fixed", "moving"])
def test_recurrent_layers_of_dynamic_models_are_refused_with_what_to_do(kind, moving):
    model, x = torch.ao.quantization.quantize_dynamic(nn.Sequential(kind(3, 2)), {kind}), torch.ones(4, 1, 3)
    for each in (torch.jit.trace(model, (x,)), torch.jit.script(model)):
        with pytest.raises(
            SymbolicValueError, match=f"quantized_{kind.__name__.lower()} cannot be written: export the model"
        ):
            torch.onnx.export(each, (x,), io.BytesIO(), dynamo=False, **moving)
