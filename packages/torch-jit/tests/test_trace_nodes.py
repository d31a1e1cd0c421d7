"""Functions of Python that are operators of PyTorch's programs are one node of a trace, by PyTorch's name and arguments,
which is what converters read.
"""

import io
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn


def traced(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return torch.jit.trace(function, args)


def node_of(program, kind):
    found = [node for node in program.inlined_graph.nodes() if node.kind() == kind]
    assert len(found) == 1, program.inlined_graph
    return found[0]


def constants(node, start):
    return [each.toIValue() for each in list(node.inputs())[start:]]


def kinds(program):
    return [n.kind() for n in program.inlined_graph.nodes() if n.kind().startswith("aten::")]


def again(program):
    held = io.BytesIO()
    torch.jit.save(program, held)
    held.seek(0)
    return torch.jit.load(held)


LAYERS = {"aten::lstm": nn.LSTM, "aten::gru": nn.GRU, "aten::rnn_tanh": nn.RNN}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_a_recurrent_layer_is_one_node_for_any_length_and_batch(kind, batch_first):
    layer = LAYERS[kind](4, 3, 2, batch_first=batch_first, bidirectional=True)
    program = traced(layer, torch.randn(5, 2, 4))
    assert constants(node_of(program, kind), 3) == [True, 2, 0.0, True, True, batch_first]
    assert set(kinds(program)) == {"aten::size", "aten::expand", kind}
    for shape in ((7, 3, 4), (1, 1, 4)):
        x = torch.randn(shape)
        for each in (program, again(program)):
            torch.testing.assert_close(each(x), layer(x), rtol=0, atol=0)


def test_the_schema_is_pytorchs():
    program = traced(nn.LSTM(4, 3), torch.randn(5, 2, 4))
    assert node_of(program, "aten::lstm").schema() == (
        "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
        "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)"
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_a_projected_lstm_follows_its_equations():
    layer = nn.LSTM(4, 3, proj_size=2, dtype=torch.float64)
    program = traced(layer, torch.randn(5, 2, 4, dtype=torch.float64))
    x = torch.randn(3, 2, 4, dtype=torch.float64)
    w = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    h, c, out = np.zeros((2, 2)), np.zeros((2, 3)), []
    for t in range(3):
        gates = x[t].numpy() @ w["weight_ih_l0"].T + w["bias_ih_l0"] + h @ w["weight_hh_l0"].T + w["bias_hh_l0"]
        i, f, g, o = np.split(gates, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = (sigmoid(o) * np.tanh(c)) @ w["weight_hr_l0"].T
        out.append(h)
    found, (last, cell) = program(x)
    np.testing.assert_allclose(found.detach().numpy(), np.stack(out), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(last[0].detach().numpy(), h, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cell[0].detach().numpy(), c, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_programs_of_recurrent_layers_are_differentiated_and_batched(kind):
    layer = kind(4, 3, 2, dtype=torch.float64)
    net = Outputs(layer)
    program = traced(net, torch.randn(5, 2, 4, dtype=torch.float64))
    x = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(net(x).square().sum(), x)
    (found,) = torch.autograd.grad(program(x).square().sum(), x)
    torch.testing.assert_close(found, expected)
    several = torch.randn(2, 3, 2, 4, dtype=torch.float64)
    torch.testing.assert_close(torch.func.vmap(program)(several), torch.stack([net(each) for each in several]))


class Outputs(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def test_dropout_between_layers_is_drawn_while_training_and_told():
    layer = Outputs(nn.LSTM(4, 3, 2, dropout=0.5))
    with pytest.warns(torch.jit.TracerWarning, match="aten::lstm"):
        program = torch.jit.trace(layer, torch.randn(5, 2, 4))
    x = torch.randn(5, 2, 4)
    assert not torch.equal(program(x), program(x))
    torch.manual_seed(3)
    expected = layer(x)
    torch.manual_seed(3)
    torch.testing.assert_close(program(x), expected)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ("torch.lstm(x, [h], [x], True, 1, 0., False, False, False)", "lstm: expected the states h and c, got 1 tensors"),
        ("torch.lstm(x, [h, h], [x, x, x], True, 1, 0., False, False, False)", "expected 4 weights for each layer and direction"),
        ("torch.lstm(x, [h, h], [x, x, x], True, 2, 0., False, False, False)", "3 weights cannot belong to 2 layers in 1 directions"),
        ("torch.lstm(x[0], [h, h], [x] * 4, True, 1, 0., False, False, False)", r"expected input of 3 dims, .* got \(2, 3\)"),
        ("torch.lstm(x, [h, h], [x] * 4, True, 1, 0., False, False, False)", r"expected states of shape \(1, batch, size\), got \(2, 2, 3\)"),
        ("torch.lstm(x[:0], [h, h], [x] * 4, True, 1, 0., False, False, False)", r"at least one step, got \(0, 2, 3\)"),
    ],
)  # fmt: skip
def test_weights_and_states_that_do_not_fit_are_told(wrong, message):
    unit = torch.jit.CompilationUnit(f"def f(x: Tensor, h: Tensor):\n  return {wrong}\n")
    with pytest.raises(RuntimeError, match=message):
        unit.f(torch.ones(1, 2, 3), torch.ones(2, 2, 3))


# --- attention and sums ---


def attended(q, k, v, mask=None, scale=None):
    """Attention by its formula in float64."""
    q, k, v = (each.double().numpy() for each in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        mask = mask.numpy()
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return torch.from_numpy(weights / weights.sum(-1, keepdims=True) @ v)


@pytest.mark.parametrize(
    "options",
    [{}, {"scale": 0.3}, {"attn_mask": torch.ones(6, 6, dtype=torch.bool).tril()}, {"attn_mask": torch.randn(6, 6)},
     {"is_causal": True}],
)  # fmt: skip
def test_attention_is_one_node(options):
    program = traced(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options), *torch.randn(3, 2, 2, 6, 4))
    node = node_of(program, "aten::scaled_dot_product_attention")
    assert [a.kind() for a in program.inlined_graph.nodes() if a.kind().startswith("aten::")] == [node.kind()]
    q, k, v = torch.randn(3, 2, 2, 6, 4)
    mask = torch.ones(6, 6, dtype=torch.bool).tril() if "is_causal" in options else options.get("attn_mask")
    expected = attended(q, k, v, mask, options.get("scale"))
    for each in (program, again(program)):
        torch.testing.assert_close(each(q, k, v).double(), expected, rtol=1e-5, atol=1e-6)


def test_the_scale_of_attention_follows_the_width_of_the_next_call():
    program = traced(F.scaled_dot_product_attention, *torch.randn(3, 1, 5, 4))
    q, k, v = torch.randn(3, 1, 7, 16)
    torch.testing.assert_close(program(q, k, v).double(), attended(q, k, v), rtol=1e-5, atol=1e-6)


def dropping(q, p: float):
    return F.scaled_dot_product_attention(q, q, q, dropout_p=p)


def shared_heads(q, k):
    return F.scaled_dot_product_attention(q, k, k, enable_gqa=True)


def test_attention_with_shared_heads_and_of_half_types():
    q, k = torch.randn(1, 4, 5, 8), torch.randn(1, 2, 5, 8)
    program = traced(shared_heads, q, k)
    torch.testing.assert_close(
        program(q, k).double(), attended(q, *[k.repeat_interleave(2, 1)] * 2), rtol=1e-5, atol=1e-6
    )
    q, k = q.bfloat16(), k.bfloat16()
    assert program(q, k).dtype == torch.bfloat16
    torch.testing.assert_close(program(q, k), shared_heads(q, k), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_of_programs_is_in_lower_precision_under_autocast(dtype):
    q, k = torch.randn(1, 4, 5, 8, requires_grad=True), torch.randn(1, 2, 5, 8).to(dtype)
    for program in (
        torch.jit.script(shared_heads),
        traced(shared_heads, torch.ones(1, 4, 5, 8), torch.ones(1, 2, 5, 8)),
    ):
        with torch.autocast("cpu", dtype):
            found, expected = program(q, k), shared_heads(q, k)
        assert found.dtype == dtype and torch.equal(found, expected)
        with torch.autocast("cpu", dtype):
            assert program(q.double(), k.double()).dtype == torch.float64
        of_found, of_expected = (torch.autograd.grad(x.float().sin().sum(), q)[0] for x in (found, expected))
        assert torch.equal(of_found, of_expected)


@pytest.mark.parametrize("heads", [1, 3])
def test_heads_that_do_not_divide_those_of_queries_are_refused(heads):
    program = torch.jit.script(shared_heads)
    with pytest.raises(RuntimeError, match=f"divide the {heads} of query, got 2 and 2"):
        program(torch.ones(1, heads, 5, 8), torch.ones(1, 2, 5, 8))


def test_a_script_refuses_a_chance_below_0_to_drop_a_weight():
    with pytest.raises(RuntimeError, match="from 0 to 1"):
        torch.jit.script(dropping)(torch.ones(1, 2, 4), -0.5)


def test_sums_by_einsteins_notation_are_one_node():
    program = traced(lambda a, b: torch.einsum("bij,bjk->bik", a, b), torch.randn(2, 3, 4), torch.randn(2, 4, 5))
    assert kinds(program) == ["aten::einsum"]
    a, b = torch.randn(3, 2, 6), torch.randn(3, 6, 1)
    for each in (program, again(program)):
        torch.testing.assert_close(each(a, b), a @ b)


# --- images ---

SIZES = [{"size": (5, 9)}, {"scale_factor": 2}, {"scale_factor": (0.5, 1.7)}]
MODES = [
    ("nearest", {}, "aten::upsample_nearest2d"), ("nearest-exact", {}, "aten::_upsample_nearest_exact2d"),
    ("bilinear", {}, "aten::upsample_bilinear2d"), ("bilinear", {"align_corners": True}, "aten::upsample_bilinear2d"),
    ("bicubic", {}, "aten::upsample_bicubic2d"), ("bilinear", {"antialias": True}, "aten::_upsample_bilinear2d_aa"),
    ("bicubic", {"antialias": True}, "aten::_upsample_bicubic2d_aa"),
]  # fmt: skip


@pytest.mark.parametrize("mode, options, kind", MODES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_resized_image_is_one_node_for_images_of_any_size(mode, options, kind, size):
    def resized(x):
        return F.interpolate(x, mode=mode, **options, **size)

    program = traced(resized, torch.rand(1, 2, 6, 8))
    assert kinds(program) == [kind]
    for x in (torch.rand(2, 3, 7, 4), torch.randint(0, 256, (1, 3, 6, 5), dtype=torch.uint8), torch.rand(1, 1, 5, 5).half(),
              torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)):  # fmt: skip
        for each in (program, again(program)):
            found, expected = each(x), resized(x)
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
            assert found.stride() == expected.stride()


@pytest.mark.parametrize("mode, dims", [("linear", 1), ("nearest", 1), ("trilinear", 3), ("nearest-exact", 3)])
def test_sequences_and_volumes_are_resized_by_one_node(mode, dims):
    resized = lambda x: F.interpolate(x, scale_factor=1.5, mode=mode)
    program = traced(resized, torch.rand(1, 2, *range(4, 4 + dims)))
    x = torch.rand(2, 1, *range(3, 3 + dims))
    assert len(kinds(program)) == 1
    torch.testing.assert_close(program(x), resized(x), rtol=0, atol=0)


def test_a_size_that_is_computed_stays_computed():
    resized = lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear")
    program = traced(resized, torch.rand(1, 2, 3, 4))
    node = node_of(program, "aten::upsample_bilinear2d")
    assert [each.node().kind() for each in node.input(1).node().inputs()] == ["aten::Int"] * 2
    x = torch.rand(1, 2, 5, 7)
    torch.testing.assert_close(program(x), resized(x), rtol=0, atol=0)


# --- scripts ---


def test_scripts_have_the_same_nodes():
    layer = torch.jit.script(nn.GRU(4, 3))
    node_of(layer, "aten::gru")

    @torch.jit.script
    def f(x, y):
        return torch.einsum("ij,jk->ik", x, y), F.interpolate(x[None, None], scale_factor=2.0, mode="bilinear")

    assert {"aten::einsum", "aten::upsample_bilinear2d"} <= {node.kind() for node in f.graph.nodes()}
    x, y = torch.randn(2, 3), torch.randn(3, 4)
    torch.testing.assert_close(f(x, y)[0], x @ y)
    assert "torch.upsample_bilinear2d(" in f.code


def test_attention_in_a_script_is_saved():
    class Attends(nn.Module):
        def forward(self, x, mask):
            return F.scaled_dot_product_attention(x, x, x, mask, scale=0.5)

    program = again(torch.jit.script(Attends()))
    x, mask = torch.randn(2, 5, 4), torch.ones(5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(program(x, mask).double(), attended(x, x, x, mask, 0.5), rtol=1e-5, atol=1e-6)
