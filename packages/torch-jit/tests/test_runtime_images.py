"""Resizing, windows and dropout of channels, which are Python in torch.nn, run without it from an archive."""

import pytest
import torch
from test_runtime import load_program, same, saved
from torch import nn
from torch.nn import functional as F


def check(module, *args):
    compiled = torch.jit.script(module.eval())
    loaded = load_program(saved(compiled))
    with torch.no_grad():
        assert same(module(*args), loaded.run("forward", *args))
    return compiled, loaded


RESIZES = [
    ("linear", (2, 3, 5), (7,), 1.7),
    ("bilinear", (2, 3, 5, 4), (7, 3), (2.0, 0.5)),
    ("bicubic", (2, 3, 6, 5), (9, 4), (0.75, 2.5)),
    ("trilinear", (1, 2, 3, 4, 5), (4, 2, 7), (1.5, 2.0, 0.8)),
]


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode,shape,size,scale", RESIZES)
def test_resizing_has_the_bits_of_python(mode, shape, size, scale, corners):
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.randn(shape).to(dtype)
        check(nn.Upsample(size=size, mode=mode, align_corners=corners), x)
        check(nn.Upsample(scale_factor=scale, mode=mode, align_corners=corners), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_images_of_bytes_are_rounded_as_in_python(mode):
    x = torch.randint(0, 256, (2, 3, 9, 7), dtype=torch.uint8)
    check(nn.Upsample(size=(13, 5), mode=mode), x)
    check(nn.Upsample(scale_factor=(0.6, 3.0), mode=mode), x)


def test_resizing_by_what_is_known_only_when_it_runs():
    class Resize(nn.Module):
        def forward(self, x, like):
            return F.interpolate(x, size=(like.size(2), like.size(3)), mode="bilinear", align_corners=False)

    compiled, loaded = check(Resize(), torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 6))
    for f in (compiled, lambda *args: loaded.run("forward", *args)):
        with pytest.raises(RuntimeError, match="input and output sizes must be positive, got .*, \\(0, 6\\)"):
            f(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 0, 6))
        with pytest.raises(NotImplementedError, match="mode 'bilinear' is for 4 dims, got \\(1, 2, 3\\)"):
            f(torch.randn(1, 2, 3), torch.randn(1, 2, 3, 6))


@pytest.mark.parametrize("options", [{}, {"padding": 2}, {"stride": (2, 1)}, {"dilation": (1, 2), "padding": (0, 1)}])
def test_windows_of_images_are_taken_and_summed(options):
    x = torch.randn(2, 3, 6, 7)
    check(nn.Unfold((2, 3), **options), x)
    check(nn.Unfold((2, 3), **options), x[0])
    columns = F.unfold(x, (2, 3), **options)
    check(nn.Fold((6, 7), (2, 3), **options), columns)
    check(nn.Fold((6, 7), (2, 3), **options), columns[0])


def test_windows_that_do_not_fit_are_told_as_in_python():
    compiled, loaded = check(nn.Unfold(3), torch.randn(1, 1, 3, 3))
    folding, folded = check(nn.Fold((4, 4), 2), torch.randn(1, 8, 9))
    for f in (compiled, lambda x: loaded.run("forward", x)):
        with pytest.raises(RuntimeError, match="unfold: the window .* is larger than the padded image"):
            f(torch.randn(1, 1, 2, 5))
        with pytest.raises(RuntimeError, match="unfold: input must be"):
            f(torch.randn(5))
    for f in (folding, lambda x: folded.run("forward", x)):
        with pytest.raises(RuntimeError, match="fold: dim 1 of input is 7, which kernel_size"):
            f(torch.randn(1, 7, 9))
        with pytest.raises(RuntimeError, match="fold: input has 8 windows, but .* = 9"):
            f(torch.randn(1, 8, 8))


def test_cosine_similarity_broadcasts():
    check(nn.CosineSimilarity(dim=-1, eps=1e-3), torch.randn(4, 1, 5), torch.randn(3, 5))
    compiled, loaded = check(nn.CosineSimilarity(), torch.zeros(2, 3), torch.randn(2, 3))
    for f in (compiled, lambda *args: loaded.run("forward", *args)):
        with pytest.raises(RuntimeError, match="cosine_similarity: expected floating point tensors"):
            f(torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64))


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("inplace", [False, True])
def test_channels_are_dropped_at_the_places_that_python_drops(p, inplace):
    module = nn.Dropout2d(p, inplace).train()
    loaded = load_program(saved(torch.jit.script(module)))
    x = torch.randn(3, 8, 2, 2)
    ours, python = x.clone(), x.clone()
    torch.manual_seed(3)
    expected = module(python)
    torch.manual_seed(3)
    assert same(expected, loaded.run("forward", ours))
    assert torch.equal(ours, python)
