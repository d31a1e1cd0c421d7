"""Orthogonal and spectral factorizations, least squares, norms and functions of matrices against NumPy and SciPy."""

import math

import numpy as np
import pytest
import torch

L = torch.linalg
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=[str(d)[6:] for d in DTYPES])
each_shape = pytest.mark.parametrize(
    "shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0), (2, 0, 0), (0, 3, 3)], ids=str
)


def matrices(*shape, dtype=torch.float64, seed=0):
    noise = np.random.default_rng(seed)
    a = noise.normal(size=shape)
    if dtype.is_complex:
        a = a + 1j * noise.normal(size=shape)
    return torch.tensor(a.astype(str(dtype)[6:]))


def close(got, want, tolerance=None):
    got, want = np.asarray(got), np.asarray(want)
    single = got.dtype in (np.float32, np.complex64)
    tolerance = tolerance or (2e-3 if single else 1e-9)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def unitary(q):
    close(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


# --- QR


@each_dtype
@each_shape
def test_qr_multiplies_back_in_every_mode(dtype, shape):
    a = matrices(*shape, dtype=dtype)
    for mode, columns in (("reduced", min(shape[-2:])), ("complete", shape[-2])):
        q, r = L.qr(a, mode)
        assert q.shape == (*shape[:-1], columns) and r.shape == (*shape[:-2], columns, shape[-1])
        close(q @ r, a)
        unitary(q)
        close(r, r.triu())
    q, r = L.qr(a, mode="r")
    assert q.shape == (0,)
    close(r, L.qr(a).R)


@each_dtype
@each_shape
def test_reflections_multiply_to_q_and_are_applied_on_either_side(dtype, shape):
    a = matrices(*shape, dtype=dtype)
    f, tau = torch.geqrf(a)
    if shape[-2] >= shape[-1]:
        close(torch.orgqr(f, tau), L.qr(a).Q)
        close(L.householder_product(f, tau), L.qr(a).Q)
    q, c = L.qr(a, mode="complete").Q, matrices(*shape[:-1], 2, dtype=dtype, seed=1)
    close(torch.ormqr(f, tau, c), q @ c)
    close(f.ormqr(tau, c, transpose=True), q.mH @ c)
    close(torch.ormqr(f, tau, c.mT, left=False), c.mT @ q)
    close(torch.ormqr(f, tau, c.mT, left=False, transpose=True), c.mT @ q.mH)


# --- singular values and eigenvalues


@each_dtype
@each_shape
def test_svd_multiplies_back_with_values_in_descending_order(dtype, shape):
    a = matrices(*shape, dtype=dtype)
    u, s, vh = L.svd(a, full_matrices=False)
    close((u * s.unsqueeze(-2)) @ vh, a)
    close(s, np.linalg.svd(a.numpy(), compute_uv=False))
    close(L.svdvals(a), s)
    u, s, vh = L.svd(a)
    unitary(u)
    unitary(vh)
    u, s, v = a.svd()
    close((u * s.unsqueeze(-2)) @ v.mH, a)
    u, s, v = torch.svd(a, compute_uv=False)
    assert u.shape == (*shape[:-1], shape[-2]) and not u.any() and v.shape == (*shape[:-2], shape[-1], shape[-1])


@each_dtype
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (0, 0), (0, 2, 2)], ids=str)
def test_eigenvalues_and_vectors(dtype, shape):
    a = matrices(*shape, dtype=dtype)
    h = a + a.mH
    values, v = L.eigh(h)
    close((v * values.unsqueeze(-2)) @ v.mH, h)
    unitary(v)
    close(values, np.linalg.eigvalsh(h.numpy()))
    close(L.eigvalsh(h.triu(), "U"), values)
    close(L.eigvalsh(h.tril(), "l"), values)
    values, v = L.eig(a)
    close(a.to(v.dtype) @ v, v * values.unsqueeze(-2))
    close(L.eigvals(a), values)
    close(v.abs().square().sum(-2), np.ones(shape[:-1]))


def test_eig_and_symeig_of_2018():
    a = torch.tensor([[0.0, -2.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 3.0]], dtype=torch.float64)
    values, v = torch.eig(a, eigenvectors=True)
    assert values.shape == (3, 2) and v.shape == (3, 3) and a.eig()[1].numel() == 0
    first = 0 if values[0, 1] else 1  # of 2i and -2i, whose vectors are conjugate
    close(values[first : first + 2], [[0, 2], [0, -2]])
    pair = torch.complex(v[:, first], v[:, first + 1])
    close(a.to(pair.dtype) @ pair, 2j * pair)
    s = a + a.t()
    values, v = torch.symeig(s, eigenvectors=True)
    close((v * values) @ v.t(), s)
    assert torch.symeig(s)[1].numel() == 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_matrices_that_are_not_finite_are_refused(bad):
    a = torch.eye(3).repeat(2, 1, 1)
    a[1, 0, 1] = bad
    for call in (L.svd, L.svdvals, L.eigh, L.pinv, lambda a: L.lstsq(a, a)):
        with pytest.raises(L.LinAlgError, match="linalg.*: .* non-finite values"):
            call(a)
    for call in (L.eig, L.eigvals):
        with pytest.raises(RuntimeError, match="linalg.*: .* infs or NaNs"):
            call(a)


# --- least squares, pseudoinverse, rank


@each_dtype
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss", None])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)], ids=str)
def test_least_squares_are_numpys_with_every_driver(dtype, driver, shape):
    a, b = matrices(2, *shape, dtype=dtype), matrices(2, shape[0], 2, dtype=dtype, seed=1)
    found = L.lstsq(a, b, driver=driver)
    for i in range(2):
        x, residuals, rank, values = np.linalg.lstsq(a[i].numpy(), b[i].numpy(), rcond=None)
        close(found.solution[i], x)
        if driver in ("gels", "gelsd", "gelss"):
            close(found.residuals[i] if found.residuals.numel() else found.residuals, residuals)
        if driver != "gels":
            assert found.rank[i] == rank
        if driver in ("gelsd", "gelss"):
            close(found.singular_values[i], values)
    close(L.lstsq(a[0], b[0, :, 0], driver=driver)[0], found.solution[0, :, 0])


def test_gels_of_2018_has_the_residuals_below_the_solution():
    a, b = matrices(5, 3), matrices(5, 2, seed=1)
    x, _ = torch.gels(b, a)
    want, residuals, _, _ = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)
    close(x[:3], want)
    close(x[3:].square().sum(0), residuals)


@each_dtype
@each_shape
def test_pseudoinverse_and_rank_are_numpys(dtype, shape):
    a = matrices(*shape, dtype=dtype)
    close(L.pinv(a), np.linalg.pinv(a.numpy()))
    close(a.pinverse(), np.linalg.pinv(a.numpy()))
    if a.numel():
        assert (L.matrix_rank(a).numpy() == np.linalg.matrix_rank(a.numpy())).all()
        thin = a[..., :1] @ a[..., :1, :]
        assert (L.matrix_rank(thin) == 1).all()
        close(L.pinv(thin, rtol=1e-4), np.linalg.pinv(thin.numpy(), 1e-4))


def test_thresholds_of_rank_and_pseudoinverse_are_numbers_or_tensors():
    a = torch.diag(torch.tensor([4.0, 1.0, 0.1])).repeat(2, 1, 1)
    assert L.matrix_rank(a).tolist() == [3, 3] and L.matrix_rank(a, 0.5).tolist() == [2, 2]
    assert L.matrix_rank(a, atol=torch.tensor([0.5, 2.0])).tolist() == [2, 1]
    assert L.matrix_rank(a, rtol=0.5, hermitian=True).tolist() == [1, 1]
    close(L.pinv(a, rtol=0.2)[0], np.diag([0.25, 1, 0]))
    close(L.pinv(a, 0.2)[0], np.diag([0.25, 1, 0]))
    close(L.pinv(a, atol=0.5, hermitian=True)[0], np.diag([0.25, 1, 0]))


# --- norms

ORDERS = ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]


@each_dtype
@pytest.mark.parametrize("ord", ORDERS)
def test_norms_of_matrices_over_any_dims(dtype, ord):
    a = matrices(3, 5, 2, dtype=dtype)
    for dim in ((0, 1), (1, 0), (-1, 0), (1, 2)):
        for keepdim in (False, True):
            want = np.linalg.norm(a.numpy(), ord, dim, keepdim)
            close(L.matrix_norm(a, ord, dim, keepdim), want)
            close(L.norm(a, ord, dim, keepdim), want)
    close(L.norm(a[0], ord), np.linalg.norm(a[0].numpy(), ord))
    square = matrices(2, 3, 3, dtype=dtype)
    close(L.cond(square, ord), np.linalg.cond(square.numpy(), ord))


def test_norms_by_other_names_and_without_order():
    a = matrices(3, 4)
    values = np.linalg.svd(a.numpy(), compute_uv=False).sum()
    for nuclear in (
        torch.norm(a, "nuc"),
        a.norm("nuc", dim=(0, 1)),
        torch.nuclear_norm(a),
        torch.nuclear_norm(a, (0, 1)),
    ):
        close(nuclear, values)
    close(torch.frobenius_norm(a, 1), np.linalg.norm(a.numpy(), axis=1))
    close(L.norm(a), np.linalg.norm(a.numpy()))
    close(L.norm(matrices(2, 3, 4)), np.linalg.norm(matrices(2, 3, 4).numpy()))
    close(L.vector_norm(x=a, ord=3), np.linalg.norm(a.numpy().ravel(), 3))
    broken = torch.stack(
        [torch.tensor([[1.0, float("inf")], [0.0, 1.0]]), 2 * torch.eye(2), torch.full((2, 2), float("nan"))]
    )
    for ord, good in ((None, 1.0), (2, 1.0), (-2, 1.0), ("nuc", 4.0)):
        found = L.cond(broken, ord)
        assert found.isnan().tolist() == [True, False, True] and abs(found[1] - good) < 1e-5
    assert L.cond(torch.zeros(2, 2), 1) == L.cond(torch.zeros(2, 2), "nuc") == float("inf")
    assert L.matrix_norm(a.float(), dtype=torch.float64).dtype == torch.float64


# --- functions of matrices


@each_dtype
def test_the_exponential_is_scipys_at_any_scale(dtype):
    expm = pytest.importorskip("scipy.linalg").expm
    a = matrices(4, 4, dtype=dtype)
    batch = torch.stack([a * scale for scale in (0, 1e-3, 0.3, 3, 20)])
    for one, exponential in zip(batch, L.matrix_exp(batch)):
        want = expm(one.numpy())
        assert (
            np.abs(exponential.numpy() - want).max()
            < (2e-4 if one.real.dtype == torch.float32 else 1e-12) * np.abs(want).max()
        )
    close(torch.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]])), [[1, 1], [0, 1]])
    assert L.matrix_exp(torch.zeros(0, 3, 3)).shape == (0, 3, 3)
    one, other = L.matrix_exp(torch.tensor([[[0.0, math.inf], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]))
    assert one.isnan().all() and other.tolist() == [[1.0, 1.0], [0.0, 1.0]]


@each_dtype
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7])
def test_powers_of_matrices(dtype, n):
    a = matrices(2, 3, 3, dtype=dtype)
    close(a.matrix_power(n), np.linalg.matrix_power(a.numpy(), n))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16, torch.bfloat16])
def test_powers_of_any_dtype_are_products(dtype):
    a = torch.tensor([[1, 1], [0, 1]], dtype=dtype)
    power = a.matrix_power(5)
    assert power.dtype == dtype and power.tolist() == [[1, 5], [0, 1]]
    with pytest.raises(RuntimeError, match="matrix_power: (Expected a floating point|Low precision dtypes)"):
        a.matrix_power(-1)
    with pytest.raises(RuntimeError, match=r"must have at least 2 dimensions, got shape \(2,\)"):
        a[0].matrix_power(2)


@each_dtype
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_solves_what_is_not_definite(dtype, hermitian):
    a, b = matrices(2, 5, 5, dtype=dtype), matrices(2, 5, 2, dtype=dtype, seed=1)
    a = a + (a.mH if hermitian else a.mT)
    ld, pivots = L.ldl_factor(a, hermitian=hermitian)
    close(a @ L.ldl_solve(ld, pivots, b, hermitian=hermitian), b)
    assert L.ldl_factor_ex(torch.zeros(2, 2)).info == 1
    with pytest.raises(L.LinAlgError, match=r"linalg.ldl_factor: .* D\[0, 0\]"):
        L.ldl_factor(torch.zeros(2, 2))


@each_dtype
@pytest.mark.parametrize("upper", [False, True])
def test_pivoted_cholesky_orders_rows_and_columns(dtype, upper):
    a = matrices(4, 4, dtype=dtype)
    a = a @ a.mH
    u, order = torch.pstrf(a, upper)
    p = order.long()
    close(u.mH @ u if upper else u @ u.mH, a[p][:, p])
    thin = a[:, :2] @ a[:, :2].mH  # of rank 2
    u, order = thin.pstrf(tol=1e-3)
    p = order.long()
    close(u.mH @ u, thin[p][:, p], 1e-2)
    assert not u[2:].any()


def test_tensors_as_matrices():
    a = matrices(4, 6, 8, 3)
    close(L.tensorinv(a), np.linalg.tensorinv(a.numpy()))
    a, b = matrices(2, 3, 6), matrices(2, 3, seed=1)
    close(L.tensorsolve(a, b), np.linalg.tensorsolve(a.numpy(), b.numpy()))
    a = matrices(2, 6, 3)
    close(L.tensorsolve(a, b, dims=(1,)), np.linalg.tensorsolve(a.numpy(), b.numpy(), axes=(1,)))
    close(L.vander(torch.tensor([2, 3]), N=4), [[1, 2, 4, 8], [1, 3, 9, 27]])
    close(L.diagonal(matrices(2, 3, 3)), np.diagonal(matrices(2, 3, 3).numpy(), axis1=-2, axis2=-1))


def test_meta_tensors_tell_shapes():
    a = torch.ones(5, 4, 3, device="meta")
    assert [t.shape for t in L.svd(a)] == [(5, 4, 4), (5, 3), (5, 3, 3)] and L.pinv(a).shape == (5, 3, 4)
    assert [t.shape for t in L.qr(a)] == [(5, 4, 3), (5, 3, 3)] and L.matrix_norm(a, 2).shape == (5,)
    s = torch.ones(5, 4, 4, device="meta")
    assert L.eigvals(s).dtype == torch.complex64 and L.eigvalsh(s).shape == (5, 4) and L.matrix_exp(s).shape == s.shape
    assert L.lstsq(a, s)[0].shape == (5, 3, 4) and L.ldl_factor(s)[1].shape == (5, 4)


def test_results_are_written_to_out():
    a = matrices(3, 3)
    q, r = torch.empty(3, 3, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    L.qr(a, out=(q, r))
    close(q @ r, a)
    values = torch.empty(3, dtype=torch.float64)
    assert L.svdvals(a, out=values) is values
    close(values, L.svd(a).S)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: L.qr(torch.ones(2, 2), mode="full"), "unrecognized mode 'full'"),
        (lambda: L.eigh(torch.ones(2, 2), "X"), "UPLO argument to be 'L' or 'U', but got X"),
        (lambda: L.svd(torch.ones(2, 2), driver="gesvd"), "driver.* only supported on CUDA.* 'gesvd'"),
        (lambda: L.matrix_norm(torch.ones(2, 2), 3), "linalg.matrix_norm: Order 3 not supported"),
        (lambda: L.matrix_norm(torch.ones(2, 2), "max"), "Order max not supported"),
        (lambda: L.matrix_norm(torch.ones(2, 2), "fro", (1, -1)), r"dims must be different. Got \(1, -1\)"),
        (lambda: L.norm(torch.ones(2, 2, 2), 2), "must be 1D or 2D. Got 3D"),
        (lambda: L.norm(torch.ones(2), "fro"), "'fro' is a norm of matrices"),
        (lambda: torch.norm(torch.ones(2, 2), "max"), "'fro' and 'nuc', got 'max'"),
        (lambda: L.lstsq(torch.ones(3, 2), torch.ones(2, 1)), r"should match other.size\(-2\).*\(3, 2\).*\(2, 1\)"),
        (lambda: L.lstsq(torch.ones(3, 2), torch.ones(3, 1), driver="qr"), "gels, gelsy, gelsd, gelss.* got 'qr'"),
        (lambda: L.householder_product(torch.ones(2, 3), torch.ones(2)), "greater than or equal"),
        (lambda: torch.ormqr(torch.ones(3, 2), torch.ones(2), torch.ones(2, 2)), r"ormqr: .*equal"),
        (lambda: L.matrix_power(torch.ones(2, 3), 2), "square matrices, but they are 2 by 3"),
        (lambda: L.tensorinv(torch.ones(2, 3), 1), r"prod\(self.shape\[ind:\]\).* 3 != 2"),
        (lambda: L.tensorsolve(torch.ones(2, 3), torch.ones(2)), "3 != 2"),
        (lambda: torch.eig(torch.ones(2, 2, 2)), r"eig: expected a matrix \(2-d\)"),
        (lambda: L.ldl_solve(torch.eye(2), torch.tensor([1, 5]), torch.ones(2, 1)), "between 1 and 2.* got 5"),
        (lambda: L.pinv(torch.ones(2, 2, dtype=torch.int64)), "linalg.pinv: Expected a floating point or complex"),
    ],
)  # fmt: skip
def test_errors_name_operator_and_operands(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()
