"""What an export gives: the program, its files, its report, and the forms of its arguments."""

import io
import math

import onnx
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.onnx.errors import OnnxExporterError


class Scaled(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.line = nn.Linear(3, width)

    def forward(self, x, y=None, *, scale=None, shift=None):
        z = self.line(x)
        z = z if y is None else z + y
        z = z if scale is None else z * scale
        return z if shift is None else z - shift


X, Y = torch.randn(2, 3), torch.randn(2, 40)
NAMED = {"scale": torch.tensor(2.0), "shift": torch.tensor(5.0)}


def kinds(program):
    return [node.op_type for node in program.model_proto.graph.node]


# --- calls ---


def test_arguments_by_name_find_their_inputs_in_any_order():
    net = Scaled()
    program = torch.onnx.export(net, (X,), kwargs=NAMED)
    found = program(X, shift=NAMED["shift"], scale=NAMED["scale"])[0]
    torch.testing.assert_close(found, net(X, **NAMED).detach())
    by_place = torch.onnx.export(net, (X, Y))
    torch.testing.assert_close(by_place(y=Y, x=X)[0], net(X, Y).detach())


def test_a_call_that_does_not_fit_says_what_the_file_takes():
    program = torch.onnx.export(Scaled(), (X,), kwargs=NAMED)
    with pytest.raises(ValueError, match=r"the file takes 3 tensors \(x, scale, shift\), got 1"):
        program(X)
    with pytest.raises(TypeError, match="bias: the model was exported without; it takes scale, shift by name"):
        program(X, bias=X, **NAMED)
    with pytest.raises(ValueError, match=r"x has shape \(2, 3\) in the file, got \(5, 3\)"):
        program(torch.ones(5, 3), **NAMED)


def test_values_within_and_the_reference_of_onnx():
    program = torch.onnx.export(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), (X,))
    gemm = program.model_proto.graph.node[0].output[0]
    (inner,) = program.compute_values([gemm], (X,))
    torch.testing.assert_close(inner.relu(), program(X)[0])
    torch.testing.assert_close(program.call_reference(X)[0], program(X)[0])
    with pytest.raises(KeyError, match="no node of the model gives 'nothing'"):
        program.compute_values(["nothing"], (X,))


def test_weights_are_put_in_by_name():
    net, other = Scaled(), Scaled()
    program = torch.onnx.export(net, (X,))
    program(X)
    program.apply_weights(other.state_dict())
    torch.testing.assert_close(program(X)[0], other(X).detach())
    with pytest.raises(KeyError, match="the model has no tensor 'other'; it has line.bias, line.weight"):
        program.apply_weights({"other": X})
    with pytest.raises(ValueError, match=r"line.bias has shape \(40,\) and torch.float32, got \(2, 3\)"):
        program.apply_weights({"line.bias": X})


# --- files ---


def test_tensors_beside_the_file(tmp_path):
    net = Scaled(400)
    program = torch.onnx.export(net, (X,), tmp_path / "net.onnx")
    assert {p.name for p in tmp_path.iterdir()} == {"net.onnx", "net.onnx.data"}
    size = (tmp_path / "net.onnx.data").stat().st_size
    program.save(tmp_path / "net.onnx", external_data=True)  # again: the data is written anew
    assert (tmp_path / "net.onnx.data").stat().st_size == size
    torch.testing.assert_close(torch.onnx.load(tmp_path / "net.onnx")(X), net(X))
    for name, options in {"one.onnx": {"external_data": False}, "old.onnx": {"dynamo": False}}.items():
        torch.onnx.export(net, (X,), tmp_path / name, **options)
        assert not (tmp_path / f"{name}.data").exists()
    with pytest.raises(ValueError, match="need a path for it, got an open file"):
        program.save(io.BytesIO(), external_data=True)


def test_files_without_parameters_and_with_parameters_as_inputs():
    program, file = torch.onnx.export(Scaled(), (X * 2,)), io.BytesIO()
    program.save(file, include_initializers=False)
    bare = onnx.load(io.BytesIO(file.getvalue()))
    assert not bare.graph.initializer and [i.name for i in bare.graph.input] == ["x"]
    file = io.BytesIO()
    program.save(file, keep_initializers_as_inputs=True)
    whole = onnx.load(io.BytesIO(file.getvalue()))
    assert [i.name for i in whole.graph.input] == ["x", "line.weight", "line.bias"] and len(
        whole.graph.initializer
    ) == 2
    onnx.checker.check_model(whole)


def test_a_program_prints_without_its_weights():
    assert len(repr(torch.onnx.export(Scaled(4000), (X,)))) < 1000


# --- reports ---


def test_a_report_tells_what_was_exported(tmp_path):
    torch.onnx.export(
        Scaled(), (X,), report=True, verify=True, dump_exported_program=True, artifacts_dir=tmp_path / "new"
    )
    report, program = sorted((tmp_path / "new").iterdir(), key=lambda p: p.suffix)
    text = report.read_text()
    assert report.name.endswith("_success.md") and "- Gemm: 1" in text and "2 with 160 elements" in text
    assert "## Beside onnxruntime" in text and "| linear |" in text
    assert torch.export.load(program).module()(X).shape == (2, 40)


def test_a_report_tells_why_nothing_was_exported(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            return torch.linalg.pinv(x)

    with pytest.raises(OnnxExporterError):
        torch.onnx.export(Net(), (X,), report=True, artifacts_dir=tmp_path)
    (report,) = tmp_path.iterdir()
    assert report.name.endswith("_failed.md") and "pinv: " in report.read_text()
    with pytest.raises(NotImplementedError, match="torch.profiler"):
        torch.onnx.export(Net(), (X,), profile=True)


# --- dynamic_shapes ---


@pytest.mark.parametrize(
    "shapes", [
        {"x": {0: "batch"}, "y": {0: "batch"}}, ({0: "batch"}, {0: "batch"}), {"x": ["batch", None], "y": ("batch", None)},
        {"x": {0: Dim("batch", min=1)}, "y": {0: Dim("batch", min=1)}}, {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.AUTO}},
    ],
)  # fmt: skip
def test_dims_that_may_change_by_words_and_dims(shapes):
    net = Scaled()
    for args, kwargs in (((X, Y), None), ((), {"x": X, "y": Y})):
        if kwargs and isinstance(shapes, tuple):
            continue
        program = torch.onnx.export(net, args, kwargs=kwargs, dynamic_shapes=shapes)
        names = {i.type.tensor_type.shape.dim[0].dim_param for i in program.model_proto.graph.input}
        assert all(names) and (names == {"batch"} or Dim.AUTO in shapes["y"].values())
        x, y = torch.randn(5, 3), torch.randn(5, 40)
        torch.testing.assert_close((program(x, y) if args else program(y=y, x=x))[0], net(x, y).detach())


# --- functions of one's own ---


def test_a_table_of_functions_by_operators():
    def tanh(g, x):
        return g.op("Tanh", x)

    for key in (torch.ops.aten.sigmoid.default, torch.ops.aten.sigmoid, "aten::sigmoid"):
        for function in (tanh, [tanh]):
            assert kinds(torch.onnx.export(nn.Sigmoid(), (X,), custom_translation_table={key: function})) == ["Tanh"]
    with pytest.raises(TypeError, match="expected operators such as torch.ops.aten.relu.default, got 3"):
        torch.onnx.export(nn.Sigmoid(), (X,), custom_translation_table={3: tanh})
    with pytest.raises(TypeError, match="aten::sigmoid: expected one function"):
        torch.onnx.export(nn.Sigmoid(), (X,), custom_translation_table={"aten::sigmoid": [tanh, tanh]})


@torch.library.custom_op("onnx_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor, times: float = 2.0) -> torch.Tensor:
    return x * times


@scaled.register_fake
def _(x, times=2.0):
    return torch.empty_like(x)


def test_a_table_has_functions_for_operators_of_torch_library():
    class Net(nn.Module):
        def forward(self, x):
            return scaled(x, 3.0)

    with pytest.raises(OnnxExporterError, match=r"onnx_tests::scaled: .*test_program.py:\d+"):
        torch.onnx.export(Net(), (X,))
    table = {torch.ops.onnx_tests.scaled.default: lambda g, x, times: g.op("mine::Scaled", x, times_f=times.constant)}
    (node,) = torch.onnx.export(Net(), (X,), custom_translation_table=table).model_proto.graph.node
    assert (node.domain, node.op_type, node.attribute[0].f) == ("mine", "Scaled", 3.0)


# --- errors ---


def test_all_calls_that_rules_refuse_are_named_at_once_with_their_lines():
    class Net(nn.Module):
        def forward(self, x):
            y = x.relu()
            return y.flatten(1).quantile(0.5, interpolation="nearest") + torch.linalg.matrix_norm(y, 2)

    with pytest.raises(NotImplementedError) as error:
        torch.onnx.export(Net(), (torch.rand(1, 1, 4, 4),))
    text = str(error.value)
    assert text.count("test_program.py") == 2 and "'nearest'" in text and "of order 2" in text


def test_an_int_that_may_change_is_an_input_of_the_file():
    class Repeated(nn.Module):
        def forward(self, x, n):
            with torch.no_grad():
                y = x * n
            return y.repeat(n, 1)

    sizes = {"x": {0: torch.export.Dim("rows")}, "n": torch.export.Dim.DYNAMIC}
    program = torch.onnx.export(Repeated(), (torch.ones(2, 3), 3), dynamic_shapes=sizes, dynamo=True)
    assert [(i.name, len(i.type.tensor_type.shape.dim)) for i in program.model_proto.graph.input] == [
        ("x", 2),
        ("n", 0),
    ]
    for rows, n in ((4, 2), (1, 5)):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(program(x, n)[0], Repeated()(x, n))
    with pytest.raises(TypeError, match=r"argument 2 is an int of the file, got 2\.5"):
        program(x, 2.5)


def test_formulas_of_sizes_are_written_with_all_their_operators():
    class Net(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            whole = math.ceil(n / 4) + math.floor(n / 3) * 10 + round(n / 5) + abs(3 - n)
            return x[: math.ceil(n / 2)] * whole + int(n / 3) + (n & 6) + (n | 1) + (n ^ 5) + n % 7 + x[:1] * (n / 7)

    program = torch.onnx.export(Net(), (torch.ones(9),), dynamic_shapes=({0: Dim.DYNAMIC},), dynamo=True)
    for n in (2, 6, 31, 200):
        x = torch.randn(n)
        torch.testing.assert_close(program(x)[0], Net()(x))
