"""``torch.ops.quantized``, functions of quantized tensors, packed rows, and states that PyTorch wrote."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import quantized as nniq
from torch.ao.nn.quantized import functional as qF
from torch.nn import functional as F

ops = torch.ops.quantized
DATA = Path(__file__).parent / "data"


def quantized(*shape, scale=0.05, zero=128):
    return torch.quantize_per_tensor(
        torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))), scale, zero, torch.quint8
    )


def weight(*shape, scale=0.02):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))
    return torch.quantize_per_channel(x, torch.full((shape[0],), scale), torch.zeros(shape[0]), 0, torch.qint8)


@pytest.mark.parametrize(
    "call, exact",
    [
        (lambda a, b: ops.add(a, b, 0.1, 100), lambda a, b: a + b),
        (lambda a, b: ops.add_relu(a, b, 0.1, 100), lambda a, b: (a + b).relu()),
        (lambda a, b: ops.mul(a, b, 0.1, 100), lambda a, b: a * b),
        (lambda a, b: ops.mul_relu(a, b, 0.1, 100), lambda a, b: (a * b).relu()),
        (lambda a, b: ops.matmul(a, b, 0.1, 100), lambda a, b: a @ b),
        (lambda a, b: ops.cat([a, b], 1, 0.1, 100), lambda a, b: torch.cat([a, b], 1)),
        (lambda a, b: ops.add(a, 0.5), lambda a, b: a + 0.5),
        (lambda a, b: ops.add_scalar(a, 20.0), lambda a, b: a + 20),
        (lambda a, b: ops.mul_scalar(a, 3.0), lambda a, b: a * 3),
        (lambda a, b: ops.mul(a, -3.0), lambda a, b: a * -3),
        (lambda a, b: ops.leaky_relu(a, 0.1, False, 0.1, 100), lambda a, b: F.leaky_relu(a, 0.1)),
        (lambda a, b: ops.hardswish(a, 0.1, 100), lambda a, b: F.hardswish(a)),
        (lambda a, b: ops.elu(a, 0.1, 100, 0.5), lambda a, b: F.elu(a, 0.5)),
        (lambda a, b: ops.celu(a, 0.1, 100, 0.5), lambda a, b: F.celu(a, 0.5)),
        (lambda a, b: ops.sigmoid(a, 0.1, 100), lambda a, b: a.sigmoid()),
        (lambda a, b: ops.softmax(a, 1, 0.1, 100), lambda a, b: a.softmax(1)),
        (lambda a, b: ops.layer_norm(a, [4], None, None, 1e-5, 0.1, 100), lambda a, b: F.layer_norm(a, [4])),
        (lambda a, b: qF.hardtanh(a, -0.5, 0.5), lambda a, b: a.clamp(-0.5, 0.5)),
        (lambda a, b: qF.threshold(a, 0.2, 0.1), lambda a, b: F.threshold(a, 0.2, 0.1)),
    ],
)
def test_results_are_rounded_to_the_scale_that_is_asked_for(call, exact):
    a, b = quantized(4, 4), quantized(4, 4, zero=100)
    y, wanted = call(a, b), exact(a.dequantize(), b.dequantize())
    q = y.q_scale()
    assert (
        y.dequantize() - wanted.clamp(-100 * q, 155 * q if y.q_zero_point() == 100 else 255 * q)
    ).abs().max() <= q / 2 + 1e-5


def test_weights_are_packed_for_products_and_convolutions():
    x, w, b = quantized(3, 5), weight(4, 5), torch.randn(4)
    packed = ops.linear_prepack(w, b)
    exact = F.linear(x.dequantize(), w.dequantize(), b)
    assert (ops.linear(x, packed, 0.1, 100).dequantize() - exact).abs().max() <= 0.0501
    assert (ops.linear_relu(x, packed, 0.1, 0).dequantize() - exact.relu()).abs().max() <= 0.0501
    assert (ops.linear_dynamic(x.dequantize(), packed) - exact).abs().max() < 0.1
    back, bias = ops.linear_unpack(packed)
    assert torch.equal(back.int_repr(), w.int_repr()) and torch.equal(bias, b)
    x, w = quantized(2, 4, 7, 6), weight(6, 2, 3, 3)
    packed = ops.conv2d_prepack(w, None, [2, 1], [1, 1], [1, 1], 2)
    exact = F.conv2d(x.dequantize(), w.dequantize(), None, [2, 1], [1, 1], [1, 1], 2)
    assert (ops.conv2d(x, packed, 0.2, 100).dequantize() - exact).abs().max() <= 0.1001
    assert ops.conv2d_stride(packed) == [2, 1] and ops.conv2d_groups(packed) == 2
    y = qF.conv2d(x, w, None, (2, 1), 1, groups=2, scale=0.2, zero_point=100)
    assert torch.equal(y.int_repr(), ops.conv2d(x, packed, 0.2, 100).int_repr())


@pytest.mark.parametrize("name, bits", [("byte", 8), ("4bit", 4), ("2bit", 2)])
def test_rows_are_packed_with_their_scale(name, bits):
    rows = torch.randn(10, 16)
    packed = getattr(ops, f"embedding_bag_{name}_prepack")(rows)
    assert packed.dtype is torch.uint8 and packed.shape == (10, 16 * bits // 8 + (8 if bits == 8 else 4))
    back = getattr(ops, f"embedding_bag_{name}_unpack")(packed)
    step = (rows.amax(1) - rows.amin(1)) / (2**bits - 1)
    assert ((back - rows).abs() <= step[:, None] * 0.51 + 2e-3).all()
    bags = getattr(ops, f"embedding_bag_{name}_rowwise_offsets")(packed, torch.tensor([1, 2, 3]), torch.tensor([0, 2]))
    assert torch.allclose(bags, torch.stack([back[1] + back[2], back[3]]), atol=1e-5)


def test_weights_alone_are_small_in_products():
    x, w, scale = torch.randn(3, 64), torch.randint(-128, 128, (8, 64), dtype=torch.int8), torch.rand(8)
    assert torch.allclose(
        torch.ops.aten._weight_int8pack_mm(x, w, scale), x @ (w * scale[:, None]).t(), rtol=1e-4, atol=1e-3
    )
    w, groups = torch.randint(0, 16, (8, 64), dtype=torch.int32), torch.rand(2, 8, 2)
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(w, 1)
    numbers = torch.cat([(w[:, i * 32 : i * 32 + 32] - 8) * groups[i, :, :1] + groups[i, :, 1:] for i in range(2)], 1)
    assert torch.allclose(
        torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, 32, groups), x @ numbers.t(), rtol=1e-4, atol=1e-3
    )


class Static(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.conv = nnq.Quantize(1, 0, torch.quint8), nniq.ConvReLU2d(1, 4, 3)
        self.fc, self.f, self.dq = nnq.Linear(16, 3), nnq.QFunctional(), nnq.DeQuantize()

    def forward(self, x):
        x = self.conv(self.quant(x))
        return self.dq(self.fc(self.f.add(x, x).flatten(1)))


@pytest.mark.parametrize(
    "file, model, atol",
    [
        ("quantized_static.pt", Static, 1e-6),
        ("quantized_dynamic.pt", lambda: nn.Sequential(nnq.dynamic.Linear(4, 3)), 1e-6),
        ("quantized_table.pt", lambda: nnq.Embedding(10, 8), 1e-6),
    ],
)
def test_states_that_pytorch_wrote_give_its_results(file, model, atol):
    pytest.importorskip("torch.serialize")
    stored = torch.load(DATA / file)
    layer = model()
    layer.load_state_dict(stored["sd"])
    assert torch.allclose(layer(stored["x"]), stored["y"], atol=atol)
    again, state = model(), layer.state_dict()
    assert set(state) == set(stored["sd"])
    packed = {k.rpartition(".")[0] for k in state if k.endswith("_packed_params.dtype")}
    assert all(state._metadata[k] == stored["sd"]._metadata[k] for k in packed)  # by which PyTorch reads them
    again.load_state_dict(state)
    assert torch.equal(again(stored["x"]), layer(stored["x"]))


RECURRENT = {
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), torch.qint8),
    "gru": (lambda: nn.GRU(3, 4, 2), torch.qint8),
    "half": (lambda: nn.GRU(3, 4), torch.float16),
    "cell": (lambda: nn.LSTMCell(3, 4), torch.qint8),
    "rnn": (lambda: nn.RNNCell(3, 4), torch.qint8),
}


def recurrent(name):
    make, dtype = RECURRENT[name]
    layer = make()
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(layer), {type(layer)}, dtype=dtype)


def parts_of(value):
    return [value] if isinstance(value, torch.Tensor) else [part for each in value for part in parts_of(each)]


def trusted(file):
    pytest.importorskip("torch.serialize")
    return torch.load(DATA / file, weights_only=False)


@pytest.mark.parametrize("name", RECURRENT)
def test_states_of_recurrent_layers_that_pytorch_packed_give_its_results(name):
    stored = trusted("quantized_recurrent.pt")
    state, want = stored[name]
    layer = recurrent(name)
    layer.load_state_dict(state)
    found = layer(stored["x"][0] if isinstance(layer[0], nn.RNNCellBase) else stored["x"])
    for mine, theirs in zip(parts_of(found), want, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=0)
    again = recurrent(name)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(
        parts_of(again(stored["x"][0] if len(want) < 2 or name == "cell" else stored["x"]))[0], parts_of(found)[0]
    )


def test_packed_states_of_other_recurrent_layers_are_refused_by_their_names():
    stored = trusted("quantized_recurrent.pt")
    with pytest.raises(
        RuntimeError, match="size mismatch for 0.weight_ih_l0: the state has .16, 3., the layer .12, 3."
    ):
        recurrent("gru").load_state_dict(
            dict(zip(stored["gru"][0], list(stored["lstm"][0].values())[1:3], strict=True))
        )
    with pytest.raises(RuntimeError, match="the state of 0.weight_ih_l0 is of torch.float32, expected integers"):
        recurrent("gru").load_state_dict(stored["half"][0])
    with pytest.raises(
        RuntimeError, match="0._packed_weight_ih: expected packed parameters .LinearPackedParamsBase., got Tensor"
    ):
        recurrent("cell").load_state_dict({"0._packed_weight_ih": torch.ones(1)})


def test_packed_parameters_are_read_of_trusted_files_only():
    serialize = pytest.importorskip("torch.serialize")
    with pytest.raises(
        serialize.UnsafeGlobalError, match="weights that PyTorch packed for a quantized layer.*\n.*weights_only=False"
    ):
        torch.load(DATA / "quantized_recurrent.pt")


def test_layers_hold_scale_and_zero_point_as_numbers_and_weights_packed():
    layer, x = nnq.Linear(4, 2), quantized(3, 4)
    layer.set_weight_bias(weight(2, 4), torch.tensor([0.5, -0.5]))
    layer.scale, layer.zero_point = 0.25, 9
    assert layer(x).q_scale() == 0.25 and layer(x).q_zero_point() == 9
    found = ops.linear(x, layer._packed_params._packed_params, layer.scale, layer.zero_point)
    assert torch.equal(found.int_repr(), layer(x).int_repr())
    assert torch.equal(layer._packed_params._weight_bias()[0].int_repr(), layer.weight().int_repr())
    conv, image = nnq.Conv2d(2, 3, 2, padding=1), quantized(1, 2, 4, 4)
    conv.set_weight_bias(weight(3, 2, 2, 2), None)
    conv.scale = 0.5
    assert torch.equal(ops.conv2d(image, conv._packed_params, 0.5, 0).int_repr(), conv(image).int_repr())
    state = conv.state_dict()
    assert list(state) == ["weight", "bias", "scale", "zero_point"] and state["bias"] is None
    del state["scale"]
    with pytest.raises(RuntimeError, match="Missing key.*scale"):
        nnq.Conv2d(2, 3, 2, padding=1).load_state_dict(state)
    half = nnq.dynamic.Linear(4, 2, dtype=torch.float16)
    state = half.state_dict()
    assert state["_packed_params.dtype"] is torch.float16
    assert state["_packed_params._packed_params"][0].dtype is torch.float32
    with pytest.raises(RuntimeError, match="the state of weight is of torch.float32, expected integers"):
        nnq.dynamic.Linear(4, 2).load_state_dict(state)


def test_a_state_brings_the_dtype_of_its_weight():
    numbers = torch.tensor([[200.0, 3.0], [15.0, 0.0]])
    layer = nnq.Embedding(2, 2, dtype=torch.quint8)
    for dtype, most in ((torch.quint4x2, 15), (torch.quint8, 200), (torch.qint8, 127), (torch.quint8, 200)):
        other = nnq.Embedding(2, 2, dtype=torch.quint8)
        ends = torch.ones(2), torch.zeros(2)
        other.set_weight(torch.quantize_per_channel(numbers, *ends, 0, dtype))
        layer.load_state_dict(other.state_dict())
        assert layer.weight().dtype is dtype and layer.weight().dequantize().max() == most


def test_a_norm_joined_to_a_relu_cuts_off_what_is_negative():
    layer = nniq.BNReLU2d(1)
    layer.scale, layer.zero_point = torch.tensor([0.1]), torch.tensor([128])
    x = torch.quantize_per_tensor(torch.tensor([-1.0, 2.0]).reshape(1, 1, 1, 2), 0.1, 20, torch.quint8)
    assert layer(x).int_repr().flatten().tolist() == [128, 148]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bias", [None, torch.tensor([0.5, -0.25, 0.75, 0.0])])
def test_transposed_convolutions_are_sums_of_integers(dims, groups, bias):
    layer = getattr(nnq, f"ConvTranspose{dims}d")(
        4, 4, 3, stride=2, padding=1, output_padding=1, groups=groups, bias=bias is not None
    )
    steps = weight(4, 4 // groups, *[3] * dims)
    layer.set_weight_bias(steps, bias)
    layer.scale, layer.zero_point = 0.21, 130
    x = quantized(2, 4, *(5, 4, 3)[:dims])
    run = getattr(nn.functional, f"conv_transpose{dims}d")
    moves = {"stride": 2, "padding": 1, "output_padding": 1, "groups": groups}
    exact = run(x.dequantize().double(), steps.dequantize().double(), None if bias is None else bias.double(), **moves)
    wanted = (exact / 0.21 + 130).clamp(0, 255)
    assert (layer(x).int_repr() - wanted).abs().max() < 0.5 + 1e-4
    found = getattr(ops, f"conv_transpose{dims}d")(x, layer._packed_params, 0.21, 130)
    assert torch.equal(found.int_repr(), layer(x).int_repr())
    assert list(layer.state_dict()) == ["weight", "bias", "scale", "zero_point"]
    wide = torch.quantize_per_channel(
        steps.dequantize(), torch.full((4,), 0.02), torch.zeros(4, dtype=torch.long), 0, torch.qint8
    )
    layer.set_weight_bias(wide, bias)  # by channels, in floats
    assert layer(x).q_scale() == 0.21


def test_transposed_sums_of_bytes_far_from_their_zeros_are_exact():
    each = torch.arange(4, dtype=torch.uint8).reshape(1, 4, 1, 1).expand(57, 4, 3, 3)
    w = torch._make_per_tensor_quantized_tensor(each, 0.01, 255)
    x = torch._make_per_tensor_quantized_tensor(torch.full((1, 57, 6, 6), 2, dtype=torch.uint8), 0.02, 255)
    sums = 57 * 9 * 253 * (255 - torch.arange(4, dtype=torch.float64))  # beyond 2 ** 24
    packed = ops.conv_transpose2d_prepack(w, (sums * -2e-4).float(), [1, 1], [2, 2], [0, 0], [1, 1], 1)
    found = ops.conv_transpose2d(x, packed, 8e-4, 128).int_repr()
    assert (found[..., 1:-1, 1:-1] - 128.0).abs().max() <= 1  # float32 has steps of 2 there, which are half of one here


@pytest.mark.parametrize("kind", [k + d for k in ("Conv", "ConvTranspose") for d in ("1d", "2d", "3d")])
def test_dynamic_convolutions_round_their_input(kind):
    torch.manual_seed(0)
    dims = int(kind[-2])
    plain = getattr(nn, kind)(2, 3, 2, stride=2)
    plain.qconfig = torch.ao.quantization.default_dynamic_qconfig
    layer, x = getattr(nnq.dynamic, kind).from_float(plain), torch.randn(2, 2, *(6, 5, 4)[:dims])
    rounded = torch.quantize_per_tensor_dynamic(x, torch.quint8, True).dequantize()
    plain.weight.data = layer.weight().dequantize()
    torch.testing.assert_close(layer(x), plain(rounded))
    name = kind.lower().replace("transpose", "_transpose")
    torch.testing.assert_close(getattr(ops, f"{name}_dynamic")(x, layer._packed_params, True), plain(rounded))
    again = getattr(nnq.dynamic, kind)(2, 3, 2, stride=2)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), layer(x)) and repr(layer).startswith(f"DynamicQuantized{kind}")
    with pytest.raises(RuntimeError, match=f"{kind}: expected an input of float32, got torch.float64"):
        layer(x.double())
    with pytest.raises(RuntimeError, match=f"{name}_dynamic: expected an input of float32, got torch.float64"):
        getattr(ops, f"{name}_dynamic")(x.double(), layer._packed_params)


def test_prelu_takes_a_quantized_weight_and_grids_quantized_images():
    x, slope = quantized(2, 3, 4), torch.quantize_per_tensor(torch.tensor([-0.25, 0.5, 1.0]), 0.25, 4, torch.quint8)
    exact = nn.functional.prelu(x.dequantize(), slope.dequantize())
    assert (ops.prelu(x, slope, 0.1, 100).dequantize() - exact).abs().max() < 0.051
    image, grid = quantized(1, 2, 4, 4), torch.randn(1, 3, 3, 2) * 0.5
    found = nn.functional.grid_sample(image, grid, align_corners=False)
    exact = nn.functional.grid_sample(image.dequantize(), grid, align_corners=False)
    assert found.q_scale() == image.q_scale()
    assert (found.dequantize() - exact).abs().max() < image.q_scale() * 0.51


def test_numbers_beside_integers_of_32_bits_have_their_range():
    q = torch.quantize_per_tensor(torch.tensor([1.0, -2.0, 500.0]), 0.5, 3, torch.qint32)
    assert ops.add_scalar(q, 300.0).tolist() == [301, 298, 800]
    assert ops.mul_scalar(q, -300.0).tolist() == [-300, 600, -150000]


def test_pooling_keeps_integers_of_32_bits():
    q = torch.quantize_per_tensor(torch.tensor([[[1e5, 3.0, -7.0, -9.0]]]), 1e-3, 0, torch.qint32)
    assert F.max_pool1d(q, 2).int_repr().tolist() == [[[100_000_000, -7000]]]


def test_negative_numbers_are_cut_off_in_place():
    q = torch.quantize_per_tensor(torch.tensor([-1.0, 2.0]), 0.1, 10, torch.quint8)
    assert F.relu(q, inplace=True) is q and q.int_repr().tolist() == [10, 30]


def test_sums_with_numbers_move_the_zero_or_widen_the_range():
    """Scales and zero points recorded from PyTorch 2.13."""
    x = torch.quantize_per_tensor(torch.arange(0, 256) * 0.5 - 5, 0.5, 10, torch.quint8)
    moved = ops.add(x, 0.7)
    assert moved.q_zero_point() == 9 and torch.equal(moved.int_repr(), x.int_repr())
    for number, scale, zero, ends in ((100.0, 0.872549, 0, (109, 255)), (-200.0, 0.803922, 255, (0, 159))):
        wide = ops.add_scalar(x, number)
        assert wide.q_scale() == pytest.approx(scale, abs=1e-6) and wide.q_zero_point() == zero
        assert (wide.int_repr()[0].item(), wide.int_repr()[-1].item()) == ends


def test_results_are_written_where_out_says_and_have_its_scale():
    a, b = quantized(2, 3), quantized(2, 3)
    for operate in (ops.add, ops.add_relu, ops.mul, ops.mul_relu):
        out = torch._empty_affine_quantized([2, 3], scale=0.3, zero_point=7, dtype=torch.quint8)
        assert operate(a, b, out=out) is out and torch.equal(out.int_repr(), operate(a, b, 0.3, 7).int_repr())
    for relu in ("", "_relu"):
        out = torch._empty_affine_quantized([4, 3], scale=0.3, zero_point=7, dtype=torch.quint8)
        found = getattr(ops, f"cat{relu}_out")([a, b], 0, out)
        assert found is out and torch.equal(out.int_repr(), getattr(ops, f"cat{relu}")([a, b], 0, 0.3, 7).int_repr())
    bounded = a.clone()
    assert qF.hardtanh(bounded, -0.5, 0.5, inplace=True) is bounded
    assert torch.equal(bounded.int_repr(), qF.hardtanh(a, -0.5, 0.5).int_repr()) and not torch.equal(
        bounded.int_repr(), a.int_repr()
    )
    each = torch.quantize_per_channel(torch.ones(3, 3), torch.ones(3), torch.zeros(3, dtype=torch.long), 0, torch.qint8)
    with pytest.raises(RuntimeError, match="quantized::matmul: expected two per-tensor quantized tensors"):
        ops.matmul(each, each, 1.0, 0)


@pytest.mark.parametrize("bits", ["byte", "4bit", "2bit"])
def test_rows_of_pruned_tables_lie_elsewhere_or_add_nothing(bits):
    table, where = torch.linspace(-1, 2, 24).reshape(3, 8), torch.tensor([1, -1, 2, 0, -1], dtype=torch.int32)
    packed = getattr(ops, f"embedding_bag_{bits}_prepack")(table)
    rows = getattr(ops, f"embedding_bag_{bits}_unpack")(packed)
    indices, offsets = torch.tensor([0, 1, 3, 4, 2]), torch.tensor([0, 2, 4])
    run = getattr(ops, f"embedding_bag_{bits}_rowwise_offsets")
    found = run(packed, indices, offsets, pruned_weights=True, compressed_indices_mapping=where)
    torch.testing.assert_close(found, torch.stack([rows[1], rows[0], rows[2]]))
    whole = torch.tensor([0, 1, 2])
    for pruned, mapping in (
        (False, where),
        (True, torch.zeros(1, dtype=torch.int32)),
    ):  # of which there is nothing to look up
        found = run(packed, whole, whole, pruned_weights=pruned, compressed_indices_mapping=mapping)
        torch.testing.assert_close(found, rows)


def test_tables_hold_four_bits():
    torch.manual_seed(0)
    bag, table = nn.EmbeddingBag(9, 12, mode="sum"), nn.Embedding(9, 12)
    q = torch.ao.quantization
    small = q.quantize_dynamic(nn.Sequential(bag), dtype=torch.quint4x2)[0]
    assert type(small) is nnq.EmbeddingBag and small.weight().dtype is torch.quint4x2
    assert small.weight().int_repr().numel() == 54 and small.weight().dequantize().unique(dim=1).shape == (9, 12)
    indices = torch.tensor([[1, 3], [5, 8]])
    assert (small(indices) - bag(indices)).abs().max() < 2 * 5 / 15
    torch.testing.assert_close(small(indices), small.weight().dequantize()[indices].sum(1))
    rows = q.quantize_dynamic(nn.Sequential(table), {nn.Embedding: q.float_qparams_weight_only_qconfig_4bit})[0]
    torch.testing.assert_close(rows(indices), rows.weight().dequantize()[indices])
    other = nnq.EmbeddingBag(9, 12, mode="sum")
    state = small.state_dict()
    assert state["_packed_params.dtype"] is torch.quint4x2
    other.load_state_dict(state)
    assert other.weight().dtype is torch.quint4x2 and torch.equal(other(indices), small(indices))
    other.set_weight_bias(weight(9, 12), None)
    assert other.weight().dtype is torch.qint8


def test_what_does_not_fit_is_named():
    with pytest.raises(RuntimeError, match="prepack: expected a quantized weight, got torch.float32"):
        ops.linear_prepack(torch.ones(2, 2))
    with pytest.raises(AttributeError, match="torch.ops.quantized has no operator 'cosine'"):
        _ = ops.cosine
    with pytest.raises(NotImplementedError, match="quantized::add: expected a quantized tensor, got torch.float32"):
        ops.add(torch.ones(2), quantized(2), 0.1, 0)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        nnq.Linear(3, 2).load_state_dict({"_packed_params._packed_params": (weight(2, 4), None)}, strict=False)
    with pytest.raises(RuntimeError, match="expected 5 features"):
        nnq.Linear(5, 2)(quantized(2, 4))
    with pytest.raises(ValueError, match="quantized.functional.conv2d: input must be quantized"):
        qF.conv2d(torch.ones(1, 1, 3, 3), weight(1, 1, 2, 2), None)


@pytest.mark.parametrize("zero", [0, 3])  # with another zero than 0 the product is one of floats
@pytest.mark.parametrize("half, steps", [(True, 127), (False, 255)])
def test_dynamic_products_round_their_input_to_half_of_the_range_where_asked(half, steps, zero):
    x = torch.linspace(-1, 2, 8)[None]
    packed = ops.linear_prepack(torch.quantize_per_tensor(torch.eye(8), 1 / 120, zero, torch.qint8), None)
    step = 3 / steps
    rounded = ((x / step).round() + round(1 / step)).clamp(0, steps) - round(1 / step)
    exact = rounded * step
    torch.testing.assert_close(ops.linear_dynamic(x, packed, half), exact)
    torch.testing.assert_close(ops.linear_relu_dynamic(x, packed, half), exact.relu())
    for op in ("linear_dynamic", "linear_relu_dynamic"):
        with pytest.raises(
            RuntimeError, match=rf"quantized::{op}: expected 8 features, got an input of shape \(2, 5\)"
        ):
            getattr(ops, op)(torch.ones(2, 5), packed)


@pytest.mark.parametrize(
    "made, wanted",
    [
        (lambda q: q.Hardswish(0.04, 100), nn.Hardswish()),
        (lambda q: q.LeakyReLU(0.04, 100, 0.2), nn.LeakyReLU(0.2)),
        (lambda q: q.ELU(0.04, 100, 0.5), nn.ELU(0.5)),
        (lambda q: q.Sigmoid(output_scale=0.04, output_zero_point=100), nn.Sigmoid()),
        (lambda q: q.Softmax(1, 0.04, 100), nn.Softmax(1)),
        (lambda q: q.GroupNorm(2, 4, nn.Parameter(torch.ones(4)), None, 0.04, 100), nn.GroupNorm(2, 4)),
        (lambda q: q.LayerNorm((6,), nn.Parameter(torch.ones(6)), None, 0.04, 100), nn.LayerNorm(6)),
        (lambda q: q.InstanceNorm2d(4, nn.Parameter(torch.ones(4)), None, 0.04, 100), nn.InstanceNorm2d(4)),
    ],
)
def test_layers_of_quantized_tensors_take_scale_and_zero_point_where_pytorchs_do(made, wanted):
    q = torch.quantize_per_tensor(torch.linspace(-3, 4, 96).sin().reshape(2, 4, 2, 6) * 3, 0.03, 110, torch.quint8)
    found = made(torch.ao.nn.quantized)(q)
    assert (found.q_scale(), found.q_zero_point()) == (0.04, 100)
    torch.testing.assert_close(found.dequantize(), wanted(q.dequantize()), atol=0.021, rtol=0)


def test_arguments_of_quantized_layers_are_counted():
    with pytest.raises(TypeError, match="Hardswish of quantized tensors takes scale, zero_point; got 3 arguments"):
        torch.ao.nn.quantized.Hardswish(1.0, 0, 1)
    with pytest.raises(TypeError, match="got scale by place and by name"):
        torch.ao.nn.quantized.ELU(1.0, scale=2.0)


def test_fresh_quantized_norms_of_batches_go_by_their_running_statistics_and_dropout_keeps_all():
    q = torch.quantize_per_tensor(torch.arange(8.0).reshape(1, 2, 2, 2), 1.0, 0, torch.quint8)
    norm = torch.ao.nn.quantized.BatchNorm2d(2)
    assert torch.equal(norm(q).int_repr(), q.int_repr()) and norm.running_mean.tolist() == [0, 0]
    assert torch.ao.nn.quantized.Dropout(0.5)(q) is q
    assert torch.ao.nn.quantized.MaxPool2d(2)(q).int_repr().flatten().tolist() == [3, 7]


@pytest.mark.parametrize("name", ["Embedding", "EmbeddingBag"])
def test_tables_that_are_made_by_hand_have_a_scale_for_each_row(name):
    kind = getattr(torch.ao.nn.quantized, name)
    table = kind(3, 4)
    assert table.weight().qscheme() is torch.per_channel_affine_float_qparams
    assert repr(table).startswith(f"Quantized{name}(num_embeddings=3, embedding_dim=4, dtype=torch.quint8")
    rows = torch.quantize_per_channel(torch.rand(3, 4), torch.ones(3) / 64, torch.zeros(3), 0, torch.quint8)
    assert torch.equal(kind(3, 4, _weight=rows).weight().dequantize(), rows.dequantize())
    with pytest.raises(AssertionError, match=r"expected a weight of shape \(2, 4\), got \(3, 4\)"):
        kind(2, 4, _weight=rows)
