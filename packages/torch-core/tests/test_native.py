"""Norms with their statistics, reductions of segments, masked indices."""

import math

import pytest
import torch

np = pytest.importorskip("numpy")


def test_native_group_norm_gives_its_statistics():
    x, w, b = (
        torch.randn(2, 6, 3, dtype=torch.float64),
        torch.rand(6, dtype=torch.float64),
        torch.rand(6, dtype=torch.float64),
    )
    y, mean, deviation = torch.native_group_norm(x, w, b, 2, 6, 3, 2, 0.5)
    groups = x.numpy().reshape(2, 2, 9)
    assert np.allclose(mean, groups.mean(2)) and np.allclose(deviation, 1 / np.sqrt(groups.var(2) + 0.5))
    normal = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 0.5)
    assert np.allclose(y, normal.reshape(2, 6, 3) * w.numpy()[:, None] + b.numpy()[:, None])
    with pytest.raises(RuntimeError, match=r"shape \(2, 6, 3\) is not N=2 times C=6 times HxW=3 in group=4 groups"):
        torch.native_group_norm(x, w, b, 2, 6, 3, 4, 0.5)


def test_native_batch_norm_moves_the_running_statistics():
    x, running_mean, running_var = torch.randn(5, 2, 3), torch.zeros(2), torch.ones(2)
    y, mean, deviation = torch.native_batch_norm(x, None, None, running_mean, running_var, True, 0.25, 1e-5)
    flat = x.numpy().transpose(1, 0, 2).reshape(2, 15)
    assert np.allclose(mean, flat.mean(1), atol=1e-6) and np.allclose(
        deviation, 1 / np.sqrt(flat.var(1) + 1e-5), atol=1e-5
    )
    assert np.allclose(running_mean, 0.25 * flat.mean(1), atol=1e-6)
    assert np.allclose(running_var, 0.75 + 0.25 * flat.var(1, ddof=1), atol=1e-5)
    assert y.mean((0, 2)).abs().max() < 1e-6
    y, mean, deviation = torch.native_batch_norm(x, None, None, running_mean, running_var, False, 0.25, 1e-5)
    assert mean.numel() == deviation.numel() == 0
    assert y.allclose((x - running_mean[:, None]) / (running_var[:, None] + 1e-5).sqrt(), atol=1e-5)
    assert torch._native_batch_norm_legit(x, None, None, True, 0.25, 1e-5)[0].mean((0, 2)).abs().max() < 1e-6
    with pytest.raises(RuntimeError, match="running_mean and running_var must be given"):
        torch.native_batch_norm(x, None, None, None, None, False, 0.1, 1e-5)


REDUCE = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "amax": np.max, "amin": np.min}


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize("kind", ["lengths", "offsets"])
def test_segments_of_each_row(reduce, kind):
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    lengths = torch.tensor([[2, 1, 3], [4, 1, 1]])
    offsets = torch.constant_pad_nd(lengths.cumsum(1), (1, 0)) if kind == "offsets" else None
    got = torch.segment_reduce(x, reduce, lengths=None if kind == "offsets" else lengths, offsets=offsets, axis=1)
    for row in range(2):
        at = 0
        for s, n in enumerate(lengths[row].tolist()):
            assert np.allclose(got[row, s], REDUCE[reduce](x[row, at : at + n].numpy(), axis=0))
            at += n


def test_segments_without_elements_and_with_a_beginning():
    x, lengths = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([2, 0, 1])
    none = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf, "amax": -math.inf, "amin": math.inf}
    for reduce, value in none.items():
        assert torch.segment_reduce(x, reduce, lengths=lengths)[1] == value
    assert torch.segment_reduce(x, "mean", lengths=lengths)[1].isnan()
    assert torch.segment_reduce(x, "mean", lengths=lengths, initial=9).tolist() == [6, 9, 15]
    assert torch.segment_reduce(x, "max", lengths=lengths, initial=4).tolist() == [4, 4, 6]
    assert torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 1]), unsafe=True).tolist() == [1, 2]
    for keywords, error, text in [
        ({"lengths": torch.tensor([1])}, RuntimeError, "must sum to 3"),
        ({"lengths": torch.tensor([4, -1])}, RuntimeError, "must not be negative, got -1"),
        ({}, RuntimeError, "lengths or offsets must be given"),
        ({"lengths": lengths, "axis": 1}, RuntimeError, "axis must be the last dim of lengths"),
        ({"lengths": lengths.float()}, NotImplementedError, "must be integers, got torch.float32"),
    ]:
        with pytest.raises(error, match=text):
            torch.segment_reduce(x, "sum", **keywords)
    with pytest.raises(RuntimeError, match="one of sum, mean, prod, max, min, amax, amin, got 'zzz'"):
        torch.segment_reduce(x, "zzz", lengths=lengths)


def test_indices_that_a_mask_hides_may_lie_outside():
    x = torch.arange(4.0)
    mask, index = torch.tensor([True, False, True]), torch.tensor([1, 99, -1])
    assert torch._unsafe_masked_index(x, mask, [index], 7.0).tolist() == [1, 7, 3]
    assert torch._unsafe_masked_index_put_accumulate(x, mask, [index], torch.ones(3)).tolist() == [0, 2, 2, 4]


def test_grid_sampler_takes_numbers_for_words():
    F = pytest.importorskip("torch.nn.functional")
    image, grid = torch.rand(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 3 - 1.5
    assert torch.grid_sampler(image, grid, 1, 2, False).equal(
        F.grid_sample(image, grid, "nearest", "reflection", False)
    )
    with pytest.raises(RuntimeError, match="padding_mode must be 0 to 2 for zeros, border, reflection, got 3"):
        torch.grid_sampler_2d(image, grid, 0, 3, False)
    table = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert torch.embedding_renorm_(table, torch.tensor([0]), 1.0, 2.0) is table
    assert table.allclose(torch.tensor([[0.6, 0.8], [6.0, 8.0]]))


def test_native_group_norm_of_nothing():
    y, mean, deviation = torch.native_group_norm(torch.ones(0, 2), torch.ones(2), torch.ones(2), 0, 2, 1, 1, 1e-5)
    assert y.shape == (0, 2) and mean.shape == deviation.shape == (0, 1)


def test_native_group_norm_of_half_types_is_rounded_once():
    x = (torch.randn(3, 4, 5) * 9).to(torch.bfloat16)
    w, b = (torch.randn(4) * 9).to(torch.bfloat16), (torch.randn(4) * 9).to(torch.bfloat16)
    y = torch.native_group_norm(x, w, b, 3, 4, 5, 2, 0.5)[0]
    exact = torch.native_group_norm(x.double(), w.double(), b.double(), 3, 4, 5, 2, 0.5)[0]
    assert y.dtype == torch.bfloat16 and (y != exact.to(torch.bfloat16)).sum() <= 1


def test_native_batch_norm_gives_statistics_that_need_no_gradient():
    pytest.importorskip("torch.autograd")
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    y, mean, deviation = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    assert y.requires_grad and not mean.requires_grad and not deviation.requires_grad
    assert np.allclose(mean.numpy(), x.detach().numpy().mean(0))
