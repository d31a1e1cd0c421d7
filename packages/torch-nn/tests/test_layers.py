"""Layers against their formulas, their parameters, and what they refuse."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(2)


def t(x):
    return torch.tensor(np.asarray(x).tolist(), dtype=torch.float64)


def test_linear_is_a_product_and_a_sum():
    layer = nn.Linear(3, 2)
    x = torch.randn(4, 3)
    assert torch.allclose(layer(x), x @ layer.weight.t() + layer.bias)
    assert layer(torch.randn(5, 4, 3)).shape == (5, 4, 2)


def test_linear_without_bias_has_one_parameter():
    layer = nn.Linear(3, 2, bias=False)
    assert len(list(layer.parameters())) == 1
    assert layer.bias is None
    assert "bias=False" in repr(layer)


def test_linear_starts_within_its_bound():
    layer = nn.Linear(16, 1000)
    for p in layer.parameters():
        assert p.abs().max() <= 0.25
        assert p.abs().max() > 0.24


def test_linear_gradients_are_those_of_the_product():
    layer = nn.Linear(3, 2).double()
    x = t(rng.normal(size=(4, 3))).requires_grad_()
    layer(x).sum().backward()
    assert torch.allclose(x.grad, layer.weight.sum(0).expand(4, 3))
    assert torch.allclose(layer.weight.grad, x.sum(0).expand(2, 3))
    assert layer.bias.grad.tolist() == [4.0, 4.0]


def test_bilinear_is_a_form_for_each_output():
    layer = nn.Bilinear(2, 3, 4).double()
    a, b = t(rng.normal(size=(5, 2))), t(rng.normal(size=(5, 3)))
    want = np.einsum("ni,kij,nj->nk", a.numpy(), layer.weight.detach().numpy(), b.numpy())
    assert torch.allclose(layer(a, b), t(want) + layer.bias)
    with pytest.raises(ValueError, match="in1_features must be > 0, but got 0"):
        nn.Bilinear(0, 1, 1)


def test_lazy_linear_becomes_linear_at_its_first_input():
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="has no shape yet"):
        layer.weight.shape
    assert layer(torch.zeros(2, 7)).shape == (2, 3)
    assert type(layer) is nn.Linear
    assert type(layer.weight) is nn.Parameter
    assert layer.weight.shape == (3, 7)
    assert nn.LazyConv2d(4, 3)(torch.zeros(1, 2, 5, 5)).shape == (1, 4, 3, 3)
    assert nn.LazyBatchNorm1d()(torch.randn(4, 6)).shape == (4, 6)


def convolve(x, w, stride, padding, dilation):
    """The definition of cross-correlation, one output at a time."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    k = [(n - 1) * dilation + 1 for n in w.shape[2:]]
    rows = (x.shape[2] - k[0]) // stride + 1
    columns = (x.shape[3] - k[1]) // stride + 1
    out = np.empty((x.shape[0], w.shape[0], rows, columns))
    for i in range(rows):
        for j in range(columns):
            window = x[:, :, i * stride : i * stride + k[0] : dilation, j * stride : j * stride + k[1] : dilation]
            out[:, :, i, j] = np.einsum("ncab,ocab->no", window, w)
    return out


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2)])
def test_conv2d_is_cross_correlation(stride, padding, dilation):
    layer = nn.Conv2d(3, 4, (3, 2), stride, padding, dilation).double()
    x = rng.normal(size=(2, 3, 7, 8))
    want = convolve(x, layer.weight.detach().numpy(), stride, padding, dilation)
    assert torch.allclose(layer(t(x)), t(want) + layer.bias.view(-1, 1, 1))


def test_transposed_convolution_is_the_gradient_of_convolution():
    conv = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False).double()
    x = t(rng.normal(size=(1, 3, 7, 7))).requires_grad_()
    y = conv(x)
    g = t(rng.normal(size=tuple(y.shape)))
    y.backward(g)
    back = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, bias=False).double()
    back.weight = conv.weight
    assert torch.allclose(back(g), x.grad)
    assert torch.allclose(back(g, output_size=(8, 8))[..., :7, :7], x.grad)
    assert torch.allclose(torch.nn.grad.conv2d_input(x.shape, conv.weight, g, 2, 1), x.grad)
    assert torch.allclose(torch.nn.grad.conv2d_weight(x, conv.weight.shape, g, 2, 1), conv.weight.grad)
    with pytest.raises(ValueError, match="dim 0 can only be from 7 to 8"):
        back(g, output_size=(9, 9))


def test_convolution_sizes_padding_modes_and_groups():
    x = torch.randn(2, 4, 9)
    assert nn.Conv1d(4, 8, 3, padding="same", dilation=2)(x).shape == (2, 8, 9)
    assert nn.Conv1d(4, 8, 3, groups=4)(x).shape == (2, 8, 7)
    ring = nn.Conv1d(4, 4, 3, padding=1, padding_mode="circular")
    assert torch.allclose(ring(x.roll(2, 2)), ring(x).roll(2, 2), atol=1e-6)
    assert nn.Conv3d(1, 2, 2)(torch.zeros(1, 1, 3, 3, 3)).shape == (1, 2, 2, 2, 2)
    with pytest.raises(ValueError, match="in_channels must be divisible by groups, got 3 and 2"):
        nn.Conv1d(3, 4, 1, groups=2)
    with pytest.raises(ValueError, match="padding='same' is not supported for strided convolutions"):
        nn.Conv1d(3, 4, 3, stride=2, padding="same")
    with pytest.raises(ValueError, match="padding_mode must be one of"):
        nn.Conv1d(3, 4, 3, padding_mode="mirror")
    assert "padding=(1, 1)" in repr(nn.Conv2d(1, 1, 3, padding=1))


def test_batch_norm_in_training_and_evaluation():
    x = rng.normal(3.0, 2.0, size=(6, 3, 4))
    norm = nn.BatchNorm1d(3, momentum=0.5).double()
    with torch.no_grad():
        norm.weight.copy_(t([1.0, 2.0, 3.0]))
        norm.bias.copy_(t([0.0, 1.0, 2.0]))
    mean, var = x.mean((0, 2)), x.var((0, 2))
    scale, shift = np.array([[1.0], [2.0], [3.0]]), np.array([[0.0], [1.0], [2.0]])
    want = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5) * scale + shift
    assert torch.allclose(norm(t(x)), t(want))
    n = x.size / 3
    assert torch.allclose(norm.running_mean, t(0.5 * mean))
    assert torch.allclose(norm.running_var, t(0.5 + 0.5 * var * n / (n - 1)))
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    before = norm.running_mean.clone()
    want = (x - before.numpy()[:, None]) / np.sqrt(norm.running_var.numpy()[:, None] + 1e-5) * scale + shift
    assert torch.allclose(norm(t(x)), t(want))
    assert torch.equal(norm.running_mean, before)


@pytest.mark.parametrize("width", [1, 7, 8, 15, 16, 17, 40, 100])
def test_norms_of_rows_of_any_width_have_the_slopes_of_their_definition(width):
    random = np.random.default_rng(width)
    x, g = random.standard_normal((2, 37, width)) + 0.5
    weight = random.standard_normal(width)
    for axis, layer in ((0, nn.BatchNorm1d(width)), (1, nn.LayerNorm(width))):
        xhat = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + layer.eps)
        slope = g * weight
        to_x = slope - slope.mean(axis, keepdims=True) - xhat * (slope * xhat).mean(axis, keepdims=True)
        to_x /= np.sqrt(x.var(axis, keepdims=True) + layer.eps)
        layer.weight.data.copy_(torch.from_numpy(weight))
        t = torch.from_numpy(x).float().requires_grad_()
        layer(t).backward(torch.from_numpy(g).float())
        for got, want in ((t.grad, to_x), (layer.weight.grad, (g * xhat).sum(0)), (layer.bias.grad, g.sum(0))):
            assert np.allclose(got.numpy(), want, rtol=1e-4, atol=2e-4)


def test_batch_norm_without_momentum_averages_all_batches():
    norm = nn.BatchNorm1d(1, momentum=None).double()
    batches = [rng.normal(size=(4, 1)) for _ in range(3)]
    for batch in batches:
        norm(t(batch))
    assert torch.allclose(norm.running_mean, t([np.mean([b.mean() for b in batches])]))


def test_batch_norm_of_no_examples_moves_no_parameter():
    norm = nn.BatchNorm1d(64)
    freed = [torch.full((64,), float("nan")) for _ in range(20)]  # memory that the next tensors may get
    del freed
    norm(torch.empty(0, 64, 5)).sum().backward()
    assert norm.weight.grad.equal(torch.zeros(64)) and norm.bias.grad.equal(torch.zeros(64))


def test_batch_norm_refuses_wrong_input():
    with pytest.raises(ValueError, match=r"BatchNorm2d: expected 4D input \(got 2D input\)"):
        nn.BatchNorm2d(3)(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        nn.BatchNorm1d(3)(torch.zeros(1, 3))
    assert nn.BatchNorm1d(3).eval()(torch.zeros(1, 3)).shape == (1, 3)
    assert nn.BatchNorm1d(3, track_running_stats=False).running_mean is None


def test_norms_within_an_example():
    x = rng.normal(size=(2, 6, 5))

    def standard(x, axes):
        return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)

    assert torch.allclose(nn.LayerNorm(5).double()(t(x)), t(standard(x, (2,))))
    assert torch.allclose(nn.LayerNorm((6, 5)).double()(t(x)), t(standard(x, (1, 2))))
    want = standard(x.reshape(2, 3, 2, 5), (2, 3)).reshape(x.shape)
    assert torch.allclose(nn.GroupNorm(3, 6).double()(t(x)), t(want))
    assert nn.GroupNorm(6, 6)(torch.randn(4, 6)).equal(
        torch.zeros(4, 6)
    )  # one value in each group, but a batch of them
    assert torch.allclose(nn.InstanceNorm1d(6).double()(t(x)), t(standard(x, (2,))))
    want = x / np.sqrt((x**2).mean(2, keepdims=True) + 1e-6)
    assert torch.allclose(nn.RMSNorm(5, eps=1e-6).double()(t(x)), t(want))
    with pytest.raises(ValueError, match="num_channels must be divisible by num_groups, got 5 and 2"):
        nn.GroupNorm(2, 5)


def test_local_response_norm_divides_by_neighbouring_channels():
    x = rng.normal(size=(1, 5, 3))
    squares = np.pad(x**2, [(0, 0), (1, 1), (0, 0)])
    sums = sum(squares[:, i : i + 5] for i in range(3))
    want = x / (2.0 + 0.1 * sums / 3) ** 0.5
    assert torch.allclose(nn.LocalResponseNorm(3, alpha=0.1, beta=0.5, k=2.0)(t(x)), t(want))


def test_dropout_keeps_the_mean_and_leaves_evaluation_alone():
    torch.manual_seed(0)
    x = torch.ones(20000)
    y = nn.Dropout(0.25)(x)
    assert set(y.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert y.mean().item() == pytest.approx(1.0, abs=0.02)
    assert torch.equal(nn.Dropout(0.25).eval()(x), x)
    with pytest.raises(ValueError, match=r"has to be between 0 and 1, but got 1.5"):
        nn.Dropout(1.5)
    with pytest.raises(ValueError, match=r"has to be between 0 and 1, but got -1"):
        F.dropout(x, -1)
    assert (F.dropout(x, 1.0) == 0).all()


@pytest.mark.parametrize("layer", [nn.Dropout1d, nn.Dropout2d, nn.Dropout3d])
def test_channel_dropout_drops_whole_channels(layer):
    torch.manual_seed(0)
    dims = int(layer.__name__[-2])
    y = layer(0.5)(torch.ones(30, 20, *[4] * dims)).flatten(2)
    assert ((y == 0).all(2) | (y == 2).all(2)).all()
    assert 0.4 < (y == 0).double().mean() < 0.6


@pytest.mark.parametrize("f, dims", [(F.dropout2d, 3), (F.dropout2d, 5), (F.dropout3d, 3), (F.dropout3d, 6)])
def test_channel_dropout_says_which_dim_it_takes_for_channels(f, dims):
    with pytest.warns(UserWarning, match=rf"{f.__name__}: expected .* dims, got shape .* dim 1 counts as channels"):
        f(torch.ones([2] * dims))


@pytest.mark.parametrize("layer", [nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_alpha_dropout_keeps_mean_and_variance(layer):
    torch.manual_seed(0)
    y = layer(0.3)(torch.randn(400, 400))
    assert y.mean().item() == pytest.approx(0.0, abs=0.02)
    assert y.var().item() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("order", [(0, 3, 1, 2), (3, 1, 2, 0)])
def test_dropout_keeps_the_order_of_dims_in_memory(order, dtype):
    gapped = torch.arange(240.0, dtype=dtype).add(1).view(2, 3, 4, 10)[..., ::2]
    x = gapped.permute(order).requires_grad_()
    y = F.dropout(x, 0.5)
    assert y.stride() == torch.empty_like(x).stride()
    assert torch.equal(y, torch.where(y == 0, y, 2 * x)) and 0 < (y == 0).sum() < y.numel()
    y.sum().backward()
    assert torch.equal(x.grad, torch.where(y == 0, 0.0, 2.0).to(dtype))
    mask = torch.native_dropout(x, 0.5, True)[1]
    other = torch.ops.aten.native_dropout_backward(torch.ones(x.shape, dtype=dtype), mask, 2.0)
    assert torch.equal(other, mask.to(dtype) * 2)


def test_in_place_dropout_writes_over_its_input():
    torch.manual_seed(0)
    x = torch.ones(100)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert (x == 0).any()


def test_embedding_looks_rows_up():
    table = nn.Embedding(10, 3)
    i = torch.tensor([[1, 2], [4, 1]])
    assert torch.equal(table(i), table.weight[i])
    table(i).sum().backward()
    assert table.weight.grad.sum(1).tolist() == [0, 6, 3, 0, 3, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("shape", [(), (3,), (3, 2, 2), (3, 1, 1, 1)])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 0}, {"max_norm": 1.0}])
def test_a_table_of_other_than_two_dims_is_refused(shape, options):
    rows, weight = torch.zeros(1, 1, dtype=torch.int64), torch.full(shape, 2.0)
    with pytest.raises(RuntimeError, match="embedding: 'weight' must be 2-D"):
        F.embedding(rows, weight, **options)
    with pytest.raises(ValueError, match="embedding_bag: weight has to be a 2D Tensor"):
        F.embedding_bag(rows, weight, **options)
    assert (weight == 2.0).all()


def test_embedding_of_padding_is_zero_and_stays():
    table = nn.Embedding(4, 2, padding_idx=-1)
    assert (table.weight[3] == 0).all()
    table(torch.tensor([3, 0])).sum().backward()
    assert table.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    with pytest.raises(AssertionError, match="padding_idx 4 must be within num_embeddings 4"):
        nn.Embedding(4, 2, padding_idx=4)


def test_embedding_options():
    weight = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    table = nn.Embedding.from_pretrained(weight.clone(), max_norm=1.0)
    assert not table.weight.requires_grad
    assert torch.allclose(table(torch.tensor([0, 1])), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))
    table = nn.Embedding.from_pretrained(weight, freeze=False, scale_grad_by_freq=True)
    table(torch.tensor([0, 0, 1])).sum().backward()
    assert table.weight.grad.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(AssertionError, match="embeddings must have 2 dims"):
        nn.Embedding.from_pretrained(torch.zeros(3))
    with pytest.raises(IndexError):
        table(torch.tensor([2]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_reduces_bags(mode):
    bag = nn.EmbeddingBag(6, 3, mode=mode)
    rows, offsets = torch.tensor([1, 2, 4, 5, 4]), torch.tensor([0, 2, 2])
    reduce = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.max(0)[0]}[mode]
    want = [reduce(bag.weight[rows[:2]]), torch.zeros(3), reduce(bag.weight[rows[2:]])]
    assert torch.allclose(bag(rows, offsets), torch.stack(want))
    table = torch.tensor([[0, 1], [2, 2]])
    assert torch.allclose(bag(table), torch.stack([reduce(bag.weight[r]) for r in table]))
    with pytest.raises(RuntimeError, match=r"offsets\[0\] has to be 0"):
        bag(rows, torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="needs offsets"):
        bag(rows)


def test_embedding_bag_weights_samples():
    bag = nn.EmbeddingBag(4, 2, mode="sum")
    rows, w = torch.tensor([[0, 3]]), torch.tensor([[2.0, -1.0]])
    assert torch.allclose(bag(rows, per_sample_weights=w), (2 * bag.weight[0] - bag.weight[3]).unsqueeze(0))
    with pytest.raises(RuntimeError, match="per_sample_weights must have the same type as weight, torch.float32, got"):
        bag(rows, per_sample_weights=w.double())


def test_one_hot():
    assert F.one_hot(torch.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert F.one_hot(torch.tensor(1), 3).tolist() == [0, 1, 0]
    with pytest.raises(RuntimeError, match="smaller than num_classes: 3 >= 2"):
        F.one_hot(torch.tensor([3]), 2)
    with pytest.raises(RuntimeError, match="non-negative, got -1"):
        F.one_hot(torch.tensor([-1]))


ACTIVATIONS = [
    (nn.ReLU(), lambda x: max(x, 0)),
    (nn.ReLU6(), lambda x: min(max(x, 0), 6)),
    (nn.Sigmoid(), lambda x: 1 / (1 + math.exp(-x))),
    (nn.Tanh(), math.tanh),
    (nn.ELU(2.0), lambda x: x if x > 0 else 2 * math.expm1(x)),
    (nn.CELU(2.0), lambda x: x if x > 0 else 2 * math.expm1(x / 2)),
    (nn.SELU(), lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))),
    (nn.LeakyReLU(0.1), lambda x: x if x > 0 else 0.1 * x),
    (nn.PReLU(), lambda x: x if x > 0 else 0.25 * x),
    (nn.RReLU().eval(), lambda x: x if x > 0 else (1 / 8 + 1 / 3) / 2 * x),
    (nn.Hardtanh(-2, 0.5), lambda x: min(max(x, -2), 0.5)),
    (nn.Hardsigmoid(), lambda x: min(max(x + 3, 0), 6) / 6),
    (nn.Hardswish(), lambda x: x * min(max(x + 3, 0), 6) / 6),
    (nn.SiLU(), lambda x: x / (1 + math.exp(-x))),
    (nn.Mish(), lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    (nn.GELU(), lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    (
        nn.GELU("tanh"),
        lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    (nn.Softplus(2.0), lambda x: math.log1p(math.exp(2 * x)) / 2),
    (nn.Softplus(1.0, 1.5), lambda x: x if x > 1.5 else math.log1p(math.exp(x))),
    (nn.LogSigmoid(), lambda x: -math.log1p(math.exp(-x))),
    (nn.Softsign(), lambda x: x / (1 + abs(x))),
    (nn.Tanhshrink(), lambda x: x - math.tanh(x)),
    (nn.Hardshrink(1.0), lambda x: x if abs(x) > 1 else 0),
    (nn.Softshrink(1.0), lambda x: math.copysign(max(abs(x) - 1, 0), x)),
    (nn.Threshold(0.5, 9.0), lambda x: x if x > 0.5 else 9.0),
]


@pytest.mark.parametrize(("layer", "formula"), ACTIVATIONS, ids=lambda p: type(p).__name__)
def test_activations(layer, formula):
    x = [-7.0, -2.5, -1.0, -0.3, 0.3, 0.7, 1.0, 2.5, 7.0]
    want = t([formula(v) for v in x])
    got = layer.double()(t(x))
    assert torch.allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "selu", "celu", "leaky_relu", "hardtanh", "silu", "mish"])
def test_in_place_activations_return_their_input(name):
    x = torch.randn(5)
    want = getattr(F, name)(x)
    assert getattr(F, name)(x, inplace=True) is x
    assert torch.equal(x, want)


def test_softmax_family():
    x = rng.normal(size=(3, 4))
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    assert torch.allclose(nn.Softmax(1)(t(x)), t(p))
    assert torch.allclose(nn.LogSoftmax(1)(t(x)), t(np.log(p)))
    assert torch.allclose(nn.Softmin(1)(t(-x)), t(p))
    assert nn.Softmax2d()(torch.zeros(1, 2, 3, 3)).flatten().tolist() == [0.5] * 18
    assert F.softmax(torch.zeros(2, 2), 1, dtype=torch.float64).dtype == torch.float64
    with pytest.warns(UserWarning, match="dim was left out and is taken to be 1"):
        F.softmax(torch.zeros(2, 2))
    with pytest.raises(ValueError, match=r"expected input to be 3D or 4D \(got 1D"):
        nn.Softmax2d()(torch.zeros(2))


def test_glu_gates_one_half_by_the_other():
    x = rng.normal(size=(3, 4))
    assert torch.allclose(nn.GLU()(t(x)), t(x[:, :2] / (1 + np.exp(-x[:, 2:]))))


def test_rrelu_draws_slopes_in_training():
    torch.manual_seed(0)
    y = nn.RReLU(0.1, 0.3)(-torch.ones(1000))
    assert -0.3 <= y.min() < -0.29
    assert -0.11 < y.max() <= -0.1


def test_gumbel_softmax_samples():
    torch.manual_seed(0)
    logits = torch.log(torch.tensor([0.1, 0.2, 0.7])).expand(4000, 3)
    hard = F.gumbel_softmax(logits, hard=True)
    assert torch.allclose(hard.sum(1), torch.ones(4000))
    assert torch.allclose(hard.mean(0), torch.tensor([0.1, 0.2, 0.7]), atol=0.03)
    assert torch.allclose(F.gumbel_softmax(logits).sum(1), torch.ones(4000))


def test_distances():
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    assert torch.allclose(nn.PairwiseDistance(1.0)(t(a), t(b)), t(np.abs(a - b + 1e-6).sum(1)))
    cos = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert torch.allclose(nn.CosineSimilarity()(t(a), t(b)), t(cos))
    want = [np.linalg.norm(a[i] - a[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert torch.allclose(F.pdist(t(a)), t(want))
    assert torch.allclose(F.normalize(t(a)).norm(dim=1), t(np.ones(3)))


def test_adaptive_softmax_is_a_distribution():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12], div_value=2.0).double()
    x, y = t(rng.normal(size=(7, 8))), torch.tensor([0, 4, 5, 11, 12, 19, 3])
    log_p = layer.log_prob(x)
    assert torch.allclose(log_p.exp().sum(1), t(np.ones(7)))
    output, loss = layer(x, y)
    assert torch.allclose(output, log_p.gather(1, y.unsqueeze(1)).squeeze(1))
    assert torch.allclose(loss, -output.mean())
    with pytest.raises(RuntimeError, match=r"target values should be in \[0, 19\]"):
        layer(x, y + 1)
    with pytest.raises(ValueError, match="cutoffs should be a sequence of unique, positive integers"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [12, 5])


def test_data_parallel_without_gpus_runs_the_module():
    net = nn.Linear(2, 3)
    parallel = nn.DataParallel(net, device_ids=[])
    x = torch.randn(4, 2)
    assert torch.equal(parallel(x), net(x))
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available():
        with pytest.raises(RuntimeError, match="asks for CUDA devices, and there are none"):
            nn.DataParallel(net, device_ids=[0, 1])


FIRST = """
import torch
from torch import nn
layer = nn.{name}({arguments})
with torch.no_grad():
    layer(torch.ones({shape}))
assert type(layer) is nn.{final}, type(layer)
assert all(type(p) is nn.Parameter for p in layer.parameters())
assert all(type(b) in (nn.Buffer, torch.Tensor) for b in layer.buffers())
"""
LAZY = [("LazyLinear", "3", "2, 4")]
LAZY += [(f"LazyBatchNorm{n}d", "", "2, 4" + ", 5" * n) for n in (1, 2, 3)]
LAZY += [(f"Lazy{kind}{n}d", "4, 3", "2, 4" + ", 5" * n) for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)]


@pytest.mark.parametrize(("name", "arguments", "shape"), LAZY)
def test_a_lazy_layer_may_be_the_first_thing_in_a_process(name, arguments, shape):
    code = FIRST.format(name=name, arguments=arguments, shape=shape, final=name.removeprefix("Lazy"))
    subprocess.run([sys.executable, "-c", code], check=True)


def test_batch_norm_refuses_an_eps_that_divides_by_zero():
    x = torch.randn(4, 3)
    for eps in (0.0, -1.0):
        with pytest.raises(ValueError, match="eps must be positive in training, got"):
            nn.BatchNorm1d(3, eps=eps)(x)
    with pytest.raises(ValueError, match="eps must be at least 0, got -1.0"):
        nn.BatchNorm1d(3, eps=-1.0).eval()(x)
    assert nn.BatchNorm1d(3, eps=0.0).eval()(x).shape == x.shape


@pytest.mark.parametrize("layer, dims", [(nn.CircularPad1d, 1), (nn.CircularPad2d, 2), (nn.CircularPad3d, 3)])
def test_circular_pads_say_how_many_dims_they_take(layer, dims):
    for n in range(1, 7):
        x = torch.zeros((3,) * n)
        if n in (dims + 1, dims + 2):
            assert layer(1)(x).shape[-dims:] == (5,) * dims
        else:
            with pytest.raises(ValueError, match=f"expected {dims + 1}D or {dims + 2}D input, got {n}D"):
                layer(1)(x)


def test_a_lazy_norm_is_cast_and_moved_before_its_first_forward():
    norm = nn.LazyBatchNorm2d().double()
    assert type(norm.running_mean) is nn.parameter.UninitializedBuffer and norm.running_mean.dtype == torch.float64
    assert norm(torch.ones(2, 3, 4, 4, dtype=torch.float64)).shape == (2, 3, 4, 4)
    assert type(norm.running_mean) is nn.Buffer and norm.running_mean.shape == (3,)
    copy.deepcopy(norm)


def test_a_tensor_without_shape_takes_part_in_no_arithmetic():
    weight = nn.LazyLinear(2).weight
    with pytest.raises(ValueError, match="add: UninitializedParameter has no numbers yet: run the module once"):
        weight + 1
    assert weight.is_floating_point() and weight.half().dtype == torch.float16


def test_norms_of_ones_own_are_lazy_through_the_base_class():
    from torch.nn.modules.batchnorm import _BatchNorm, _LazyNormBase

    class AnyBatchNorm(_BatchNorm):
        def _check_input_dim(self, input):
            return

    class LazyAnyBatchNorm(_LazyNormBase, _BatchNorm):
        cls_to_become = AnyBatchNorm

        def _check_input_dim(self, input):
            return

    norm = LazyAnyBatchNorm()
    assert norm(torch.randn(4, 5, 2, 2, 2)).shape == (4, 5, 2, 2, 2)
    assert type(norm) is AnyBatchNorm and norm.running_mean.shape == (5,)


def test_the_norm_of_rows_is_a_constant_to_tangents():
    from torch.autograd import forward_ad

    table = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    with forward_ad.dual_level():
        rows = F.embedding(torch.tensor([1, 1]), forward_ad.make_dual(table, torch.ones(2, 2)), max_norm=1.0)
        assert forward_ad.unpack_dual(rows).tangent.tolist() == [[1, 1], [1, 1]]
    assert torch.allclose(table, torch.tensor([[3.0, 4.0], [0.6, 0.8]]))


def test_a_padding_index_outside_of_the_table_of_bags_is_refused():
    for padding_idx in (-3, 2):
        with pytest.raises(
            RuntimeError, match=f"embedding_bag: padding_idx {padding_idx} must be within num_embeddings 2"
        ):
            F.embedding_bag(torch.tensor([[0]]), torch.ones(2, 2), padding_idx=padding_idx)
