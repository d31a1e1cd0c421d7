"""The cross entropy of linear scores, whole and in chunks of the batch."""

import copy
import itertools
import math
import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional as F

CASES = list(
    itertools.product(("mean", "sum", "none"), (False, True), ("classes", "probabilities"), (0.0, 0.2), ((), (2,)))
)


def inputs(kind, outer, dtype=torch.float64):
    torch.manual_seed(3)
    given = [torch.randn(s, dtype=dtype, requires_grad=True) for s in ((7, 5), (4, *outer, 5), (4, *outer))]
    if kind == "classes":
        return given, torch.randint(0, 4, (7, *outer))
    return given, torch.randn(7, 4, *outer, dtype=dtype).softmax(1)


@pytest.mark.parametrize("reduction, weighted, kind, smoothing, outer", CASES)
def test_chunks_change_neither_loss_nor_gradients(reduction, weighted, kind, smoothing, outer):
    (x, w, b), target = inputs(kind, outer)
    options = {"reduction": reduction, "label_smoothing": smoothing, "linear_bias": b}
    options["weight"] = torch.tensor([0.5, 1.0, 2.0, 0.25], dtype=torch.float64) if weighted else None
    options["ignore_index"] = 2 if kind == "classes" else None
    chunks = nn.LinearCrossEntropyOptions(batch_chunk_size=3)
    scores = torch.einsum("ni,c...i->nc...", x, w) + b
    ignored = {"ignore_index": 2} if kind == "classes" else {}
    expected = F.cross_entropy(
        scores, target, options["weight"], reduction=reduction, label_smoothing=smoothing, **ignored
    )
    for given in (None, chunks):
        loss = F.linear_cross_entropy(x, w, target, options=given, **options)
        torch.testing.assert_close(loss, expected)
        grads = torch.autograd.grad(loss.sum(), (x, w, b))
        for found, wanted in zip(grads, torch.autograd.grad(expected.sum(), (x, w, b), retain_graph=True), strict=True):
            torch.testing.assert_close(found, wanted)


def test_chunks_have_derivatives_of_any_order():
    (x, w, b), target = inputs("classes", ())
    chunks = nn.LinearCrossEntropyOptions(batch_chunk_size=2)

    def loss(x, w, b):
        return F.linear_cross_entropy(x, w, target, linear_bias=b, options=chunks)

    assert torch.autograd.gradcheck(loss, (x, w, b))
    assert torch.autograd.gradgradcheck(loss, (x, w, b))


def test_half_types_add_up_in_float32():
    (x, w, b), target = inputs("classes", ())
    x, w = (t.detach().repeat(1, 1).bfloat16().requires_grad_() for t in (x, w))
    loss = F.linear_cross_entropy(
        x, w, target, options=nn.LinearCrossEntropyOptions(batch_chunk_size=1), reduction="sum"
    )
    (found,) = torch.autograd.grad(loss, w)
    wide = w.detach().double().requires_grad_()
    (expected,) = torch.autograd.grad(F.cross_entropy(x.detach().double() @ wide.T, target, reduction="sum"), wide)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), expected, rtol=0.02, atol=0.02)


def test_a_chunk_has_no_more_scores_than_a_multiple_of_the_batch():
    assert nn.LinearCrossEntropyOptions().rows(1000, 64, 32000) == 4
    assert nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:8").rows(1000, 64, 32000) == 16
    assert nn.LinearCrossEntropyOptions(chunking_method=None).rows(1000, 64, 32000) == 1000
    assert nn.LinearCrossEntropyOptions(batch_chunk_size=7).rows(1000, 64, 32000) == 7


def test_the_layer_keeps_nothing_that_its_linear_layer_knows():
    """So a state of PyTorch's layer, which has no `in_features`, makes one."""
    layer = nn.LinearCrossEntropyLoss(3, 4)
    vars(layer).pop("in_features", None)
    assert layer(torch.zeros(2, 3), torch.tensor([0, 3])).item() == pytest.approx(math.log(4))
    assert repr(layer).startswith("LinearCrossEntropyLoss(\n  in_features=3, num_classes=4")


def test_batches_of_two_sizes_are_refused():
    with pytest.raises(ValueError, match=r"Expected input batch_size \(4\) to match target batch_size \(5\)"):
        F.linear_cross_entropy(torch.zeros(4, 3), torch.zeros(2, 3), torch.zeros(5, dtype=torch.int64))


def test_the_layer_has_a_linear_layer_of_its_own():
    layer = nn.LinearCrossEntropyLoss(5, 4, out_features=(2, 3), bias=True)
    assert {n: tuple(p.shape) for n, p in layer.named_parameters()} == {"linear.weight": (24, 5), "linear.bias": (24,)}
    x, target = torch.randn(7, 5), torch.randint(0, 4, (7, 2, 3))
    scores = layer.linear(x).reshape(7, 4, 2, 3)
    torch.testing.assert_close(layer(x, target), F.cross_entropy(scores, target))
    chunked = nn.LinearCrossEntropyLoss(5, 4, options=nn.LinearCrossEntropyOptions(batch_chunk_size=3))
    for again in (copy.deepcopy(chunked), pickle.loads(pickle.dumps(chunked))):
        assert again.options == chunked.options
        assert again(x, target[:, 0, 0]).item() == chunked(x, target[:, 0, 0]).item()


@pytest.mark.parametrize(
    "options, text",
    [
        ({"batch_chunk_size": 0}, "batch_chunk_size must be positive int or None, got 0"),
        ({"chunking_method": "rows"}, "invalid chunking_method: 'rows'; it is 'auto', None or 'aspect_ratio:R'"),
        ({"chunking_method": "aspect_ratio:-1"}, "invalid chunking_method: 'aspect_ratio:-1'"),
        ({"chunking_method": "aspect_ratio:nan"}, "invalid chunking_method: 'aspect_ratio:nan'"),
        ({"acc_policy": "exact"}, "invalid acc_policy: 'exact'"),
        ({"acc_dtype": torch.int32}, "acc_dtype must be a floating dtype or None, got torch.int32"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, text):
    with pytest.raises(ValueError) as error:
        nn.LinearCrossEntropyOptions(**options)
    assert text in str(error.value)


def test_layers_say_whether_they_have_a_bias():
    assert repr(nn.GroupNorm(1, 3)) == "GroupNorm(1, 3, eps=1e-05, affine=True, bias=True)"
    assert repr(nn.LayerNorm(3, bias=False)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)"
    assert "affine=True, bias=False, track_running_stats=True" in repr(nn.BatchNorm1d(3, bias=False))
    assert "NonDynamicallyQuantizableLinear(in_features=4" in repr(nn.MultiheadAttention(4, 2))
