"""Models made small: dynamically, after calibration, and after training that rounds."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.ao import quantization as q
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import qat as nniqat

X = torch.tensor([[1.0, 2.0, -3.0], [0.5, 0.25, 4.0]])


def linear():
    layer = nn.Linear(3, 2)
    layer.weight.data = torch.tensor([[0.5, -1.0, 0.25], [2.0, 0.1, -0.3]])
    layer.bias.data = torch.tensor([0.1, -0.2])
    return layer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
        self.pool, self.both, self.fc = nn.MaxPool2d(2), nnq.FloatFunctional(), nn.Linear(36, 3)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        x = self.pool(self.both.add_relu(x, x))
        return self.dequant(self.fc(torch.flatten(x, 1)))


NAMES = ["conv", "bn", "relu"]


def images(count=64):
    torch.manual_seed(3)
    return torch.randn(count, 1, 6, 6)


# --- dynamic ---


def test_a_linear_layer_holds_bytes_and_multiplies_integers():
    net = nn.Sequential(linear(), nn.ReLU())
    small = q.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
    assert type(small[0]) is nnq.dynamic.Linear and type(net[0]) is nn.Linear and not hasattr(small[0], "qconfig")
    w = small[0].weight()
    assert w.int_repr().tolist() == [[32, -64, 16], [127, 6, -19]] and w.q_scale() == pytest.approx(
        0.01568627543747425
    )  # recorded
    y, wanted = small[0](X), net[0](X)
    assert (y - wanted).abs().max() < 0.05 and small[0](X[0]).shape == (2,) and small[0](X[:0]).shape == (0, 2)
    step = (4.0 + 3.0) / 127  # of all rows, from the least to the greatest number
    exact = ((X / step).round().double() @ w.int_repr().double().t()) * step * w.q_scale() + net[0].bias
    assert torch.allclose(y.double(), exact.double(), atol=1e-6)
    assert (
        repr(small[0])
        == "DynamicQuantizedLinear(in_features=3, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)"
    )
    assert not list(small.parameters()) and torch.equal(small[0](torch.zeros(1, 3))[0], net[0].bias)


def test_an_input_has_the_steps_that_it_has_in_pytorch(monkeypatch):
    layer, x = nn.Linear(8, 8, bias=False), torch.linspace(-1, 2, 8)[None]
    layer.weight.data = torch.eye(8)
    small = q.quantize_dynamic(nn.Sequential(layer))[0]
    seen = lambda y: (y[0] / (127 * small.weight().q_scale())).tolist()
    halved = [-42, -24, -6, 12, 30, 48, 67, 85]  # recorded with the engines x86, fbgemm and onednn; steps are 3 / 127
    assert seen(small(x)) == pytest.approx([3 / 127 * step for step in halved])
    whole = [-85, -49, -12, 24, 61, 97, 134, 170]  # recorded with qnnpack, which has no half range
    monkeypatch.setattr(torch.backends.quantized, "engine", "qnnpack")
    assert seen(small(x)) == pytest.approx([3 / 255 * step for step in whole])


def test_a_weight_whose_zero_is_another_integer():
    net = nn.Sequential(linear())
    config = q.QConfig(q.default_dynamic_quant_observer, q.MinMaxObserver.with_args(dtype=torch.qint8))
    small = q.quantize_dynamic(net, {"0": config})
    assert small[0].weight().q_zero_point() != 0 and (small(X) - net(X)).abs().max() < 0.05
    again = q.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)))
    again(X)
    again.load_state_dict(small.state_dict())
    assert torch.equal(again(X), small(X))


def test_configurations_by_name_and_in_half_precision():
    net = nn.Sequential(linear(), linear())
    small = q.quantize_dynamic(net, {"1": q.per_channel_dynamic_qconfig})
    assert type(small[0]) is nn.Linear and small[1].weight().qscheme() == torch.per_channel_affine
    assert torch.allclose(small[1].weight().dequantize(), net[1].weight, atol=0.008)
    half = q.quantize_dynamic(net, dtype=torch.float16)
    assert half[0].weight().dtype == torch.float16 and torch.allclose(half[0](X), net[0](X), atol=1e-2)
    again = nn.Sequential(nnq.dynamic.Linear(3, 2), nn.Identity())
    again.load_state_dict(nn.Sequential(small[1], nn.Identity()).state_dict())
    assert torch.equal(again[0](X), small[1](X))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell"])
def test_recurrent_layers_hold_bytes(kind):
    torch.manual_seed(0)
    layer = getattr(nn, kind)(4, 5)
    small = q.quantize_dynamic(nn.Sequential(layer))[0]
    x = torch.randn(3, 4) if kind.endswith("Cell") else torch.randn(7, 3, 4)
    first = lambda y: y[0] if isinstance(y, tuple) else y
    assert (first(small(x)) - first(layer(x))).abs().max() < 0.02 and not list(small.parameters())
    again = q.quantize_dynamic(nn.Sequential(getattr(nn, kind)(4, 5)))[0]
    again.load_state_dict(small.state_dict())
    assert torch.equal(first(again(x)), first(small(x))) and repr(small).startswith("DynamicQuantized" + kind)


@pytest.mark.parametrize(
    "kind, recorded",
    [
        ("LSTM", [-0.0077, -0.006292, -0.07998, -0.073492, 0.248966, 0.180411, 0.385917, 0.392144]),
        ("GRU", [-0.960329, -0.95791, -0.607233, -0.654895, -0.207198, -0.349495, -0.53692, -0.577077]),
        ("LSTMCell", [-0.0077, -0.006292, -0.07998, -0.073492, 0.331129, 0.212725, 0.663054, 0.570043]),
        ("GRUCell", [-0.960329, -0.95791, -0.607233, -0.654895, 0.093281, -0.009512, 0.019647, 0.028141]),
        ("RNNCell", [-0.899061, -0.997317, 0.421222, -0.909016, 0.983079, 0.271006, 0.999656, 0.970219]),
    ],
)
def test_recurrent_layers_round_inputs_and_states_to_bytes(kind, recorded):
    """As linear layers do; recorded from PyTorch 2.13 with its engine fbgemm."""
    layer = getattr(nn, kind)(3, 2)
    with torch.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(torch.linspace(-1, 1.1, p.numel()).add(i).cos().reshape(p.shape))
    x = torch.linspace(-1, 2, 12).reshape((4, 3) if kind.endswith("Cell") else (2, 2, 3))
    found = q.quantize_dynamic(nn.Sequential(layer))[0](x)
    found = found[0] if isinstance(found, tuple) else found
    torch.testing.assert_close(found.flatten(), torch.tensor(recorded), atol=2e-6, rtol=0)


def test_recurrent_layers_take_new_states_and_packed_sequences_and_are_copied():
    layer = q.quantize_dynamic(nn.Sequential(nn.LSTM(3, 2, num_layers=2, bidirectional=True)))[0]
    other = q.quantize_dynamic(nn.Sequential(nn.LSTM(3, 2, num_layers=2, bidirectional=True)))[0]
    x = torch.randn(4, 2, 3)
    before = layer(x)[0]
    assert torch.equal(copy.deepcopy(layer)(x)[0], before)
    layer.load_state_dict(other.state_dict())
    assert torch.equal(layer(x)[0], other(x)[0]) and not torch.equal(layer(x)[0], before)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 4]))
    assert torch.allclose(nn.utils.rnn.pad_packed_sequence(layer(packed)[0])[0], layer(x)[0], atol=2e-2)


def test_transposed_convolutions_join_norms_and_have_one_scale():
    torch.manual_seed(0)
    net = nn.Sequential(q.QuantStub(), nn.ConvTranspose1d(2, 3, 2), nn.BatchNorm1d(3), q.DeQuantStub())
    net[2].running_mean.uniform_(), net[2].running_var.uniform_(0.5, 2)
    net.eval().qconfig = q.get_default_qconfig("fbgemm")
    fused, x = q.fuse_modules(net, ["1", "2"]), torch.randn(4, 2, 6)
    assert torch.allclose(fused(x), net(x), atol=1e-5)
    with pytest.raises(AssertionError, match="Per channel weight observer is not supported yet for ConvTranspose"):
        q.prepare(fused)
    fused[1].qconfig = q.default_qconfig
    small = q.quantize(fused, lambda model, data: model(data), [x])
    assert type(small[1]) is nnq.ConvTranspose1d and (small(x) - net(x)).abs().max() < 0.05 * net(x).abs().max()
    with pytest.raises(AssertionError, match="not yet supported in QAT"):
        q.fuse_modules_qat(copy.deepcopy(net).train(), ["1", "2"])


def test_layers_are_fused_in_ways_of_ones_own():
    class Joined(nn.Sequential):
        pass

    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh()).eval()
    custom = {"additional_fuser_method_mapping": {(nn.Linear, nn.Tanh): lambda is_qat, *layers: Joined(*layers)}}
    fused, x = q.fuse_modules(net, ["0", "1"], fuse_custom_config_dict=custom), torch.randn(3, 2)
    assert type(fused[0]) is Joined and type(fused[1]) is nn.Identity and torch.equal(fused(x), net(x))
    given = []
    q.fuse_modules(net, ["0"], fuser_func=lambda *args: given.extend(args) or [nn.Identity()])
    assert type(given[0][0]) is nn.Linear and given[1:] == [False, {}]


def test_a_norm_over_processes_keeps_its_qconfig():
    net = nn.Sequential(nn.BatchNorm2d(2))
    net[0].qconfig = q.default_qat_qconfig
    assert nn.SyncBatchNorm.convert_sync_batchnorm(net)[0].qconfig is q.default_qat_qconfig


def test_tables_of_rows_hold_bytes():
    bag, table, i = nn.EmbeddingBag(10, 4, mode="sum"), nn.Embedding(10, 4), torch.tensor([[1, 2], [3, 3]])
    small = q.quantize_dynamic(nn.ModuleList([bag, table]), dtype=torch.quint8)
    assert (small[0](i) - bag(i)).abs().max() < 0.03 and (small[1](i) - table(i)).abs().max() < 0.015
    assert small[1].weight().dtype == torch.quint8 and nnq.Embedding(3, 2)(i[:, 0] - 1).shape == (2, 2)


def test_wrong_dynamic_settings_are_named():
    with pytest.raises(ValueError, match="Don't know how to quantize with default settings for torch.int8"):
        q.quantize_dynamic(nn.Linear(1, 1), dtype=torch.int8)
    small = q.quantize_dynamic(nn.Sequential(linear()))
    with pytest.raises(RuntimeError, match=r"Linear: expected 3 features, got an input of shape \(1, 4\)"):
        small(torch.ones(1, 4))
    with pytest.raises(RuntimeError, match="Linear: expected an input of float32, got torch.float64"):
        small(X.double())
    with pytest.raises(NotImplementedError, match="weights are torch.qint8 or torch.float16, got torch.quint8"):
        nnq.dynamic.Linear(1, 1, dtype=torch.quint8)


# --- after calibration ---


def test_a_calibrated_layer_gives_what_it_gives_in_pytorch():
    net = nn.Sequential(q.QuantStub(), linear(), q.DeQuantStub()).eval()
    net.qconfig = q.default_per_channel_qconfig
    ready = q.prepare(net)
    ready(X)
    small = q.convert(ready)
    assert torch.allclose(small(X), torch.tensor([[-2.1075, 2.8630], [1.0736, -0.3976]]), atol=5e-5)  # recorded
    assert small[1].scale == pytest.approx(0.03976378217339516) and small[1].zero_point == 54  # recorded
    assert small[0].scale.item() == pytest.approx(0.0551, abs=5e-5) and small[0].zero_point.item() == 54  # recorded
    assert "scale=0.0397637" in repr(small[1]) and not any(hasattr(m, "qconfig") for m in small.modules())


def test_a_network_is_fused_calibrated_and_converted():
    torch.manual_seed(0)
    net = Net().eval()
    net.bn.running_mean.uniform_(-0.5, 0.5)
    net.bn.running_var.uniform_(0.5, 2)
    net.qconfig = q.get_default_qconfig("x86")
    fused = q.fuse_modules(net, NAMES)
    x = images()
    assert type(fused.conv) is nni.ConvReLU2d and torch.allclose(fused(x), net(x), atol=1e-5)
    small = q.quantize(fused, lambda model, data: model(data), [x])
    assert type(small.conv) is torch.ao.nn.intrinsic.quantized.ConvReLU2d and type(small.both) is nnq.QFunctional
    wanted = net(x)
    assert (small(x) - wanted).abs().mean() < 0.02 * wanted.abs().max()
    assert (small(x).argmax(1) == wanted.argmax(1)).float().mean() > 0.9
    assert small.conv.weight().qscheme() == torch.per_channel_affine and small.quant(x).dtype == torch.quint8
    other = copy.deepcopy(small)
    for buffer in other.buffers():
        buffer.zero_()
    other.load_state_dict(small.state_dict())
    assert torch.equal(other(x), small(x))


def test_converted_models_are_saved_and_loaded():
    torch_save = pytest.importorskip("torch.serialize")
    small, file = q.quantize_dynamic(nn.Sequential(linear())), io.BytesIO()
    torch_save.save(small.state_dict(), file)
    file.seek(0)
    again = q.quantize_dynamic(nn.Sequential(nn.Linear(3, 2)))
    again.load_state_dict(torch_save.load(file))
    assert torch.equal(again(X), small(X))


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Conv1d(2, 3, 3), (4, 2, 9)),
        (nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 4)),
        (nn.BatchNorm2d(2), (4, 2, 3, 3)),
        (nn.LayerNorm(6), (4, 6)),
        (nn.GroupNorm(2, 4), (3, 4, 5)),
        (nn.Hardswish(), (4, 6)),
        (nn.ELU(), (4, 6)),
        (nn.LeakyReLU(0.1), (4, 6)),
        (nn.Embedding(5, 3), None),
    ],
)
def test_layers_take_and_give_quantized_tensors(layer, shape):
    if shape is None:
        layer.qconfig = q.float_qparams_weight_only_qconfig
        small, i = q.convert(q.prepare(nn.Sequential(layer))), torch.tensor([1, 4])
        assert (small(i) - layer(i)).abs().max() < 0.02
        return
    net = nn.Sequential(q.QuantStub(), layer, q.DeQuantStub()).eval()
    net.qconfig = q.QConfig(q.MinMaxObserver, q.default_per_channel_weight_observer)
    torch.manual_seed(1)
    x = torch.randn(shape)
    small = q.quantize(net, lambda model: model(x), [])
    assert type(small[1]).__name__ == type(layer).__name__ and type(small[1]) is not type(layer)
    assert (small(x) - net(x)).abs().max() < 0.06 and small[1](small[0](x)).is_quantized
    with pytest.raises(
        NotImplementedError, match="expected a quantized tensor, got torch.float32: put a QuantStub before it"
    ):
        small[1](x)


def test_operations_of_modules_round_to_their_scale():
    f = nnq.QFunctional()
    f.scale, f.zero_point = 0.5, 4
    a = torch.quantize_per_tensor(torch.tensor([[1.0, -2.0]]), 0.1, 30, torch.quint8)
    for found, wanted in (
        (f.add(a, a), [[2.0, -2.0]]),
        (f.add_relu(a, a), [[2.0, 0.0]]),
        (f.mul(a, a), [[1.0, 4.0]]),
        (f.cat([a, a], 1), [[1.0, -2.0, 1.0, -2.0]]),
        (f.matmul(a, a.t()), [[5.0]]),
        (f.add_scalar(a, 1.0), [[2.0, -1.0]]),
        (f.mul_scalar(a, 2.0), [[2.0, -4.0]]),
        (f.mul_scalar(a, -1), [[-1.0, 2.0]]),
        (f.add_scalar(a, -5), [[-4.0, -7.0]]),  # beyond the range of a
    ):
        assert torch.allclose(found.dequantize(), torch.tensor(wanted))
    with pytest.raises(RuntimeError, match="has no forward"):
        f(a)


def test_marks_and_wrappers():
    wrapped = q.QuantWrapper(nn.Linear(2, 2))
    x = torch.randn(3, 2)
    assert wrapped(x).equal(wrapped.module(x)) and {"module.weight", "module.bias"} == set(wrapped.state_dict())
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net[0].qconfig = q.default_qconfig
    assert type(q.add_quant_dequant(net)[0]) is q.QuantWrapper
    with pytest.warns(UserWarning, match="prepare: no module has a qconfig"):
        q.prepare(nn.Sequential(nn.Linear(1, 1)))


def test_hooks_of_users_stay():
    net, seen = nn.Sequential(q.QuantStub(), linear()).eval(), []
    net.qconfig = q.default_qconfig
    net[1].register_forward_hook(lambda m, i, o: seen.append(type(m)))
    small = q.quantize(net, lambda model: model(X), [])
    small(X)
    assert seen == [nn.Linear, nnq.Linear]


# --- fusing ---


def test_what_cannot_be_fused_is_named():
    conv, bn = nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        q.fuse_modules(nn.Sequential(conv, bn), [["0", "1"]])
    for wrong in ([conv, nn.Tanh()], [conv, nn.BatchNorm1d(1)], [nn.ReLU(), conv], [conv]):
        with pytest.raises(AssertionError, match="did not find fuser method for"):
            q.fuse_modules(nn.Sequential(*wrong).eval(), [[str(k) for k in range(len(wrong))]])
    with pytest.raises(AssertionError, match="expected a model in training mode"):
        q.fuse_modules_qat(nn.Sequential(conv, bn).eval(), ["0", "1"])
    with pytest.raises(AssertionError, match="ConvReLU2d: expected Conv2d, ReLU, got ReLU"):
        nni.ConvReLU2d(nn.ReLU())


def test_linear_layers_and_norms_are_fused():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    net[1].running_mean.uniform_()
    fused = q.fuse_modules(net, ["0", "1", "2"])
    assert type(fused[0]) is nni.LinearReLU and torch.allclose(fused(X), net(X), atol=1e-6)
    net = nn.Sequential(nn.BatchNorm2d(2), nn.ReLU()).eval()
    assert type(q.fuse_modules(net, ["0", "1"])[0]) is nni.BNReLU2d


# --- training ---


def test_training_with_rounding_gives_the_converted_model():
    torch.manual_seed(0)
    net, x = Net(), images()
    net.qconfig = q.get_default_qat_qconfig("x86")
    ready = q.prepare_qat(q.fuse_modules_qat(net, NAMES))
    assert type(ready.conv) is nniqat.ConvBnReLU2d and type(ready.fc) is torch.ao.nn.qat.Linear
    target, losses = x.flatten(1)[:, :3], []
    for _ in range(15):
        for p in ready.parameters():
            p.grad = None
        loss = (ready(x) - target).pow(2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in ready.parameters():
                p -= 0.05 * p.grad
    assert losses[-1] < losses[0]
    ready.eval().apply(q.disable_observer)
    small = q.convert(ready)
    assert type(small.conv).__name__ == "ConvReLU2d"
    # converted weights have the observer's scale, half of 255 steps, where training has 127 or 128: one step at most
    steps = (small(x) - ready(x)).abs() / small.fc.scale
    assert steps.max() < 1.01 and steps.mean() < 0.2


def test_a_norm_within_a_rounded_layer_has_the_statistics_of_the_float_layer():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)).train()
    net.qconfig = q.default_qat_qconfig
    ready, x = q.prepare_qat(q.fuse_modules_qat(net, ["0", "1"])), torch.randn(4, 2, 6, 6)
    ready.apply(q.disable_fake_quant)
    assert torch.allclose(ready(x), net(x), atol=1e-5)
    assert torch.allclose(ready[0].bn.running_var, net[1].running_var, atol=1e-5)
    ready.apply(nniqat.freeze_bn_stats)
    assert not ready[0].bn.training
    ready.apply(nniqat.update_bn_stats)
    assert ready[0].bn.training


def test_a_range_of_the_last_call_is_that_of_the_input():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    rounded = q.FakeQuantize.with_args(
        observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8, averaging_constant=1
    )
    net.qconfig = q.QConfig(rounded, q.default_weight_fake_quant)
    dynamic = torch.ao.nn.qat.dynamic
    ready = q.prepare_qat(net.train(), {nn.Linear: dynamic.Linear})
    x = torch.tensor([[0.5, 2.54], [-0.01, 1.0]])
    result = ready(x)
    scale = (2.54 + 0.01) / 255  # of the input, which takes 0.5 to 50 steps; the weight is 127 steps of 1 / 127.5
    assert torch.allclose(result, (torch.round(x / scale) * scale * (127 / 127.5)).relu(), atol=0.011)
    assert ready[0].activation_post_process.scale.item() == pytest.approx(scale, rel=1e-6)
    small = q.convert(ready.eval(), {dynamic.Linear: torch.ao.nn.quantized.dynamic.Linear})
    assert type(small[0]) is torch.ao.nn.quantized.dynamic.Linear and not small[0]._forward_pre_hooks
    with pytest.raises(ValueError, match="remember earlier ones"):
        dynamic.Linear(2, 2, qconfig=q.get_default_qat_qconfig("x86"))


def test_training_needs_training_mode_and_a_configuration():
    with pytest.raises(AssertionError, match="prepare_qat only works on models in training mode"):
        q.prepare_qat(nn.Sequential(nn.Linear(1, 1)).eval())
    from torch.ao.nn import qat

    for layer in (lambda: qat.Linear(1, 1), lambda: qat.Conv2d(1, 1, 1)):
        with pytest.raises(AssertionError, match="qconfig must be provided for QAT module"):
            layer()
    net = nn.Sequential(nn.Linear(2, 2))
    net.qconfig = q.default_qat_qconfig
    small = q.quantize_qat(
        nn.Sequential(q.QuantStub(), net, q.DeQuantStub()), lambda model: model(torch.randn(4, 2)), []
    )
    assert type(small[1][0]) is nnq.Linear


def test_layers_that_were_converted_in_inference_mode_follow_writes_to_their_weights():
    def converted(seed):
        torch.manual_seed(seed)
        net = nn.Sequential(q.QuantStub(), nn.Linear(4, 3), q.DeQuantStub()).eval()
        net.qconfig = q.get_default_qconfig("x86")
        prepared = q.prepare(net)
        prepared(torch.linspace(-2, 2, 8).reshape(2, 4))
        return q.convert(prepared)

    x, plain, other = torch.linspace(-1, 1, 8).reshape(2, 4), converted(0), converted(1)
    with torch.inference_mode():
        made = converted(0)
        assert made(x).tolist() == plain(x).tolist() == made(x).tolist()
        made.load_state_dict(other.state_dict())
        assert made(x).tolist() == other(x).tolist() != plain(x).tolist()
