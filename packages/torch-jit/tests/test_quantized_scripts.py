"""Scripts and archives of quantized models."""

import copy
import io
import pathlib
import warnings
import zipfile

import pytest
import torch
import torch.ao.nn.quantized as nnq
import torch.ao.nn.quantized.dynamic as nnqd
import torch.ao.nn.quantized.functional as qF
import torch.ao.quantization as tq
import torch.nn.functional as F
from torch import nn

DATA = (
    pathlib.Path(__file__).parent / "data"
)  # quantized_*.pt were saved by PyTorch 2.13, each with its input and result


class Between(nn.Module):
    """Layers between the two marks."""

    def __init__(self, *layers):
        super().__init__()
        self.quant, self.net, self.dequant = tq.QuantStub(), nn.Sequential(*layers), tq.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.net(self.quant(x)))


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant, self.conv = tq.QuantStub(), tq.DeQuantStub(), nn.Conv2d(3, 3, 1)
        for name in "abcde":
            setattr(self, name, nnq.FloatFunctional())

    def forward(self, x):
        x = self.quant(x)
        y = self.a.add(x, self.conv(x))
        y = self.c.mul(self.b.add_relu(y, x), y)
        y = self.e.mul_scalar(self.d.cat([y, x], 1), 0.5)
        return self.dequant(F.relu(y[:, 1:]).transpose(1, 2).reshape(y.size(0), -1))


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.quant, self.layer, self.dequant = tq.QuantStub(), layer, tq.DeQuantStub()

    def forward(self, x):
        y, (h, c) = self.layer(self.quant(x))
        return self.dequant(y), self.dequant(h), self.dequant(c)


class Attention(Recurrent):
    def forward(self, x):
        x = self.quant(x)
        y, weights = self.layer(x, x, x)
        return self.dequant(y)


def converted(model, x, fused=()):
    torch.manual_seed(0)
    model = tq.fuse_modules(model.eval(), list(fused)) if fused else model.eval()
    model.qconfig = tq.get_default_qconfig("x86")
    tq.prepare(model, inplace=True)
    model(x)
    return tq.convert(model, inplace=True), (x,)


def dynamic(layer, *x):
    torch.manual_seed(0)
    model = tq.quantize_dynamic(nn.Sequential(layer).eval(), {type(layer)})
    return model[0], x


def tables():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(10, 4)).eval()
    model.qconfig = tq.float_qparams_weight_only_qconfig
    return tq.convert(tq.prepare(model)), (torch.tensor([1, 3, 3, 9]),)


def bags():
    model = nn.Sequential(nn.EmbeddingBag(10, 4, mode="sum")).eval()
    model.qconfig = tq.float_qparams_weight_only_qconfig
    return tq.convert(tq.prepare(model))[0], (torch.tensor([1, 3, 3, 9]), torch.tensor([0, 2]))


def small_tables():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(10, 4)).eval()
    model.qconfig = tq.float_qparams_weight_only_qconfig_4bit
    return tq.convert(tq.prepare(model)), (torch.tensor([1, 3, 3, 9]),)


def graph():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    )
    prepared = tq.quantize_fx.prepare_fx(model.eval(), tq.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    return tq.quantize_fx.convert_fx(prepared), (x,)


R = torch.randn
MODELS = {
    "linear": lambda: converted(Between(nn.Linear(5, 7)), R(3, 5)),
    "linear and relu": lambda: converted(Between(nn.Linear(5, 7), nn.ReLU()), R(3, 5), [["net.0", "net.1"]]),
    "conv1d": lambda: converted(Between(nn.Conv1d(3, 4, 3, padding=1), nn.ReLU()), R(2, 3, 9)),
    "conv2d, norm and relu": lambda: converted(
        Between(nn.Conv2d(3, 4, 3, 2), nn.BatchNorm2d(4), nn.ReLU()), R(2, 3, 9, 9), [["net.0", "net.1", "net.2"]]
    ),
    "conv2d of reflected borders": lambda: converted(
        Between(nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect")), R(2, 3, 9, 9)
    ),
    "conv3d": lambda: converted(Between(nn.Conv3d(2, 4, 2), nn.ReLU()), R(1, 2, 4, 4, 4), [["net.0", "net.1"]]),
    "pools": lambda: converted(
        Between(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.AvgPool2d(2, 1), nn.Flatten()), R(2, 3, 9, 9)
    ),
    "activations": lambda: converted(
        Between(nn.Linear(4, 4), nn.Hardswish(), nn.ELU(), nn.LeakyReLU(0.2), nn.Sigmoid(), nn.Hardtanh()), R(5, 4)
    ),
    "norms": lambda: converted(
        Between(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)), R(2, 3, 9, 9)
    ),
    "layer norm": lambda: converted(Between(nn.Linear(4, 6), nn.LayerNorm(6), nn.Dropout(0.5)), R(5, 4)),
    "quantized LSTM": lambda: converted(Recurrent(nn.LSTM(4, 5, 2, bidirectional=True)), R(3, 2, 4)),
    "quantized attention": lambda: converted(Attention(nn.MultiheadAttention(8, 2)), R(3, 2, 8)),
    "functional": lambda: converted(Functional(), R(2, 3, 4, 4)),
    "graph": graph,
    "table": tables,
    "table of half bytes": small_tables,
    "bag": bags,
    "dynamic linear": lambda: dynamic(nn.Linear(4, 3), R(2, 4)),
    "LSTM": lambda: dynamic(nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True), R(3, 2, 4)),
    "GRU": lambda: dynamic(nn.GRU(4, 5), R(3, 2, 4)),
    "LSTM cell": lambda: dynamic(nn.LSTMCell(4, 5), R(3, 4)),
    "GRU cell": lambda: dynamic(nn.GRUCell(4, 5), R(3, 4)),
    "RNN cell": lambda: dynamic(nn.RNNCell(4, 5, nonlinearity="relu"), R(3, 4)),
    "dynamic conv": lambda: (nnqd.Conv2d(3, 4, 3), (R(1, 3, 5, 5),)),
}  # fmt: skip


def flat(value):
    return [each for one in value for each in flat(one)] if isinstance(value, (tuple, list)) else [value]


def reloaded(program):
    file = io.BytesIO()
    torch.jit.save(program, file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("name", MODELS)
def test_quantized_models_are_scripted_saved_and_frozen(name):
    model, x = MODELS[name]()
    before, wanted = repr(model), flat(model(*x))
    program = torch.jit.script(model)
    assert repr(model) == before
    frozen = torch.jit.freeze(program.eval())
    for one in (program, reloaded(program), frozen, reloaded(frozen), torch.jit.optimize_for_inference(program)):
        for got, each in zip(flat(one(*x)), wanted, strict=True):
            torch.testing.assert_close(got, each, rtol=0, atol=1e-6)


#: what PyTorch has no operators for
OF_OURS = ("_int8_", "_recurrence")


@pytest.mark.parametrize("name", MODELS)
def test_traces_of_quantized_models_are_saved_in_pytorch_s_words_and_run_as_before(name, tmp_path):
    model, x = MODELS[name]()
    wanted = flat(model(*x))
    program = torch.jit.trace(model, x)
    torch.jit.save(program, tmp_path / "q.pt")
    with zipfile.ZipFile(tmp_path / "q.pt") as file:
        texts = [file.read(each).decode() for each in file.namelist() if "/code/" in each]
    assert not [word for text in texts for word in OF_OURS if f"torch.{word}" in text]
    for one in (program, torch.jit.load(tmp_path / "q.pt"), torch.jit.freeze(program.eval())):
        for got, each in zip(flat(one(*x)), wanted, strict=True):
            torch.testing.assert_close(got, each, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["linear and relu", "conv2d, norm and relu", "functional", "dynamic linear"])
def test_traces_that_were_saved_compute_with_integers_again(name):
    model, x = MODELS[name]()
    again = reloaded(torch.jit.trace(model, x))
    assert "PythonOp" not in str(again.inlined_graph)
    assert torch.equal(again(*x), model(*x))


def test_traces_of_layers_that_have_not_run_say_their_factors():
    torch.manual_seed(0)
    layer = nnq.Linear(4, 3)
    layer.set_weight_bias(torch.quantize_per_tensor(R(3, 4), 0.02, 0, torch.qint8), R(3))
    layer.scale, layer.zero_point = 0.05, 60
    net = nn.Sequential(nnq.Quantize(0.03, 64, torch.quint8), layer, nnq.DeQuantize()).eval()
    x = R(5, 4)
    program = reloaded(torch.jit.trace(net, (x,)))
    assert torch.equal(program(x), net(x))


def test_frozen_dynamic_layers_keep_the_weights_that_they_have_packed(tmp_path):
    model, x = MODELS["dynamic linear"]()
    frozen = torch.jit.freeze(torch.jit.script(nn.Sequential(model)).eval())
    torch.jit.save(frozen, tmp_path / "q.pt")
    with zipfile.ZipFile(tmp_path / "q.pt") as file:
        text = "".join(file.read(each).decode() for each in file.namelist() if "/code/" in each)
    assert "ops.quantized.linear_dynamic(input, CONSTANTS.c0, True)" in text
    assert torch.equal(torch.jit.load(tmp_path / "q.pt")(*x), model(*x))


def test_traces_take_and_give_quantized_tensors():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.25, 3, torch.quint8))
            self.b = torch.quantize_per_channel(
                torch.eye(2), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8
            )

        def forward(self, q):
            return torch.relu(q), q.dequantize() + self.a.dequantize() + self.b.dequantize()

    q = torch.quantize_per_tensor(torch.tensor([-0.5, 1.0]), 0.25, 8, torch.quint8)
    program = torch.jit.trace(Net(), (q,))
    other = torch.quantize_per_tensor(torch.tensor([2.0, -1.0]), 0.25, 8, torch.quint8)
    for one in (program, reloaded(program)):
        whole, numbers = one(other)
        assert whole.dtype is torch.quint8 and whole.int_repr().tolist() == [16, 8] and whole.q_zero_point() == 8
        assert torch.equal(numbers, Net()(other)[1])


def test_functions_of_quantized_tensors_are_compiled():
    @torch.jit.script
    def f(x, w, b):
        return qF.hardswish(qF.clamp(qF.linear(x, w, b, 0.1, 60), -1.0, 1.0), 0.02, 10)

    x = torch.quantize_per_tensor(R(2, 5), 0.05, 64, torch.quint8)
    w, b = torch.quantize_per_tensor(R(4, 5), 0.05, 0, torch.qint8), R(4)
    wanted = qF.hardswish(qF.clamp(qF.linear(x, w, b, 0.1, 60), -1.0, 1.0), 0.02, 10)
    for one in (f, reloaded(f)):
        assert torch.equal(one(x, w, b).int_repr(), wanted.int_repr())


def integers_and_numbers(x):
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
    return torch.int_repr(q), q.dequantize()


def read_behind_a_write(x):
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
    x.zero_()
    return torch.int_repr(q)


def product_with_points(x, w, scales, point: int, axis: int):
    weight = torch._make_per_channel_quantized_tensor(w, scales, torch.full([4], point), axis)
    packed = torch.ops.quantized.linear_prepack(weight, None)
    w.zero_()
    return torch.ops.quantized.linear_dynamic(x, packed) + torch.ops.quantized.linear_dynamic(x, packed)


def test_quantized_values_with_names_are_read_again_and_are_as_they_were():
    for f in (integers_and_numbers, read_behind_a_write):
        wanted = f(torch.tensor([1.0, 2.0]))
        script = torch.jit.script(f)
        for one in (script, reloaded(script)):
            given = one(torch.tensor([1.0, 2.0]))
            assert all(map(torch.equal, flat(given), flat(wanted)))


@pytest.mark.parametrize("point", [0, 3])
def test_packed_weights_with_names_keep_points_and_values(point):
    x, scales = R(2, 5), torch.rand(4, dtype=torch.float64) + 0.1

    def w():
        return torch.arange(20, dtype=torch.int8).reshape(4, 5)

    script = torch.jit.script(product_with_points)
    for one in (script, reloaded(script)):
        try:
            wanted = product_with_points(x, w(), scales, point, 0)
        except (RuntimeError, NotImplementedError):  # weights have no points here
            with pytest.raises((RuntimeError, NotImplementedError)):
                one(x, w(), scales, point, 0)
        else:
            assert wanted.abs().max() > 0 and torch.equal(one(x, w(), scales, point, 0), wanted)
        with pytest.raises((RuntimeError, NotImplementedError)):
            one(x, w(), scales, 0, 1)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (3, 4, 5), (2, 3, 4, 5)])
def test_softmax_without_a_dim_takes_that_of_the_layer(shape):
    layer, q = nnq.Softmax(None, 1 / 256, 0), torch.quantize_per_tensor(R(*shape), 0.05, 64, torch.quint8)
    assert torch.equal(torch.jit.script(layer)(q).int_repr(), layer(q).int_repr())


def test_lists_and_dicts_of_programs_hold_quantized_tensors():
    @torch.jit.script
    def f(q):
        several, named = [q], {"a": q}
        several.append(torch.relu(q))
        named["b"] = several[1]
        return torch.cat(several), named["b"].int_repr(), len(several)

    q = torch.quantize_per_tensor(torch.tensor([-1.0, 1.0]), 0.5, 8, torch.quint8)
    joined, integers, count = f(q)
    assert joined.int_repr().tolist() == [6, 10, 8, 10] and integers.tolist() == [8, 10] and count == 2


@pytest.mark.parametrize("name", ["static", "traced", "frozen", "tables", "lstm"])
def test_archives_of_pytorch_give_its_integers(name):
    program = torch.jit.load(DATA / f"quantized_{name}.pt")
    for one in (program, reloaded(program)):
        for i, got in enumerate(flat(one())):
            torch.testing.assert_close(got, getattr(one, f"y{i}"), rtol=0, atol=1e-6)


def test_a_program_takes_and_gives_quantized_tensors():
    @torch.jit.script
    def f(q):
        whole = torch.relu(q).reshape(-1)
        return whole, q.is_quantized, q.dtype == torch.quint8, q.q_scale(), q.q_zero_point(), whole[1:3].int_repr()

    q = torch.quantize_per_tensor(torch.tensor([[-1.0, 0.25], [0.5, 9.0]]), 0.25, 8, torch.quint8)
    whole, is_quantized, is_bytes, scale, zero, part = f(q)
    assert whole.int_repr().tolist() == [8, 9, 10, 44] and whole.q_scale() == 0.25
    assert (is_quantized, is_bytes, scale, zero, part.tolist()) == (True, True, 0.25, 8, [9, 10])
    assert f.graph is not None


def test_operators_that_quantized_tensors_have_not_name_dequantize():
    @torch.jit.script
    def f(x):
        return x.exp()

    q = torch.quantize_per_tensor(torch.ones(2), 0.25, 8, torch.quint8)
    with pytest.raises(NotImplementedError, match="exp: not there for quantized tensors; call dequantize"):
        f(q)


def test_a_quantized_tensor_is_an_attribute_of_an_archive():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.quantize_per_tensor(R(3, 4), 0.1, 3, torch.quint8))
            scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2])
            self.register_buffer("b", torch.quantize_per_channel(R(3, 4), scales, zeros, 0, torch.qint8))

        def forward(self, x):
            return x + self.a.dequantize() * self.b.dequantize()

    net, x = Net(), R(3, 4)
    program = torch.jit.script(net)
    for one in (reloaded(program), reloaded(torch.jit.freeze(program.eval()))):
        assert torch.equal(one(x), net(x))


def test_the_text_has_pytorch_s_operators():
    program = torch.jit.script(MODELS["linear"]()[0])
    assert "torch.quantize_per_tensor(" in program.quant.code
    assert "ops.quantized.linear(x, " in getattr(program.net, "0").code


def test_a_script_is_made_of_the_weights_that_a_layer_has_then():
    model, x = MODELS["linear"]()
    other = copy.deepcopy(model)
    other.net[0].set_weight_bias(torch.quantize_per_tensor(torch.ones(7, 5), 0.1, 0, torch.qint8), torch.ones(7))
    assert torch.equal(torch.jit.script(model)(*x), model(*x))
    assert torch.equal(torch.jit.script(other)(*x), other(*x))
    assert not torch.equal(other(*x), model(*x))


def test_programs_of_quantized_tensors_say_that_they_need_python(tmp_path):
    torch.jit.script(MODELS["linear"]()[0]).save(tmp_path / "q.pt")
    with zipfile.ZipFile(tmp_path / "q.pt") as file:
        name = next(each for each in file.namelist() if each.endswith("program.txt"))
        assert "quantize" in file.read(name).decode()


# -- archives that are not as they should be ----------------------------------------------------------------------------------


@pytest.fixture
def state(monkeypatch):
    """Save a program whose packed weights say something else than they are."""
    from torch.jit._script import saving

    def save(model, change):
        given = saving.state_of

        def state_of(value):
            name, parts = given(value)
            return name, change(*parts)

        monkeypatch.setattr(saving, "state_of", state_of)
        file = io.BytesIO()
        torch.jit.save(torch.jit.script(model), file)
        monkeypatch.setattr(saving, "state_of", given)
        return io.BytesIO(file.getvalue())

    return save


def channels(scales, points, axis=0):
    return torch._make_per_channel_quantized_tensor(torch.ones(3, 4, dtype=torch.int8), scales, points, axis)


def packed(*shape):
    weight = torch.quantize_per_tensor(torch.zeros(shape), 1.0, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(weight, torch.zeros(shape[0]))


def packed_convolution():
    weight = torch.quantize_per_tensor(torch.zeros(20, 5, 1, 1), 1.0, 0, torch.qint8)
    return torch.ops.quantized.conv2d_prepack(weight, None, [1, 1], [0, 0], [1, 1], 1)


def of_cell(change):
    """A change of the state of a cell, and none of the weights within it."""
    return lambda *state: change(*state) if len(state) == 5 else state


HOSTILE_CELLS = {
    "seven rows": (lambda k, t, f, i, w: (k, [torch.zeros(7)] * 2, f, i, [packed(7, 4), packed(7, 5)]), r"of shapes \(7, 4\) and \(7, 5\) are of no layer"),
    "rows of another number": (lambda k, t, f, i, w: (k, t, f, i, [packed(15, 4), w[1]]), r"of shapes \(15, 4\) and \(20, 5\) are of no layer"),
    "the other way round": (lambda k, t, f, i, w: (k, t, f, i, w[::-1]), r"of shapes \(20, 5\) and \(20, 4\) are of no layer"),
    "biases of a GRU": (lambda k, t, f, i, w: (k, [torch.zeros(15)] * 2, f, i, w), "a bias must be 20 floats"),
    "two bits": (lambda k, t, f, i, w: (k, t, f, [2], w), r"whether a bit is left free is \[2\]"),
    "one weight": (lambda k, t, f, i, w: (k, t, f, i, w[:1]), "it has 1 packed weights, expected 2"),
    "weights of a convolution": (lambda k, t, f, i, w: (k, t, f, i, [w[0], packed_convolution()]), "not those of two linear layers"),
    "static": (lambda k, t, f, i, w: ("quantized", t, f, i, w), "cells of static quantization"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_CELLS)
def test_packed_weights_of_recurrent_layers_that_cannot_be_are_refused(name, state):
    change, message = HOSTILE_CELLS[name]
    with pytest.raises(RuntimeError, match=message):
        torch.jit.load(state(dynamic(nn.LSTM(4, 5))[0], of_cell(change)))


def test_packed_weights_that_hold_themselves_are_refused(monkeypatch):
    from torch.jit._script import saving

    given, file = saving.state_of, io.BytesIO()

    def state_of(value):
        name, parts = given(value)
        return name, of_cell(lambda *state: (*state[:4], [value, value]))(*parts)

    with monkeypatch.context() as patched:
        patched.setattr(saving, "state_of", state_of)
        torch.jit.save(torch.jit.script(dynamic(nn.LSTM(4, 5))[0]), file)
    with pytest.raises(RuntimeError, match="rnn.CellParamsBase that cannot be used: its packed weights are not those"):
        torch.jit.load(io.BytesIO(file.getvalue()))


def test_weights_of_another_layer_or_size_are_refused_when_they_run(state):
    x = (R(3, 2, 4),)
    of_gru = of_cell(lambda k, t, f, i, w: (k, [torch.zeros(15)] * 2, f, i, [packed(15, 4), packed(15, 5)]))
    program = torch.jit.load(state(dynamic(nn.LSTM(4, 5))[0], of_gru))
    with pytest.raises(RuntimeError, match=r"quantized_lstm: expected weights \(4 \* 5, input\).*got shapes \(15, 4\)"):
        program(*x)
    wide = torch.jit.load(state(nnq.Linear(4, 3), lambda w, b: (packed(3, 5).weight(), b)))
    with pytest.raises(RuntimeError, match="quantized::linear: expected 5 features, got an input of shape \\(2, 4\\)"):
        wide(torch.quantize_per_tensor(R(2, 4), 0.1, 0, torch.quint8))


def configured(*numbers):
    def change(form, tensors, bias):
        return form, [torch.tensor(numbers, dtype=torch.int16), tensors[1]], bias

    return change


HOSTILE = {
    "bias of another size": (nnq.Linear(4, 3), lambda w, b: (w, torch.zeros(2)), "its bias must be 3 floats, got torch.float32 of shape"),
    "bias of ints": (nnq.Linear(4, 3), lambda w, b: (w, torch.zeros(3, dtype=torch.int64)), "its bias must be 3 floats"),
    "floats of three dims": (nnq.Linear(4, 3), lambda w, b: (torch.zeros(1, 2, 3), b), "its weight must have two dims"),
    "bytes without a sign": (
        nnq.Linear(4, 3), lambda w, b: (torch.quantize_per_tensor(torch.zeros(3, 4), 1.0, 0, torch.quint8), b), "its weight must be of torch.qint8"
    ),
    "configuration cut off": (nnq.Conv2d(2, 3, 1), configured(2, 1, 1), "its configuration must be 11 numbers of int16"),
    "no stride": (nnq.Conv2d(2, 3, 1), configured(2, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0), r"stride \[0, 1\]"),
    "no groups": (nnq.Conv2d(2, 3, 1), configured(2, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0), "groups 0 fit no convolution"),
    "two groups of three": (nnq.Conv2d(2, 3, 1), configured(2, 1, 1, 0, 0, 1, 1, 0, 0, 2, 0), "has no 2 groups"),
    "negative padding": (nnq.Conv2d(2, 3, 1), configured(2, 1, 1, -1, 0, 1, 1, 0, 0, 1, 0), r"padding \[-1, 0\]"),
    "another form": (nnq.Conv2d(2, 3, 1), lambda form, tensors, bias: ("9", tensors, bias), "its form is '9'"),
    "no weight": (nnq.Conv2d(2, 3, 1), lambda form, tensors, bias: (form, tensors[:1], bias), "it has 1 and 1 tensors"),
    "rows without scales": (
        nnq.Embedding(3, 4), lambda form, tensors, a, b: (form, [torch.quantize_per_tensor(torch.zeros(3, 4), 1.0, 0, torch.quint8)], a, b), "scale each"
    ),
    "rows of three bits": (nnq.Embedding(3, 4), lambda form, tensors, a, b: (form, tensors, a, [3]), "rows must be of 8 or 4 bits"),
    "a scale that is no number": (
        nnq.Linear(4, 3), lambda w, b: (channels(torch.tensor([1.0, float("nan"), 1.0]), torch.zeros(3, dtype=torch.long)), b), "scales of its weight must be finite, got nan at 1"
    ),
    "zero points of floats": (
        nnq.Linear(4, 3), lambda w, b: (channels(torch.ones(3), torch.tensor([0.0, 0.5, float("inf")])), b), "zero points of its weight must be finite, got inf at 2"
    ),
    "scales of another dim": (
        nnq.Linear(4, 3), lambda w, b: (channels(torch.ones(4), torch.zeros(4, dtype=torch.long), 1), b), "belong to dim 1, expected 0"
    ),
    "a zero point out of reach": (
        nnq.Linear(4, 3), lambda w, b: (channels(torch.ones(3), torch.tensor([0, 1 << 40, 0])), b), "a quantized tensor of qint8 has zero point 1099511627776"
    ),
    "padding of outputs": (nnq.Conv2d(2, 3, 1), configured(2, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0), r"output padding \[1, 0\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_packed_weights_that_cannot_be_are_refused(name, state):
    layer, change, message = HOSTILE[name]
    with pytest.raises(RuntimeError, match=message):
        torch.jit.load(state(layer, change))


def test_packed_weights_of_another_class_are_refused(tmp_path):
    torch.jit.save(torch.jit.script(nnq.Conv2d(2, 3, 1)), tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as given, zipfile.ZipFile(tmp_path / "b.pt", "w") as made:
        for name in given.namelist():
            data = given.read(name)
            if name.endswith(".py"):
                data = data.replace(b"quantized.Conv2dPackedParamsBase", b"quantized.Conv3dPackedParamsBase")
            made.writestr(name, data)
    with pytest.raises(
        RuntimeError, match="has a .*Conv2dPackedParamsBase where its program has a .*Conv3dPackedParamsBase"
    ):
        torch.jit.load(tmp_path / "b.pt")


def static(model, x):
    model = model.eval()
    model.qconfig = tq.get_default_qconfig("x86")
    prepared = tq.prepare(model)
    prepared(x)
    return tq.convert(prepared)


def test_a_trace_says_nothing_of_the_scales_that_layers_hold():
    torch.manual_seed(0)
    x = torch.rand(2, 3, 8, 8)
    model = static(Between(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 2)), x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = torch.jit.trace(model, x)
    assert torch.equal(traced(x), model(x))


def test_exporting_a_quantized_model_says_what_to_do():
    x = torch.rand(2, 3)
    with pytest.raises(
        Exception, match="export: quant is a Quantize of quantized tensors: .* Export the model of floats"
    ):
        torch.export.export(static(Between(nn.Linear(3, 2)), x), (x,))

    class Rounded(nn.Module):
        def forward(self, x):
            return torch.quantize_per_tensor(x, 0.5, 0, torch.quint8).dequantize()

    with pytest.raises(
        Exception, match="the program makes a quantized tensor: .* torch.jit.trace and torch.jit.script keep"
    ):
        torch.export.export(Rounded(), (x,))
    dynamic = tq.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)), {nn.Linear})  # takes floats and gives floats
    assert torch.equal(torch.export.export(dynamic, (x,)).module()(x), dynamic(x))


def test_graphs_that_call_quantized_functions_are_saved():
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(3, 4), nn.Linear(3, 4)

        def forward(self, x):
            return torch.cat([self.one(x) + self.two(x), self.one(x) * self.two(x)], 1)

    x = torch.randn(8, 3)
    prepared = tq.quantize_fx.prepare_fx(Sums().eval(), tq.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    model, file = tq.quantize_fx.convert_fx(prepared), io.BytesIO()
    assert "torch.ops.quantized.add(" in model.code and "torch.ops.quantized.cat(" in model.code
    torch.save(model, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), model(x))
