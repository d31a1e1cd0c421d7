"""Sparse tensors of compressed layouts (CSR, CSC, BSR, BSC), compared with SciPy's and with what dense tensors give."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
import torch

LAYOUTS = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
BLOCKS = {torch.sparse_bsr, torch.sparse_bsc}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.bool, torch.complex128]


def drawn(shape, dtype=torch.float64, seed=0, density=0.4):
    """A dense tensor of small whole numbers, many of them zero."""
    noise = np.random.default_rng(seed)
    numbers = noise.integers(0 if dtype == torch.bool else -4, 5, shape) * (noise.random(shape) < density)
    return torch.tensor(numbers).to(dtype)


def compress(dense, layout, **options):
    return dense.to_sparse(layout=layout, blocksize=(2, 3) if layout in BLOCKS else None, **options)


def indices(t):
    by_rows = t.layout in (torch.sparse_csr, torch.sparse_bsr)
    return (t.crow_indices(), t.col_indices()) if by_rows else (t.ccol_indices(), t.row_indices())


# --- making


def test_a_compressed_tensor_tells_what_it_is():
    s = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))
    assert s.layout == torch.sparse_csr and s.is_sparse_csr and not s.is_sparse and s.dtype == torch.float32
    assert (s.shape, s.dim(), s.numel(), s._nnz(), s.sparse_dim(), s.dense_dim()) == ((2, 3), 2, 6, 3, 2, 0)
    assert s.crow_indices().tolist() == [0, 1, 3] and s.col_indices().tolist() == [2, 0, 2]
    assert s.values().tolist() == [3, 4, 5] and s.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
    assert torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0]).shape == (2, 3)
    assert torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3)).shape == (4, 6)


def test_it_prints_as_pytorch_has_it():
    s = torch.tensor([[0, 1.0, 0, 2], [3, 0, 0, 0]]).to_sparse_csr()
    assert repr(s) == (
        "tensor(crow_indices=tensor([0, 2, 3]),\n       col_indices=tensor([1, 3, 0]),\n"
        "       values=tensor([1., 2., 3.]), size=(2, 4), nnz=3,\n       layout=torch.sparse_csr)"
    )
    assert repr(s.int()).splitlines()[2:] == [
        "       values=tensor([1, 2, 3]), size=(2, 4), nnz=3, dtype=torch.int32,",
        "       layout=torch.sparse_csr)",
    ]
    assert "ccol_indices=tensor([0, 1, 2, 2, 3])" in repr(s.to_sparse_csc())
    assert repr(s.to("meta")).splitlines()[0] == "tensor(crow_indices=tensor(..., size=(3,)),"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_and_back(layout, dtype):
    for shape in ((4, 6), (2, 4, 6), (0, 6), (4, 0)):
        dense = drawn(shape, dtype, density=1) if len(shape) > 2 else drawn(shape, dtype)
        dense = dense + (dense == 0).to(dtype) if len(shape) > 2 else dense
        s = compress(dense, layout)
        assert s.layout == layout and s.shape == dense.shape and torch.equal(s.to_dense(), dense)
        assert torch.equal(s.to_sparse().to_dense(), dense)
        for other in LAYOUTS:
            if s._nnz() or len(shape) == 2:
                assert torch.equal(compress(s, other).to_dense(), dense)


def test_indices_are_those_of_scipy():
    dense = drawn((40, 30), seed=2)
    for layout, make in (
        (torch.sparse_csr, scipy.sparse.csr_matrix),
        (torch.sparse_csc, scipy.sparse.csc_matrix),
        (torch.sparse_bsr, lambda a: scipy.sparse.bsr_matrix(a, blocksize=(2, 3))),
    ):
        s, other = compress(dense, layout), make(dense.numpy())
        starts, places = indices(s)
        other.sort_indices()
        assert np.array_equal(starts, other.indptr) and np.array_equal(places, other.indices)
        assert np.array_equal(s.values(), other.data)


def test_a_matrix_of_scipy_comes_and_goes():
    other = scipy.sparse.random(50, 40, 0.1, "csr", random_state=0)
    s = torch.sparse_csr_tensor(
        torch.from_numpy(other.indptr), torch.from_numpy(other.indices), torch.from_numpy(other.data), other.shape
    )
    assert s.crow_indices().dtype == torch.int32 and np.array_equal(s.to_dense(), other.toarray())
    back = scipy.sparse.csr_matrix((s.values(), s.col_indices(), s.crow_indices()), s.shape)
    assert (back != other).nnz == 0
    assert s.to_sparse_csc().ccol_indices().dtype == torch.int32  # conversions keep the indices' dtype


def test_dims_of_elements_and_of_batches():
    dense = torch.ones(2, 4, 6, 5)
    s = dense.to_sparse_csr(dense_dim=1)
    assert s.shape == dense.shape and s.values().shape == (2, 24, 5) and s.dense_dim() == 1
    assert s.crow_indices().shape == (2, 5) and torch.equal(s.to_dense(), dense)
    with pytest.raises(RuntimeError, match="same number of specified elements per batch"):
        torch.stack([torch.ones(2, 2), torch.zeros(2, 2)]).to_sparse_csr()


# --- what is checked

GOOD = {"compressed": [0, 1, 3], "plain": [2, 0, 2], "values": [3.0, 4.0, 5.0], "size": (2, 3)}
BAD = [
    ({"compressed": [1, 1, 3]}, "`crow_indices[..., 0] == 0` is not satisfied"),
    ({"compressed": [0, 1, 2]}, "`crow_indices[..., -1] == nnz` is not satisfied"),
    ({"compressed": [0, 5, 3]}, "is not satisfied"),
    ({"compressed": [0, -1, 3]}, "is not satisfied"),
    ({"compressed": [0, 2**62, 3]}, "is not satisfied"),
    ({"plain": [2, 0, 3]}, "`0 <= col_indices < ncols` is not satisfied"),
    ({"plain": [2, 0, -1]}, "`0 <= col_indices < ncols` is not satisfied"),
    ({"plain": [2, 0, 2**62]}, "`0 <= col_indices < ncols` is not satisfied"),
    ({"plain": [2, 0]}, "col_indices.shape[-1] must be equal to nnz (=3)"),
    ({"values": [3.0, 4.0]}, "col_indices.shape[-1] must be equal to nnz (=2)"),
    ({"values": 3.0}, "values must have dimensionality >"),
    ({"size": (3, 3)}, "crow_indices.shape[-1] must be equal to the number of rows + 1 (=4), but got 3"),
    ({"size": (2,)}, "tensor dimensionality must be sum of batch, base, and dense dimensionalities"),
    ({"size": (2, 3, 4)}, "tensor dimensionality must be sum of batch, base, and dense dimensionalities"),
    ({"size": (-2, 3)}, "sizes must not be negative"),
    ({"size": (2, 2**63 - 1)}, "does not fit into 64 bits"),
    ({"compressed": [0.0, 1.0, 3.0]}, "must have the same dtype"),
    ({"compressed": [[0, 1, 3]]}, "dimensionalities must be equal"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_what_does_not_fit_is_named_and_nothing_is_made(wrong, said):
    given = GOOD | wrong
    with pytest.raises(RuntimeError) as caught:
        torch.sparse_csr_tensor(given["compressed"], given["plain"], given["values"], given["size"])
    assert said in str(caught.value)


def test_order_within_a_line_is_checked_on_request():
    parts = [0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)
    assert torch.sparse_csr_tensor(*parts).to_dense().tolist() == [[2, 1], [0, 0]]
    for plain in ([1, 0], [1, 1]):
        with pytest.raises(RuntimeError, match="sorted and distinct"):
            torch.sparse_csr_tensor(parts[0], plain, *parts[2:], check_invariants=True)
    switch = torch.sparse.check_sparse_tensor_invariants
    assert not switch.is_enabled()
    with switch(), pytest.raises(RuntimeError, match="sorted and distinct"):
        torch.sparse_csr_tensor(*parts)
    with switch():
        assert switch.is_enabled() and torch.sparse_csr_tensor(*parts, check_invariants=False)._nnz() == 2

    @switch(True)
    def decorated():
        return torch.sparse_csr_tensor(*parts)

    with pytest.raises(RuntimeError, match="sorted and distinct"):
        decorated()
    assert not switch.is_enabled()
    switch.enable()
    assert switch.is_enabled()
    switch.disable()
    assert not switch.is_enabled()
    assert torch.sparse_csr_tensor([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2)).to_dense()[0, 1] == 3  # equal places add up


def test_blocks_must_fit():
    with pytest.raises(RuntimeError, match=r"tensor shape\[0\] \(=5\) must be divisible with blocksize\[0\] \(=2\)"):
        torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2), (5, 4))
    for size, said in (((3, 2), "divisible by given blocksize"), ((0, 2), "needs to be positive"), ((2, 2, 2), "a tuple of size 2"),
                       ((-1, 2), "needs to be positive")):  # fmt: skip
        with pytest.raises(RuntimeError, match=said):
            torch.ones(4, 4).to_sparse_bsr(size)
    with pytest.raises(RuntimeError, match="blocksize must not be given"):
        torch.ones(4, 4).to_sparse(layout=torch.sparse_csr, blocksize=(2, 2))
    with pytest.raises(RuntimeError, match="a blocksize is needed"):
        torch.ones(4, 4).to_sparse(layout=torch.sparse_bsr)
    blocks = torch.ones(4, 4).to_sparse_bsr(2)
    with pytest.raises(RuntimeError, match="blocksize changed"):
        blocks.to_sparse_bsr((1, 1))


def test_indices_that_a_program_changes_are_looked_at_before_they_are_addresses():
    uses = [
        lambda s: s.to_dense(), lambda s: s @ torch.ones(3, 2), lambda s: torch.ones(2, 2) @ s, lambda s: s.to_sparse(),
        lambda s: s.to_sparse_csc(), lambda s: s * torch.ones(2, 3), lambda s: torch.ones(2, 3).sparse_mask(s),
        lambda s: torch.sparse.mm(s, torch.ones(3, 2), "amax"), lambda s: s + torch.ones(2, 3).to_sparse_csr(),
        lambda s: torch.sparse.sampled_addmm(s, torch.ones(2, 2), torch.ones(2, 3)), lambda s: s.sum(0),
        lambda s: s.t() @ torch.ones(2, 2), pickle.dumps and (lambda s: pickle.loads(pickle.dumps(s))),
    ]  # fmt: skip
    for use in uses:
        for part, place, value in (
            ("plain", 0, 10**9),
            ("plain", 1, -3),
            ("compressed", 1, 10**9),
            ("compressed", 1, -1),
        ):
            s = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))
            (s.col_indices() if part == "plain" else s.crow_indices())[place] = value
            with pytest.raises(RuntimeError, match="is not satisfied"):
                use(s)
    s = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))
    s.crow_indices()[1] = 10**9
    with pytest.raises(RuntimeError, match="line 0 of the indices runs from 0 to 1000000000"):
        s[0]


def test_accessors_name_the_layout():
    s = torch.eye(2).to_sparse_csr()
    for name, tensor in (
        ("ccol_indices", s),
        ("row_indices", s),
        ("crow_indices", torch.eye(2)),
        ("col_indices", s.t()),
    ):
        with pytest.raises(RuntimeError, match=f"{name} expected sparse .* compressed tensor layout but got"):
            getattr(tensor, name)()
    for name in ("indices", "is_coalesced", "coalesce"):
        with pytest.raises(RuntimeError, match="expected sparse coordinate tensor layout but got SparseCsr"):
            getattr(s, name)()
    with pytest.raises(TypeError, match="can't convert SparseCsr layout tensor to numpy"):
        s.numpy()
    for use in (lambda: s.data_ptr(), lambda: s.tolist(), lambda: s.untyped_storage(), lambda: torch.ones(2)[s]):
        with pytest.raises((RuntimeError, NotImplementedError)):
            use()
    with pytest.raises(
        NotImplementedError, match="exp: not implemented for tensors of layout torch.sparse_csr.*to_dense"
    ):
        torch.exp(s)


# --- what is done with them


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic_is_that_of_dense_tensors(layout):
    a, b = drawn((4, 6)), drawn((4, 6), seed=1)
    s, t = compress(a, layout), compress(b, layout)
    for made, wanted in (
        (s + t, a + b), (s - t, a - b), (torch.add(s, t, alpha=2), a + 2 * b), (s * t, a * b), (s * 3, a * 3),
        (3 * s, a * 3), (s / 2, a / 2), (s * b, a * b), (b * s, a * b), (s * b[:1], a * b[:1]), (-s, -a), (s.abs(), a.abs()),
        (s.sin(), a.sin()), (s**2, a**2), (s.maximum(t), a.maximum(b)), (s != t, a != b), (s > 1, a > 1),
    ):  # fmt: skip
        assert made.layout == layout and torch.equal(made.to_dense(), wanted)
    for made in (s + b, b + s):
        assert made.layout == torch.strided and torch.equal(made, a + b)
    assert s.sum() == a.sum() and torch.equal(s.sum(0, keepdim=True).to_dense(), a.sum(0, keepdim=True))
    assert s.mean() == a.mean() and s.norm() == a.norm()
    own = s.clone()
    same = own
    own += t
    own *= 2
    own.neg_()
    assert own is same and own.layout == layout and torch.equal(own.to_dense(), -2 * (a + b))
    assert torch.equal(s.to_dense(), a)  # a clone has memory of its own
    dense = b.clone()
    assert dense.add_(s) is dense and torch.equal(dense, a + b)
    with pytest.raises(RuntimeError, match="same size|must broadcast"):
        s + torch.ones(4, 5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pieces_and_order_of_dims(layout):
    a = drawn((4, 6))
    s = compress(a, layout)
    for made, wanted in (
        (s.t(), a.t()), (s.mT, a.mT), (s.T, a.T), (s.transpose(0, 1), a.t()), (s.permute(1, 0), a.t()), (s[1], a[1]),
        (s[-1], a[-1]), (s[:, 2], a[:, 2]), (s.select(1, -1), a[:, -1]), (s[1:3], a[1:3]), (s[::2, 1:], a[::2, 1:]),
        (s[[0, 2]], a[[0, 2]]), (s.index_select(1, torch.tensor([1, 1])), a[:, [1, 1]]), (torch.cat([s, s]), torch.cat([a, a])),
        (s.narrow(0, 1, 2), a[1:3]),
    ):  # fmt: skip
        assert made.layout != torch.strided and torch.equal(made.to_dense(), wanted)
    assert s[1, 2] == a[1, 2] and [row.to_dense().tolist() for row in s] == a.tolist()
    assert s.t().t().layout == layout and s.t().layout != layout
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 4"):
        s[9]
    batch = compress(torch.ones(2, 4, 6), layout)
    assert torch.equal(batch[1].to_dense(), torch.ones(4, 6)) and batch.transpose(1, 2).shape == (2, 6, 4)
    with pytest.raises(RuntimeError, match="dimensions of the same type"):
        batch.transpose(0, 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_dtypes_and_devices(layout):
    a = drawn((4, 6))
    s = compress(a, layout)
    for made in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.clone(), s.detach(), copy.copy(s), s.cpu()):
        assert made.layout == layout and torch.equal(made.to_dense(), a)
    assert s.float().dtype == torch.float32 and s.to(torch.int32).to_dense().tolist() == a.int().tolist()
    meta = s.to("meta")
    assert meta.layout == layout and meta.shape == s.shape and meta.is_meta and (meta * 2).layout == layout
    assert torch.zeros_like(s)._nnz() == 0 and torch.ones_like(s).values().unique().tolist() == [1]
    assert torch.full_like(s, 3).sum() == 3 * s.values().numel() and torch.empty_like(s).layout == layout
    other = compress(a * 2, layout)
    assert other.copy_(s) is other and torch.equal(other.to_dense(), a)
    assert other.zero_()._nnz() == 0 and other.shape == (4, 6)
    with pytest.raises(RuntimeError, match="not implemented"):
        other.copy_(a)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.complex128, torch.int64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_are_those_of_dense_tensors(layout, dtype):
    a, b, c = drawn((4, 6), dtype), drawn((6, 5), dtype, 1), drawn((5, 4), dtype, 2)
    s = compress(a, layout)
    assert torch.equal(s @ b, a @ b) and torch.equal(c @ s, c @ a) and torch.equal(s @ b[:, 0], a @ b[:, 0])
    assert torch.equal(c[0] @ s, c[0] @ a) and torch.equal(torch.sparse.mm(s, b), a @ b)
    assert torch.equal(
        torch.addmm(drawn((4, 5), dtype, 3), s, b, beta=2, alpha=3), 2 * drawn((4, 5), dtype, 3) + 3 * (a @ b)
    )
    assert torch.equal(torch.addmv(a[:, 0], s, b[:, 0]), a[:, 0] + a @ b[:, 0])
    assert torch.equal(torch.nn.functional.linear(b.t(), s), b.t() @ a.t()) if hasattr(torch, "nn") else True
    square = compress(drawn((6, 6), dtype, 4), layout)
    made = s @ square
    assert made.layout == torch.sparse_csr and torch.equal(made.to_dense(), a @ square.to_dense())
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(4x6 and 5x5\)"):
        s @ torch.ones(5, 5, dtype=dtype)
    with pytest.raises(RuntimeError, match="same dtype"):
        s @ b.to(torch.float16)


def test_a_batch_of_matrices_times_a_batch():
    a, b = torch.ones(3, 4, 6, dtype=torch.float64), drawn((3, 6, 2))
    for s in (a.to_sparse_csr(), a.to_sparse_csc()):
        assert torch.equal(torch.bmm(s, b), a @ b) and torch.equal(s @ b, a @ b)


def test_a_product_has_the_same_bits_for_any_number_of_threads():
    s = drawn((500, 400), density=0.05).to_sparse_csr()
    b = torch.linspace(-1, 1, 400 * 33, dtype=torch.float64).view(400, 33)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = s @ b
        torch.set_num_threads(2)
        assert torch.equal(s @ b, alone) and torch.allclose(alone, s.to_dense() @ b)
    finally:
        torch.set_num_threads(before)


def test_reductions_over_the_neighbours():
    a, b = drawn((5, 6), density=0.6), drawn((6, 3), seed=1, density=1)
    a[2] = 0
    s, terms = a.to_sparse_csr(), a.unsqueeze(2) * b
    there = (a != 0).unsqueeze(2)
    for name, wanted in (
        ("sum", a @ b),
        ("mean", (a @ b) / there.sum(1).clamp(min=1)),
        ("amax", terms.masked_fill(~there, -torch.inf).amax(1).nan_to_num(neginf=0)),
        ("amin", terms.masked_fill(~there, torch.inf).amin(1).nan_to_num(posinf=0)),
    ):
        assert torch.equal(torch.sparse.mm(s, b, name), wanted)
    with pytest.raises(RuntimeError, match="reduce must be sum, mean, amax or amin, got 'prod'"):
        torch.sparse.mm(s, b, "prod")
    with pytest.raises(RuntimeError, match="with reduce a CSR matrix"):
        torch.sparse.mm(s.t(), torch.ones(5, 2, dtype=torch.float64), "mean")


def test_a_product_at_given_places():
    a, left, right = drawn((4, 6)), drawn((4, 3), seed=1, density=1), drawn((3, 6), seed=2, density=1)
    s = a.to_sparse_csr()
    made = torch.sparse.sampled_addmm(s, left, right, beta=2, alpha=3)
    assert torch.equal(made.to_dense(), torch.where(a != 0, 2 * a + 3 * (left @ right), 0))
    out = s.clone()
    assert torch.sparse.sampled_addmm(s, left, right, out=out) is out
    batch = torch.ones(2, 4, 6, dtype=torch.float64).to_sparse_csr()
    made = torch.sparse.sampled_addmm(batch, left.expand(2, 4, 3), right.expand(2, 3, 6))
    assert torch.equal(made.to_dense(), 1 + (left @ right).expand(2, 4, 6))
    with pytest.raises(RuntimeError, match=r"self.shape\[-2\] must match mat1.shape\[-2\]"):
        torch.sparse.sampled_addmm(s, left[:2], right)
    with pytest.raises(NotImplementedError, match="expected self of layout torch.sparse_csr, got Sparse"):
        torch.sparse.sampled_addmm(a.to_sparse(), left, right)


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="spsolve: sparse systems are not solved on the CPU"):
        torch.sparse.spsolve(torch.eye(2).to_sparse_csr(), torch.ones(2))
    with pytest.raises(RuntimeError, match="layout must be torch.sparse_csr but got torch.sparse_csc"):
        torch.sparse_csr_tensor([0, 1], [0], [1.0], layout=torch.sparse_csc)
    with pytest.raises(RuntimeError, match="expected sparse compressed tensor layout but got none"):
        torch.sparse_compressed_tensor([0, 1], [0], [1.0])
    with pytest.raises(RuntimeError, match="compressed tensor layout but got Strided"):
        torch.sparse_compressed_tensor([0, 1], [0], [1.0], layout=torch.strided)


def test_diagonals_in_a_layout():
    for layout in (torch.sparse_csr, torch.sparse_csc):
        made = torch.sparse.spdiags(torch.tensor([[1, 2, 3]]), torch.tensor([1]), (3, 3), layout=layout)
        assert made.layout == layout and made.to_dense().tolist() == [[0, 2, 0], [0, 0, 3], [0, 0, 0]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wanted", [torch.sparse_coo, *LAYOUTS])
@pytest.mark.parametrize("shape, dense", [((4, 6), 0), ((4, 6, 2), 1), ((3, 4, 6), 0), ((3, 4, 6, 2), 1)])
def test_nothing_like_a_tensor_in_another_layout_keeps_dims_and_blocks_of_its_values(layout, wanted, shape, dense):
    whole = torch.ones(shape)
    s = compress(whole, layout, dense_dim=dense)
    if wanted in BLOCKS and layout not in BLOCKS:
        with pytest.raises(RuntimeError, match="zeros_like: .* a block has no size here"):
            torch.zeros_like(s, layout=wanted)
        return
    made = torch.zeros_like(s, layout=wanted)
    assert made.layout == wanted and made.shape == s.shape and made._nnz() == 0 and made.dense_dim() == dense
    assert torch.equal(made.to_dense(), torch.zeros(shape))
    if wanted == torch.sparse_coo:
        assert made.sparse_dim() == len(shape) - dense
    else:  # as of a tensor that was made in this layout
        as_made = compress(whole, wanted, dense_dim=dense)
        assert indices(made)[0].shape == indices(as_made)[0].shape
        at = len(shape) - dense - 1
        assert made.values().shape[at:] == as_made.values().shape[at:]


def test_nothing_like_coordinates_in_a_compressed_layout_keeps_the_dims_of_a_value():
    s = torch.ones(4, 6, 2).to_sparse(2)
    made = torch.zeros_like(s, layout=torch.sparse_csc)
    assert made.shape == s.shape and made.dense_dim() == 1 and made.values().shape == (0, 2)
    assert made.ccol_indices().shape == (7,)
    with pytest.raises(RuntimeError, match="zeros_like: .* two or more sparse dims, got 1"):
        torch.zeros_like(torch.ones(4, 6).to_sparse(1), layout=torch.sparse_csr)
