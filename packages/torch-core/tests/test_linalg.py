"""Linear algebra against NumPy and SciPy, for every dtype, batches, layouts and sizes down to 0."""

import math

import numpy as np
import pytest
import torch

L = torch.linalg
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
ids = [str(d)[6:] for d in DTYPES]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=ids)


def numbers(*shape, dtype=torch.float64, seed=0):
    noise = np.random.default_rng(seed)
    a = noise.normal(size=shape)
    if dtype.is_complex:
        a = a + 1j * noise.normal(size=shape)
    return a.astype(str(dtype)[6:])


def regular(*shape, dtype=torch.float64, seed=0):
    return (numbers(*shape, dtype=dtype, seed=seed) + 3 * np.eye(shape[-2], shape[-1])).astype(str(dtype)[6:])


def positive(*shape, dtype=torch.float64, seed=0):
    a = numbers(*shape, dtype=dtype, seed=seed)
    return (a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(a.dtype)


def close(got, want):
    got = got.numpy() if isinstance(got, torch.Tensor) else got
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype, got.shape, want.shape)
    tolerance = 2e-4 if got.dtype in (np.float32, np.complex64) else 1e-10
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def layouts(a):
    """The same matrices row by row, column by column, with gaps and backwards."""
    t = torch.tensor(a)
    gaps = torch.zeros(*a.shape[:-1], 2 * a.shape[-1], dtype=t.dtype)
    gaps[..., ::2] = t
    return [t, t.mT.contiguous().mT, gaps[..., ::2], torch.from_numpy(a[..., ::-1, :].copy()).flip(-2)]


# --- LU and what it gives


@each_dtype
def test_inverse_and_determinants_are_numpys_in_any_layout(dtype):
    a = regular(2, 3, 4, 4, dtype=dtype)
    sign, logarithm = np.linalg.slogdet(a)
    for t in layouts(a):
        close(L.inv(t), np.linalg.inv(a))
        close(t.inverse(), np.linalg.inv(a))
        close(L.det(t), np.linalg.det(a))
        close(t.slogdet()[0], sign)
        close(t.slogdet().logabsdet, logarithm)


@each_dtype
def test_solve_broadcasts_and_takes_vectors_and_the_right_side(dtype):
    a, b = regular(2, 1, 3, 3, dtype=dtype), numbers(4, 3, 2, dtype=dtype, seed=1)
    close(L.solve(torch.tensor(a), torch.tensor(b)), np.linalg.solve(a, b))
    right = L.solve(torch.tensor(a), torch.tensor(b).mT, left=False)
    close(right, np.linalg.solve(a.swapaxes(-1, -2), b).swapaxes(-1, -2))
    close(L.solve(torch.tensor(a[0, 0]), torch.tensor(b[0, :, 0])), np.linalg.solve(a[0, 0], b[0, :, 0]))
    vectors = numbers(2, 1, 3, dtype=dtype)
    close(L.solve(torch.tensor(a), torch.tensor(vectors)), np.linalg.solve(a, vectors[..., None])[..., 0])


@each_dtype
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 3), (20, 20), (12, 15), (40, 10)])
def test_lu_multiplies_back_and_swaps_as_lapack_does(dtype, shape):
    scipy = pytest.importorskip("scipy.linalg")
    a = numbers(*shape, dtype=dtype)
    p, l, u = L.lu(torch.tensor(a))
    close(p @ l @ u, a)
    factors, pivots = L.lu_factor(torch.tensor(a))
    assert pivots.dtype == torch.int32
    if len(shape) == 2 and shape[0] == shape[1]:
        want, swaps = scipy.lu_factor(a)
        close(factors, want)
        assert (pivots.numpy() == swaps + 1).all()
    for one, two in zip(torch.lu_unpack(factors, pivots), (p, l, u)):
        close(one, two)
    assert [t.numel() for t in torch.lu_unpack(factors, pivots, unpack_data=False)][1:] == [0, 0]


@each_dtype
def test_lu_solve_solves_with_the_matrix_and_its_adjoint_on_either_side(dtype):
    a, b = regular(2, 3, 3, dtype=dtype), numbers(2, 3, 4, dtype=dtype, seed=1)
    factored, t = L.lu_factor(torch.tensor(a)), torch.tensor(b)
    close(L.lu_solve(*factored, t), np.linalg.solve(a, b))
    close(torch.lu_solve(t, *factored), np.linalg.solve(a, b))
    ah = a.conj().swapaxes(-1, -2)
    close(L.lu_solve(*factored, t, adjoint=True), np.linalg.solve(ah, b))
    close(L.lu_solve(*factored, t.mT, left=False) @ torch.tensor(a), b.swapaxes(-1, -2))


def test_singular_matrices_are_named_or_told_in_info():
    a = torch.eye(3).repeat(2, 2, 1, 1)
    a[1, 0, 2, 2] = 0
    with pytest.raises(L.LinAlgError, match=r"linalg.inv: \(Batch element \(1, 0\)\): .* U\[2, 2\] .* is zero"):
        L.inv(a)
    with pytest.raises(RuntimeError, match="linalg.solve: .* singular"):
        L.solve(a, torch.ones(3, 1))
    inverse, info = L.inv_ex(a)
    assert info.tolist() == [[0, 0], [3, 0]] and (inverse[0] == a[0]).all()
    assert inverse[1, 0].isnan().all() and (inverse[1, 1] == a[1, 1]).all()
    assert L.lu_factor_ex(a).info.tolist() == L.solve_ex(a, torch.ones(3, 1)).info.tolist() == [[0, 0], [3, 0]]
    assert not L.solve_ex(a, torch.ones(3, 1))[0][1, 0].isfinite().all()
    with pytest.raises(L.LinAlgError, match="lu_factor"):
        L.lu_factor_ex(a, check_errors=True)
    assert L.det(a).tolist() == [[1, 1], [0, 1]] and L.slogdet(a)[1][1, 0] == -float("inf")
    assert torch.logdet(-torch.eye(3)).isnan() and torch.logdet(torch.eye(3)) == 0


@pytest.mark.parametrize("n", [3, 12, 13, 40])
def test_small_matrices_and_big_ones_are_factored_alike(n):
    a = regular(2, n, n, dtype=torch.complex128)
    a[1, 1] = a[1, 0]  # U ends in zero, or about
    assert L.lu_factor_ex(torch.zeros(n, n)).info == 1 and L.det(torch.zeros(n, n)) == 0
    close(L.inv(torch.tensor(a[0])), np.linalg.inv(a[0]))
    close(L.det(torch.tensor(a)) / np.linalg.det(a[0]), np.linalg.det(a) / np.linalg.det(a[0]))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty_matrices_and_batches(shape):
    a = torch.ones(shape)
    assert L.inv(a).shape == shape and (L.det(a) == 1).all() and L.det(a).shape == shape[:-2]
    assert L.cholesky(a).shape == shape and L.solve(a, torch.ones(*shape[:-1], 2)).shape == (*shape[:-1], 2)
    assert [t.shape for t in L.lu(a)] == [shape] * 3 and L.solve_triangular(a, a, upper=True).shape == shape


def test_meta_tensors_tell_shapes():
    a, b = torch.ones(5, 4, 4, device="meta"), torch.ones(4, 2, device="meta")
    assert L.inv(a).shape == (5, 4, 4) and L.det(a).shape == (5,) and L.solve(a, b).shape == (5, 4, 2)
    assert [t.shape for t in L.lu_factor(a)] == [(5, 4, 4), (5, 4)] and L.cholesky(a).shape == (5, 4, 4)


def test_results_are_written_to_out():
    a = torch.tensor(regular(3, 3))
    out, want = torch.empty(3, 3, dtype=torch.float64), L.inv(a)
    assert L.inv(a, out=out) is out and (out == want).all()
    assert L.inv(a, out=a) is a and (a == want).all()
    factors, pivots = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.int32)
    L.lu_factor(want, out=(factors, pivots))
    close(L.lu_solve(factors, pivots, torch.eye(3, dtype=torch.float64)), L.inv(want))
    triangle = torch.empty(3, 3, dtype=torch.float64)
    L.cholesky(a.mT @ a, out=triangle)
    close(triangle @ triangle.mT, a.mT @ a)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: L.inv(torch.ones(2, 2, dtype=torch.int64)), "linalg.inv: Expected a floating point or complex tensor"),
        (lambda: L.inv(torch.ones(2, 2).half()), "linalg.inv: Low precision dtypes not supported. Got .*float16"),
        (lambda: L.det(torch.ones(2, 3)), "linalg.det: A must be batches of square matrices, but they are 2 by 3"),
        (lambda: L.cholesky(torch.ones(2)), r"linalg.cholesky: .* at least 2 dimensions, got shape \(2,\)"),
        (lambda: L.solve(torch.eye(3), torch.ones(4, 1)), r"linalg.solve: Incompatible shapes .* AX = B.*\(3, 3\).*\(4, 1\)"),
        (lambda: L.solve(torch.eye(3), torch.ones(3, 1).double()), "same dtype.*float32.*float64"),
        (lambda: L.solve_triangular(torch.eye(3), torch.ones(3, 1), upper=True, left=False), "XA = B"),
        (lambda: L.lu_factor(torch.eye(3), pivot=False), "without pivoting"),
        (lambda: torch.lu_unpack(torch.eye(3), torch.ones(3)), "LU_pivots .* torch.int32"),
        (lambda: torch.lu_unpack(torch.eye(3), torch.full((3,), 9, dtype=torch.int32)), "between 1 and 3.* got 9"),
        (lambda: L.lu_solve(torch.eye(3), torch.ones(2).int(), torch.ones(3, 1)), "Number of pivots"),
        (lambda: L.cholesky(-torch.eye(3)), "linalg.cholesky: the leading minor of order 1 is not positive"),
    ],
)  # fmt: skip
def test_errors_name_operator_and_operands(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


# --- triangles and Cholesky


@each_dtype
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_in_any_layout_and_on_either_side(dtype, upper, unit):
    a, b = regular(2, 4, 4, dtype=dtype), numbers(2, 4, 3, dtype=dtype, seed=1)
    triangle = np.triu(a, int(unit)) if upper else np.tril(a, -int(unit))
    triangle = (triangle + unit * np.eye(4)).astype(a.dtype)
    want = np.linalg.solve(triangle, b)
    for t in layouts(a):
        for r in layouts(b):
            close(L.solve_triangular(t, r, upper=upper, unitriangular=unit), want)
    other = L.solve_triangular(torch.tensor(a), torch.tensor(b).mT, upper=upper, left=False, unitriangular=unit)
    close(other @ torch.tensor(triangle), b.swapaxes(-1, -2))
    close(torch.triangular_solve(torch.tensor(b), torch.tensor(a), upper, False, unit)[0], want)


@each_dtype
def test_cholesky_factors_solve_and_invert(dtype):
    a, b = positive(2, 4, 4, dtype=dtype), numbers(2, 4, 3, dtype=dtype, seed=1)
    for t in layouts(a):
        close(L.cholesky(t), np.linalg.cholesky(a))
    for upper in (False, True):
        factor = torch.tensor(a).cholesky(upper)
        close(factor.mH @ factor if upper else factor @ factor.mH, a)
        close(torch.cholesky_solve(torch.tensor(b), factor, upper), np.linalg.solve(a, b))
        close(torch.cholesky_inverse(factor, upper), np.linalg.inv(a))
    a[1, 2, 2] = -1
    assert L.cholesky_ex(torch.tensor(a)).info.tolist() == [0, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_cholesky_stops_at_a_pivot_that_is_not_a_number(dtype):
    a = torch.eye(40, dtype=dtype).repeat(3, 1, 1)
    a[1, 36, 36] = torch.nan
    a[2, 4, 2] = a[2, 2, 4] = torch.inf  # the pivot of row 4 is inf - inf
    assert L.cholesky_ex(a).info.tolist() == [0, 37, 5]
    with pytest.raises(
        torch.linalg.LinAlgError, match=r"\(Batch element 1\): the leading minor of order 37 is not positive"
    ):
        L.cholesky(a)


def test_names_of_2018():
    a, b = torch.tensor(regular(2, 3, 3)), torch.tensor(numbers(2, 3, 2))
    x, factors = torch.gesv(b[0], a[0])
    close(x, L.solve(a, b)[0])
    close(factors, L.lu_factor(a[0])[0])
    factored = torch.btrifact(a)
    close(torch.btrisolve(b, *factored), L.solve(a, b))
    close(b[..., 0].btrisolve(*factored), L.solve(a, b)[..., 0])
    p, l, u = torch.btriunpack(*factored)
    close(p @ l @ u, a)
    info = torch.IntTensor()
    a.btrifact(info=info)
    assert info.tolist() == [0, 0] == a.btrifact_with_info()[2].tolist()
    s = a[0] @ a[0].t()
    u = torch.potrf(s)
    close(u.t() @ u, s)
    close(torch.potri(u), L.inv(s))
    close(torch.potrs(b[0], u), L.solve(s, b[0]))
    close(torch.trtrs(b[0], u)[0], L.solve(u, b[0]))


def test_one_matrix_and_the_same_in_a_batch_give_the_same_bits_for_any_number_of_threads():
    a, before = torch.tensor(regular(300, 20, 20)), torch.get_num_threads()
    want = L.inv(a)
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            assert (L.inv(a) == want).all()
    finally:
        torch.set_num_threads(before)
    assert (L.inv(a[7]) == want[7]).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)])
def test_norms_of_matrices_without_elements_are_zero(shape):
    x = torch.ones(shape)
    for order in (1, 2, math.inf, "fro", "nuc"):
        norms = torch.linalg.matrix_norm(x, order)
        assert norms.shape == shape[:-2] and not norms.any()
        assert torch.linalg.matrix_norm(x, order, keepdim=True).shape == (*shape[:-2], 1, 1)
    with pytest.raises(IndexError, match=r"order -2 of a matrix without elements, got shape"):
        torch.linalg.matrix_norm(x, -2)


@pytest.mark.parametrize("order", [2, "fro", "nuc"])
def test_a_vector_has_no_matrix_norm(order):
    with pytest.raises(RuntimeError, match=r"linalg.matrix_norm: .* at least 2 dimensions, got shape \(3,\)"):
        torch.linalg.matrix_norm(torch.ones(3), order)
