"""Sparse tensors: reductions, shapes and products, compared with SciPy's and with what dense tensors give."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sparse_samples import drawn, numbers

# --- reductions


@pytest.mark.parametrize("dims", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), -1])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_sums_over_dims(dims, keepdim, sparse_dim):
    s = drawn((3, 4, 5), 30, sparse_dim)
    if dims is None and keepdim:
        return
    got = s.sum() if dims is None else s.sum(dims, keepdim)
    assert (
        np.array_equal(numbers(got), numbers(s).sum(dims, keepdims=keepdim))
        and got.shape == numbers(s).sum(dims, keepdims=keepdim).shape
    )
    assert np.array_equal(numbers(torch.sparse.sum(s, dims)), numbers(s).sum(dims))


def test_sums_have_the_dtype_of_dense_ones():
    s = drawn((3, 4), 9, dtype=torch.int32)
    assert s.sum().dtype == s.sum(0).dtype == torch.int64 and s.sum(0, dtype=torch.float64).dtype == torch.float64
    with pytest.raises(RuntimeError, match="torch.sparse.sum: expected a tensor of layout torch.sparse_coo"):
        torch.sparse.sum(torch.ones(2))


@pytest.mark.parametrize("p", [2, 1, float("inf"), 3])
def test_norms(p):
    s = drawn((4, 5), 15)
    assert s.norm(p).item() == pytest.approx(np.linalg.norm(numbers(s).ravel(), p))
    assert torch.linalg.vector_norm(s, p).item() == pytest.approx(np.linalg.norm(numbers(s).ravel(), p))
    assert torch.norm(s, p, (0, -1)).equal(s.norm(p)) and torch.linalg.vector_norm(s, p, ()).equal(s.norm(p))
    for dim in (0, (1,)):
        with pytest.raises(NotImplementedError, match="only over all dims"):
            torch.norm(s, p, dim)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("sparse_dim", [2, 3])
def test_softmax_over_stored_elements(dim, sparse_dim):
    s = drawn((3, 4, 5), 25, sparse_dim).coalesce()
    x, stored = numbers(s), numbers(torch.sparse_coo_tensor(s.indices(), torch.ones_like(s.values()), s.shape)) > 0
    powers = np.where(stored, np.exp(x), 0)
    total = powers.sum(dim, keepdims=True)
    want = np.divide(powers, total, where=total > 0, out=np.zeros_like(x))
    assert np.allclose(numbers(torch.sparse.softmax(s, dim)), want)
    assert np.allclose(numbers(torch.sparse.log_softmax(s, dim))[stored], np.log(want[stored]))
    big = torch.sparse_coo_tensor([[0, 1]], [1000.0, 1000.0], (3,))
    assert torch.sparse.softmax(big, 0).to_dense().tolist() == [0.5, 0.5, 0.0]


# --- shapes


def test_orders_of_dims():
    s = drawn((3, 4, 5, 2), 30, 3)
    x = numbers(s)
    assert np.array_equal(numbers(s.transpose(0, 2)), x.swapaxes(0, 2)) and np.array_equal(
        numbers(s.permute(2, 0, 1, 3)), x.transpose(2, 0, 1, 3)
    )
    m = drawn((3, 4), 8)
    assert (
        np.array_equal(numbers(m.t()), numbers(m).T)
        and np.array_equal(numbers(m.T), numbers(m).T)
        and np.array_equal(numbers(m.mT), numbers(m).T)
    )
    t = m.clone()
    alias = t.detach()
    assert (
        t.t_() is t
        and t.shape == (4, 3)
        and np.array_equal(numbers(t), numbers(m).T)
        and np.array_equal(numbers(alias), numbers(m))
    )
    with pytest.raises(RuntimeError, match="sparse_dim: 3, d0: 0, d1: 3"):
        s.transpose(0, 3)
    assert drawn((3, 4, 5, 6), 9, 2).transpose(2, 3).shape == (3, 4, 6, 5)


@pytest.mark.parametrize("dim", range(4))
def test_unsqueeze_and_squeeze(dim):
    s = drawn((3, 4, 5), 12, 2)
    up = s.unsqueeze(dim)
    assert np.array_equal(numbers(up), np.expand_dims(numbers(s), dim)) and np.array_equal(
        numbers(up.squeeze()), numbers(s)
    )
    assert np.array_equal(numbers(up.squeeze(dim)), numbers(s))


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_pieces(sparse_dim):
    s = drawn((4, 5, 6), 40, sparse_dim)
    x = numbers(s)
    for dim in range(3):
        assert np.array_equal(numbers(s.select(dim, 1)), x.take(1, dim)) and np.array_equal(
            numbers(s.narrow(dim, 1, 2)), x.take([1, 2], dim)
        )
        at = torch.tensor([3, 0, 0, 2])
        assert np.array_equal(numbers(s.index_select(dim, at)), x.take([3, 0, 0, 2], dim))
    for key in (
        0,
        -1,
        (1, 2),
        (slice(None), 2),
        (slice(1, 4, 2), slice(None, 3)),
        (slice(1, 3), 0, 5),
        (Ellipsis, 1),
        (None, 2),
        slice(3, 1),
    ):
        assert np.array_equal(numbers(s[key]), x[key]), key
    assert [np.array_equal(numbers(a), b) for a, b in zip(s, x)] == [True] * 4
    with pytest.raises(IndexError, match="out of"):
        s[4]
    with pytest.raises(IndexError, match="index 9 is out of range in dim 0 of size 4|out of range"):
        s.index_select(0, torch.tensor([9]))
    with pytest.raises(NotImplementedError, match="setitem"):
        s[0] = 1


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_joins(dim, sparse_dim):
    a, b = drawn((3, 3, 3), 9, sparse_dim), drawn((3, 3, 3), 7, sparse_dim, seed=1)
    assert np.array_equal(numbers(torch.cat([a, b, a], dim)), np.concatenate([numbers(t) for t in (a, b, a)], dim))
    assert np.array_equal(numbers(torch.stack([a, b], dim)), np.stack([numbers(a), numbers(b)], dim if dim >= 0 else 3))
    with pytest.raises(RuntimeError, match="dense tensor was found at position 1"):
        torch.cat([a, torch.ones(3, 3, 3)])


def test_sizes_in_place():
    s = drawn((2, 3), 4)
    x, alias = numbers(s), s.detach()
    assert s.sparse_resize_((4, 5), 2, 0) is s and s.shape == (4, 5) and np.array_equal(numbers(s)[:2, :3], x)
    assert alias.shape == (2, 3) and np.array_equal(numbers(alias), x)
    with pytest.raises(RuntimeError, match=r"shrinking the size of dimensions \(from \[4, 5\] to \[1, 5\]\)"):
        s.sparse_resize_((1, 5), 2, 0)
    assert s.sparse_resize_and_clear_((1, 2, 3), 1, 2).shape == (1, 2, 3) and s._nnz() == 0
    h = drawn((4, 2), 3, 1)
    y = numbers(h)
    assert np.array_equal(numbers(h.sparse_resize_((5, 3), 1, 1))[:4, :2], y) and torch.resize_as_sparse_(
        s, h
    ).shape == (5, 3)


# --- products


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.complex128, torch.float16])
@pytest.mark.parametrize("width", [1, 5, 16, 33, 70])
def test_products_with_dense_matrices(dtype, width):
    s = drawn((30, 40), 150, dtype=dtype)
    x = numbers(s)
    m = torch.tensor(np.random.default_rng(1).integers(-3, 4, (40, width))).to(dtype)
    other = scipy.sparse.coo_matrix(x.astype(np.complex128)) @ np.asarray(m).astype(np.complex128)
    for got in (s @ m, torch.mm(s, m), torch.sparse.mm(s, m), torch.spmm(s.coalesce(), m), s.t().t() @ m):
        assert not got.is_sparse and np.array_equal(np.asarray(got), other)
    left = torch.tensor(np.random.default_rng(2).integers(-3, 4, (width, 30))).to(dtype)
    assert np.array_equal(np.asarray(left @ s), np.asarray(left).astype(np.complex128) @ x)
    assert np.array_equal(np.asarray(s @ m[:, 0]), other[:, 0]) and np.array_equal(
        np.asarray(s.mv(m[:, 0])), other[:, 0]
    )
    base = torch.ones(30, width).to(dtype)
    assert np.array_equal(np.asarray(torch.addmm(base, s, m, beta=2, alpha=3)), 2 + 3 * other)
    assert np.array_equal(np.asarray(torch.sparse.addmm(base, s, m, beta=2, alpha=3)), 2 + 3 * other)
    assert np.array_equal(np.asarray(base.addmm_(s, m, beta=2, alpha=3)), 2 + 3 * other)


def test_a_product_has_the_same_bits_for_any_number_of_threads():
    s = torch.sparse_coo_tensor(torch.randint(500, (2, 30_000)), torch.randn(30_000), (500, 500))
    m, threads = torch.randn(500, 40), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = (s @ m).tolist(), s.coalesce().values().tolist(), (s @ s).values().tolist()
        torch.set_num_threads(7)
        assert one == ((s @ m).tolist(), s.coalesce().values().tolist(), (s @ s).values().tolist())
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.bool, torch.complex64, torch.bfloat16])
def test_products_of_two_sparse_matrices(dtype):
    a, b = drawn((20, 30), 120, dtype=dtype), drawn((30, 25), 90, dtype=dtype, seed=1)
    got = a @ b
    kind = bool if dtype == torch.bool else np.complex128
    want = np.asarray(a.to_dense().to(torch.complex64)).astype(kind) @ np.asarray(
        b.to_dense().to(torch.complex64)
    ).astype(kind)
    assert got.is_sparse and got.is_coalesced() and np.array_equal(np.asarray(got.to_dense().to(torch.complex64)), want)


def test_products_that_stay_sparse():
    s, m = drawn((6, 7), 10), torch.tensor(np.arange(21.0).reshape(7, 3))
    want = numbers(s) @ np.asarray(m)
    h = torch.hspmm(s, m)
    assert h.is_sparse and h.dense_dim() == 1 and np.array_equal(numbers(h), want)
    assert torch.smm(s, m).dense_dim() == 0 and np.array_equal(numbers(torch.smm(s, m)), want)
    base = drawn((6, 3), 5)
    assert np.array_equal(numbers(torch.sspaddmm(base, s, m, beta=2, alpha=3)), 2 * numbers(base) + 3 * want)
    batch = torch.stack([s, s * 2])
    assert np.array_equal(np.asarray(torch.bmm(batch, torch.stack([m, m]))), np.stack([want, 2 * want]))


def test_products_that_do_not_fit_are_refused():
    s = drawn((3, 4), 5)
    for call, said in [
        (lambda: s @ torch.ones(3, 2, dtype=torch.float64), r"\(3x4 and 3x2\)"),
        (lambda: s @ torch.ones(4, 2), "same dtype"),
        (lambda: drawn((3, 4), 5, 1) @ torch.ones(4, 2, dtype=torch.float64), "only sparse dims"),
        (lambda: torch.sparse.mm(torch.ones(2, 2), torch.ones(2, 2)), "expected a sparse matrix"),
        (lambda: torch.sspaddmm(s, s, torch.ones(4, 2, dtype=torch.float64)), "must have the shape"),
    ]:
        with pytest.raises(RuntimeError, match=said):
            call()


# --- which dims are sparse


SPLITS = [((3, 4), 1), ((3, 4), 2), ((3, 4, 2), 1), ((3, 4, 2), 2), ((3, 4, 2), 3), ((2,), 0), ((3, 0), 1), ((0, 4), 2)]


def hybrids(shape):
    """Tensors of a shape with each split into sparse and dense dims, with and without elements."""
    for kind, sparse_dim in SPLITS:
        if kind == shape:
            for nnz in {0, 3 * (0 not in shape[:sparse_dim])}:
                yield drawn(shape, nnz, sparse_dim)


@pytest.mark.parametrize("shape", sorted({shape for shape, _ in SPLITS}))
def test_sums_and_products_of_any_split(shape):
    for a in hybrids(shape):
        for b in hybrids(shape):
            if a.sparse_dim() != b.sparse_dim() and a._nnz() and b._nnz():
                with pytest.raises(RuntimeError, match="expected both to have the same sparse dims"):
                    a + b
                continue
            x, y = numbers(a), numbers(b)
            assert np.array_equal(numbers(a + b), x + y) and np.array_equal(numbers(a - b), x - y)
            assert np.array_equal(numbers(torch.add(a, b, alpha=3)), x + 3 * y) and np.array_equal(
                numbers(a * b), x * y
            )
            into = a.clone()
            assert np.array_equal(numbers(into.add_(b)), x + y)
            total = a + b
            total.mul_(2)  # memory of its own
            assert np.array_equal(numbers(a), x) and np.array_equal(numbers(b), y)
            assert (a.float() + b).dtype == torch.float64


@pytest.mark.parametrize("shape", sorted({shape for shape, _ in SPLITS}))
def test_resize_as_and_copies_of_views_take_any_split(shape):
    for a in hybrids(shape):
        like = a.new().resize_as_(a)
        assert like.shape == a.shape and like.sparse_dim() == a.sparse_dim() and like._nnz() == 0
        if shape[0] > 1:
            cut = torch.narrow_copy(a, 0, 1, 1)
            assert np.array_equal(numbers(cut), numbers(a)[1:2])
    with pytest.raises(
        RuntimeError, match="resize_as_: self of layout torch.strided cannot take the shape of a tensor of"
    ):
        torch.ones(2).resize_as_(drawn((3, 4), 3))


def test_a_number_is_the_value_of_one_element():
    assert numbers(torch.sparse_coo_tensor([[0], [2]], 1.5, (1, 3))).tolist() == [[0, 0, 1.5]]
    assert torch.sparse_coo_tensor([[0], [2]], torch.tensor(2)).dtype == torch.int64
    with pytest.raises(RuntimeError):
        torch.sparse_coo_tensor([[0, 1], [2, 1]], 1.0, (3, 3))
    with pytest.raises(RuntimeError, match="indices must be sparse_dim x nnz"):
        torch.sparse_coo_tensor([0, 2], [1.0, 2.0], (3,))
