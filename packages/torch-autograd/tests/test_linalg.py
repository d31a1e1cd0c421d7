"""Derivatives of linear algebra, first and second order, real and complex, against finite differences.

Each function is one of free matrices: it makes the symmetric, triangular or well-conditioned ones that operators ask for, and
looks at results through what their gauge leaves: the moduli of eigenvectors, products that signs and phases drop out of.
"""

import pytest
import torch
from operator_samples import Source
from torch.autograd import gradcheck, gradgradcheck

L = torch.linalg


def hermitian(a):
    return a + a.mH


def positive(a):
    return a @ a.mH + torch.eye(a.shape[-1], dtype=a.dtype)


def regular(a):
    return a + 3 * torch.eye(a.shape[-2], a.shape[-1], dtype=a.dtype)


def lower(a):
    return regular(a).tril()


def upper(a):
    return regular(a).triu()


def lu_solve(a, b, **how):
    return L.lu_solve(*L.lu_factor(regular(a)), b, **how)


# what is differentiated: (function of tensors, their shapes)
CASES = {
    "inv": (lambda a: L.inv(regular(a)), [(2, 3, 3)]),
    "det": (lambda a: L.det(regular(a)), [(2, 3, 3)]),
    "slogdet": (lambda a: tuple(L.slogdet(regular(a))), [(2, 3, 3)]),
    "slogdet, as many as rows": (lambda a: tuple(L.slogdet(regular(a))), [(3, 3, 3)]),
    "logdet, as many as rows": (lambda a: torch.logdet(regular(a) @ regular(a).mT), [(3, 3, 3)]),
    "logdet": (lambda a: torch.logdet(positive(a)), [(2, 3, 3)]),
    "solve": (lambda a, b: L.solve(regular(a), b), [(2, 3, 3), (2, 3, 2)]),
    "solve of vectors": (lambda a, b: L.solve(regular(a), b), [(2, 3, 3), (2, 3)]),
    "solve from the right": (lambda a, b: L.solve(regular(a), b, left=False), [(3, 3), (2, 4, 3)]),
    "lower triangle": (lambda a, b: L.solve_triangular(regular(a), b, upper=False), [(2, 3, 3), (3, 2)]),
    "upper triangle": (
        lambda a, b: L.solve_triangular(regular(a), b, upper=True, left=False, unitriangular=True),
        [(3, 3), (2, 2, 3)],
    ),
    "triangular_solve": (lambda b, a: torch.triangular_solve(b, regular(a), transpose=True)[0], [(3, 2), (3, 3)]),
    "lu square": (lambda a: tuple(L.lu(regular(a))[1:]), [(2, 3, 3)]),
    "lu tall": (lambda a: tuple(L.lu(regular(a))[1:]), [(4, 3)]),
    "lu wide": (lambda a: tuple(L.lu(regular(a))[1:]), [(3, 5)]),
    "lu_factor with swaps": (lambda a: L.lu_factor(regular(a).flip(-2))[0], [(3, 3)]),
    "lu_solve": (lu_solve, [(2, 3, 3), (2, 3, 2)]),
    "lu_solve of the adjoint": (lambda a, b: lu_solve(a, b, adjoint=True), [(2, 3, 3), (3, 2)]),
    "lu_solve from the right": (lambda a, b: lu_solve(a, b, left=False), [(3, 3), (2, 3)]),
    "cholesky": (lambda a: L.cholesky(positive(a)), [(2, 3, 3)]),
    "upper cholesky": (lambda a: L.cholesky(positive(a), upper=True), [(3, 3)]),
    "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, lower(a)), [(2, 3, 2), (3, 3)]),
    "cholesky_inverse": (lambda a: torch.cholesky_inverse(upper(a), upper=True), [(2, 3, 3)]),
    "qr": (lambda a: tuple(L.qr(regular(a))), [(2, 3, 3)]),
    "qr of tall ones": (lambda a: tuple(L.qr(regular(a))), [(4, 2)]),
    "qr of wide ones": (lambda a: tuple(L.qr(regular(a), mode="complete")), [(2, 4)]),
    "qr, only Q": (lambda a: L.qr(regular(a))[0], [(3, 4)]),
    "qr, only R": (lambda a: torch.qr(regular(a))[1], [(3, 4)]),
    "reflections": (lambda a, t: L.householder_product(a, t), [(2, 4, 3), (2, 2)]),
    "ormqr": (lambda a, t, c: torch.ormqr(a, t, c), [(4, 3), (2,), (4, 2)]),
    "ormqr by the adjoint from the right": (
        lambda a, t, c: torch.ormqr(a, t, c, left=False, transpose=True),
        [(3, 2), (2,), (2, 3)],
    ),
    "ormqr by the adjoint": (lambda a, t, c: torch.ormqr(a, t, c, transpose=True), [(2, 3, 2), (2, 2), (2, 3, 1)]),
    "eigh": (lambda a: eigh_without_gauge(hermitian(a)), [(2, 3, 3)]),
    "eigvalsh": (lambda a: L.eigvalsh(hermitian(a), "U"), [(3, 3)]),
    "symeig": (lambda a: torch.symeig(hermitian(a), eigenvectors=True)[1].abs(), [(3, 3)]),
    "eig": (lambda a: eig_without_gauge(regular(a)), [(2, 3, 3)]),
    "eigvals": (lambda a: L.eigvals(a), [(3, 3)]),
    "pinv": (lambda a: L.pinv(regular(a)), [(2, 3, 3)]),
    "pinv of tall ones": (lambda a: L.pinv(regular(a)), [(4, 2)]),
    "pinv of deficient rank": (lambda a, b: L.pinv(a @ b, rtol=1e-8), [(4, 2), (2, 3)]),
    "hermitian pinv": (lambda a: L.pinv(hermitian(a), hermitian=True), [(3, 3)]),
    "lstsq": (lambda a, b: L.lstsq(regular(a), b)[0], [(4, 2), (4, 3)]),
    "lstsq of wide ones": (lambda a, b: L.lstsq(regular(a), b)[0], [(2, 4), (2, 3)]),
    "residuals": (lambda a, b: tuple(L.lstsq(regular(a), b, driver="gelsd")[:2]), [(2, 4, 2), (2, 4, 1)]),
    "gels": (lambda b: torch.gels(b, torch.eye(4, 2, dtype=b.dtype) + 0.3)[0], [(4, 2)]),
    "matrix_exp": (lambda a: L.matrix_exp(a), [(2, 3, 3)]),
    "matrix_power": (lambda a: L.matrix_power(regular(a), -3), [(3, 3)]),
    "matrix_power 0": (lambda a: L.matrix_power(a, 0), [(3, 3)]),
    "nuclear norm": (lambda a: L.matrix_norm(regular(a), "nuc"), [(2, 3, 2)]),
    "spectral norm": (lambda a: L.norm(regular(a), 2), [(3, 4)]),
    "norm of columns": (lambda a: L.matrix_norm(regular(a), 1, keepdim=True), [(2, 3, 4)]),
    "cond": (lambda a: L.cond(regular(a)), [(3, 3)]),
    "cond by fro": (lambda a: L.cond(regular(a), "fro"), [(3, 3)]),
    "multi_dot": (lambda a, b, c: L.multi_dot([a, b, c]), [(2, 3), (3, 4), (4,)]),
    "tensorsolve": (lambda a, b: L.tensorsolve(regular(a.reshape(6, 6)).reshape(2, 3, 6), b), [(2, 3, 6), (2, 3)]),
    "vander": (lambda a: L.vander(a, N=4), [(2, 3)]),
    "svd": (lambda a: svd_without_gauge(regular(a)), [(2, 3, 3)]),
    "svd of tall ones": (lambda a: svd_without_gauge(regular(a)), [(4, 2)]),
    "svd of wide ones": (lambda a: svd_without_gauge(regular(a)), [(2, 4)]),
    "full svd": (lambda a: L.svd(regular(a), full_matrices=True)[1], [(4, 2)]),
    "svdvals": (lambda a: L.svdvals(regular(a)), [(3, 2)]),
}


def svd_without_gauge(a):
    u, s, vh = L.svd(a, full_matrices=False)
    return u.abs(), s, vh.abs(), u[..., :1] @ vh[..., :1, :]


def eigh_without_gauge(a):
    values, v = L.eigh(a)
    return values, v.abs(), v[..., :1] @ v[..., :1].mH


def eig_without_gauge(a):
    values, v = L.eig(a)
    return values, v.abs()


def inputs(name, dtype):
    source = Source(name, dtype)
    return tuple(source(*shape).requires_grad_() for shape in CASES[name][1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_finite_differences(name, dtype):
    assert gradcheck(CASES[name][0], inputs(name, dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_agree_with_finite_differences(name, dtype):
    assert gradgradcheck(CASES[name][0], inputs(name, dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
def test_the_determinant_of_a_singular_matrix_has_the_adjugate_as_gradient(dtype):
    a = Source("singular", dtype)(3, 3)
    a[2] = a[0] + 2 * a[1]
    a[2, :] = 0  # exactly singular
    a.requires_grad_()
    assert gradcheck(L.det, (a,))


@pytest.mark.parametrize("vectors", [lambda a: L.eigh(hermitian(a))[1], lambda a: L.eig(a)[1]], ids=["eigh", "eig"])
def test_gradients_that_depend_on_the_phase_of_eigenvectors_are_refused(vectors):
    a = Source("phases", torch.complex128)(3, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="specified up to multiplication by"):
        vectors(a).real.sum().backward()


def test_factorizations_without_a_derivative_say_so():
    a = Source("refused")(4, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="qr.*mode='r'"):
        L.qr(a, mode="r")[1].sum().backward()
    with pytest.raises(RuntimeError, match="mode='complete' and nrows > ncols"):
        L.qr(a, mode="complete")[0].sum().backward()
    for refused in (torch.geqrf, lambda a: L.ldl_factor(a.mT @ a), lambda a: torch.pstrf(a.mT @ a)):
        result = refused(a)[0]  # as long as nobody wants a gradient, it is not missed
        assert result.requires_grad and torch.equal(result, refused(a.detach())[0])
        with pytest.raises(NotImplementedError, match=r"the derivative for '\w+' is not implemented: torch\.linalg"):
            result.sum().backward()
    s = torch.tensor([2.0, 3.0], requires_grad=True)
    zeta = torch.special.zeta(s, torch.ones(2))
    with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented by the first argument"):
        zeta.sum().backward()


def test_gradients_that_depend_on_the_phase_of_singular_vectors_are_refused():
    a = Source("phase", torch.complex128)(3, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="svd_backward: .* phase"):
        L.svd(a)[0].real.sum().backward()


def test_the_logarithm_of_a_zero_determinant_has_no_finite_gradient():
    a = torch.diag(torch.tensor([2.0, 0.0])).requires_grad_()
    torch.logdet(a).backward()
    assert not a.grad.isfinite().all()


def test_a_cholesky_gradient_is_hermitian():
    a = positive(Source("hermitian", torch.complex128)(3, 3)).requires_grad_()
    L.cholesky(a).abs().square().sum().backward()
    assert torch.allclose(a.grad, a.grad.mH)
