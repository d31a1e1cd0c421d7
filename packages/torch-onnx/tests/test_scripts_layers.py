"""Functions and quotients in scripts whose sizes may change."""

import pytest
import torch
import torch.nn.functional as F
from agreement import run
from test_scripts import agrees
from torch import nn


class Shuffled(nn.Module):
    def forward(self, x):
        y = F.pixel_shuffle(x, 2)
        return y, F.pixel_unshuffle(y + 1, 2), F.pixel_shuffle(x[0], 2)


class Grid(nn.Module):
    def forward(self, theta, x):
        return F.affine_grid(theta, x.shape, align_corners=False), F.affine_grid(theta, x.shape, align_corners=True)


class Grouped(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


class Triangles(nn.Module):
    def forward(self, x):
        return torch.tril(x), torch.triu(x, -1), torch.tril(x > 0.5, 1)


class Thirds(nn.Module):
    def forward(self, x):
        a, b, c = x.chunk(3)
        return a + 1, b.sum(), c


class Floored(nn.Module):
    def forward(self, x):
        n = x.size(0)
        return x * ((n - 7.5) // 2), x * (n // 2.5), x * (-n // 2)


class Normed(nn.Module):
    def forward(self, x):
        return F.layer_norm(x, [x.size(1)])


def moving(**ranks):
    return {name: {d: f"{name}{d}" for d in range(rank)} for name, rank in ranks.items()}


def test_pixels_are_shuffled():
    agrees(Shuffled(), (torch.rand(1, 4, 2, 3),), [(torch.rand(2, 8, 3, 2),)], dynamic_axes=moving(x=4))


def test_affine_grids():
    args, other = (torch.rand(1, 2, 3), torch.rand(1, 1, 4, 5)), (torch.rand(2, 2, 3), torch.rand(2, 1, 3, 3))
    agrees(Grid(), args, [], opset_version=17)
    agrees(Grid(), args, [other], dynamic_axes=moving(theta=3, x=4), opset_version=17)


@pytest.mark.parametrize("opset", [17, 23])
def test_groups_of_heads_whose_number_may_change(opset):
    heads = lambda n, *counts: tuple(torch.rand(n, c, length, 8) for c, length in zip(counts, (3, 5, 5), strict=True))
    axes = moving(q=4, k=4, v=4)
    agrees(Grouped(), heads(1, 4, 2, 2), [heads(2, 6, 3, 3), heads(1, 2, 2, 2)], dynamic_axes=axes, opset_version=opset)


@pytest.mark.parametrize("opset", [13, 14])
def test_triangles(opset):
    others = [(torch.rand(4, 5),), (torch.rand(5, 2),)]
    agrees(Triangles(), (torch.rand(3, 3),), others, dynamic_axes=moving(x=2), opset_version=opset)
    agrees(Triangles(), (torch.rand(2, 3, 4),), [], opset_version=opset)


@pytest.mark.parametrize("rows", [0, 1, 2, 4])
def test_parts_of_which_there_would_be_fewer_are_refused_by_the_run(rows):
    proto = torch.onnx.export(torch.jit.script(Thirds()), (torch.rand(3, 2),), dynamic_axes=moving(x=2)).model_proto
    if rows == 0:
        assert [each.shape for each in run(proto, torch.rand(0, 2))] == [(0, 2), (), (0, 2)]
        return
    with pytest.raises(Exception, match="Split"):
        run(proto, torch.rand(rows, 2))


def test_parts_of_which_there_are_as_many():
    agrees(Thirds(), (torch.rand(3, 2),), [(torch.rand(n, 2),) for n in (5, 6, 7, 8, 9)], dynamic_axes=moving(x=2))


def test_quotients_of_floats_are_floored():
    agrees(Floored(), (torch.rand(2, 3),), [(torch.rand(n, 2),) for n in (1, 4, 7, 9)], dynamic_axes=moving(x=2))


@pytest.mark.parametrize("opset", [16, 17])
def test_layer_norm_over_a_size_that_may_change(opset):
    agrees(Normed(), (torch.rand(2, 3),), [(torch.rand(4, 5),)], dynamic_axes=moving(x=2), opset_version=opset)
