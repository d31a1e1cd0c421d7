"""torch.masked against NumPy's masked arrays and against the plain operators on what is kept."""

import math

import pytest
import torch

np = pytest.importorskip("numpy")
masked = torch.masked


@pytest.fixture
def x():
    return torch.randn(3, 4, 5, dtype=torch.float64)


@pytest.fixture
def mask():
    keep = torch.rand(4, 5) < 0.6
    keep[:, 2] = keep[1] = True
    return keep


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "amax", "amin"])
@pytest.mark.parametrize("dim", [None, 1, (0, -1)])
def test_reductions_agree_with_numpy(name, dim, x, mask):
    if name in ("amax", "amin"):
        numpy_name, extra = name[1:], {}
    else:
        numpy_name, extra = name, {"ddof": 1} if name in ("var", "std") else {}
    reference = np.ma.array(x.numpy(), mask=~mask.expand(x.shape).numpy())
    if name == "prod" and isinstance(dim, tuple):
        want = reference.prod(axis=2, keepdims=True).prod(axis=0, keepdims=True)
    else:
        want = getattr(reference, numpy_name)(axis=dim, keepdims=True, **extra)
    got = getattr(masked, name)(x, dim, keepdim=True, mask=mask)
    assert np.allclose(got.numpy(), np.ma.filled(want, np.nan), equal_nan=True)
    everything = getattr(masked, name)(x, dim)
    assert everything.allclose(getattr(masked, name)(x, dim, mask=torch.ones(5, dtype=torch.bool)))


def test_positions_cumulations_and_medians(x, mask):
    for i in range(4):
        line, kept = x[0, i], x[0, i][mask[i]]
        keep = mask[i]
        assert line[int(masked.argmax(line, 0, mask=keep))] == kept.max()
        assert line[int(masked.argmin(line, 0, mask=keep))] == kept.min()
        assert masked.median(line, 0, mask=keep) == kept.median()
        assert masked.cumsum(line, 0, mask=keep)[keep].allclose(kept.cumsum(0))
        assert masked.cumprod(line, 0, mask=keep)[keep].allclose(kept.cumprod(0))
    assert masked.cumsum(x, [1]).equal(x.cumsum(1)) and masked.softmax(x, (1,)).equal(x.softmax(1))
    with pytest.raises(TypeError, match=r"masked.cumsum: dim must be one int, got \(0, 1\)"):
        masked.cumsum(x, (0, 1))
    assert masked.argmax(x).dtype == x.dtype and masked.argmax(x).item() == x.argmax().item()
    assert masked.median(torch.tensor([3, 1, 9]), mask=torch.tensor([True, False, True])) == 3


def test_softmax_normalize_norm_and_logarithms_of_what_is_kept(x, mask):
    line, keep = x[0, 0], mask[0]
    kept = line[keep]
    for name in ("softmax", "log_softmax", "softmin"):
        plain = {"softmin": lambda t: torch.softmax(-t, 0)}.get(name, lambda t: getattr(torch, name)(t, 0))
        got = getattr(masked, name)(line, 0, mask=keep)
        assert got[keep].allclose(plain(kept))
        assert (got[~keep] == (-math.inf if name == "log_softmax" else 0)).all()
    for p in (2.0, 1.0, 0.0, math.inf, -math.inf, -1.0):
        assert masked.norm(line, p, 0, mask=keep).allclose(torch.linalg.vector_norm(kept, p))
    unit = masked.normalize(line, 2.0, 0, mask=keep)
    assert unit[keep].allclose(kept / kept.norm()) and (unit[~keep] == 0).all()
    assert masked.logsumexp(line, 0, mask=keep).allclose(kept.logsumexp(0))
    both = masked.logaddexp(line, line + 1, input_mask=keep)
    assert both[keep].allclose(torch.logaddexp(kept, kept + 1)) and both[~keep].equal((line + 1)[~keep])


def test_a_line_that_is_masked_out_has_the_result_of_no_elements():
    x, none = torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.bool)
    assert masked.sum(x, 1, mask=none).tolist() == [0, 0] and masked.prod(x, 1, mask=none).tolist() == [1, 1]
    assert masked.amax(x, 1, mask=none).tolist() == [-math.inf] * 2 and masked.mean(x, 1, mask=none).isnan().all()
    assert masked.amax(x.int(), 1, mask=none).tolist() == [-(2**31)] * 2
    assert masked.softmax(x, 1, mask=none).isnan().all() and masked.var(x, 1, mask=none).isnan().all()
    with pytest.raises(ValueError, match="masked out as a whole"):
        masked.median(x.int(), 1, mask=none)


def test_gradients_reach_what_is_kept_alone():
    pytest.importorskip("torch.autograd")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    masked.mean(x, mask=torch.tensor([True, False, True])).backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]


def test_errors_tell_shapes_and_dtypes():
    x = torch.ones(2, 3)
    with pytest.raises(IndexError, match=r"mask of shape \(4, 2, 3\) does not broadcast to an input of shape \(2, 3\)"):
        masked.sum(x, mask=torch.ones(4, 2, 3, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="expand"):
        masked.sum(x, mask=torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 5"):
        masked.sum(x, 5)
    with pytest.raises(RuntimeError, match=r"appears multiple times in the list of dims \(0, -2\)"):
        masked.sum(x, (0, -2))
    with pytest.raises(ValueError, match="floating or complex dtype, got torch.int64"):
        masked.mean(x.long())
    with pytest.raises(NotImplementedError, match="masked.amax: not implemented for torch.bool"):
        masked.amax(x > 0, mask=x > 0)
    with pytest.raises(ValueError, match="unbiased or correction, not both"):
        masked.var(x, unbiased=True, correction=0)
    with pytest.raises(TypeError, match="mask must be a bool tensor, got list"):
        masked.sum(x, mask=[True])
