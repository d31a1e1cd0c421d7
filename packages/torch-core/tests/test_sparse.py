"""Sparse tensors in coordinate format, compared with SciPy's and with what dense tensors give."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch
from sparse_samples import dense_of, drawn, numbers

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex128,
]


# --- making


def test_a_sparse_tensor_tells_what_it_is():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [[3.0, 3.5], [4.0, 4.5], [5.0, 5.5]], (2, 3, 2))
    assert s.layout == torch.sparse_coo and s.is_sparse and not torch.ones(2).is_sparse
    assert (s.shape, s.dim(), s.numel(), s._nnz(), s.sparse_dim(), s.dense_dim()) == ((2, 3, 2), 3, 12, 3, 2, 1)
    assert s.type() == "torch.sparse.FloatTensor" and s.stride() == (0, 0, 0) and not s.is_contiguous()
    assert s.dtype == torch.float32 and s.device == torch.device("cpu") and not s.is_coalesced()
    assert torch.ones(2, 3).sparse_dim() == 0 and torch.ones(2, 3).dense_dim() == 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, sparse_dim", [((5, 7), 2), ((5, 7), 1), ((3, 4, 5), 2), ((6,), 1), ((2, 3, 2, 3), 4)])
def test_coalescing_sorts_and_sums(shape, sparse_dim, dtype):
    s = drawn(shape, 40, sparse_dim, dtype)
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c and np.array_equal(numbers(c), dense_of(s))
    assert np.array_equal(numbers(s), dense_of(s))
    places = np.ravel_multi_index(tuple(np.asarray(c.indices())), shape[:sparse_dim])
    assert (np.diff(places) > 0).all()
    assert c.values().shape == (c._nnz(), *shape[sparse_dim:])


def test_big_tensors_coalesce_as_scipy_has_it():
    noise = np.random.default_rng(3)
    rows, columns = noise.integers(0, 10**6, 200_000), noise.integers(0, 10**7, 200_000)
    rows[:1000], columns[:1000] = rows[1000:2000], columns[1000:2000]
    values = noise.integers(-9, 9, 200_000).astype(float)
    c = torch.sparse_coo_tensor(
        torch.tensor(np.stack([rows, columns])), torch.tensor(values), (10**6, 10**7)
    ).coalesce()
    other = scipy.sparse.coo_matrix((values, (rows, columns)), (10**6, 10**7)).tocsr().tocoo()
    assert np.array_equal(np.asarray(c.indices()), np.stack([other.row, other.col])) and np.array_equal(
        np.asarray(c.values()), other.data
    )


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_to_sparse_keeps_what_is_not_zero(sparse_dim):
    x = torch.tensor(np.random.default_rng(0).integers(0, 2, (4, 3, 5)) * 1.5)
    x[1] = 0
    s = x.t().contiguous().t().to_sparse(sparse_dim) if x.dim() == 2 else x.to_sparse(sparse_dim)
    assert s.is_coalesced() and s.sparse_dim() == sparse_dim and np.array_equal(numbers(s), np.asarray(x))
    kept = np.asarray(x).reshape(*x.shape[:sparse_dim], -1).any(-1).sum()
    assert s._nnz() == kept
    assert s.to_sparse() is s and torch.tensor(3.0).to_sparse().to_dense().item() == 3.0


def test_the_size_is_as_small_as_the_indices_allow():
    assert torch.sparse_coo_tensor([[0, 4], [1, 0]], [1.0, 2.0]).shape == (5, 2)
    assert torch.sparse_coo_tensor([[0, 4]], [[1.0, 2.0], [3.0, 4.0]]).shape == (5, 2)
    assert torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0)).shape == (0, 0)
    assert torch.sparse_coo_tensor((2, 3))._nnz() == 0 and torch.sparse_coo_tensor(size=(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    "indices, values, size, said",
    [
        ([[0, 5], [0, 0]], [1.0, 2.0], (2, 2), "for dim 0, size is 2 but found index 5 in column 1"),
        ([[0, 0], [0, -1]], [1.0, 2.0], (2, 2), "found negative index -1 for dim 1 in column 1"),
        ([[0, -1], [0, 0]], [1.0, 2.0], None, "found negative index -1 for dim 0"),
        ([[0, 1]], [1.0, 2.0, 3.0], (2,), "nnz from indices: 2, nnz from values: 3"),
        ([[0, 1]], [1.0, 2.0], (2, 2), r"len\(size\) = 2, sparse_dim = 1, dense_dim = 0"),
        ([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 3), r"expected \[3\] behind nnz, got \[2, 2\]"),
        ([0, 1], [1.0, 2.0], (2,), r"sparse_dim x nnz, but got: \[2\]"),
        ([[0, 1]], [1.0, 2.0], (-2,), r"must not be negative, got \(-2,\)"),
        ([[0, 1]], [1.0, 2.0], (2**40, 2**40, 2**40), "len"),
        ([[0], [0]], [1.0], (2**40, 2**40), "64 bits"),
    ],
)
def test_halves_that_do_not_fit_are_refused(indices, values, size, said):
    with pytest.raises(RuntimeError, match=said):
        torch.sparse_coo_tensor(torch.tensor(indices), values, size)


def test_indices_are_integers_and_really_sorted_where_one_says_so():
    with pytest.raises(TypeError, match="integers"):
        torch.sparse_coo_tensor([[0.5]], [1.0], (2,))
    with pytest.raises(RuntimeError, match="columns 0 and 1 are not in ascending order"):
        torch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True)
    assert torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), is_coalesced=True).is_coalesced()


def test_an_index_that_is_changed_later_is_found_before_it_is_used():
    s = drawn((4, 4), 6)
    mat = torch.ones(4, 2, dtype=torch.float64)
    s._indices()[0, 3] = 10**9
    for use in (
        s.coalesce,
        s.to_dense,
        lambda: s @ mat,
        lambda: s.sum(1),
        lambda: mat.sparse_mask(s),
        lambda: s[0],
        lambda: s.index_select(0, torch.tensor([1])),
    ):
        with pytest.raises(RuntimeError, match="1000000000|incompatible"):
            use()
    s._indices()[0, 3] = -5
    with pytest.raises(RuntimeError, match="negative index -5"):
        torch.ones(4, 4, dtype=torch.float64) + s


def test_layout_says_what_is_made():
    for made in (torch.zeros(2, 3, layout=torch.sparse_coo), torch.empty(2, 3, layout=torch.sparse_coo), torch.zeros_like(torch.ones(2, 3), layout=torch.sparse_coo),
                 torch.zeros_like(drawn((2, 3), 2).float()), torch.ones(2).new_zeros((2, 3), layout=torch.sparse_coo)):  # fmt: skip
        assert made.is_sparse and made.shape == (2, 3) and made._nnz() == 0 and made.is_coalesced()
    assert not torch.zeros_like(drawn((2, 3), 2), layout=torch.strided).is_sparse
    assert torch.zeros(2, layout=torch.sparse_coo, dtype=torch.int32, requires_grad=False).dtype == torch.int32
    with pytest.raises(NotImplementedError, match="ones: a tensor of layout Sparse "):
        torch.ones(2, layout=torch.sparse_coo)
    assert torch.zeros(2, 3, layout=torch.sparse_csc).layout == torch.sparse_csc
    with pytest.raises(RuntimeError, match="non-block.*SparseBsr"):
        torch.zeros(2, 2, layout=torch.sparse_bsr)


def test_legacy_constructors():
    i, v = torch.tensor([[0, 1], [2, 0]]), torch.tensor([3.0, 4.0])
    s = torch.sparse.FloatTensor(i, v, torch.Size([2, 3]))
    assert isinstance(s, torch.sparse.FloatTensor) and not isinstance(s, torch.FloatTensor)
    assert not isinstance(v, torch.sparse.FloatTensor) and not isinstance(s, torch.sparse.DoubleTensor)
    assert torch.sparse.FloatTensor(2, 3).shape == (2, 3) and torch.sparse.LongTensor().shape == (0,)
    assert torch.sparse.DoubleTensor(i, v.double()).shape == (2, 3) and s.new(4, 4).is_sparse
    with pytest.raises(TypeError, match="torch.float64"):
        torch.sparse.DoubleTensor(i, v)
    assert torch.sparse.FloatTensor.mm is torch.Tensor.mm and s.toDense().shape == (2, 3)


# --- arithmetic


@pytest.mark.parametrize("sparse_dim", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex128])
def test_sums_and_products(sparse_dim, dtype):
    a, b = drawn((4, 5), 9, sparse_dim, dtype), drawn((4, 5), 12, sparse_dim, dtype, seed=1)
    x, y = numbers(a), numbers(b)
    d = torch.tensor(np.arange(20).reshape(4, 5)).to(dtype)
    e = np.asarray(d)
    for got, want in [
        (a + b, x + y), (a - b, x - y), (torch.add(a, b, alpha=3), x + 3 * y), (a * b, x * y), (a * 3, x * 3), (3 * a, x * 3), (-a, -x), (a * d, x * e), (d * a, x * e),
        (a * d[:1], x * e[:1]), (a * d[:, :1], x * e[:, :1]), (a * d[2], x * e[2]), (a / 2, x / 2), (a.coalesce() + b.coalesce(), x + y),
        (a * torch.tensor(2, dtype=dtype), 2 * x), (a.square(), x * x),
    ]:  # fmt: skip
        assert got.is_sparse and np.array_equal(numbers(got), want)
    for got, want in [(d + a, e + x), (d - a, e - x), (torch.add(d, a, alpha=2), e + 2 * x)]:
        assert not got.is_sparse and np.array_equal(np.asarray(got), want)
    assert np.allclose(numbers(a**3), x**3)
    assert (a.coalesce() + b.coalesce()).is_coalesced()


def test_sums_are_brought_together_before_they_grow_without_end():
    s = drawn((3, 3), 8)
    total = s
    for _ in range(50):
        total = total + s
    assert total._nnz() <= 18 and np.array_equal(numbers(total), 51 * numbers(s))


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_"])
def test_in_place_forms_write_to_self(name):
    for right in (drawn((4, 5), 9, seed=1), drawn((4, 5), 9, seed=1).to_dense()):
        for left in (drawn((4, 5), 9), drawn((4, 5), 9).to_dense(), drawn((5, 4), 9).to_dense().t()):
            if left.is_sparse and not right.is_sparse and name != "mul_":
                continue
            want = {"add_": np.add, "sub_": np.subtract, "mul_": np.multiply}[name](numbers(left), numbers(right))
            alias, version = left.detach(), left._version
            assert getattr(left, name)(right) is left
            assert (
                np.array_equal(numbers(left), want) and np.array_equal(numbers(alias), want) and left._version > version
            )


def test_in_place_scalars_zero_and_copy():
    s = drawn((4, 5), 9)
    x = numbers(s)
    assert np.array_equal(numbers(s.clone().mul_(3)), 3 * x) and np.array_equal(numbers(s.clone().div_(2)), x / 2)
    assert np.array_equal(numbers(s.clone().neg_()), -x) and np.array_equal(numbers(s.clone().abs_()), abs(x))
    t = s.clone()
    assert t.zero_()._nnz() == 0 and t.shape == (4, 5) and s._nnz() == 9
    t.copy_(s)
    t._values()[0] = 99
    assert np.array_equal(numbers(s), x)
    with pytest.raises(RuntimeError, match="result type torch.float64"):
        s.long().mul_(1.5 * torch.ones((), dtype=torch.float64).new_tensor(1.0).double())
    with pytest.raises(RuntimeError, match="between dense and sparse"):
        s.copy_(torch.ones(4, 5))


def test_what_would_be_dense_is_refused():
    s = drawn((2, 3), 3)
    for call in (lambda: s + 1, lambda: s + torch.ones(2, 3), lambda: s - torch.ones(2, 3)):
        with pytest.raises(RuntimeError, match=r"\(sparse, dense\) is not supported. Use (add|sub)\(dense, sparse\)"):
            call()
    with pytest.raises(RuntimeError, match=r"scalar or zero-dim dense tensor divisor \(got shape \[2, 3\]"):
        s / torch.ones(2, 3)
    for call in (
        lambda: s.exp(),
        lambda: s.cos(),
        lambda: s == s,
        lambda: s.view(6),
        lambda: s.fill_(1),
        lambda: s.reshape(6),
        lambda: 2 / s,
        lambda: s**0,
    ):
        with pytest.raises((NotImplementedError, RuntimeError), match="dense"):
            call()
    with pytest.raises(RuntimeError, match=r"\[2, 3\] != \[3, 2\]"):
        s + drawn((3, 2), 2)


UNARY = ["neg", "abs", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "erfinv", "expm1", "log1p", "sign", "sgn", "floor", "ceil", "trunc", "round", "frac", "relu", "square", "deg2rad", "rad2deg"]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_that_keep_zero_work_on_sums(name):
    s = torch.sparse_coo_tensor(
        [[0, 1, 0, 3]], [0.125, 0.25, 0.375, -0.75 if name not in ("sqrt",) else 0.75], (5,), dtype=torch.float64
    )
    want = getattr(s.to_dense(), name)()
    got = getattr(s, name)()
    assert got.is_sparse and np.allclose(numbers(got), np.asarray(want), rtol=1e-15)
    assert np.allclose(numbers(getattr(s.clone(), name + "_")()), np.asarray(want), rtol=1e-15)


def test_questions_about_elements():
    s = torch.sparse_coo_tensor([[0, 1]], [float("nan"), float("inf")], (3,))
    assert s.isnan().to_dense().tolist() == [True, False, False] and s.isinf().to_dense().tolist() == [
        False,
        True,
        False,
    ]
    assert bool(s.any()) and not bool(torch.zeros(2, layout=torch.sparse_coo).any())


# --- memory, copies, text


def test_questions_about_memory_name_the_halves():
    s = drawn((2, 3), 3)
    with pytest.raises(TypeError, match=r"to_dense\(\)"):
        s.numpy()
    with pytest.raises(TypeError, match=r"to_dense\(\)"):
        np.asarray(s)
    with pytest.raises(RuntimeError, match="_values"):
        s.data_ptr()
    with pytest.raises(NotImplementedError, match="_values"):
        s.untyped_storage()
    with pytest.raises(RuntimeError, match="nbytes is not defined for sparse"):
        s.nbytes
    with pytest.raises(BufferError, match="to_dense"):
        s.__dlpack__()
    with pytest.raises(BufferError, match="to_dense"):
        memoryview(s)
    one = torch.sparse_coo_tensor([[0]], [1.0], (1,))
    for ask in (
        s.tolist,
        one.item,
        lambda: float(one),
        lambda: bool(one),
        lambda: torch.ones(3)[one.long()],
        lambda: torch.full((2,), one.squeeze()),
    ):
        with pytest.raises((NotImplementedError, RuntimeError, TypeError), match="dense"):
            ask()
    with pytest.raises(RuntimeError, match="indices expected sparse coordinate tensor layout but got Strided"):
        torch.ones(2).indices()
    with pytest.raises(RuntimeError, match="Cannot get values on an uncoalesced tensor"):
        drawn((2, 2), 5).values()


def test_dtype_device_and_data():
    s = drawn((2, 3), 5)
    assert s.int().dtype == torch.int32 and np.array_equal(numbers(s.int()), numbers(s)) and s.to(torch.float64) is s
    meta = s.to("meta")
    assert meta.is_meta and meta.is_sparse and meta.shape == (2, 3) and "meta" in repr(meta)
    with pytest.raises(NotImplementedError, match="meta"):
        meta.coalesce()
    d = s.detach()
    assert d._values().data_ptr() == s._values().data_ptr() and d.is_sparse
    t = torch.zeros(2, 3, layout=torch.sparse_coo, dtype=torch.float64)
    t.data = s
    assert np.array_equal(numbers(t), numbers(s))


def test_copies_and_pickles():
    s = drawn((4, 5), 6).coalesce()
    for made in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.clone()):
        assert made.is_coalesced() and np.array_equal(numbers(made), numbers(s))
        made._values()[0] = 99
        assert not np.array_equal(numbers(made), numbers(s))
    assert copy.copy(s)._values().data_ptr() == s._values().data_ptr()
    both = copy.deepcopy([s._values(), s])
    both[0].fill_(1)
    assert both[1]._values().eq(1).all()


def test_text():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    assert repr(s) == (
        "tensor(indices=tensor([[0, 1, 1],\n"
        "                       [2, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=torch.sparse_coo)"
    )
    assert repr(torch.zeros(2, 3, dtype=torch.float64, layout=torch.sparse_coo)) == (
        "tensor(indices=tensor([], size=(2, 0)),\n"
        "       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, dtype=torch.float64, layout=torch.sparse_coo)"
    )


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_parts_of_complex_sparse_tensors_are_sparse(dtype):
    z = torch.sparse_coo_tensor([[0, 1, 1], [1, 2, 2]], torch.tensor([1 + 2j, 3, 1j], dtype=dtype), (2, 3))
    dense = z.to_dense()
    for part in ("real", "imag"):
        found = getattr(z, part)
        assert found.layout == torch.sparse_coo and torch.equal(found.to_dense(), getattr(dense, part))
        assert torch.equal(getattr(torch, part)(z.coalesce()).to_dense(), getattr(dense, part))
    x = torch.eye(2).to_sparse()
    assert torch.equal(x.real.to_dense(), torch.eye(2))
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        x.imag
