"""Distances of pairs of rows: one kernel, and a derivative of one kernel for each side."""

import pytest
import torch

forward, backward = (torch._C._operator(f"_cdist_{name}") for name in ("forward", "backward"))


def rows(*shape, dtype, seed):
    return torch.rand(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def close(there, here):
    tolerance = 1e-5 if here.dtype == torch.float32 else 1e-13
    assert there.is_cuda
    assert torch.allclose(there.cpu(), here, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("batch, n, m, k", [(1, 1, 1, 1), (3, 5, 70, 7), (2, 65, 3, 40), (1, 4, 4, 600), (2, 3, 4, 0)])
def test_distances_and_their_gradient_are_the_cpus(batch, n, m, k, p, dtype):
    x1, x2 = rows(batch, n, k, dtype=dtype, seed=1), rows(batch, m, k, dtype=dtype, seed=2)
    grad = rows(batch, n, m, dtype=dtype, seed=3)
    here = forward(x1, x2, p, None)
    close(forward(x1.cuda(), x2.cuda(), p, None), here)
    slope = backward(grad, x1, x2, p, here)
    close(backward(grad.cuda(), x1.cuda(), x2.cuda(), p, here.cuda()), slope)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_rows_that_meet_have_no_slope(p):
    x = rows(1, 5, 3, dtype=torch.float64, seed=1).cuda()
    distance = forward(x, x, p, None)
    assert torch.equal(distance[0].diagonal(), torch.zeros(5, dtype=torch.float64, device="cuda"))
    alone = torch.eye(5, dtype=torch.float64, device="cuda")[None]
    assert not backward(alone, x, x, p, distance).any()


def test_rows_with_nan_are_far_from_all():
    x = torch.tensor([[[0.0, float("nan")], [1.0, 2.0]]], device="cuda")
    assert forward(x, x, 1.0, None).isnan().tolist() == [[[True, True], [True, False]]]


def test_no_differences_are_kept_in_memory():
    x = torch.ones(1, 64, 256, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.max_memory_allocated()
    forward(x, x, 2.0, None)
    assert torch.cuda.max_memory_allocated() - before <= 64 * 64 * 4 + 512  # the result alone
