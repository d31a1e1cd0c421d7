"""Scripts keep their branches and loops: If and Loop run by onnxruntime."""

import numpy
import pytest
import torch
from agreement import run
from scripts import Branch, Chosen, Counts, Extremes, Gives, Growing, Lists, Prints, Rows, Table, Turns, Typed
from torch.onnx.errors import SymbolicValueError


def agrees(module, args, others, **options):
    torch.manual_seed(0)
    script = torch.jit.script(module.eval())
    proto = torch.onnx.export(script, args, **options).model_proto
    for given in (args, *others):
        wanted = module(*given)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        found = run(proto, *given)
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            y = y.detach().numpy() if isinstance(y, torch.Tensor) else numpy.asarray(y)
            assert x.shape == y.shape
            numpy.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
    return [node.op_type for node in proto.graph.node]


def test_a_branch_on_values():
    x = torch.ones(4, 3)
    assert "If" in agrees(Branch(), (x,), [(-x,), (torch.randn(4, 3),)])
    agrees(Branch(), (x,), [(-torch.ones(7, 3),)], dynamic_axes={"x": {0: "n"}})


def test_loops_with_a_count_and_until_something_holds():
    kinds = agrees(Turns(), (torch.randn(2, 3), 2), [(torch.randn(2, 3) * 50, 2), (torch.zeros(2, 3), 2)])
    assert kinds.count("Loop") == 2


def test_numbers_that_a_loop_computes():
    x = torch.randn(3, 3)
    agrees(Counts(), (x, 4), [(x, 4)])
    agrees(Counts(), (x, 4), [(torch.randn(6, 3), 4)], dynamic_axes={"x": {0: "n"}})


def test_extremes_of_numbers_of_two_types_and_of_lists():
    axes = {"x": {0: "n"}}
    agrees(Extremes(), (torch.randn(3, 2),), [(torch.randn(n, 2),) for n in (1, 2, 6, 9)], dynamic_axes=axes)


@pytest.mark.parametrize("compiled", [torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(2, 3), strict=False)])
def test_a_dict_gives_its_values_in_order(compiled):
    net, x = Gives(), torch.randn(2, 3)
    proto = torch.onnx.export(compiled(net), (x,)).model_proto
    for found, wanted in zip(run(proto, x), net(x).values(), strict=True):
        numpy.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


class Number(torch.nn.Module):
    def forward(self, x):
        return x * 2, max(x.size(0), 3), 2.5


def test_a_number_is_an_output():
    _, size, half = run(
        torch.onnx.export(torch.jit.script(Number()), (torch.ones(4, 3),)).model_proto, torch.ones(4, 3)
    )
    assert size == 4 and half == 2.5


def test_a_loop_over_a_size_that_may_change():
    axes = {"x": {0: "time", 1: "batch"}}
    kinds = agrees(
        Rows(), (torch.randn(3, 2, 4),), [(torch.randn(7, 5, 4),), (torch.randn(1, 1, 4),)], dynamic_axes=axes
    )
    assert "Loop" in kinds


def test_a_tensor_may_grow_in_a_loop():
    agrees(Growing(), (torch.randn(2, 3),), [(torch.randn(5, 3),)], dynamic_axes={"x": {0: "n"}})


def test_a_loop_has_as_many_turns_as_an_int_of_a_tensor_says():
    agrees(Lists(), (torch.ones(2),), [(torch.tensor([-1.5, 7.0]),)])


def test_a_file_prints_nothing():
    agrees(Prints(), (torch.ones(2),), [])


def test_arguments_of_scripts():
    script = torch.jit.script(Branch())
    with pytest.raises(NotImplementedError, match="by position"):
        torch.onnx.export(script, (), kwargs={"x": torch.ones(1, 3)})
    with pytest.raises(NotImplementedError, match="by dynamic_axes"):
        torch.onnx.export(script, (torch.ones(1, 3),), dynamic_shapes=({},))


@pytest.mark.parametrize(
    "resize",
    [
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2),
        lambda x: torch.nn.functional.interpolate(x, size=(5, 3), mode="nearest-exact"),
        lambda x: torch.nn.functional.interpolate(x, scale_factor=0.5, mode="area"),
        lambda x: torch.nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear"),
        lambda x: torch.nn.functional.interpolate(x, size=(9, 5), mode="bicubic", align_corners=True),
        lambda x: torch.nn.functional.interpolate(x[0], size=7, mode="linear"),
        lambda x: torch.nn.functional.interpolate(x, size=(3, 9), mode="bicubic", antialias=True),
        lambda x: torch.nn.functional.interpolate(x[..., :2], size=(x.shape[2] * 2, x.shape[3])),
    ],
)
def test_traces_that_resize_images_are_written_for_the_sizes_of_the_example(resize):
    class Resize(torch.nn.Module):
        def forward(self, x):
            return resize(x) + 1

    x = torch.rand(1, 2, 6, 4)
    proto = torch.onnx.export(torch.jit.trace(Resize(), x), (x,)).model_proto
    (found,) = run(proto, x)
    numpy.testing.assert_allclose(found, Resize()(x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("compiled", [torch.jit.trace, lambda module, x: torch.jit.script(module)])
def test_traces_and_scripts_resize_images_to_sizes_that_change(compiled):
    class Skips(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.down = torch.nn.Conv2d(2, 2, 3, stride=2, padding=1)

        def forward(self, x):
            up = torch.nn.functional.interpolate(self.down(x), size=x.shape[2:], mode="bilinear")
            return torch.nn.functional.interpolate(up + x, scale_factor=2.0, mode="bicubic", align_corners=True)

    model, x = Skips(), torch.rand(1, 2, 6, 8)
    axes = {"x": {2: "height", 3: "width"}}
    proto = torch.onnx.export(compiled(model, x), (x,), input_names=["x"], dynamic_axes=axes).model_proto
    for size in ((6, 8), (7, 9)):
        x = torch.rand(1, 2, *size)
        (found,) = run(proto, x)
        numpy.testing.assert_allclose(found, model(x).detach().numpy(), rtol=1e-5, atol=1e-5)


class Outputs(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


COMPILED = [torch.jit.trace, lambda module, x: torch.jit.script(module)]


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize(
    "layer, kind",
    [
        (torch.nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True), "LSTM"), (torch.nn.GRU(4, 3), "GRU"),
        (torch.nn.RNN(4, 3, nonlinearity="relu", bias=False), "RNN"),
    ],
)  # fmt: skip
def test_recurrent_layers_of_traces_and_scripts_are_nodes_for_any_length(compiled, layer, kind):
    model, x = Outputs(layer), torch.randn(5, 2, 4)
    axes = {"x": {0: "first", 1: "second"}}
    proto = torch.onnx.export(compiled(model, x), (x,), input_names=["x"], dynamic_axes=axes).model_proto
    kinds = [node.op_type for node in proto.graph.node]
    assert kinds.count(kind) == layer.num_layers
    assert "Loop" not in kinds
    for given in (x, torch.randn(9, 3, 4)):
        numpy.testing.assert_allclose(run(proto, given)[0], model(given).detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("options", [
    {}, {"bidirectional": True}, {"bias": False, "num_layers": 2}, {"bidirectional": True, "num_layers": 2, "batch_first": True},
])  # fmt: skip
def test_projections_are_a_scan_of_any_length(compiled, options):
    model, x = torch.nn.LSTM(4, 5, proj_size=3, **options).eval(), torch.rand(6, 2, 4)
    script = torch.jit.trace(model, x) if compiled is torch.jit.trace else torch.jit.script(model)
    axes = {"x": {0: "first", 1: "second"}}
    proto = torch.onnx.export(script, (x,), input_names=["x"], dynamic_axes=axes).model_proto
    assert [node.op_type for node in proto.graph.node].count("Scan") == model.num_layers * (1 + model.bidirectional)
    for given in (x, torch.rand(9, 3, 4)):
        out, (h, c) = model(given)
        for found, wanted in zip(run(proto, given), (out, h, c), strict=True):
            numpy.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_dropout_between_layers_is_kept_in_training():
    model, x = torch.nn.LSTM(4, 3, 3, dropout=0.5).train(), torch.ones(5, 2, 4)
    traced = torch.jit.trace(model, x, check_trace=False)
    proto = torch.onnx.export(traced, (x,), training=torch.onnx.TrainingMode.TRAINING).model_proto
    assert [node.op_type for node in proto.graph.node if node.op_type in ("LSTM", "Dropout")] == [
        "LSTM",
        "Dropout",
    ] * 2 + ["LSTM"]


def test_arguments_that_are_left_out_have_their_defaults():
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor, by: float = 3.0):
            return x * by

    script = torch.jit.script(Scaled())
    assert run(torch.onnx.export(script, (torch.ones(2),)).model_proto, torch.ones(2))[0].tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="missing value for argument 'x'"):
        torch.onnx.export(script, ())


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("opset", [18, 23])
def test_attention_and_sums_of_traces_and_scripts(compiled, opset):
    class Both(torch.nn.Module):
        def forward(self, x, mask):
            y = torch.nn.functional.scaled_dot_product_attention(x, x, x, mask, scale=0.3)
            return torch.einsum("bhij,bhkj->bhik", y, x)

    args = torch.rand(2, 3, 5, 4), torch.rand(5, 5)
    script = torch.jit.trace(Both(), args) if compiled is torch.jit.trace else torch.jit.script(Both())
    proto = torch.onnx.export(script, args, opset_version=opset).model_proto
    numpy.testing.assert_allclose(run(proto, *args)[0], Both()(*args).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", [13, 18])
def test_numbers_of_a_list_are_taken_by_the_turn_of_a_loop(opset):
    x = torch.rand(2, 3)
    agrees(Table(), (x,), [(x + 1,)], opset_version=opset)
    others = [(torch.rand(n, 3),) for n in (1, 3, 4)]
    agrees(Table(), (x,), others, dynamic_axes={"x": {0: "n"}}, opset_version=opset)


@pytest.mark.parametrize("axes", [{}, {"x": {0: "n", 1: "m"}}])
def test_what_a_loop_takes_by_its_turn_is_of_that_turn(axes):
    others = [(torch.rand(3, 2),), (torch.rand(2, 2),)] if axes else [(torch.rand(2, 3),)]
    agrees(Chosen(), (torch.rand(2, 3),), others, dynamic_axes=axes)


class Picks(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = [x, x + 1]
        for i in range(x.size(0)):
            x = x + rows[i % 2]
        return x


def test_an_element_that_a_run_would_choose_is_refused():
    module = torch.jit.script(Picks())
    with pytest.raises(SymbolicValueError, match="an element of a list or dict at a place that is computed"):
        torch.onnx.export(module, (torch.rand(2, 2),), dynamo=False, dynamic_axes={"x": {0: "n"}})


@pytest.mark.parametrize("opset", [17, 23])
def test_layers_that_ask_for_dtypes_modes_and_sizes(opset):
    torch.manual_seed(0)
    others = [(torch.randn(3, 6, 4),), (torch.randn(1, 3, 4),)]
    agrees(Typed(), (torch.randn(2, 5, 4),), others, dynamic_axes={"x": {0: "n", 1: "m"}}, opset_version=opset)


def test_distances_of_rows_whose_number_may_change():
    class Nearest(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cdist(x, x[:2]).argmin(1)

    agrees(Nearest(), (torch.randn(4, 3),), [(torch.randn(9, 3),)], dynamic_axes={"x": {0: "n"}})


class Idle(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(x.size(0)):
            print(i)
            if bool(x.sum() > 0):
                print("positive")
        return x * 2


def test_loops_and_branches_without_a_result_are_left_out():
    assert agrees(Idle(), (torch.ones(2),), [(-torch.ones(3),)], dynamic_axes={"x": {0: "n"}}) == ["Mul"]
