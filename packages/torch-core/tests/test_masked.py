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
    gap = torch.tensor([1.0, math.nan, 3, 2])
    assert masked.median(gap, 0) == masked.median(gap, 0, mask=torch.ones(4, dtype=torch.bool)) == 2
    assert masked.median(torch.tensor([3, 1, 9]), mask=torch.tensor([True, False, True])) == 3


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax", "log_softmax", "softmin", "median"])
def test_no_dim_is_the_first_where_one_dim_is_meant(name):
    x = torch.tensor([[1.0, 4.0], [3.0, 2.0], [2.0, 8.0]])
    f = getattr(masked, name)
    assert f(x, None, mask=x > 1).equal(f(x, 0, mask=x > 1)) and f(x[0], None).equal(f(x[0], 0))


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


SPARSE = {"coo": lambda t: t.to_sparse(), "hybrid": lambda t: t.to_sparse(1), "csr": lambda t: t.to_sparse_csr()}


@pytest.mark.parametrize("layout", SPARSE)
@pytest.mark.parametrize("of_mask", ["coo", "csr", "dense"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1), None])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_reductions_of_sparse_tensors_take_what_is_there_and_kept(name, dim, of_mask, layout):
    x = torch.tensor([[0.0, 2.0, -3.0, 0.5], [4.0, 0.0, 0.0, 1.5], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False, True], [False, True, True, True], [True, True, True, True]])
    z = SPARSE[layout](x)
    there = z.to_sparse_coo().coalesce()
    places = torch.zeros(3, 4, dtype=torch.bool)
    places[tuple(there.indices())] = True  # of a hybrid tensor whole rows
    kept = mask & places
    given = mask if of_mask == "dense" else mask.to_sparse() if of_mask == "coo" else mask.to_sparse_csr()
    function = getattr(torch.masked, name)
    found = function(z, dim, keepdim=True, mask=given)
    assert found.layout == (torch.sparse_csr if layout == "csr" else torch.sparse_coo)
    dims = (0, 1) if dim is None else dim
    any_kept = kept.sum(dims, keepdim=True) > 0  # where no element is kept, the result has none
    wanted = function(x, dim, keepdim=True, mask=kept).masked_fill(~any_kept, 0)
    assert torch.equal(found.to_dense(), wanted)
    assert found.values().numel() == any_kept.sum()
    if layout != "csr":
        assert torch.equal(function(z, dim, mask=given).to_dense(), wanted.squeeze(dims))


def test_means_of_rows_divide_by_what_is_kept():
    x = torch.tensor([[0.0, 2.0, -3.0], [4.0, 0.0, 1.5]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    found = torch.masked.mean(x.to_sparse_csr(), 1, keepdim=True, mask=mask.to_sparse_csr())
    assert found.to_dense().tolist() == [[2.0], [2.75]]


def test_a_sparse_mask_of_a_dense_tensor_is_a_mask():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    mask = x > 1.5
    for of_mask in (mask.to_sparse(), mask.to_sparse_csr()):
        assert torch.masked.sum(x, 1, mask=of_mask).tolist() == [2.0, 7.0]
        assert torch.masked.mean(x, 1, mask=of_mask).tolist() == [2.0, 3.5]


def test_sums_of_sparse_integers_are_wide():
    x = torch.tensor([[100, 0], [100, 100]], dtype=torch.uint8).to_sparse()
    assert torch.masked.sum(x).to_dense().item() == 300


def test_gradients_pass_through_sums_of_sparse_tensors():
    pytest.importorskip("torch.autograd", exc_type=ImportError)
    z = torch.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse().requires_grad_()
    (grad,) = torch.autograd.grad(torch.masked.sum(z, 1).to_dense().pow(2).sum(), z)
    assert grad.to_dense().tolist() == [[2.0, 0.0], [10.0, 10.0]]


def test_a_sparse_tensor_of_any_size_is_reduced_by_its_elements():
    z = torch.sparse_coo_tensor([[0, 5, 5], [7, 1 << 40, 3]], [1.0, 2.0, 3.0], (10, 1 << 41))
    mask = torch.sparse_coo_tensor([[5, 5], [1 << 40, 3]], [True, True], (10, 1 << 41))
    assert torch.masked.sum(z, 1, mask=mask).to_dense().tolist() == [0, 0, 0, 0, 0, 5.0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "name", ["mean", "var", "std", "median", "argmax", "argmin", "norm", "logsumexp", "softmax", "cumsum", "cumprod"]
)
def test_what_has_no_sparse_form_names_the_layouts_that_have(name):
    z = torch.eye(2).to_sparse()
    takes = "strided or sparse_csr" if name == "mean" else "strided"
    with pytest.raises(ValueError, match=rf"masked [\w/]+ expects {takes} tensor \(got torch.sparse_coo tensor\)"):
        getattr(torch.masked, name)(z, dim=1)
    with pytest.raises(ValueError, match="masked prod expects explicit mask for sparse_coo tensor input"):
        torch.masked.prod(z, 1)
    with pytest.raises(ValueError, match=r"a sparse mask must have the input's shape \(2, 2\), got \(2, 1\)"):
        torch.masked.sum(z, 1, mask=torch.ones(2, 1, dtype=torch.bool).to_sparse())
