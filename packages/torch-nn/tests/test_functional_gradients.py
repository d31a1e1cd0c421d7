"""Derivatives of what is composed of gathers, scatters, sorts and scans, against finite differences."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck, gradgradcheck


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def randn(*shape, seed=0):
    return torch.randn(shape, generator=source(seed), dtype=torch.float64).requires_grad_()


ROWS, OFFSETS = torch.tensor([1, 2, 4, 5, 4]), torch.tensor([0, 2, 2])
CLASSES = torch.tensor([2, 0, 3])
LABELS = torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2], [0, 2, 3, -1]])

SMOOTH = {
    "ctc_loss": (
        lambda x: F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2, 2], [2, 0, 0]]), (5, 4), (3, 1)),
        lambda: (randn(5, 2, 3),),
    ),
    "embedding_bag sum": (lambda w: F.embedding_bag(ROWS, w, OFFSETS, mode="sum"), lambda: (randn(6, 3),)),
    "embedding_bag mean": (lambda w: F.embedding_bag(ROWS, w, OFFSETS, mode="mean"), lambda: (randn(6, 3),)),
    "embedding_bag max": (lambda w: F.embedding_bag(ROWS, w, OFFSETS, mode="max"), lambda: (randn(6, 3),)),
    "embedding_bag weighted": (
        lambda w, s: F.embedding_bag(ROWS, w, OFFSETS, mode="sum", per_sample_weights=s),
        lambda: (randn(6, 3), randn(5, seed=1)),
    ),
    "grid_sample bilinear": (
        lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False),
        lambda: (randn(1, 2, 4, 3), randn(1, 2, 3, 2, seed=1)),
    ),
    "grid_sample volume": (
        lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=True),
        lambda: (randn(1, 1, 3, 3, 2), randn(1, 1, 2, 2, 3, seed=1)),
    ),
    "grid_sample bicubic": (
        lambda x, g: F.grid_sample(x, g, mode="bicubic", padding_mode="border", align_corners=False),
        lambda: (randn(1, 1, 4, 4), randn(1, 2, 2, 2, seed=1)),
    ),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, CLASSES, p=2), lambda: (randn(3, 4),)),
    "multilabel_margin_loss": (lambda x: F.multilabel_margin_loss(x, LABELS), lambda: (randn(3, 4),)),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(
            x, 2, (3, 2), _random_samples=torch.full((1, 2, 2), 0.4, dtype=torch.float64)
        ),
        lambda: (randn(1, 2, 6, 5),),
    ),
    "quantile": (lambda x: torch.quantile(x, 0.3, 1), lambda: (randn(3, 5),)),
    "nanquantile": (lambda x: torch.nanquantile(x, 0.3, 0, interpolation="midpoint"), lambda: (randn(4, 2),)),
    "take_along_dim": (
        lambda x: torch.take_along_dim(x, torch.tensor([[1], [-1]]), 1),
        lambda: (randn(2, 3),),
    ),
    "reflection padding": (lambda x: F.pad(x, (2, 1), mode="reflect"), lambda: (randn(2, 4),)),
    "replication padding": (lambda x: F.pad(x, (2, 1), mode="replicate"), lambda: (randn(2, 4),)),
    "circular padding": (lambda x: F.pad(x, (2, 1), mode="circular"), lambda: (randn(2, 4),)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_composed_functions_have_first_and_second_derivatives(name):
    function, inputs = SMOOTH[name]
    assert gradcheck(function, inputs())
    assert gradgradcheck(function, inputs())


def test_adaptive_softmax_has_derivatives():
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5], div_value=2.0).double()
    y = torch.tensor([0, 4, 7, 2])
    assert gradcheck(lambda x, w: layer(x * w, y).loss, (randn(4, 4), randn(4, seed=1)))


def test_the_nearest_pixel_does_not_move_with_the_grid():
    image, grid = randn(1, 1, 3, 3), torch.zeros(1, 2, 2, 2, dtype=torch.float64, requires_grad=True)
    F.grid_sample(image, grid, mode="nearest", align_corners=False).sum().backward()
    assert torch.equal(grid.grad, torch.zeros_like(grid))
    assert image.grad.sum().item() == 4 and image.grad[0, 0, 1, 1].item() == 4


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_a_place_that_is_no_number_leaves_the_gradient_of_pixels_alone(mode):
    image, grid = randn(1, 1, 3, 3), torch.tensor([[[[math.nan, 0.0], [0.0, 0.0]]]], dtype=torch.float64)
    F.grid_sample(image, grid, mode=mode, align_corners=True).sum().backward()
    assert image.grad.sum().item() == pytest.approx(1) and image.grad[0, 0, 1, 1].item() == 1


def test_the_gradient_of_a_padding_may_be_differentiated_by_its_input():
    x = randn(2, 4)
    (g,) = torch.autograd.grad(F.pad(x, (1, 2), mode="reflect").sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.equal(h, torch.zeros_like(x))


def test_bags_give_sparse_gradients():
    bag = torch.nn.EmbeddingBag(5, 3, mode="sum", sparse=True)
    bag(torch.tensor([1, 2, 2, 4]), torch.tensor([0, 2])).sum().backward()
    assert bag.weight.grad.is_sparse and bag.weight.grad.to_dense()[:, 0].tolist() == [0, 1, 2, 0, 1]


def test_hardswish_at_its_corners_has_the_slopes_outside_of_them():
    """Its one-sided slopes there differ; these are those that PyTorch takes."""
    x = torch.tensor([-3.0, 3.0], requires_grad=True)
    F.hardswish(x).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_vector_as_weight_gives_one_number_for_each_row(shape, dtype):
    x, weight = (torch.randn(s, dtype=dtype, requires_grad=True) for s in (shape, (4,)))
    bias = torch.randn((), dtype=dtype, requires_grad=True)
    torch.testing.assert_close(F.linear(x, weight, bias), (x * weight).sum(-1) + bias)
    assert torch.autograd.gradcheck(F.linear, (x, weight, bias), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(F.linear, (x, weight, bias))


def test_gradients_of_sampled_grids_and_resized_planes_by_the_names_of_their_operators():
    x, grid = randn(2, 3, 4, 4), randn(2, 5, 5, 2).mul(0.3)
    x, grid, g = x.detach().requires_grad_(), grid.detach().requires_grad_(), torch.randn(2, 3, 5, 5, dtype=x.dtype)
    expected = torch.autograd.grad(F.grid_sample(x, grid, "bilinear", "border", False), (x, grid), g)
    got = torch.ops.aten.grid_sampler_2d_backward(g, x, grid, 0, 1, False, [True, True])
    assert all(map(torch.equal, got, expected))
    assert torch.ops.aten.grid_sampler_2d_backward(g, x, grid, 0, 1, False, [False, True])[0] is None
    aten = torch.ops.aten
    assert torch.equal(
        aten.upsample_bilinear2d(x, [3, 7], True), F.interpolate(x, (3, 7), mode="bilinear", align_corners=True)
    )
    assert torch.equal(aten.upsample_nearest2d(x, None, [2.0, 2.0]), F.interpolate(x, scale_factor=2))


def test_the_cosine_of_short_vectors_has_the_gradient_of_their_norm():  # recorded: PyTorch 2.13
    a = torch.tensor([[1e-9, 2e-9], [3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    b = torch.tensor([[1.0, 2.0], [1e-10, 2e-10], [1.0, 1.0]], requires_grad=True)
    cosine = F.cosine_similarity(a, b)
    cosine.sum().backward()
    torch.testing.assert_close(cosine, torch.tensor([0.223607, 0.022, 0.0]), rtol=1e-3, atol=0)
    of_a = torch.tensor([[3.4721e07, 6.9443e07], [-6.4e-4, 4.8e-4], [7.0711e07, 7.0711e07]])
    of_b = torch.tensor([[0.0, 0.0], [5.9016e07, 7.8032e07], [0.0, 0.0]])
    torch.testing.assert_close(a.grad, of_a, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(b.grad, of_b, rtol=1e-4, atol=1e-7)
