"""A few singular values or eigenvalues of big matrices, only by products with them."""

from __future__ import annotations

from . import _C, linalg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def _adjoint(a):
    swapped = a.transpose(-2, -1)
    return swapped.conj() if swapped.is_complex() else swapped


def _range_of(A, q, niter, M=None):
    """Orthonormal columns that about span A's (N. Halko, P. Martinsson, J. Tropp 2011, algorithm 4.4)."""
    A = A if M is None else A - M
    draw = _C._operator("randn")
    if A.is_complex():
        complex_ = _C._operator("complex")
        real = A.real.dtype
        parts = [draw([A.shape[-1], q], dtype=real, device=A.device) for _ in range(2)]
        test = complex_(*parts)
    else:
        test = draw([A.shape[-1], q], dtype=A.dtype, device=A.device)
    Q = linalg.qr(A @ test).Q
    for _ in range(niter):
        Q = linalg.qr(_adjoint(A) @ Q).Q
        Q = linalg.qr(A @ Q).Q
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """About the ``q`` largest singular values of ``A - M`` with vectors, ``A - M = U @ diag(S) @ V.mH``, from random products.

    >>> a = torch.arange(12.0).reshape(4, 3)
    >>> U, S, V = torch.svd_lowrank(a, q=2)
    >>> torch.allclose(U @ torch.diag(S) @ V.mT, a, atol=1e-4)  # a has rank 2
    True
    """
    if A.dim() < 2:
        raise RuntimeError(f"svd_lowrank: expected matrices (2 or more dims), got shape {tuple(A.shape)}")
    q = 6 if q is None else q
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(
            f"svd_lowrank: q(={q}) must be non-negative integer and not greater than min(m, n)={min(A.shape[-2:])}"
        )
    wide = A.shape[-2] < A.shape[-1]
    if M is not None:
        M = M.expand(A.shape)
    if wide:
        A, M = _adjoint(A), None if M is None else _adjoint(M)
    Q = _range_of(A, q, niter, M)
    U, S, Vh = linalg.svd(_adjoint(Q) @ (A if M is None else A - M), full_matrices=False)
    U, V = Q @ U, _adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """About the first ``q`` principal components of rows of observations, ``(U, S, V)`` of the matrix without its mean row.

    >>> torch.pca_lowrank(torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]]), q=1)[1].square().round()
    tensor([40.])
    """
    if A.dim() < 2:
        raise RuntimeError(f"pca_lowrank: expected matrices (2 or more dims), got shape {tuple(A.shape)}")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point() and not A.is_complex():
        raise ValueError(f"pca_lowrank: input must be floating point, got {A.dtype}; convert with A.float()")
    return svd_lowrank(A, q, niter, A.mean(-2, keepdim=True) if center else None)


def lobpcg(
    A: Any,
    k: Any = None,
    B: Any = None,
    X: Any = None,
    n: Any = None,
    iK: Any = None,
    niter: Any = None,
    tol: Any = None,
    largest: Any = None,
    method: Any = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> Any:
    """The ``k`` largest (or smallest) eigenvalues of a symmetric matrix, ``A @ X = B @ X * E``, with vectors (A. Knyazev 2001).

    ``B``: symmetric positive definite; ``iK``: an approximate inverse of A; ``X``: where to begin, ``n`` columns. Both ``method``\\ s
    are one here: the basis is made orthonormal in each of up to ``niter`` steps, until residuals are below ``tol``.

    >>> E, X = torch.lobpcg(torch.diag(torch.arange(1.0, 13.0)), k=1)
    >>> E.round()
    tensor([12.])
    """
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"lobpcg: expected square matrices, got shape {tuple(A.shape)}")
    if method not in (None, "basic", "ortho"):
        raise NotImplementedError(f"lobpcg: method is 'basic' or 'ortho', got {method!r}")
    if tracker is not None or ortho_iparams or ortho_fparams or ortho_bparams:
        raise NotImplementedError("lobpcg: tracker and ortho_*params are not there; leave them out")
    if A.requires_grad or (B is not None and B.requires_grad):
        raise NotImplementedError("lobpcg: it has no derivative; torch.linalg.eigh has, or detach() the matrices")
    if A.dim() > 2:
        batch = A.shape[:-2]
        pick = [None if t is None else t.expand(*batch, *t.shape[-2:]).flatten(0, -3) for t in (B, X, iK)]
        one = [
            lobpcg(a, k, *(None if t is None else t[i] for t in pick[:2]), n, None if pick[2] is None else pick[2][i],
                   niter, tol, largest, method)
            for i, a in enumerate(A.flatten(0, -3))
        ]  # fmt: skip
        stack = _C._operator("stack")
        return tuple(stack([r[i] for r in one]).unflatten(0, batch) for i in (0, 1))
    m = A.shape[-1]
    n = (k or 1) if n is None and X is None else X.shape[-1] if n is None else n
    k = n if k is None else k
    largest = True if largest is None else largest
    if m < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n}); use torch.linalg.eigh"
        )
    if not 1 <= k <= n:
        raise ValueError(f"lobpcg: expected 1 <= k <= n, got k={k} and n={n}")
    tol = tol if tol is not None and tol > 0 else 1e-15 ** (0.5 if A.dtype != _C.float32 else 0.4)
    niter = 1000 if niter is None or niter < 0 else niter
    cat = _C._operator("cat")
    by = (lambda v: v) if B is None else (lambda v: B @ v)
    if X is None:
        X = _C._operator("randn")([m, n], dtype=A.dtype, device=A.device)
    scale, P = A.abs().max(), None
    E, X = _ritz(A, by, X, n, largest)
    for _ in range(niter):
        R = A @ X - by(X) * E
        if (R.norm(dim=0) / (scale * X.norm(dim=0)))[:k].max() < tol:
            break
        W = R if iK is None else iK @ R
        before = X
        E, X = _ritz(A, by, cat([X, W] if P is None else [X, W, P], 1), n, largest)
        P = X - before @ (_adjoint(before) @ by(X))
    return E[:k], X[:, :k]


def _ritz(A, by, S, n, largest):
    """The extreme eigenpairs of A within the span of S, whose columns may depend on each other."""
    S = S / S.norm(dim=0).clamp_min(1e-300 if S.dtype == _C.float64 else 1e-38)
    values, V = linalg.eigh(_adjoint(S) @ by(S))
    keep = values > values[-1] * len(values) * (1e-15 if S.dtype == _C.float64 else 1e-6)
    S = S @ (V[:, keep] / values[keep].sqrt())
    E, V = linalg.eigh(_adjoint(S) @ (A @ S))
    if largest:
        E, V = E.flip(0), V.flip(1)
    return E[:n], S @ V[:, :n]
